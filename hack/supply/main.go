// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command supply describes the modules of the released programs. `licenses` writes docs/reference/licenses.md, and fails
// for a license that is not allowed. `sbom` writes an SBOM for each built program.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// page is the page with the licenses.
const page = "docs/reference/licenses.md"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "supply:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("want licenses or sbom")
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	switch args[0] {
	case "licenses":
		texts := flags.String("texts", "", "also write the full texts, which must be distributed with the programs, to this `file`")
		_ = flags.Parse(args[1:])
		return writeLicenses(*texts)
	case "sbom":
		version := flags.String("version", "", "the `version` of the programs")
		output := flags.String("output", "dist", "the `directory` to write to")
		created := flags.String("created", "", "the `time` of the commit of the programs, in RFC 3339")
		_ = flags.Parse(args[1:])
		date, err := time.Parse(time.RFC3339, *created)
		if err != nil {
			return fmt.Errorf("sbom: read --created: %w", err)
		}
		return writeSBOMs(*version, date, *output, flags.Args())
	default:
		return fmt.Errorf("unknown command %q: want licenses or sbom", args[0])
	}
}

func writeLicenses(texts string) error {
	modules, err := shipped()
	if err != nil {
		return err
	}
	if err := os.WriteFile(page, []byte(licensesPage(modules)), 0o644); err != nil {
		return err
	}
	if texts == "" {
		return nil
	}
	whole, err := licenseTexts(modules)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(texts), 0o755); err != nil {
		return err
	}
	return os.WriteFile(texts, whole, 0o644)
}

func writeSBOMs(version string, created time.Time, output string, programs []string) error {
	if version == "" || len(programs) == 0 {
		return errors.New("sbom: want --version and the programs")
	}
	modules, err := shipped()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(output, 0o755); err != nil {
		return err
	}
	for _, path := range programs {
		built, err := readProgram(path)
		if err != nil {
			return err
		}
		sbom, err := built.sbom(version, created, modules)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		target := filepath.Join(output, filepath.Base(path)+".spdx.json")
		if err := os.WriteFile(target, sbom, 0o644); err != nil {
			return err
		}
		fmt.Println(target)
	}
	return nil
}
