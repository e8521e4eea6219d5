// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the SPDX identifiers of the licenses of code that may be linked: licenses that require only attribution.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// known is the percentage of a license file that must match the text of a license. The rest is the copyright
// notice.
const known = 75

var (
	licenseName = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)([._-].*)?$`)
	noticeName  = regexp.MustCompile(`(?i)^notice([._-].*)?$`)
	sourceName  = regexp.MustCompile(`\.(go|s|c|h|py|sh)$`)
)

// licenseFiles returns the license and notice files of a package: in its directory and in the parent directories, up to
// the directory of its module.
func licenseFiles(top, dir string) ([]string, error) {
	var files []string
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			name := entry.Name()
			if entry.Type().IsRegular() && !sourceName.MatchString(name) && (licenseName.MatchString(name) || noticeName.MatchString(name)) {
				files = append(files, filepath.Join(dir, name))
			}
		}
		if dir == top {
			return files, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return nil, fmt.Errorf("%s is not below %s", dir, top)
		}
		dir = above
	}
}

// licensesOf returns the licenses of a module, or an error for a license that is not allowed.
func licensesOf(m module) ([]string, error) {
	var ids []string
	var errs []error
	for _, file := range m.files {
		if !licenseName.MatchString(filepath.Base(file)) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := identify(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("module %s: %s: %w", m.path, file, err))
		}
		ids = append(ids, found...)
	}
	if len(ids) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("module %s %s has no license", m.path, m.version))
	}
	slices.Sort(ids)
	return slices.Compact(ids), errors.Join(errs...)
}

// identify returns the licenses of a text.
func identify(text []byte) ([]string, error) {
	coverage := licensecheck.Scan(text)
	if coverage.Percent < known {
		return nil, fmt.Errorf("only %.0f %% of it is the text of a known license", coverage.Percent)
	}
	var ids []string
	for _, match := range coverage.Match {
		if match.IsURL {
			continue
		}
		if !slices.Contains(allowed, match.ID) {
			return nil, fmt.Errorf("%s is not among the allowed licenses: %s", match.ID, strings.Join(allowed, ", "))
		}
		ids = append(ids, match.ID)
	}
	return ids, nil
}

// licensesPage returns the page with the list of modules.
func licensesPage(modules []module) string {
	var out strings.Builder
	out.WriteString("# Licenses\n\n" +
		"What others wrote and is linked into the shipped programs, on each platform of a release. Generated from the code by\n" +
		"`make generate`, which fails for a license that is not one of: " + strings.Join(allowed, ", ") + ".\n" +
		"`make licenses` puts the whole texts into one file, to be passed on with the programs.\n\n" +
		"| module | version | license | in |\n|---|---|---|---|\n")
	for _, m := range modules {
		name := "`" + m.path + "`"
		if m.path == standardLibrary {
			name = "the standard library of Go"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", name, m.version, strings.Join(m.licenses, ", "), strings.Join(m.programs, ", "))
	}
	return out.String()
}

// licenseTexts returns the full texts, which must be distributed with a program. A text of several modules
// appears once.
func licenseTexts(modules []module) ([]byte, error) {
	users := map[string][]string{}
	var order []string
	for _, m := range modules {
		for _, file := range m.files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			key := string(bytes.TrimSpace(text))
			if users[key] == nil {
				order = append(order, key)
			}
			users[key] = append(users[key], strings.TrimSpace(m.path+" "+m.version))
		}
	}
	var out bytes.Buffer
	for _, text := range order {
		line := strings.Repeat("=", 80)
		fmt.Fprintf(&out, "%s\n%s\n%s\n\n%s\n\n", line, strings.Join(slices.Compact(users[text]), "\n"), line, text)
	}
	return out.Bytes(), nil
}
