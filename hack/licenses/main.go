// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command licenses writes docs/reference/licenses.md, the list of the modules that the released programs link, and fails for a license
// that is not allowed.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// page is the page with the licenses.
const page = "docs/reference/licenses.md"

func main() {
	texts := flag.String("texts", "", "also write the full texts, which must be distributed with the programs, to this `file`")
	flag.Parse()
	if err := run(*texts); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(texts string) error {
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
