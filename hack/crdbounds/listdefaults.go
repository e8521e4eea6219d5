// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "slices"

// protocolKey is a merge key of container ports. Authors of manifests usually omit it.
const protocolKey = "protocol"

// dropListDefaults removes the defaults inside the elements of lists. inElement reports whether the schema is inside
// an element. keys are the merge keys of the list if the schema is that of its elements.
//
// Client-side kubectl apply sends a JSON merge patch, which contains a whole list if one element differs from
// the cluster. If the API server has added a default to an element, each apply of an unchanged file reports
// "configured". The code that reads such a field applies the default.
//
// In a list with merge keys, each key must be required or have a default. The list of container ports becomes
// atomic, because authors omit the key protocol. The other keys are names, which authors always write, so their
// defaults stay.
func dropListDefaults(s *schema, inElement bool, keys []string) {
	if slices.Contains(s.XListMapKeys, protocolKey) && s.Items.Schema.Properties[protocolKey].Default != nil {
		s.XListMapKeys, s.XListType = nil, new("atomic")
	}
	visitChildren(s, func(key string, child *schema) {
		within := inElement || s.Items != nil
		if within && !slices.Contains(keys, key) {
			child.Default = nil
		}
		dropListDefaults(child, within, s.XListMapKeys)
	})
}
