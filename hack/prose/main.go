// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command prose checks the words of this repository by the style in
// hack/prose/styles: pages, comments of source files, and the texts that hack/usertext
// lists. It prints one finding on a line, sorted by place. It fails if there is one in a
// page or a user-visible text; a finding in a comment is a warning.
//
//	prose [PATH...]   checks these files and folders, or all
//
// It runs Vale, which parses Markdown itself. Vale applies rules about sentences to
// text only, so prose passes comments and texts to it as paragraphs. Run it at the
// top of the repository. It needs a C compiler to build Vale.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	found, err := run(context.Background(), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	failed := false
	for _, f := range found {
		fmt.Println(f)
		failed = failed || !f.warning
	}
	if failed {
		os.Exit(1)
	}
}

// notOurs matches files whose words other projects or programs choose: generated
// code, licenses and test data.
var notOurs = regexp.MustCompile(`(^|/)(zz_generated|testdata/)|^api/v1alpha1/applyconfiguration/|^docs/reference/licenses\.md$`)

func run(ctx context.Context, paths []string) ([]finding, error) {
	listed, err := output(ctx, "git", append([]string{"ls-files", "--cached", "--others", "--exclude-standard", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	var pages []string
	var texts []paragraph
	checked := map[string]bool{}
	for file := range strings.FieldsSeq(string(listed)) {
		if _, err := os.Stat(file); err != nil || notOurs.MatchString(file) {
			continue // a missing file is deleted and not committed yet
		}
		checked[file] = true
		if filepath.Ext(file) == ".md" {
			pages = append(pages, file)
			continue
		}
		comments, err := commentsIn(file)
		if err != nil {
			return nil, err
		}
		for _, p := range comments {
			p.comment = true
			texts = append(texts, p)
		}
	}
	userTexts, err := output(ctx, "go", "run", "./hack/usertext")
	if err != nil {
		return nil, err
	}
	for _, p := range parseUserTexts(string(userTexts)) {
		if checked[p.file] {
			texts = append(texts, p)
		}
	}
	if len(checked) == 0 {
		return nil, fmt.Errorf("no file in %s", strings.Join(paths, " "))
	}
	return vale(ctx, pages, texts)
}

// hashFile matches shell scripts, Makefiles, Dockerfiles, YAML and Python files.
var hashFile = regexp.MustCompile(`\.(sh|mk|ya?ml|py)$|(^|/)(Makefile|Dockerfile|run)$`)

// commentsIn returns the paragraphs in the comments of a file, none for a file of an
// unknown type.
func commentsIn(file string) ([]paragraph, error) {
	switch {
	case filepath.Ext(file) == ".go":
		return commentsOf(file, nil)
	case hashFile.MatchString(file):
		text, err := os.ReadFile(file)
		return hashCommentsOf(file, string(text)), err
	default:
		return nil, nil
	}
}

// userText matches a line of hack/usertext.
var userText = regexp.MustCompile(`(?m)^(\S+):(\d+): (.+)$`)

// parseUserTexts returns the texts in the output of hack/usertext.
func parseUserTexts(printed string) []paragraph {
	var texts []paragraph
	for _, found := range userText.FindAllStringSubmatch(printed, -1) {
		line, _ := strconv.Atoi(found[2])
		p := paragraph{file: found[1]}
		p.add(found[3], line)
		texts = append(texts, p)
	}
	return texts
}

func output(ctx context.Context, name string, arguments ...string) ([]byte, error) {
	var out, failure bytes.Buffer
	command := exec.CommandContext(ctx, name, arguments...)
	command.Stdout, command.Stderr = &out, &failure
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(arguments[:min(3, len(arguments))], " "), err, failure.String())
	}
	return out.Bytes(), nil
}

// environment returns the environment for Vale: with a C compiler, and without the
// variables that name another configuration.
func environment() []string {
	inherited := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "VALE_") })
	// Vale uses its C code only to parse source code, which prose never passes to it. Without
	// optimization, the C code compiles in half of the time.
	return append(inherited, "CGO_ENABLED=1", "CGO_CFLAGS=-O0 -w")
}
