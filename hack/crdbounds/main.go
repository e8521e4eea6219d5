// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crdbounds narrows what controller-gen lets through in the generated
// CRDs, in place.
//
// A pod template holds quantities and ports whose generated schema admits
// values that the Go types cannot decode: "1e1.5" is an error, 99999999999 does
// not fit, and "1e-999999999" takes hours. One such object would stop the
// watch of every Agent in the cluster, so the API server must refuse it. It also
// removes the defaults inside lists, see dropListDefaults.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	intOrString = "x-kubernetes-int-or-string: true"
	patternKey  = "pattern: "
	// quantity is a subset of what resource.ParseQuantity reads: a whole
	// exponent, and a bounded number of digits.
	quantity = `^[+-]?([0-9]{1,32}(\.[0-9]{0,32})?|\.[0-9]{1,32})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	// maxPort bounds a number in an intstr.IntOrString, which is a port
	// wherever a pod template has one.
	maxPort = 65535
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "crdbounds:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no CRD in %s", dir)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(dropListDefaults(bound(string(content)))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bound rewrites the schemas of a CRD, line by line so that the rest stays as
// controller-gen wrote it. The keys of a schema are sorted, so a pattern
// stands right before the mark of an int-or-string.
func bound(crd string) string {
	lines := strings.Split(crd, "\n")
	for i := 1; i < len(lines); i++ {
		indent, found := strings.CutSuffix(lines[i], intOrString)
		if !found {
			continue
		}
		last := strings.TrimSpace(lines[i-1])
		switch {
		case strings.HasPrefix(last, patternKey):
			lines[i-1] = indent + patternKey + quantity
		case !strings.HasPrefix(last, "minimum: "):
			lines = slices.Insert(lines, i, fmt.Sprintf("%smaximum: %d", indent, maxPort), indent+"minimum: 0")
			i += 2
		}
	}
	return strings.Join(lines, "\n")
}
