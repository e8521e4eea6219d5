// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command changelog makes the notes of a release from the tree. It reads the objects of install.yaml from standard input.
//
//	changelog notes VERSION        prints the section of VERSION in CHANGELOG.md
//	changelog draft VERSION        prints the section that `release` would write, for a dry run
//	changelog release VERSION DAY  moves the unreleased changes of CHANGELOG.md to a section for VERSION
//	changelog objects              prints the objects, which `make released` keeps in hack/changelog/released.txt
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	page = "CHANGELOG.md"
	// restartsFile has the reasons why this release restarts agents, one a line. A test requires them.
	restartsFile = "internal/operator/desired/testdata/released/restarts.txt"
	// releasedFile has the objects of the last release, as `changelog objects` prints them.
	releasedFile = "hack/changelog/released.txt"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "changelog:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 2 && args[0] == "notes" {
		return printNotes(out, args[1])
	}
	if len(args) == 0 {
		return errors.New("want notes, draft, release or objects")
	}
	manifest, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read the objects of install.yaml: %w", err)
	}
	objects, err := objectsOf(manifest)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "objects":
		return printLines(out, objects)
	case len(args) == 2 && args[0] == "draft":
		text, err := draft(objects)
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, text)
		return err
	case len(args) == 3 && args[0] == "release":
		return release(args[1], args[2], objects)
	default:
		return errors.New("want notes VERSION, draft VERSION, release VERSION DAY, or objects")
	}
}

func printNotes(out io.Writer, version string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	_, section, _, err := split(string(text), version)
	if err != nil {
		return fmt.Errorf("%w; run make released VERSION=%s before you tag the release, and commit the result", err, version)
	}
	_, err = io.WriteString(out, section)
	return err
}

// draft returns the unreleased changes with what the tree says of the upgrade.
func draft(objects []string) (string, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return "", err
	}
	_, section, _, err := split(string(text), unreleased)
	if err != nil {
		return "", err
	}
	reasons, err := lines(restartsFile)
	if err != nil {
		return "", err
	}
	released, err := lines(releasedFile)
	if err != nil {
		return "", err
	}
	return section + upgrade(reasons, orphans(released, objects)), nil
}

func release(version, day string, objects []string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, _, after, err := split(string(text), unreleased)
	if err != nil {
		return err
	}
	_, _, _, err = split(string(text), version)
	if err == nil {
		return fmt.Errorf("%s has a section for %s already", page, version)
	}
	section, err := draft(objects)
	if err != nil {
		return err
	}
	changed := before + "## " + unreleased + "\n\nNothing yet.\n\n## " + version + " - " + day + "\n\n" + section
	if after != "" {
		changed += "\n" + after
	}
	return os.WriteFile(page, []byte(changed), 0o644)
}
