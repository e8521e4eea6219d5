// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestEndedReaderDoesNotUseItsDecoder checks that an ended reader does not use its decoder,
// because the pool may have given it to another reader.
func TestEndedReaderDoesNotUseItsDecoder(t *testing.T) {
	for name, end := range map[string]func(r *Reader){"End": func(r *Reader) { _ = r.End() }, "Close": (*Reader).Close} {
		r := New([]byte(`{"a":1}`))
		r.Skip()
		end(r)
		next := New([]byte(`{"b":"other"}`))
		for range r.Members() {
			t.Error("Members() yields")
		}
		for range r.Elements() {
			t.Error("Elements() yields")
		}
		r.Fail("x")
		r.FailAt("y", "x")
		if r.Kind() != 0 || r.String() != "" || r.Int() != 0 || r.Bool() || r.Bytes() != nil || r.Object() != nil || r.Value() != nil || r.Raw() != nil {
			t.Errorf("something is read after %s", name)
		}
		if err := r.Err(); err != nil {
			t.Errorf("Err() after %s = %v", name, err)
		}
		if err := r.End(); err != nil {
			t.Errorf("End() after %s = %v", name, err)
		}
		for range next.Members() {
			if got := next.String(); got != "other" {
				t.Errorf("the next reader reads %q", got)
			}
		}
		if err := next.End(); err != nil {
			t.Errorf("the next reader: %v", err)
		}
	}
}

func TestErrorIsKeptAfterTheEnd(t *testing.T) {
	for _, text := range []string{`{"a":`, `{"a":1}x`, `{"a":1,"a":2}`} {
		r := New([]byte(text))
		r.Skip()
		err := r.End()
		r.Close()
		if err == nil || r.Err() == nil || r.End() == nil {
			t.Errorf("%s: End() = %v, then Err() = %v", text, err, r.Err())
		}
	}
}

// TestPooledDecoderHasNoEarlierState checks that an error or the unread rest of an earlier
// text does not affect the next text.
func TestPooledDecoderHasNoEarlierState(t *testing.T) {
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 500 {
				half := New([]byte(`{"a":[{"b":[1,2,`))
				half.Skip()
				_ = half.End()
				open := New([]byte(`{"a":[{"b":`))
				for range open.Members() {
					break
				}
				open.Close()
				want := fmt.Sprintf("%d-%d", worker, i)
				r := New(fmt.Appendf(nil, `{"a":%q,"b":[1],"c":2,}`, want))
				got := ""
				for name := range r.Members() {
					if string(name) == "a" && got == "" {
						got = r.String()
					}
				}
				if err := r.End(); err == nil || got != want {
					t.Errorf("read %q, %v, want %q and an error at the end", got, err, want)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkReader(b *testing.B) {
	text := []byte(`{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"twenty bytes of text"}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		r := New(text)
		r.Skip()
		if err := r.End(); err != nil {
			b.Fatal(err)
		}
	}
}

// accepts reports whether a reader accepts a text.
func accepts(text string) bool {
	r := New([]byte(text))
	r.Skip()
	return r.End() == nil
}

// TestReaderAcceptsTheTextsOfAStrictDecoder compares the reader with the check of duplicate
// names in jsontext, on random texts, most of which are not JSON or have duplicate names.
func TestReaderAcceptsTheTextsOfAStrictDecoder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{`"a"`, `"b"`, `"\u0061"`, `"a\""`, `"\\"`, `"a,"`, `"{"`, `""`, `"\ud800"`, `"\ud83d\ude00"`, `"😀"`}
	valid, invalid := 0, 0
	for range 10_000 {
		var text strings.Builder
		writeRandom(&text, random, names, 4)
		if random.IntN(4) == 0 {
			// A text with a wrong byte is usually not JSON.
			wrong := []byte(text.String())
			wrong[random.IntN(len(wrong))] = `{}[],:"\a`[random.IntN(9)]
			text.Reset()
			text.Write(wrong)
		}
		want := jsontext.Value(text.String()).IsValid()
		if got := accepts(text.String()); got != want {
			t.Fatalf("%s is accepted: %t, want %t", text.String(), got, want)
		}
		if want {
			valid++
		} else {
			invalid++
		}
	}
	if valid < 1_000 || invalid < 1_000 {
		t.Errorf("%d valid texts and %d invalid ones", valid, invalid)
	}
}

// writeRandom writes a random value with objects that have duplicate names.
func writeRandom(out *strings.Builder, random *rand.Rand, names []string, depth int) {
	kind := random.IntN(5)
	if depth == 0 {
		kind = 4
	}
	switch kind {
	case 0, 1, 2:
		out.WriteByte('{')
		for i := range random.IntN(5) {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(names[random.IntN(len(names))])
			out.WriteByte(':')
			writeRandom(out, random, names, depth-1)
		}
		out.WriteByte('}')
	case 3:
		out.WriteByte('[')
		for i := range random.IntN(4) {
			if i > 0 {
				out.WriteByte(',')
			}
			writeRandom(out, random, names, depth-1)
		}
		out.WriteByte(']')
	default:
		out.WriteString([]string{"1", "null", `"a"`, `"\"a\":"`}[random.IntN(4)])
	}
}

// manyNames returns an object with count different short names, followed by rest.
func manyNames(count int, rest string) string {
	var text strings.Builder
	text.WriteByte('{')
	for i := range count {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `"%x":0`, i)
	}
	return text.String() + rest
}

func TestDuplicateAmongManyNames(t *testing.T) {
	const count = 20_000
	text := manyNames(count, "}")
	if !accepts(text) {
		t.Error("different names are refused")
	}
	for _, name := range []string{"0", "ff", "4e1f", `\u0030`} {
		repeated := manyNames(count, `,"`+name+`":1,"0":2}`)
		r := New([]byte(repeated))
		r.Skip()
		want := fmt.Sprintf("Invalid JSON payload at byte %d", len(text))
		if err := r.End(); err == nil || err.Error() != want {
			t.Errorf("the second %s: %v, want %s", name, err, want)
		}
	}
}

// TestMemoryIsProportionalToTheText checks that reading a text with many short names
// allocates at most four times the size of the text.
func TestMemoryIsProportionalToTheText(t *testing.T) {
	for name, text := range map[string]string{
		"one object":     manyNames(1<<19, "}"),
		"nested objects": strings.Repeat(manyNames(1<<12, `,"n":`), 60) + "0" + strings.Repeat("}", 60),
		"many objects":   "[" + strings.Repeat(manyNames(1<<12, `},`), 60) + "0]",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ok := accepts(text)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; !ok || allocated > 4*uint64(len(text)) {
			t.Errorf("%s: %d bytes are read with %d, accepted: %t", name, len(text), allocated, ok)
		}
	}
}

func BenchmarkManyNames(b *testing.B) {
	text := []byte(manyNames(10_000, "}"))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r := New(text)
		r.Skip()
		if err := r.End(); err != nil {
			b.Fatal(err)
		}
	}
}
