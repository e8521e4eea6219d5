// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crdlint checks that the generated CRDs follow the API conventions of
// Kubernetes that controller-gen does not enforce:
//
//   - Every value is bounded, so that CEL rules stay within their cost budget.
//   - Every text of a spec has a pattern or a rule, which refuses control characters.
//   - Every list has a merge strategy for server-side apply.
//   - Numbers are integers.
//   - A status has conditions and no phase.
//   - A rule of the whole object names a field. Otherwise, the API server names the field <nil>.
package crdlint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// foreign maps the paths of fields whose schema comes from Kubernetes to the names of their types.
var foreign = map[string]string{
	".spec.workload.template": "PodTemplateSpec",
	".spec.skillSelector":     "LabelSelector",
	// The API server validates the rules when the operator applies the NetworkPolicy.
	".spec.networkPolicy.egress[]": "NetworkPolicyEgressRule",
	".metadata":                    "ObjectMeta",
}

// Lint returns the violations, as "path: violation".
func Lint(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var found []string
	for _, version := range crd.Spec.Versions {
		l := linter{prefix: crd.Spec.Names.Kind + " " + version.Name}
		l.version(version)
		found = append(found, l.found...)
	}
	return found
}

type linter struct {
	prefix string
	found  []string
}

func (l *linter) report(path, what string) {
	l.found = append(l.found, fmt.Sprintf("%s %s: %s", l.prefix, path, what))
}

func (l *linter) version(version apiextensionsv1.CustomResourceDefinitionVersion) {
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		l.report(".", "has no schema")
		return
	}
	schema := *version.Schema.OpenAPIV3Schema
	status, has := schema.Properties["status"]
	if has {
		l.status(status, version.Subresources)
	}
	for _, rule := range schema.XValidations {
		if rule.FieldPath == "" {
			l.report(".", "has a rule without fieldPath: "+rule.Rule)
		}
	}
	l.schema("", schema)
}

func (l *linter) status(status apiextensionsv1.JSONSchemaProps, subresources *apiextensionsv1.CustomResourceSubresources) {
	if subresources == nil || subresources.Status == nil {
		l.report(".status", "is not a subresource")
	}
	if _, has := status.Properties["phase"]; has {
		l.report(".status.phase", "a phase is deprecated: use conditions")
	}
	conditions, has := status.Properties["conditions"]
	if !has {
		l.report(".status", "has no conditions")
		return
	}
	if conditions.XListType == nil || *conditions.XListType != "map" || !slices.Equal(conditions.XListMapKeys, []string{"type"}) {
		l.report(".status.conditions", "is not a map by type")
	}
}

func (l *linter) schema(path string, s apiextensionsv1.JSONSchemaProps) {
	if _, is := foreign[path]; is {
		return
	}
	if path != "" && s.Description == "" && !isItem(path) {
		l.report(path, "has no description")
	}
	switch s.Type {
	case "string":
		l.text(path, s)
	case "array":
		l.list(path, s)
	case "number":
		l.report(path, "is a float: use an integer, or a string with a pattern")
	case "object":
		l.object(path, s)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		l.schema(path+"."+name, s.Properties[name])
	}
}

func (l *linter) text(path string, s apiextensionsv1.JSONSchemaProps) {
	// The API server validates apiVersion and kind.
	if path == ".apiVersion" || path == ".kind" {
		return
	}
	if s.MaxLength == nil && s.Enum == nil && s.Format == "" {
		l.report(path, "is a string without maxLength, enum or format")
	}
	restricted := s.Enum != nil || s.Format != "" || s.Pattern != "" || slices.ContainsFunc(s.XValidations, func(rule apiextensionsv1.ValidationRule) bool {
		return strings.Contains(rule.Rule, "self.matches(") || strings.Contains(rule.Rule, "isCIDR(self)") || strings.Contains(rule.Rule, ".validate(self)")
	})
	if strings.HasPrefix(path, ".spec") && !restricted {
		l.report(path, "is a text that may have control characters: add a pattern")
	}
}

func (l *linter) list(path string, s apiextensionsv1.JSONSchemaProps) {
	if s.MaxItems == nil {
		// The conditions need no maxItems: there is one for each type, and the operator defines the
		// types.
		if path != ".status.conditions" {
			l.report(path, "is a list without maxItems")
		}
	}
	if s.XListType == nil {
		l.report(path, "is a list without listType")
	}
	if s.Items != nil && s.Items.Schema != nil {
		l.schema(path+"[]", *s.Items.Schema)
	}
}

func (l *linter) object(path string, s apiextensionsv1.JSONSchemaProps) {
	if s.AdditionalProperties == nil || s.AdditionalProperties.Schema == nil {
		return
	}
	if s.MaxProperties == nil {
		l.report(path, "is a map without maxProperties")
	}
	l.schema(path+"{}", *s.AdditionalProperties.Schema)
}

// isItem reports whether path is the element of a list or map, which has no description of its own.
func isItem(path string) bool {
	return path[len(path)-1] == ']' || path[len(path)-1] == '}'
}
