// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

// An event for a removed agent is one event that each decoder reads, whatever the names are.
func FuzzRemoveFrame(f *testing.F) {
	for _, name := range []string{"echo", "a.b-c", "x\x01", "x\x7f", "\U000e0001", "\u2028", "a\"b\\c", "a\n\nevent: upsert", "<&>", "\xff", strings.Repeat("\x01", 253)} {
		f.Add("team", name)
		f.Add(name, "echo")
	}
	f.Fuzz(func(t *testing.T, namespace, name string) {
		text, ended := bytes.CutSuffix(removeFrame(index.Key{Namespace: namespace, Name: name}), []byte("\n\n"))
		data, begun := bytes.CutPrefix(text, []byte("event: remove\ndata: "))
		if !begun || !ended || bytes.ContainsAny(data, "\r\n") {
			t.Fatalf("%q is not one event", text)
		}
		got, err := registryapi.DecodeEvent("remove", "1", data)
		if err != nil {
			t.Fatalf("decode %s: %v", data, err)
		}
		if utf8.ValidString(namespace) && utf8.ValidString(name) && (got.Namespace != namespace || got.Name != name) {
			t.Errorf("%s is the event of %q/%q, want %q/%q", data, got.Namespace, got.Name, namespace, name)
		}
	})
}
