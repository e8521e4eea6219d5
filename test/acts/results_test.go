// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// published has the results on docs/reference/conformance.md. hack/conformance reads the file.
var published = filepath.Join("testdata", "results.json")

// results are the results of the suite. It is safe for concurrent use.
type results struct {
	mu sync.Mutex

	// Tests is the number of tests of the suite.
	Tests int `json:"tests"`
	// Rows are the counts of each binding in each pass.
	Rows []*row `json:"rows"`
	// Skipped has the tests that do not run in a pass, by the reason.
	Skipped []*group `json:"skipped"`
	// Failed has the tests of level should or may that fail, with the reason.
	Failed []*group `json:"failed"`
}

// row counts the tests of a binding in a pass.
type row struct {
	Pass    string `json:"pass"`
	Binding string `json:"binding"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"`
}

// group are tests with the same reason.
type group struct {
	Pass   string   `json:"pass"`
	Reason string   `json:"reason"`
	Tests  []string `json:"tests"`
}

// note adds tests to the group with a reason.
func note(all []*group, pass, reason, test string) []*group {
	i := slices.IndexFunc(all, func(g *group) bool { return g.Pass == pass && g.Reason == reason })
	if i < 0 {
		i = len(all)
		all = append(all, &group{Pass: pass, Reason: reason})
	}
	if !slices.Contains(all[i].Tests, test) {
		all[i].Tests = append(all[i].Tests, test)
	}
	return all
}

// compare compares the results with the published ones. With UPDATE_GOLDEN, it writes them.
func (r *results) compare(t *testing.T) {
	t.Helper()
	order := func(name string) int {
		for i := range passes {
			if passes[i].name == name {
				return i
			}
		}
		return len(passes)
	}
	slices.SortStableFunc(r.Rows, func(a, b *row) int { return order(a.Pass) - order(b.Pass) })
	for _, all := range [][]*group{r.Skipped, r.Failed} {
		slices.SortStableFunc(all, func(a, b *group) int {
			if d := order(a.Pass) - order(b.Pass); d != 0 {
				return d
			}
			return strings.Compare(a.Reason, b.Reason)
		})
		for _, g := range all {
			slices.Sort(g.Tests)
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(published, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("results (-published +seen); run make conformance:\n%s", diff)
	}
}
