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
	// link is a link of a page, with its target.
	link = regexp.MustCompile(`\]\(([^)]+)\)`)
	// term is one of the names in the first cell of a row.
	term = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// glossaryRow is a line of a table in docs/glossary.md.
type glossaryRow struct{ section, term, definition, where, code string }

func glossary(t *testing.T) []glossaryRow {
	t.Helper()
	var rows []glossaryRow
	section := ""
	for line := range strings.Lines(read(t, "../../docs/glossary.md")) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		if !strings.HasPrefix(line, "| **") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 4 {
			t.Fatalf("docs/glossary.md: %d cells, want 4: %s", len(cells), line)
		}
		rows = append(rows, glossaryRow{
			section, strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3]),
		})
	}
	if len(rows) < 80 {
		t.Fatalf("docs/glossary.md has %d terms", len(rows))
	}
	return rows
}

// TestGlossaryLeadsToTheCode holds that each link of docs/glossary.md leads to a
// file or folder of the tree, and that each name that the code is said to use
// occurs there.
func TestGlossaryLeadsToTheCode(t *testing.T) {
	for _, row := range glossary(t) {
		var text strings.Builder
		targets := link.FindAllStringSubmatch(row.where, -1)
		if len(targets) == 0 || row.definition == "" {
			t.Errorf("%s: has no link or no definition", row.term)
		}
		for _, found := range targets {
			path, anchor, _ := strings.Cut(found[1], "#")
			path = filepath.Join("../../docs", path)
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: leads to %s: %v", row.term, found[1], err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, path)), anchor) {
				t.Errorf("%s: %s has no heading %s", row.term, path, anchor)
			}
			text.WriteString(source(t, path))
		}
		for _, name := range quoted.FindAllStringSubmatch(row.code, -1) {
			if !regexp.MustCompile(`\b` + name[1] + `\b`).MatchString(text.String()) {
				t.Errorf("%s: the code where it leads does not use %s", row.term, name[1])
			}
		}
	}
}

// TestGlossaryHasEachTermOnce holds that no term stands twice, and that those of
// a section are in the order of the alphabet.
func TestGlossaryHasEachTermOnce(t *testing.T) {
	seen := map[string]bool{}
	var former glossaryRow
	for _, row := range glossary(t) {
		name := strings.ToLower(term.FindStringSubmatch(row.term)[1])
		if seen[name] {
			t.Errorf("%s stands twice", name)
		}
		seen[name] = true
		if key := strings.ToLower(row.term); row.section == former.section && key < strings.ToLower(former.term) {
			t.Errorf("%s stands behind %s", row.term, former.term)
		}
		former = row
	}
}

// TestPagesLeadToTheGlossary holds that those who read the tree first find it.
func TestPagesLeadToTheGlossary(t *testing.T) {
	for page, target := range map[string]string{
		"../../README.md": "docs/glossary.md", "../../CONTRIBUTING.md": "docs/glossary.md", "../../docs/architecture.md": "glossary.md",
	} {
		if !strings.Contains(read(t, page), "]("+target+")") {
			t.Errorf("%s has no link to %s", page, target)
		}
	}
}

// source returns the text of a file, or that of the Go files of a folder.
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
