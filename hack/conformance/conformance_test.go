// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScan(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("b/b_test.go", "func TestWire05_B(t *testing.T) {}\nfunc TestWire05_A(t *testing.T) {}\nfunc TestOther(t *testing.T) {}\n")
	write("a/a_test.go", "func TestWire05_Z(t *testing.T) {}\n// func TestWire05_Comment(\n")
	write("a/a.go", "func TestWire05_NoTest(t *testing.T) {}\n")
	t.Chdir(root)
	got, err := scan(".")
	want := map[int][]test{5: {{"a", "TestWire05_Z"}, {"b", "TestWire05_A"}, {"b", "TestWire05_B"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(test{})); diff != "" || err != nil {
		t.Errorf("scan() (-want +got):\n%s%v", diff, err)
	}
	write("c/c_test.go", "func TestWire99_No(t *testing.T) {}\n")
	if _, err := scan("."); err == nil || !strings.Contains(err.Error(), "TestWire99_No") {
		t.Errorf("scan() error = %v, want one that names the test", err)
	}
}

// TestPageKeepsItsResults checks that a page can be rendered again from its own results,
// so that --check needs no test run.
func TestPageKeepsItsResults(t *testing.T) {
	tests := map[int][]test{5: {{"a", "TestWire05_Z"}, {"b", "TestWire05_A"}, {"b", "TestWire05_B"}}}
	results, err := ran(strings.NewReader(`{"Action":"run","Package":"github.com/a2a-operator/a2a-operator/a","Test":"TestWire05_Z"}
{"Action":"pass","Package":"github.com/a2a-operator/a2a-operator/a","Test":"TestWire05_Z/sub"}
{"Action":"pass","Package":"github.com/a2a-operator/a2a-operator/a","Test":"TestWire05_Z"}
{"Action":"skip","Package":"github.com/a2a-operator/a2a-operator/b","Test":"TestWire05_A"}
`))
	if err != nil {
		t.Fatal(err)
	}
	c := &clients{Operations: []string{"send"}}
	a := &acts{Tests: 2, Rows: []actsRow{{"all", "REST", 1, 0, 1}}, Skipped: []actsGroup{{"all", "no webhook", []string{"X-1"}}}}
	first := render(tests, results, c, a)
	for _, want := range []string{
		"- pass: `TestWire05_Z` in `a`\n", "- skip: `TestWire05_A` in `b`\n", "- not run: `TestWire05_B` in `b`\n",
		"| 3 | not run |\n", "| 0 | no test |\n", "\nNo test.\n", "| all | REST | 1 | 0 | 1 |\n", "| all | X-1 | no webhook |\n",
	} {
		if !strings.Contains(string(first), want) {
			t.Errorf("the page misses %q", want)
		}
	}
	if diff := cmp.Diff(string(first), string(render(tests, published(first), c, a))); diff != "" {
		t.Errorf("rendered again from its own results (-first +again):\n%s", diff)
	}
}
