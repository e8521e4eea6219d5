// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A tag of an action can move to other code, a commit cannot.
func TestWorkflowsPinActionsByCommit(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found workflows %v, error = %v", files, err)
	}
	pinned := regexp.MustCompile(`^- uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v[0-9.]+$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if strings.Contains(line, "uses: ") && !pinned.MatchString("- "+strings.TrimPrefix(line, "- ")) {
				t.Errorf("%s: %q, want a commit and the version in a comment", filepath.Base(file), line)
			}
		}
		if !regexp.MustCompile(`(?m)^permissions:`).Match(text) {
			t.Errorf("%s does not limit the permissions of its token", filepath.Base(file))
		}
	}
}

// Make pastes the version into shell commands.
func TestTheReleaseChecksItsTagBeforeACommandUsesIt(t *testing.T) {
	text, err := os.ReadFile("../../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	check, use := strings.Index(string(text), "[[ $TAG =~ ^v"), strings.Index(string(text), `VERSION="$TAG"`)
	if check < 0 || use < check {
		t.Errorf("the tag is checked at %d and used at %d", check, use)
	}
}
