// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../../.."

func TestBlocksHaveTheirMarkersAndFiles(t *testing.T) {
	const page = "# Page\n\n<!-- no-run: no cluster -->\n```sh\nkubectl get pods\n```\n\nText.\n\n" +
		"<!-- values -->\n\nText.\n\n```yaml\n# agent.yaml\nkind: Agent\n```\n"
	got, err := parse("docs/page.md", page)
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{Page: "docs/page.md", Line: 4, Language: "sh", Text: "kubectl get pods\n", Markers: map[string]string{NoRun: "no cluster"}},
		{Page: "docs/page.md", Line: 14, Language: "yaml", Text: "# agent.yaml\nkind: Agent\n", Markers: map[string]string{}, File: "agent.yaml"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"agent.yaml": "kind: Agent\n"}, Files(got)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestBlocksThatTheTestsCannotReadAreRejected(t *testing.T) {
	for _, page := range []string{"Text:\n\n    indented\n", "```sh\nls\n"} {
		if _, err := parse("page.md", page); err == nil {
			t.Errorf("parse(%q) accepts the page", page)
		}
	}
	for _, b := range []Block{
		{Language: ""},
		{Language: "sh", Markers: map[string]string{NoRun: ""}},
		{Language: "sh", Markers: map[string]string{"norun": "reason"}},
		{Language: "yaml", Markers: map[string]string{NoRun: "reason"}},
		{Language: "sh", Markers: map[string]string{Values: ""}},
		{Language: "sh", Markers: map[string]string{NoRun: "reason", Prints: "text"}},
	} {
		if b.Problems() == nil {
			t.Errorf("Problems() accepts %+v", b)
		}
	}
}

// makeTarget matches a target of make in a command.
var makeTarget = regexp.MustCompile(`(?m)(?:^|&& )make ([a-z][a-z0-9-]*)`)

// TestBlocksOfAllPagesHaveALanguageAndKnownMarkers also checks that the test named by
// run-by mentions the page, and that the targets of make exist.
func TestBlocksOfAllPagesHaveALanguageAndKnownMarkers(t *testing.T) {
	pages, err := Pages(root)
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	targets := makefiles(t)
	shell := 0
	for _, page := range pages {
		all, err := Read(root, page)
		if err != nil {
			t.Error(err)
		}
		for _, b := range all {
			for _, problem := range b.Problems() {
				t.Errorf("%s: %s", b, problem)
			}
			if b.Language != "sh" {
				continue
			}
			shell++
			if folder := b.Markers[RunBy]; folder != "" && !mentions(t, folder, page) {
				t.Errorf("%s: no Go file in %s mentions %s, so no test of it runs the block", b, folder, page)
			}
			for _, found := range makeTarget.FindAllStringSubmatch(b.Text, -1) {
				if !strings.Contains(targets, "\n"+found[1]+":") {
					t.Errorf("%s: there is no target %s", b, found[1])
				}
			}
		}
	}
	if shell < 90 {
		t.Errorf("the pages have %d shell blocks", shell)
	}
}

// mentions reports whether a Go file in a folder contains the path of a page.
func mentions(t *testing.T, folder, page string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"`+page+`"`) {
			return true
		}
	}
	return false
}

func makefiles(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "hack", "make", "*.mk"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	all := "\n"
	for _, file := range append(files, filepath.Join(root, "Makefile")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text) + "\n"
	}
	return all
}
