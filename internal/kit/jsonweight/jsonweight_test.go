// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonweight

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

func TestCounter(t *testing.T) {
	for text, want := range map[string]int64{
		``:                                     0,
		`{}`:                                   object,
		`[{},{}]`:                              2*object + 2*element,
		`{"a":"{,[\"{","b":[1]}`:               object + 2*element,
		`{"\\":{}}`:                            2 * object,
		"data: {\"a\n\ndata: {}":               2 * object,
		"id: \"\\\ndata: {}":                   object,
		": \"\\\rdata: {}":                     object,
		`"` + strings.Repeat(`{[,`, 100) + `"`: 0,
	} {
		for _, size := range []int{1, 2, 3, len(text) + 1} {
			var c Counter
			for rest := text; rest != ""; {
				piece := rest[:min(size, len(rest))]
				c.Add([]byte(piece))
				rest = rest[len(piece):]
			}
			if c.Weight() != want {
				t.Errorf("Weight() of %q in pieces of %d = %d, want %d", text, size, c.Weight(), want)
			}
		}
		if got := Of([]byte(text), 0); got != want && !strings.Contains(text, "data:") {
			t.Errorf("Of(%q) = %d, want %d", text, got, want)
		}
	}
	if got := Of([]byte(`"{{"`), 2*object); got != 2*object {
		t.Errorf("Of() below enough = %d, want the sum of all characters", got)
	}
}

func TestKeptMembers(t *testing.T) {
	for text, want := range map[string]int64{
		`{"data":{"a":[{},{}],"b":"}"},"c":{}}`:       2*object + element,
		`{"data" : [[{}]] ,"data":{},"d":{}}`:         2*object + 2*element,
		`{"a":"data","b":{}}`:                         2*object + element,
		`["data",{}]`:                                 object + 2*element,
		`{"data":"{","a":{}}`:                         2*object + element,
		`{"parts":[{"data":{"x":{}}},{}]}`:            3*object + 2*element,
		`{"task":{"parts":[{"data":[{},{}]}]},"x":1}`: 3*object + 2*element,
		`{"other":{"data":{}}}`:                       3 * object,
		`{"other":{"parts":[{"data":{}}]}}`:           4*object + element,
		`{"other":[{"parts":[{"data":{}}]}]}`:         4*object + 2*element,
		`{"parts":[{"other":{"parts":{"data":{}}}}]}`: 5*object + element,
		`{"other":1,"parts":[{"data":[1,2]}]}`:        2*object + 2*element,
		`{"x\"data":{},"\\":{"data":[{},{}]}}`:        5*object + 3*element,
		`{"data":{`:                                   object,
		`{"data":`:                                    object,
		`{"data`:                                      object,
		`}}]]{"data":[1]}`:                            object,
	} {
		if got := Except([]byte(text), 0, "data", "task", "parts"); got != want {
			t.Errorf("Except(%s) = %d, want %d", text, got, want)
		}
	}
}

// TestWeights decodes texts that take the most memory for their length, into values of any type.
func TestWeights(t *testing.T) {
	for name, unit := range map[string]string{"objects": `{}`, "objects with a member": `{"":0}`, "lists": `[]`, "numbers": `0`, "texts": `"a"`, "objects in lists": `[{}]`} {
		t.Run(name, func(t *testing.T) {
			text := []byte("[" + strings.TrimSuffix(strings.Repeat(unit+",", 100_000), ",") + "]")
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var decoded any
			if err := json.Unmarshal(text, &decoded); err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
			if charged := Of(text, 0) + 3*int64(len(text)); held > charged {
				t.Errorf("%d bytes decode to %d, want at most %d", len(text), held, charged)
			}
			runtime.KeepAlive(decoded)
		})
	}
}

func BenchmarkOf(b *testing.B) {
	text := []byte(`{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"twenty bytes of text"}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		Of(text, 16<<10)
	}
}
