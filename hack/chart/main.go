// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command chart writes the generated files of the Helm chart: the templates of the CRDs and of the manager's
// role, from the output of controller-gen in config/, and the README, from the comments in values.yaml.
//
// It works on text, so that a template differs from its source only in the lines that it adds.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const chart = "charts/a2a-operator"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run() error {
	if err := writeCRDs("config/crd/bases", filepath.Join(chart, "templates/crds")); err != nil {
		return err
	}
	err := rewrite("config/rbac/role.yaml", filepath.Join(chart, "templates/rbac/manager-role.yaml"), roleTemplate)
	if err != nil {
		return err
	}
	return writeReadme()
}

// writeCRDs writes one template for each CRD of source into target, and removes all other files there.
func writeCRDs(source, target string) error {
	crds, err := filepath.Glob(filepath.Join(source, "*.yaml"))
	if err != nil {
		return err
	}
	if len(crds) == 0 {
		return fmt.Errorf("no CRD in %s: run `make generate`", source)
	}
	stale, err := filepath.Glob(filepath.Join(target, "*.yaml"))
	if err != nil {
		return err
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for _, path := range crds {
		if err := rewrite(path, filepath.Join(target, filepath.Base(path)), crdTemplate); err != nil {
			return err
		}
	}
	return nil
}

func writeReadme() error {
	values, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return err
	}
	table, err := valuesTable(values)
	if err != nil {
		return fmt.Errorf("%s/values.yaml: %w", chart, err)
	}
	return rewrite(filepath.Join(chart, "README.md.tmpl"), filepath.Join(chart, "README.md"),
		func(text string) (string, error) {
			const mark = "{{ values }}"
			if strings.Count(text, mark) != 1 {
				return "", fmt.Errorf("want exactly one %q", mark)
			}
			return strings.Replace(text, mark, table, 1), nil
		})
}

// rewrite applies change to the text of source and writes the result to target.
func rewrite(source, target string, change func(string) (string, error)) error {
	in, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	out, err := change(string(in))
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if old, err := os.ReadFile(target); err == nil && bytes.Equal(old, []byte(out)) {
		return nil
	}
	return os.WriteFile(target, []byte(out), 0o644)
}
