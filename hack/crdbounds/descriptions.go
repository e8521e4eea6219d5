// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// kubernetesTypes are the paths of types of Kubernetes in the CRD of Agents.
var kubernetesTypes = [][]string{
	{"spec", "workload", "template"},
	{"spec", "networkPolicy", "egress"},
}

// dropDescriptions removes the descriptions below a path. It keeps the description of the path itself.
//
// The descriptions of a pod template and of egress rules are those of Kubernetes, and would be a half of the CRD. A client-side apply stores the
// whole manifest in an annotation, which may have 262,144 bytes.
func dropDescriptions(s *schema, path []string) {
	if len(path) == 0 {
		visitChildren(s, dropDescription)
		return
	}
	if child, found := s.Properties[path[0]]; found {
		dropDescriptions(&child, path[1:])
		s.Properties[path[0]] = child
	}
}

func dropDescription(_ string, s *schema) {
	s.Description = ""
	visitChildren(s, dropDescription)
}
