// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crdbounds narrows the CRDs that controller-gen wrote, in place.
//
// A pod template has quantities and ports whose generated schema allows values that the Go types cannot
// decode: "1e1.5" is an error, 99999999999 overflows, and "1e-999999999" takes hours. One such object would stop
// the watch of every Agent in the cluster, so the API server must refuse it. The API server of Kubernetes 1.33 does
// not check the formats int32 and int64, so integers have bounds, too. The command also bounds lists and maps, see
// boundCollections, and removes the defaults inside lists, see dropListDefaults.
package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	intOrString = "x-kubernetes-int-or-string: true"
	patternKey  = "pattern: "
	// quantity is the subset of the syntax of resource.ParseQuantity with an integer exponent and a bounded
	// number of digits.
	quantity = `^[+-]?([0-9]{1,32}(\.[0-9]{0,32})?|\.[0-9]{1,32})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	// maxPort is the bound of the numbers in an intstr.IntOrString. Each field of this type in a pod template is a port.
	maxPort = 65535
)

// integers are the bounds for integers, by format. The bounds for int64 are the integers that a float64 represents
// exactly, because the API server checks a larger number as a float64, which may have been rounded to the bound.
var integers = map[string]struct{ minimum, maximum int64 }{
	"format: int32": {math.MinInt32, math.MaxInt32},
	"format: int64": {-(1<<53 - 1), 1<<53 - 1},
}

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
		if err := os.WriteFile(path, []byte(boundCollections(dropListDefaults(boundIntegers(bound(string(content)))))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bound adds bounds to the schemas of quantities and ports in a CRD. It edits lines, so that all other lines stay as
// controller-gen wrote them. The keys of a schema are sorted, so a pattern directly precedes x-kubernetes-int-or-string.
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

// boundIntegers adds the bounds that the schemas of integers lack. The keys of a schema are sorted: format, maximum,
// minimum.
func boundIntegers(crd string) string {
	lines := strings.Split(crd, "\n")
	var bounded []string
	for i := 0; i < len(lines); i++ {
		bounded = append(bounded, lines[i])
		bounds, found := integers[strings.TrimSpace(lines[i])]
		if !found {
			continue
		}
		indent, _, _ := strings.Cut(lines[i], "format:")
		for _, bound := range []struct {
			key   string
			value int64
		}{{"maximum: ", bounds.maximum}, {"minimum: ", bounds.minimum}} {
			if i+1 < len(lines) && strings.HasPrefix(lines[i+1], indent+bound.key) {
				i++
				bounded = append(bounded, lines[i])
				continue
			}
			bounded = append(bounded, fmt.Sprintf("%s%s%d", indent, bound.key, bound.value))
		}
	}
	return strings.Join(bounded, "\n")
}
