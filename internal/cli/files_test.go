// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// TestSafeFilename checks that the name of a saved file never begins with a dot, as hidden files do, or with a hyphen,
// as flags of programs do.
func TestSafeFilename(t *testing.T) {
	long := strings.Repeat("a", maxFilename-len(".bashrc"))
	for sent, want := range map[string]string{
		"report.pdf":                            "report.pdf",
		`..\..//.bashrc`:                        "bashrc",
		"-rf":                                   "rf",
		"...":                                   "file.png",
		strings.Repeat("b", maxFilename) + "cc": strings.Repeat("b", maxFilename-2) + "cc",
		"b.bashrc" + long:                       "bashrc" + long,
		"b-bashrc" + long:                       "bashrc" + long,
		"b" + strings.Repeat(".", maxFilename):  "file.png",
		"\u00e9" + strings.Repeat("a", maxFilename-1): strings.Repeat("a", maxFilename-1),
	} {
		if got := safeFilename(&a2a.Part{Filename: sent, MediaType: "image/png"}); got != want {
			t.Errorf("safeFilename(%q) = %q, want %q", sent, got, want)
		}
	}
}
