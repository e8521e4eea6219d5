// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package typedpart

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// TestPartWithoutAKind checks that a part without a kind is read in the form of 1.0, too.
func TestPartWithoutAKind(t *testing.T) {
	for text, want := range map[string]a2a.Part{
		`{"text":"x"}`: a2a.TextPart("x"),
		`{"text":"x","mediaType":"text/markdown"}`:                   {Content: a2a.ContentText, Text: "x", MediaType: "text/markdown"},
		`{"data":[1],"mediaType":"application/json"}`:                {Content: a2a.ContentData, Data: a2a.Value("[1]"), MediaType: "application/json"},
		`{"raw":"aGk=","filename":"a.txt","mediaType":"text/plain"}`: {Content: a2a.ContentRaw, Raw: []byte("hi"), Filename: "a.txt", MediaType: "text/plain"},
		`{"url":"https://example.com/a","metadata":{"k":1}}`:         {Content: a2a.ContentURL, URL: "https://example.com/a", Metadata: a2a.Object(`{"k":1}`)},
	} {
		r := jsonread.New([]byte(text))
		got := Reader{Reader: r}.Part()
		if err := r.End(); err != nil {
			t.Errorf("Part(%s) error = %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Part(%s) (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{`{}`, `{"filename":"a"}`, `{"raw":"?"}`, `{"url":1}`} {
		r := jsonread.New([]byte(text))
		Reader{Reader: r}.Part()
		if r.End() == nil {
			t.Errorf("Part(%s) succeeded", text)
		}
	}
}
