// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages returns README.md, CONTRIBUTING.md, SECURITY.md and the pages of docs/ and examples/, by their
// slash-separated paths from the root of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "charts/a2a-operator/README.md"}
	for _, folder := range []string{"docs", "examples"} {
		err := fs.WalkDir(os.DirFS("../.."), folder, func(file string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && path.Ext(file) == ".md" {
				all = append(all, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 60 {
		t.Fatalf("%d pages", len(all))
	}
	return all
}

// TestIndexListsEveryPage checks that docs/README.md links each page of the five kinds.
func TestIndexListsEveryPage(t *testing.T) {
	listed := map[string]int{}
	for _, found := range link.FindAllStringSubmatch(read(t, "../../docs/README.md"), -1) {
		listed["docs/"+found[1]]++
	}
	for _, page := range pages(t) {
		folder := path.Dir(page)
		if !strings.HasPrefix(folder, "docs/") || folder == "docs/adr" || folder == "docs/runbooks" {
			continue // each of these two kinds has its own index
		}
		if !slices.Contains([]string{"docs/tutorials", "docs/how-to", "docs/troubleshooting", "docs/reference", "docs/explanation"}, folder) {
			t.Errorf("%s is in none of the folders tutorials, how-to, troubleshooting, reference and explanation", page)
		}
		if listed[page] == 0 {
			t.Errorf("docs/README.md does not list %s", page)
		}
	}
}

// TestLinksLeadToPages checks that the file of each relative link exists and has the heading of its
// anchor.
func TestLinksLeadToPages(t *testing.T) {
	for _, page := range pages(t) {
		if page == "docs/reference/api-reference.md" {
			continue // generated: it has other anchors, and patterns that look like links
		}
		for _, found := range link.FindAllStringSubmatch(withoutCode(read(t, filepath.Join("../..", page))), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file := page
			if target != "" {
				file = path.Join(path.Dir(page), target)
			}
			if _, err := os.Stat(filepath.Join("../..", file)); err != nil {
				t.Errorf("%s links to %s: %v", page, found[1], err)
				continue
			}
			if anchor != "" && path.Ext(file) == ".md" && !slices.Contains(anchors(read(t, filepath.Join("../..", file))), anchor) {
				t.Errorf("%s links to %s: there is no such heading", page, found[1])
			}
		}
	}
}

// withoutCode returns a page without its fenced blocks and its code spans.
func withoutCode(page string) string {
	var kept strings.Builder
	fenced := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		for i, part := range strings.Split(line, "`") {
			if i%2 == 0 {
				kept.WriteString(part)
			}
		}
	}
	return kept.String()
}

// published matches the version of a release on a page: in an image, a chart, a download or an archive.
var published = regexp.MustCompile(`ghcr\.io/a2a-operator/[a-z-]+:v([0-9][0-9a-z.-]*)|a2a-operator --version ([0-9][0-9a-z.-]*)|releases/download/v([0-9][0-9a-z.-]*)/|kubectl-a2a_v([0-9][0-9a-z.-]*)_`)

// TestPagesNameTheVersionOfTheChart checks that each install command and published image has
// the version in charts/a2a-operator/Chart.yaml.
func TestPagesNameTheVersionOfTheChart(t *testing.T) {
	want := regexp.MustCompile(`(?m)^version: (\S+)$`).FindStringSubmatch(read(t, "../../charts/a2a-operator/Chart.yaml"))[1]
	named := 0
	for _, page := range pages(t) {
		for _, found := range published.FindAllStringSubmatch(read(t, filepath.Join("../..", page)), -1) {
			named++
			if got := strings.Join(found[1:], ""); got != want {
				t.Errorf("%s: %s has the version %s, want that of the chart, %s", page, found[0], got, want)
			}
		}
	}
	if named < 8 {
		t.Errorf("the pages name a version %d times", named)
	}
}

var (
	// pagePath matches the path of a page, with the address of the repository if it is there.
	pagePath = regexp.MustCompile(`(https://github\.com/a2a-operator/a2a-operator/blob/main/)?(docs/(?:tutorials|how-to|troubleshooting|reference|explanation|runbooks)/[A-Za-z0-9_-]+\.md)`)
	// comment matches a comment of Go.
	comment = regexp.MustCompile(`(^|\s)//.*`)
)

// TestTextsOfProgramsNamePagesByTheirAddress checks that no string of a program names a page by a path of this
// repository, which its users do not have, and that each address leads to a page.
func TestTextsOfProgramsNamePagesByTheirAddress(t *testing.T) {
	named := 0
	for _, root := range []string{"cmd", "controllers", "internal", "api"} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
				return err
			}
			for line := range strings.Lines(read(t, file)) {
				for _, found := range pagePath.FindAllStringSubmatch(comment.ReplaceAllString(line, ""), -1) {
					named++
					if found[1] == "" {
						t.Errorf("%s names %s by its path: name the address in the repository", file, found[2])
					}
					if _, err := os.Stat(filepath.Join("../..", found[2])); err != nil {
						t.Errorf("%s names a page that does not exist: %v", file, err)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if named < 8 {
		t.Errorf("the programs name %d pages", named)
	}
}
