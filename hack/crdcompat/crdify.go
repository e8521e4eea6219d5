// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed crdify.yaml
var rules []byte

// report is the output of crdify, by version and field.
type report struct {
	CRD    []comparison                       `json:"crdValidation"`
	Same   map[string]map[string][]comparison `json:"sameVersionValidation"`
	Served map[string]map[string][]comparison `json:"servedVersionValidation"`
}

type comparison struct {
	Name   string   `json:"name"`
	Errors []string `json:"errors"`
}

// crdify compares two CRD files with the tool crdify of hack/tools, and returns the incompatible changes.
func crdify(ctx context.Context, before, after string) ([]change, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return nil, err
	}
	config, err := os.CreateTemp("", "crdify-*.yaml")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(config.Name()) }()
	if _, err := config.Write(rules); err != nil {
		return nil, err
	}
	if err := config.Close(); err != nil {
		return nil, err
	}
	files := []string{before, after}
	for i, file := range files {
		if files[i], err = filepath.Abs(file); err != nil {
			return nil, err
		}
	}
	command := exec.CommandContext(ctx, "go", "tool", "-modfile="+filepath.Join(root, "hack", "tools", "go.mod"),
		"crdify", "--config", config.Name(), "--output", "json", "file://"+files[0], "file://"+files[1])
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	// The exit code is 1 both for findings and for failures.
	err = command.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return nil, fmt.Errorf("run crdify: %w", err)
	}
	if stdout.Len() == 0 && err == nil {
		return nil, nil
	}
	var r report
	if decoding := json.Unmarshal(stdout.Bytes(), &r); decoding != nil {
		return nil, fmt.Errorf("run crdify: %w\n%s%s", cmp.Or(err, decoding), stdout.String(), stderr.String())
	}
	return r.changes(), nil
}

func (r report) changes() []change {
	var all []change
	add := func(version, field string, comparisons []comparison) {
		for _, c := range comparisons {
			if len(c.Errors) > 0 {
				all = append(all, change{Version: version, Field: field, Change: c.Name, detail: strings.Join(c.Errors, "\n")})
			}
		}
	}
	add("", "", r.CRD)
	for _, byVersion := range []map[string]map[string][]comparison{r.Same, r.Served} {
		for version, fields := range byVersion {
			for field, comparisons := range fields {
				add(version, strings.TrimPrefix(field, "^"), comparisons)
			}
		}
	}
	slices.SortFunc(all, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Change, b.Change))
	})
	return all
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find this module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
