// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package blocks reads the fenced code blocks of the pages, with the markers that tell
// the tests how to treat them.
//
// A marker is a comment on the line before the block, and a block may have several:
//
//	<!-- no-run: REASON -->     test/docs/execute does not run the block
//	<!-- run-by: FOLDER -->     a test of that folder runs it; the test names the page
//	<!-- serves: PORT -->       the block runs until the test ends it, and must listen on PORT
//	<!-- prints: TEXT -->       the output of the block must contain TEXT
//	<!-- until: TEXT -->        the block runs until its output contains TEXT, and then gets Ctrl-C
//	<!-- values -->             the YAML has values of the chart
//	<!-- no-apply: REASON -->   the YAML is not sent to the API server
//
// A shell block without a marker is run by test/docs/execute, and a YAML block without
// one is sent to an API server.
package blocks

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Names of markers.
const (
	NoRun   = "no-run"
	RunBy   = "run-by"
	Serves  = "serves"
	Prints  = "prints"
	Until   = "until"
	Values  = "values"
	NoApply = "no-apply"
)

// Block is a fenced code block of a page.
type Block struct {
	// Page is the slash-separated path of the page from the root of the repository.
	Page string
	// Line is the number of the line with the opening fence. The first line is 1.
	Line int
	// Language is the first word after the fence, or "".
	Language string
	// Text contains the lines between the fences, without the indentation of the fence.
	Text string
	// Markers maps the names of markers to their texts.
	Markers map[string]string
	// File is the name in the first line, such as "# agent.yaml", or "".
	File string
}

// String returns the page and line.
func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Marked reports whether the block has a marker.
func (b Block) Marked(name string) bool {
	_, ok := b.Markers[name]
	return ok
}

var (
	marker   = regexp.MustCompile(`^ *<!-- ([a-z-]+)(?:: (.+?))? -->$`)
	fence    = regexp.MustCompile("^( *)```+([a-z]*)")
	fileName = regexp.MustCompile(`^(?://|#) ([A-Za-z0-9_.-]+\.[a-z]+|Dockerfile)\n`)
)

// Pages returns README.md, CONTRIBUTING.md and the pages of docs/, below the root of the
// repository.
func Pages(root string) ([]string, error) {
	all := []string{"README.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Ext(file) == ".md" {
			all = append(all, file)
		}
		return err
	})
	return all, err
}

// Read returns the blocks of a page. It fails for a fence that is not closed, and for a
// code block that is indented, because it has no language.
func Read(root, page string) ([]Block, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	return parse(page, string(text))
}

func parse(page, text string) ([]Block, error) {
	var found []Block
	var open *Block
	var body strings.Builder
	markers := map[string]string{}
	before, indent := "", ""
	number := 0
	for line := range strings.Lines(text) {
		number++
		plain := strings.TrimRight(line, "\n")
		start := fence.FindStringSubmatch(plain)
		switch {
		case open != nil && start != nil:
			open.Text = body.String()
			if name := fileName.FindStringSubmatch(open.Text); name != nil {
				open.File = name[1]
			}
			found, open = append(found, *open), nil
		case open != nil:
			body.WriteString(strings.TrimPrefix(line, indent))
		case start != nil:
			open = &Block{Page: page, Line: number, Language: start[2], Markers: markers}
			indent, markers = start[1], map[string]string{}
			body.Reset()
		case marker.MatchString(plain):
			m := marker.FindStringSubmatch(plain)
			markers[m[1]] = m[2]
		default:
			if strings.HasPrefix(plain, "    ") && before == "" {
				return nil, fmt.Errorf("%s:%d: an indented code block has no language: fence it", page, number)
			}
			clear(markers)
		}
		before = plain
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block is not closed", open)
	}
	return found, nil
}

// Files returns the texts of the blocks that name a file, by the name of the file.
func Files(all []Block) map[string]string {
	files := map[string]string{}
	for _, b := range all {
		if b.File != "" {
			_, files[b.File], _ = strings.Cut(b.Text, "\n")
		}
	}
	return files
}

// Problems returns a text for each mistake in the markers of a block.
func (b Block) Problems() []string {
	var all []string
	languages := []string{"sh", "yaml", "json", "text", "http", "go", "python", "javascript", "dockerfile", "promql", "mermaid"}
	if !slices.Contains(languages, b.Language) {
		all = append(all, fmt.Sprintf("%q is not one of the languages %s", b.Language, strings.Join(languages, ", ")))
	}
	for name, text := range b.Markers {
		switch name {
		case NoRun, RunBy, Serves, Prints, Until, NoApply:
			if text == "" {
				all = append(all, "the marker "+name+" has no text")
			}
		case Values:
		default:
			all = append(all, "there is no marker "+name)
		}
		if shell := name != Values && name != NoApply; shell != (b.Language == "sh") {
			all = append(all, "a block of "+b.Language+" cannot have the marker "+name)
		}
	}
	if b.Marked(Until) && !b.Marked(RunBy) {
		all = append(all, "until needs run-by: only the end-to-end tests know it")
	}
	if b.Marked(NoRun) && len(b.Markers) > 1 {
		all = append(all, "no-run excludes other markers")
	}
	return all
}
