// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// row matches a class of attacks in docs/explanation/security.md. Its last cell names tests.
	row = regexp.MustCompile(`(?m)^\| (T-[A-Z0-9]+) \|.*\| ([^|]*) \|$`)
	// named matches the tests of one folder.
	named   = regexp.MustCompile("((?:`[^`]+`, )*`[^`]+`) in `([^`]+)`")
	quoted  = regexp.MustCompile("`([^`]+)`")
	printed = regexp.MustCompile(`Logf?\("(T-[A-Z0-9]+)`)
)

// TestSecurityPageNamesItsTests checks that each test on the page exists, and that the
// page has each class of attacks that a test prints.
func TestSecurityPageNamesItsTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/explanation/security.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, found := range row.FindAllStringSubmatch(string(page), -1) {
		class, cell := found[1], found[2]
		listed[class] = true
		groups := named.FindAllStringSubmatch(cell, -1)
		if len(groups) == 0 {
			t.Errorf("%s names no tests", class)
		}
		for _, group := range groups {
			source := tests(t, group[2])
			for _, name := range quoted.FindAllStringSubmatch(group[1], -1) {
				if !strings.Contains(source, "func "+name[1]+"(") && !strings.Contains(source, `"`+name[1]+`"`) {
					t.Errorf("%s: there is no test %q in %s", class, name[1], group[2])
				}
			}
		}
	}
	if len(listed) < 13 {
		t.Errorf("%d classes are listed", len(listed))
	}
	for _, found := range printed.FindAllStringSubmatch(tests(t, "test/security"), -1) {
		if !listed[found[1]] {
			t.Errorf("%s is not listed", found[1])
		}
	}
}

// tests returns the source of a folder's tests.
func tests(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests, %v", folder, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
