// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestArchitecturePageNamesEveryPackage checks that docs/explanation/architecture.md names each
// folder, by its path or its name, and no folder that does not exist.
func TestArchitecturePageNamesEveryPackage(t *testing.T) {
	page := read(t, "../../docs/explanation/architecture.md")
	named := map[string]bool{}
	for _, found := range regexp.MustCompile("`([a-z0-9/]+)`").FindAllStringSubmatch(page, -1) {
		named[found[1]] = true
		if strings.HasPrefix(found[1], "internal/") || strings.HasPrefix(found[1], "hack/") {
			if _, err := os.Stat(filepath.Join("../..", found[1])); err != nil {
				t.Errorf("docs/explanation/architecture.md names %s: %v", found[1], err)
			}
		}
	}
	for _, pattern := range []string{"internal/*", "internal/a2a/*", "internal/a2a/backend/*", "internal/a2a/codec/*", "hack/*"} {
		folders, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(folders) == 0 {
			t.Fatalf("%s has no folders, %v", pattern, err)
		}
		for _, folder := range folders {
			info, err := os.Stat(folder)
			if err != nil {
				t.Fatal(err)
			}
			inside := strings.TrimPrefix(filepath.ToSlash(folder), "../../")
			if info.IsDir() && !strings.HasSuffix(inside, "test") && !named[inside] && !named[path.Base(inside)] {
				t.Errorf("docs/explanation/architecture.md does not name %s", inside)
			}
		}
	}
}
