// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestElements(t *testing.T) {
	type element struct{ A int }
	for array, want := range map[string][]element{
		`[]`: nil, `null`: nil, ``: nil, `[{"a":1}]`: {{1}}, ` [ {"A":1} , {} ] `: {{1}, {}},
	} {
		got, err := Elements[element]([]byte(array), 2)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", array, err, diff)
		}
	}
	for _, array := range []string{`[{},{},{}]`, `{}`, `1`, `[1]`, `[{}`} {
		if got, err := Elements[element]([]byte(array), 2); err == nil {
			t.Errorf("%s: %v", array, got)
		}
	}
}

// TestManyMembers decides by messages of 5 MB whose metadata has 650,000 members, or as many decisions. Beside copies of the metadata, it
// takes nothing.
func TestManyMembers(t *testing.T) {
	var members strings.Builder
	for i := range 650_000 {
		fmt.Fprintf(&members, `"%d":1,`, i)
	}
	request := `"` + Extension + `":{"type":"` + TypeRequest + `","tools":[` + strings.Repeat("{},", 1_000_000) + `{}]}`
	for name, metadata := range map[string]string{
		"forged": `{` + members.String() + `"` + metadataDecidedBy + `":"x","` + Extension + `":{"type":"` + TypeDecisions + `"}}`,
		"inside": `{"` + Extension + `":{` + members.String() + `"type":"` + TypeDecisions + `"}}`,
		"asked":  `{` + request + `}`,
	} {
		m := &a2a.Message{Metadata: a2a.Object(metadata), Extensions: []string{Extension}}
		for what, do := range map[string]func(){
			"WithDecidedBy": func() { WithDecidedBy(m, By{Principal: "boss"}) }, "Decisions": func() { Decisions(m) }, "IsDecision": func() { IsDecision(m) },
			"DecidedBy": func() { DecidedBy(m) }, "Requested": func() { Requested(m) },
		} {
			do() // it fills pools
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			do()
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 5*uint64(len(metadata))/2 {
				t.Errorf("%s, %s: %d bytes are allocated for metadata of %d", name, what, got, len(metadata))
			}
		}
	}
}
