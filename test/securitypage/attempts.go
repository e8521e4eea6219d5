// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package securitypage compares the numbers on the page docs/explanation/security.md with what the tests on it do.
package securitypage

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// number matches a number of attempts, such as 3,900.
var number = regexp.MustCompile(`\d[\d,]*`)

// Attempts fails the test if the row of its class on the page that names the test has another number of attempts than made. A row may have
// the numbers of several tests.
func Attempts(tb testing.TB, class string, made int) {
	tb.Helper()
	page, err := read()
	if err != nil {
		tb.Fatal(err)
	}
	name, _, _ := strings.Cut(tb.Name(), "/")
	for line := range strings.Lines(page) {
		cells := strings.Split(line, " | ")
		if len(cells) != 5 || cells[0] != "| "+class || !strings.Contains(cells[4], "`"+name+"`") {
			continue
		}
		listed := number.FindAllString(cells[2], -1)
		if !slices.ContainsFunc(listed, func(n string) bool { return strings.ReplaceAll(n, ",", "") == strconv.Itoa(made) }) {
			tb.Errorf("the test makes %d attempts; correct the row %s of %s in docs/explanation/security.md, which says %q", made, class, name, cells[2])
		}
		return
	}
	tb.Errorf("docs/explanation/security.md has no row %s that names %s", class, name)
}

// read returns the page of the module in which the test runs.
func read() (string, error) {
	dir := "."
	for range 10 {
		page, err := os.ReadFile(filepath.Join(dir, "docs", "explanation", "security.md"))
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return string(page), err
		}
		dir = filepath.Join(dir, "..")
	}
	return "", errors.New("docs/explanation/security.md is in no parent folder of the test")
}
