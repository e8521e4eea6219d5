// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// link matches a link of a page.
	link = regexp.MustCompile(`\]\(([^)]+)\)`)
	// term matches a name in the first cell of a row.
	term = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// glossaryRow is a row of a table in docs/reference/glossary.md.
type glossaryRow struct{ section, term, definition, where, code string }

func glossary(t *testing.T) []glossaryRow {
	t.Helper()
	var rows []glossaryRow
	section := ""
	for line := range strings.Lines(read(t, "../../docs/reference/glossary.md")) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		if !strings.HasPrefix(line, "| **") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 4 {
			t.Fatalf("docs/reference/glossary.md: %d cells, want 4: %s", len(cells), line)
		}
		rows = append(rows, glossaryRow{
			section, strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3]),
		})
	}
	if len(rows) < 80 {
		t.Fatalf("docs/reference/glossary.md has %d terms", len(rows))
	}
	return rows
}

// TestGlossaryLinksToTheCode checks that the target of each link of docs/reference/glossary.md
// exists, and that the names in the column "in the code" occur there.
func TestGlossaryLinksToTheCode(t *testing.T) {
	for _, row := range glossary(t) {
		var text strings.Builder
		targets := link.FindAllStringSubmatch(row.where, -1)
		if len(targets) == 0 || row.definition == "" {
			t.Errorf("%s: has no link or no definition", row.term)
		}
		for _, found := range targets {
			path, anchor, _ := strings.Cut(found[1], "#")
			path = filepath.Join("../../docs/reference", path)
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: link to %s: %v", row.term, found[1], err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, path)), anchor) {
				t.Errorf("%s: %s has no heading %s", row.term, path, anchor)
			}
			text.WriteString(source(t, path))
		}
		for _, name := range quoted.FindAllStringSubmatch(row.code, -1) {
			if !regexp.MustCompile(`\b` + name[1] + `\b`).MatchString(text.String()) {
				t.Errorf("%s: no linked file contains %s", row.term, name[1])
			}
		}
	}
}

// TestGlossaryHasEachTermOnce checks that no term occurs twice, and that the terms of a
// section are sorted.
func TestGlossaryHasEachTermOnce(t *testing.T) {
	seen := map[string]bool{}
	var former glossaryRow
	for _, row := range glossary(t) {
		name := strings.ToLower(term.FindStringSubmatch(row.term)[1])
		if seen[name] {
			t.Errorf("%s occurs twice", name)
		}
		seen[name] = true
		if key := strings.ToLower(row.term); row.section == former.section && key < strings.ToLower(former.term) {
			t.Errorf("%s must be before %s", row.term, former.term)
		}
		former = row
	}
}

// TestPagesLinkToTheGlossary checks the links to the glossary on the pages for newcomers.
func TestPagesLinkToTheGlossary(t *testing.T) {
	for page, target := range map[string]string{
		"../../README.md": "docs/reference/glossary.md", "../../CONTRIBUTING.md": "docs/reference/glossary.md", "../../docs/explanation/architecture.md": "../reference/glossary.md",
	} {
		if !strings.Contains(read(t, page), "]("+target+")") {
			t.Errorf("%s has no link to %s", page, target)
		}
	}
}

// source returns the text of a file, or of the Go files of a folder.
func source(t *testing.T, path string) string {
	t.Helper()
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return read(t, path)
	}
	files, err := filepath.Glob(filepath.Join(path, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, file := range files {
		text.WriteString(read(t, file))
	}
	return text.String()
}

// anchors returns the anchors of a page's headings.
func anchors(page string) []string {
	var all []string
	for _, found := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		kept := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(found[1]), "")
		all = append(all, strings.ReplaceAll(kept, " ", "-"))
	}
	return all
}
