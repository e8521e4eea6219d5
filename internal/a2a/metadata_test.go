// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestInputRequest(t *testing.T) {
	tests := map[string]struct {
		metadata string
		want     a2a.InputRequest
		ok       bool
	}{
		"none":                         {``, a2a.InputRequest{}, false},
		"other metadata":               {`{"x":{"inputRequest":{}}}`, a2a.InputRequest{}, false},
		"no object":                    {`{"inputRequest":"x"}`, a2a.InputRequest{}, false},
		"empty":                        {`{"inputRequest":{}}`, a2a.InputRequest{}, true},
		"whole":                        {`{"inputRequest":{"kind":"text","prompt":"key?","sensitive":true,"requestId":"r1","timeoutSeconds":1.5}}`, a2a.InputRequest{ID: "r1", Sensitive: true, Timeout: 1500 * time.Millisecond}, true},
		"escaped":                      {`{"inputRequest":{"requestId":"\u0072"}}`, a2a.InputRequest{ID: "r"}, true},
		"not sensitive":                {`{"inputRequest":{"sensitive":false}}`, a2a.InputRequest{}, true},
		"flag that is a string":        {`{"inputRequest":{"sensitive":"yes"}}`, a2a.InputRequest{Sensitive: true}, true},
		"number as id":                 {`{"inputRequest":{"requestId":7}}`, a2a.InputRequest{}, true},
		"no time":                      {`{"inputRequest":{"timeoutSeconds":0}}`, a2a.InputRequest{}, true},
		"negative time":                {`{"inputRequest":{"timeoutSeconds":-1}}`, a2a.InputRequest{}, true},
		"timeout beyond all durations": {`{"inputRequest":{"timeoutSeconds":1e300}}`, a2a.InputRequest{Timeout: 1<<62 - 1}, true},
	}
	for name, tt := range tests {
		got, ok := (&a2a.Message{Metadata: a2a.Object(tt.metadata)}).InputRequest()
		if got.Timeout > 1<<61 {
			got.Timeout = 1<<62 - 1
		}
		if diff := cmp.Diff(tt.want, got); ok != tt.ok || diff != "" {
			t.Errorf("%s: InputRequest() = %t, difference (-want +got):\n%s", name, ok, diff)
		}
	}
	if _, ok := (*a2a.Message)(nil).InputRequest(); ok {
		t.Error("nobody asks for something")
	}
}

func result(data string) a2a.Part {
	return a2a.Part{Content: a2a.ContentData, Data: a2a.Value(data), Metadata: a2a.Object(`{"a2a.partKind":"tool-result","x":1}`)}
}

func TestAnswers(t *testing.T) {
	plain := result(`{"toolUseId":"r1"}`)
	plain.Metadata = nil
	use := result(`{"toolUseId":"r1"}`)
	use.Metadata = a2a.Object(`{"a2a.partKind":"tool-use"}`)
	tests := map[string]struct {
		parts   []a2a.Part
		request string
		want    bool
	}{
		"answer":                    {[]a2a.Part{a2a.TextPart("here"), result(`{"toolUseId":"r1","result":1}`)}, "r1", true},
		"second answer":             {[]a2a.Part{result(`{"toolUseId":"r2"}`), result(`{"toolUseId":"r1"}`)}, "r1", true},
		"other request":             {[]a2a.Part{result(`{"toolUseId":"r2"}`)}, "r1", false},
		"no request":                {[]a2a.Part{result(`{"toolUseId":""}`)}, "", false},
		"number":                    {[]a2a.Part{result(`{"toolUseId":1}`)}, "1", false},
		"nested":                    {[]a2a.Part{result(`{"result":{"toolUseId":"r1"}}`)}, "r1", false},
		"no object":                 {[]a2a.Part{result(`["toolUseId","r1"]`)}, "r1", false},
		"text":                      {[]a2a.Part{a2a.TextPart(`{"toolUseId":"r1"}`)}, "r1", false},
		"plain data":                {[]a2a.Part{plain}, "r1", false},
		"a tool call, not a result": {[]a2a.Part{use}, "r1", false},
	}
	for name, tt := range tests {
		if got := (&a2a.Message{Parts: tt.parts}).Answers(tt.request); got != tt.want {
			t.Errorf("%s: Answers() = %t", name, got)
		}
	}
}

func TestRedacted(t *testing.T) {
	m := &a2a.Message{
		ID: "m", ContextID: "c", TaskID: "t", Role: a2a.RoleUser, ReferenceTasks: []string{"t"},
		Metadata: a2a.Object(`{"k":"secret"}`),
		Parts: []a2a.Part{
			a2a.TextPart("secret"),
			result(`{"toolUseId":"r\u00311","result":{"secret":"secret"}}`),
			result(`"secret"`),
			{Content: a2a.ContentRaw, Raw: []byte("secret"), Filename: "secret", Metadata: a2a.Object(`{"secret":1}`)},
		},
	}
	want := &a2a.Message{
		ID: "m", ContextID: "c", TaskID: "t", Role: a2a.RoleUser, ReferenceTasks: []string{"t"},
		Parts: []a2a.Part{
			a2a.TextPart("[redacted]"),
			{Content: a2a.ContentData, Data: a2a.Value(`{"toolUseId":"r\u00311","result":"[redacted]"}`), Metadata: a2a.Object(`{"a2a.partKind":"tool-result"}`)},
			{Content: a2a.ContentData, Data: a2a.Value(`{"result":"[redacted]"}`), Metadata: a2a.Object(`{"a2a.partKind":"tool-result"}`)},
			a2a.TextPart("[redacted]"),
		},
	}
	if diff := cmp.Diff(want, m.Redacted()); diff != "" {
		t.Errorf("Redacted() (-want +got):\n%s", diff)
	}
	if !strings.Contains(m.Parts[0].Text, "secret") || m.Metadata == nil {
		t.Error("the message itself was changed")
	}
}
