// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mit = `MIT License

Copyright (c) 2020 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

const mozilla = `This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0. If a copy of the MPL was not
distributed with this file, You can obtain one at https://mozilla.org/MPL/2.0/.
`

func TestLicensesOf(t *testing.T) {
	tests := map[string]struct {
		files   map[string]string
		pkg     string
		want    []string
		wantErr string
	}{
		"one":                       {map[string]string{"LICENSE": mit, "a.go": ""}, ".", []string{"MIT"}, ""},
		"a license beside a notice": {map[string]string{"LICENSE": mit, "NOTICE": "By somebody."}, ".", []string{"MIT"}, ""},
		"another spelling":          {map[string]string{"licence.md": mit}, ".", []string{"MIT"}, ""},
		"source of that name":       {map[string]string{"LICENSE": mit, "license.go": "package license"}, ".", []string{"MIT"}, ""},
		"none":                      {map[string]string{"a.go": ""}, ".", nil, "has no license"},
		"a notice alone":            {map[string]string{"NOTICE": "By somebody."}, ".", nil, "has no license"},
		"not allowed":               {map[string]string{"COPYING": mozilla}, ".", nil, "MPL-2.0 is not among the allowed licenses"},
		"unknown":                   {map[string]string{"LICENSE": "Ask me first."}, ".", nil, "only 0 % of it"},
		"a package's own":           {map[string]string{"LICENSE": mit, "forked/LICENSE": mozilla, "forked/a.go": ""}, "forked", nil, "MPL-2.0"},
		"of a package not linked":   {map[string]string{"LICENSE": mit, "forked/LICENSE": mozilla, "b/b.go": ""}, "b", []string{"MIT"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			top := tree(t, test.files)
			files, err := licenseFiles(top, filepath.Join(top, test.pkg))
			if err != nil {
				t.Fatal(err)
			}
			got, err := licensesOf(module{path: "example.com/a", version: "v1.0.0", files: files})
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) || !strings.Contains(err.Error(), "example.com/a") {
					t.Errorf("licensesOf() error = %v, want it to name the module and %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("licensesOf() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCollect checks that collect leaves out modules that no program links.
func TestCollect(t *testing.T) {
	top := tree(t, map[string]string{"go/LICENSE": mit, "a/LICENSE": mit, "a/NOTICE": "x", "tool/LICENSE": mozilla})
	own := &listedModule{Path: "example.com/own", Main: true}
	packages := []listed{
		{ImportPath: "fmt", Standard: true},
		{ImportPath: "example.com/a", Dir: top + "/a", Module: &listedModule{Path: "example.com/a", Version: "v1", Dir: top + "/a"}},
		{ImportPath: "example.com/tool", Dir: top + "/tool", Module: &listedModule{Path: "example.com/tool", Version: "v1", Dir: top + "/tool"}},
		{ImportPath: "example.com/own/part", Module: own},
		{ImportPath: "example.com/own/cmd/one", Name: "main", Module: own, Deps: []string{"fmt", "example.com/a", "example.com/own/part"}},
		{ImportPath: "example.com/own/cmd/two", Name: "main", Module: own, Deps: []string{"fmt"}},
	}
	found := map[string]*module{}
	if err := collect(packages, top+"/go", found); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for path, m := range found {
		got[path] = strings.Join(m.programs, " ") + ": " + strings.ReplaceAll(strings.Join(m.files, " "), top, "")
	}
	want := map[string]string{"std": "one two: /go/LICENSE /go/LICENSE", "example.com/a": "one: /a/LICENSE /a/NOTICE"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("collect() (-want +got):\n%s", diff)
	}
}

func TestLicenseTextsAreDeduplicated(t *testing.T) {
	top := tree(t, map[string]string{"a/LICENSE": mit, "b/LICENSE": mit + "\n", "b/NOTICE": "By somebody."})
	got, err := licenseTexts([]module{
		{path: "example.com/a", version: "v1", files: []string{top + "/a/LICENSE"}},
		{path: "example.com/b", version: "v2", files: []string{top + "/b/LICENSE", top + "/b/NOTICE"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"Permission is hereby granted": 1, "example.com/a v1\nexample.com/b v2\n": 1, "By somebody.": 1} {
		if n := strings.Count(string(got), text); n != want {
			t.Errorf("%q appears %d times, want %d:\n%s", text, n, want, got)
		}
	}
}

// tree writes files to a temporary directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	top := t.TempDir()
	for name, content := range files {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return top
}
