// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testOnPage   = regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z][A-Za-z0-9_]+)`")
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)[A-Z][A-Za-z0-9_]+)\(`)
)

// TestPagesNameExistingTests checks that each test that a page names exists.
func TestPagesNameExistingTests(t *testing.T) {
	exists := map[string]bool{}
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == "bin" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(file, "_test.go") && !entry.IsDir() {
			for _, found := range testFunction.FindAllStringSubmatch(read(t, file), -1) {
				exists[found[1]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range pages(t) {
		for _, found := range testOnPage.FindAllStringSubmatch(read(t, filepath.Join("../..", page)), -1) {
			named++
			if !exists[found[1]] {
				t.Errorf("%s names the test %s, which does not exist", page, found[1])
			}
		}
	}
	if named < 60 {
		t.Errorf("the pages name %d tests", named)
	}
}
