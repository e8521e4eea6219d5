// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEachBrokenRuleIsReported(t *testing.T) {
	const why = "\n\nIt was missing."
	tests := map[string]struct {
		message string
		want    []string // for each violated rule, a part of its text
	}{
		"follows the rules":        {"engine: Retry an append" + why, nil},
		"several areas":            {"store, registry: Read two pages; docs" + why, nil},
		"a path":                   {"test/wire: Pass a deadline" + why, nil},
		"one word":                 {"lint: Regenerate" + why, nil},
		"72 characters":            {"a: Do " + strings.Repeat("ü", 66) + why, nil},
		"verb that ends in -eed":   {"test: Seed the generator" + why, nil},
		"73 characters":            {"a: Do " + strings.Repeat("ü", 67) + why, []string{"73 characters"}},
		"no area":                  {"Retry an append" + why, []string{"area: Do the thing"}},
		"lower case":               {"engine: retry an append" + why, []string{"area: Do the thing"}},
		"a period":                 {"engine: Retry an append." + why, []string{"area: Do the thing"}},
		"fixup":                    {"fixup! engine: Retry" + why, []string{"area: Do the thing"}},
		"past":                     {"engine: Retried an append" + why, []string{`"Retried"`}},
		"gerund":                   {"engine: Retrying an append" + why, []string{`"Retrying"`}},
		"third person":             {"engine: Retries an append" + why, []string{`"Retries"`}},
		"noun":                     {"engine: No retry" + why, []string{`"No"`}},
		"no body":                  {"engine: Retry an append\n", []string{"body is empty"}},
		"a trailer is no body":     {"engine: Retry an append\n\nSigned-off-by: A <a@example.com>\n", []string{"body is empty"}},
		"a body with a trailer":    {"engine: Retry an append" + why + "\n\nSigned-off-by: A <a@example.com>\n", nil},
		"no line between":          {"engine: Retry an append\nIt was missing.", []string{"second line"}},
		"several rules are broken": {"retry", []string{"area: Do the thing", "body is empty"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := check(test.message)
			if len(got) != len(test.want) {
				t.Fatalf("check(%q) = %q, want %d broken rules", test.message, got, len(test.want))
			}
			for i, want := range test.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("check(%q) = %q, want %q in it", test.message, got[i], want)
				}
			}
		})
	}
}

// TestHistoryBeforeTheCheckIsExempt checks a repository without remotes and tags: commits before
// the one that added this program are exempt, and an error names each later commit that breaks a
// rule.
func TestHistoryBeforeTheCheckIsExempt(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	for _, role := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+role+"_NAME", "A")
		t.Setenv("GIT_"+role+"_EMAIL", "a@example.com")
	}
	dir := t.TempDir()
	do := func(args ...string) {
		t.Helper()
		if out, err := git(t.Context(), dir, args...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	commit := func(message string) {
		t.Helper()
		do("commit", "--quiet", "--allow-empty", "--message", message)
	}
	do("init", "--quiet")
	commit("Something old")
	if err := run(t.Context(), dir, nil); err != nil {
		t.Fatalf("run() before the program exists: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(self)), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, self), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	do("add", ".")
	commit("commits: Check messages\n\nThey must obey.")
	commit("engine: Retry an append\n\nIt was missing.")
	if err := run(t.Context(), dir, nil); err != nil {
		t.Fatalf("run() = %v, want nil: what came before the program is exempt", err)
	}
	commit("engine: Retried an append\n\nIt was missing.")
	commit("engine: Append once\n\nIt was done twice.")
	err := run(t.Context(), dir, nil)
	if err == nil {
		t.Fatal("run() = nil for a subject in the past tense")
	}
	out, headErr := git(t.Context(), dir, "rev-parse", "HEAD~1")
	if headErr != nil {
		t.Fatal(headErr)
	}
	want := "commit " + string(out[:12]) + ` (engine: Retried an append): the subject begins with "Retried"`
	if !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "commit ") != 1 {
		t.Errorf("run() = %v, want only %s", err, want)
	}
	if err := run(t.Context(), dir, []string{"HEAD~1..HEAD"}); err != nil {
		t.Errorf("run() of a range that obeys = %v", err)
	}
	if err := run(t.Context(), dir, []string{"HEAD~4..HEAD"}); err == nil {
		t.Error("run() of a range with a bad commit = nil")
	}
}
