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

// TestArchitecturePageNamesEveryPackage checks that docs/explanation/architecture.md names each
// folder, by its path or its name, and no folder that does not exist.
func TestArchitecturePageNamesEveryPackage(t *testing.T) {
	page := read(t, "../../docs/explanation/architecture.md")
	named := map[string]bool{}
	for _, found := range regexp.MustCompile("`([a-z0-9/-]+)`").FindAllStringSubmatch(page, -1) {
		named[found[1]] = true
		if strings.HasPrefix(found[1], "internal/") || strings.HasPrefix(found[1], "hack/") {
			if _, err := os.Stat(filepath.Join("../..", found[1])); err != nil {
				t.Errorf("docs/explanation/architecture.md names %s: %v", found[1], err)
			}
		}
	}
	for _, root := range []string{"api", "cmd", "controllers", "hack", "internal"} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(folder string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if entry.Name() == "testdata" || entry.Name() == "applyconfiguration" || root == "hack" && strings.Count(filepath.ToSlash(folder), "/") > 3 {
				return filepath.SkipDir
			}
			inside := strings.TrimPrefix(filepath.ToSlash(folder), "../../")
			if !named[inside] && !named[path.Base(inside)] && hasCode(t, folder) {
				t.Errorf("docs/explanation/architecture.md does not name %s", inside)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// hasCode reports whether a folder has Go files besides tests.
func hasCode(t *testing.T, folder string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool { return !strings.HasSuffix(file, "_test.go") })
}
