// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentskill

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The bounds of a schema. The compiler needs time and memory that grow faster than the schema: with
// its depth, with the square of its nodes, and with the length of the pointers to them.
const (
	// MaxDepth bounds how deep the objects and arrays of a schema are nested.
	MaxDepth = 64
	// MaxNodes bounds the values of a schema, of all types.
	MaxNodes = 2000
	// MaxTotalNodes bounds the values of all schemas of an Agent.
	MaxTotalNodes = 10 * MaxNodes
	// maxPaths bounds the sum of the lengths of all pointers in a schema, in bytes. The length of
	// a pointer includes the identifiers ($id) on its path.
	maxPaths = 512 << 10
	// maxNumber bounds the length of a number in bytes. The compiler computes with exact fractions.
	maxNumber = 64
	// maxOtherRefs bounds the different references to places that are not definitions or
	// properties. For each such place, the compiler copies its state and validates again.
	maxOtherRefs = 32
)

// simpleRef matches the references that maxOtherRefs does not count.
var simpleRef = regexp.MustCompile(`^[^#]*(#[^/]*|#(/(\$defs|definitions|properties)/[^/%]*)+)?$`)

// measure returns the number of values of a decoded schema. The error describes the first bound
// that the schema exceeds.
func measure(document any) (int, error) {
	w := &walk{otherRefs: map[string]bool{}}
	if root, ok := document.(map[string]any); ok {
		draft, _ := root["$schema"].(string)
		w.oldDraft = strings.Contains(draft, "draft-0")
	}
	err := w.value(document, 0, 0)
	return w.nodes, err
}

// walk counts the parts of a decoded schema. It visits them in the same order each time, so that the
// error is always the same.
type walk struct {
	nodes int
	paths int
	// otherRefs are the references that maxOtherRefs bounds.
	otherRefs map[string]bool
	// oldDraft is true for a schema of draft 4, 6 or 7, for which $defs is an unknown keyword.
	oldDraft bool
}

// value adds a value at a depth, to which a pointer with a number of bytes leads.
func (w *walk) value(v any, depth, pointer int) error {
	w.nodes++
	w.paths += pointer
	switch {
	case w.nodes > MaxNodes:
		return fmt.Errorf("has more than %d values; make it smaller", MaxNodes)
	case w.paths > maxPaths:
		return fmt.Errorf("has names and identifiers that are too long: the pointers to its values have more than %d bytes in all; shorten them", maxPaths)
	}
	switch v := v.(type) {
	case map[string]any:
		return w.object(v, depth+1, pointer)
	case []any:
		return w.array(v, depth+1, pointer)
	case json.Number:
		return checkNumber(string(v))
	default:
		return nil
	}
}

func (w *walk) object(object map[string]any, depth, pointer int) error {
	if depth > MaxDepth {
		return errTooDeep
	}
	for _, name := range []string{"$id", "id"} {
		if id, ok := object[name].(string); ok {
			pointer += len(id)
		}
	}
	for _, name := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := object[name].(string); ok {
			if err := w.reference(ref); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if err := w.value(object[name], depth, pointer+len("/")+len(name)); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) array(array []any, depth, pointer int) error {
	if depth > MaxDepth {
		return errTooDeep
	}
	for i, each := range array {
		if err := w.value(each, depth, pointer+len("/")+len(strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return nil
}

var errTooDeep = fmt.Errorf("is nested more than %d deep; flatten it, or move parts to $defs", MaxDepth)

func (w *walk) reference(ref string) error {
	if simpleRef.MatchString(ref) && (!w.oldDraft || !strings.Contains(ref, "$defs")) {
		return nil
	}
	w.otherRefs[ref] = true
	if len(w.otherRefs) > maxOtherRefs {
		return fmt.Errorf("refers to more than %d places that are neither definitions nor properties; move them to $defs (definitions in draft 7 and older)", maxOtherRefs)
	}
	return nil
}

// checkNumber returns an error for a number that is long, or that no double holds.
func checkNumber(text string) error {
	_, err := strconv.ParseFloat(text, 64)
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if err != nil || len(text) > maxNumber || len(strings.TrimLeft(exponent, "+-0")) > len("308") {
		return fmt.Errorf("has the number %.20s; use numbers of at most %d characters, and of a size between 1e-308 and 1e308", text, maxNumber)
	}
	return nil
}
