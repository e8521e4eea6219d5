// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command conformance writes docs/reference/conformance.md: the requirements on the wire
// protocol, the tests that check them, and the operations that the official clients
// can do.
//
// It finds the tests in the source by their names, TestWire05_..., and reads their
// results from standard input, in the format of `go test -json`. With --check it
// writes nothing and fails if the page does not list the existing tests, the matrix of
// the interop suite, and the results of ACTS.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	page   = "docs/reference/conformance.md"
	matrix = "test/interop/testdata/matrix.json"
	suite  = "test/acts/testdata/results.json"
)

func main() {
	check := flag.Bool("check", false, "fail if the page does not list the existing tests")
	packages := flag.Bool("packages", false, "print the packages that contain such tests")
	flag.Parse()
	if err := run(*check, *packages); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(check, packages bool) error {
	tests, err := scan(".")
	if err != nil {
		return err
	}
	if packages {
		fmt.Println(strings.Join(folders(tests), "\n"))
		return nil
	}
	former, err := os.ReadFile(page)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read page: %w", err)
	}
	results := published(former)
	if !check {
		if results, err = ran(os.Stdin); err != nil {
			return err
		}
	}
	clients, err := readMatrix(matrix)
	if err != nil {
		return err
	}
	found, err := readACTS(suite)
	if err != nil {
		return err
	}
	now := render(tests, results, clients, found)
	if !check {
		return os.WriteFile(page, now, 0o644)
	}
	if string(now) != string(former) {
		return errors.New(page + " is out of date: run make conformance")
	}
	for _, l := range lines {
		if len(tests[l.number]) == 0 {
			return fmt.Errorf("line %d has no test: write TestWire%02d_..., or give the reason in hack/conformance", l.number, l.number)
		}
	}
	return nil
}

// test is a test function.
type test struct{ folder, name string }

var function = regexp.MustCompile(`(?m)^func (TestWire(\d\d)_\w+)\(`)

// scan returns the tests of each line, sorted by folder and name.
func scan(root string) (map[int][]test, error) {
	found := map[int][]test{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "bin" || strings.HasPrefix(entry.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range function.FindAllSubmatch(text, -1) {
			number, _ := strconv.Atoi(string(match[2]))
			found[number] = append(found[number], test{filepath.ToSlash(filepath.Dir(path)), string(match[1])})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find tests: %w", err)
	}
	known := map[int]bool{}
	for _, l := range lines {
		known[l.number] = true
	}
	for number, tests := range found {
		if !known[number] {
			return nil, fmt.Errorf("%s in %s: no line has this number", tests[0].name, tests[0].folder)
		}
		slices.SortFunc(tests, func(a, b test) int {
			return strings.Compare(a.folder+"\x00"+a.name, b.folder+"\x00"+b.name)
		})
	}
	return found, nil
}

func folders(tests map[int][]test) []string {
	all := map[string]bool{}
	for _, of := range tests {
		for _, t := range of {
			all["./"+t.folder] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// ran reads the results of a run from the output of `go test -json`.
func ran(in io.Reader) (map[test]string, error) {
	const module = "github.com/a2a-operator/a2a-operator/"
	results := map[test]string{}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var event struct {
			Action  string `json:"Action"`
			Package string `json:"Package"`
			Test    string `json:"Test"`
		}
		if err := json.Unmarshal(scanner.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("read `go test -json`: %w", err)
		}
		if strings.Contains(event.Test, "/") {
			continue
		}
		switch event.Action {
		case "pass", "fail", "skip":
			results[test{strings.TrimPrefix(event.Package, module), event.Test}] = event.Action
		}
	}
	return results, scanner.Err()
}

var listed = regexp.MustCompile("(?m)^- (pass|fail|skip|not run): `(TestWire\\d\\d_\\w+)` in `([^`]+)`$")

// published returns the results on the page.
func published(page []byte) map[test]string {
	results := map[test]string{}
	for _, match := range listed.FindAllSubmatch(page, -1) {
		results[test{string(match[3]), string(match[2])}] = string(match[1])
	}
	return results
}
