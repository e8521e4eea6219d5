// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// isLabel accepts the texts that the API server accepts as the name of a namespace, and no others.
func FuzzLabelsAreThoseOfKubernetes(f *testing.F) {
	for _, text := range []string{"", "a", "0", "-", "a-", "-a", "a-b", "a--b", "A", "a_b", "a.b", "é", "a\n", strings.Repeat("a", maxLabel), strings.Repeat("a", maxLabel+1)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := isLabel(text), len(validation.IsDNS1123Label(text)) == 0; got != want {
			t.Errorf("isLabel(%q) = %t, want %t", text, got, want)
		}
	})
}
