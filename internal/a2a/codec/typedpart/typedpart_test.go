// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package typedpart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/test/codectest"
)

func read(text string, agent, v01 bool) (a2a.Part, error) {
	r := Reader{Reader: jsonread.New([]byte(text)), Agent: agent, V01: v01}
	p := r.Part()
	return p, r.End()
}

func TestWire03_PartsKeepAllInEachForm(t *testing.T) {
	parts := append(codectest.Message().Parts,
		a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`[1]`), Metadata: a2a.Object(`{"a":1}`)},
		a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{"value":1}`), Metadata: a2a.Object(`{"a":1}`)},
		a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{"toolUseId":"x"}`), Metadata: a2a.Object(`{"a2a.partKind":"tool-result"}`)},
		a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{"toolUseId":"x"}`), Metadata: a2a.Object(`{"a2a.partKind":"tool-result","b":1}`)},
		a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{}`), Metadata: a2a.Object(`{"a2a.partKind":"tool-use"}`)},
		// These parts cannot be written as tool parts, so they are written as data parts.
		a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{"kind":"x"}`), Metadata: a2a.Object(`{"a2a.partKind":"tool-use"}`)},
		a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{"x":null}`), Metadata: a2a.Object(`{"a2a.partKind":"tool-use"}`)},
		a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{"x":1}`), Metadata: a2a.Object(`{"a2a.partKind":"video"}`)},
		a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{"x":1}`), Metadata: a2a.Object(`{"a":1,"a2a.partKind":"tool-use"}`)},
		a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`[1]`), Metadata: a2a.Object(`{"a2a.partKind":"tool-use"}`)},
	)
	for _, form := range []Form{Kind, Type, Both} {
		for i := range parts {
			text := form.Append(nil, &parts[i])
			got, err := read(string(text), false, form == Type)
			if err != nil {
				t.Errorf("read %s: %v", text, err)
			}
			if diff := cmp.Diff(parts[i], got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
		}
	}
}

func TestAppendAll(t *testing.T) {
	parts := []a2a.Part{
		a2a.TextPart("a"),
		{Content: a2a.ContentData, Data: a2a.Value(`{"toolUseId":"x","result":[1]}`), Metadata: a2a.Object(`{"a2a.partKind":"tool-result"}`)},
	}
	tests := map[Form]string{
		Kind: `[{"kind":"text","text":"a"},{"kind":"tool-result","toolUseId":"x","result":[1]}]`,
		Type: `[{"type":"text","text":"a"},{"type":"data","data":{"toolUseId":"x","result":[1]},"metadata":{"a2a.partKind":"tool-result"}}]`,
		Both: `[{"kind":"text","type":"text","text":"a"},` +
			`{"kind":"data","type":"data","data":{"toolUseId":"x","result":[1]},"metadata":{"a2a.partKind":"tool-result"}}]`,
	}
	for form, want := range tests {
		if diff := cmp.Diff(want, string(form.AppendAll(nil, parts))); diff != "" {
			t.Errorf("form %d (-want +got):\n%s", form, diff)
		}
	}
}

func TestToolPartsOfAgents(t *testing.T) {
	p, err := read(`{"data":[1]}`, true, false)
	if diff := cmp.Diff(a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`[1]`)}, p); diff != "" || err != nil {
		t.Errorf("read (-want +got):\n%s%v", diff, err)
	}
	// The mark of a wrapped value has an effect only if it is true.
	p, err = read(`{"kind":"data","data":{"value":1},"metadata":{"data_part_compat":false}}`, true, false)
	if string(p.Data) != `{"value":1}` || err != nil {
		t.Errorf("read %+v, %v", p, err)
	}
}

func FuzzPart(f *testing.F) {
	for _, p := range codectest.Message().Parts {
		f.Add(Both.Append(nil, &p))
	}
	f.Add([]byte(`{"kind":"tool-result","toolUseId":"x","result":{"a":[1]},"metadata":{"a2a.partKind":1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := read(string(text), false, false)
		if err != nil {
			return
		}
		again, err := read(string(Kind.Append(nil, &p)), false, false)
		if diff := cmp.Diff(p, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("%q is read otherwise when it was written (-want +got):\n%s%v", text, diff, err)
		}
	})
}
