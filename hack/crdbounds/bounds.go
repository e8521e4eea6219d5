// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
)

const (
	// quantity is the subset of the syntax of resource.ParseQuantity with an integer exponent and a bounded
	// number of digits.
	quantity = `^[+-]?([0-9]{1,32}(\.[0-9]{0,32})?|\.[0-9]{1,32})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	// maxPort is the bound of the numbers in an intstr.IntOrString. Each field of this type in a pod template is a port.
	maxPort = 65535
	// maxElements bounds the lists and maps whose schemas have no bound: those in types of Kubernetes. The informer
	// caches of the manager store every Agent. Without bounds, an Agent of a megabyte with a list of {} takes dozens of
	// megabytes in each replica of the manager.
	maxElements = 256
	maxLongList = 1024
)

// longLists are the fields whose lists may have maxLongList elements. Some pods have long lists there. The elements
// are small, or they need so many bytes of YAML that the size of a manifest limits their number.
var longLists = []string{"args", "command", "env", "items", "values"}

// integers are the bounds for integers, by format. The bounds for int64 are the integers that a float64 represents
// exactly, because the API server checks a larger number as a float64, which may have been rounded to the bound.
var integers = map[string]struct{ minimum, maximum float64 }{
	"int32": {math.MinInt32, math.MaxInt32},
	"int64": {-(1<<53 - 1), 1<<53 - 1},
}

// bound adds the bounds that a schema and the schemas below it lack. key is the key that holds the schema.
func bound(key string, s *schema) {
	boundValue(s)
	boundCollection(key, s)
	visitChildren(s, bound)
}

// boundValue adds the bounds of a quantity, a port or an integer.
func boundValue(s *schema) {
	bounds, isInteger := integers[s.Format]
	switch {
	case s.XIntOrString && s.Pattern != "":
		s.Pattern = quantity
	case s.XIntOrString && s.Minimum == nil:
		s.Minimum, s.Maximum = new(0.0), new(float64(maxPort))
	case isInteger:
		if s.Minimum == nil {
			s.Minimum = &bounds.minimum
		}
		if s.Maximum == nil {
			s.Maximum = &bounds.maximum
		}
	}
}

// boundCollection adds maxItems or maxProperties to the schema of a list or map that has none.
func boundCollection(key string, s *schema) {
	if s.Type == "array" && s.MaxItems == nil {
		s.MaxItems = new(int64(maxElements))
		if slices.Contains(longLists, key) {
			s.MaxItems = new(int64(maxLongList))
		}
	}
	if s.AdditionalProperties != nil && s.MaxProperties == nil {
		s.MaxProperties = new(int64(maxElements))
	}
}
