// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const notice = "{{- /* Generated from config/ by `make generate`. */ -}}\n"

// crdTemplate returns a CRD as a template. The values crds.* decide whether the chart installs the
// CRD, and whether Helm keeps it.
func crdTemplate(crd string) (string, error) {
	const annotations = "  annotations:\n"
	head, rest, ok := strings.Cut(escape(strings.TrimPrefix(crd, "---\n")), annotations)
	if !ok || strings.Contains(head, "spec:") {
		return "", errors.New("the CRD has no annotations to add to")
	}
	const keep = `    {{- if .Values.crds.keep }}
    helm.sh/resource-policy: keep
    {{- end }}
`
	const labels = `  labels:
    {{- include "a2a-operator.labels" . | nindent 4 }}
`
	head = strings.Replace(head, "metadata:\n", "metadata:\n"+labels, 1)
	return notice + "{{- if .Values.crds.enabled }}\n" + head + annotations + keep + rest + "{{- end }}\n", nil
}

// clusterScoped are the resources in the manager's role that have no namespace, and Leases, of which another operator
// has its own in a namespace that no one knows before. If such a resource is missing here, a manager that watches only
// some namespaces has no right to it. The tests of the chart detect this mistake.
var clusterScoped = []string{"namespaces", "customresourcedefinitions", "tokenreviews", "subjectaccessreviews", "clusterroles", "clusterrolebindings", "leases"}

// roleTemplate returns a template of the manager's ClusterRole. If the manager watches some namespaces only, the
// rights inside namespaces move to a Role in each of them.
func roleTemplate(role string) (string, error) {
	if n := strings.Count(role, "\nkind: "); n != 1 || !strings.Contains(role, "\nkind: ClusterRole\n") {
		return "", fmt.Errorf("want one ClusterRole, found %d objects", n)
	}
	_, list, ok := strings.Cut(escape(role), "\nrules:\n- ")
	if !ok {
		return "", errors.New("the role has no rules")
	}
	var everywhere, inNamespaces strings.Builder
	for rule := range strings.SplitSeq(strings.TrimSuffix(list, "\n"), "\n- ") {
		ofCluster, ofNamespaces, err := splitRule("- " + rule + "\n")
		if err != nil {
			return "", err
		}
		everywhere.WriteString(ofCluster)
		inNamespaces.WriteString(ofNamespaces)
	}
	return notice +
		"{{- define \"a2a-operator.clusterRules\" }}\n" + everywhere.String() + "{{- end }}\n" +
		"{{- define \"a2a-operator.namespacedRules\" }}\n" + inNamespaces.String() + "{{- end -}}\n" +
		roles, nil
}

const roles = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "a2a-operator.fullname" . }}-manager
  labels:
    {{- include "a2a-operator.labels" . | nindent 4 }}
rules:
{{- include "a2a-operator.clusterRules" . }}
{{- if not .Values.watchNamespaces }}
{{- include "a2a-operator.namespacedRules" . }}
{{- end }}
{{- range .Values.watchNamespaces }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ include "a2a-operator.fullname" $ }}-manager
  namespace: {{ . | quote }}
  labels:
    {{- include "a2a-operator.labels" $ | nindent 4 }}
rules:
{{- include "a2a-operator.namespacedRules" $ }}
{{- end }}
`

// splitRule splits a rule, the text of one list item, into a rule for cluster-scoped resources
// and a rule for namespaced resources. A rule without resources is "".
func splitRule(rule string) (ofCluster, ofNamespaces string, err error) {
	var list []struct {
		NonResourceURLs []string `yaml:"nonResourceURLs"`
		Resources       []string `yaml:"resources"`
	}
	if err := yaml.Unmarshal([]byte(rule), &list); err != nil {
		return "", "", fmt.Errorf("read a rule: %w", err)
	}
	if len(list) != 1 || len(list[0].NonResourceURLs)+len(list[0].Resources) == 0 {
		return "", "", fmt.Errorf("want one rule with resources or URLs, found:\n%s", rule)
	}
	if len(list[0].NonResourceURLs) > 0 {
		return rule, "", nil
	}
	ofCluster, ofNamespaces = rule, rule
	scoped := 0
	for _, resource := range list[0].Resources {
		item := "  - " + resource + "\n"
		if strings.Count(rule, item) != 1 {
			return "", "", fmt.Errorf("want one line for resource %s, found:\n%s", resource, rule)
		}
		if slices.Contains(clusterScoped, resource) {
			scoped++
			ofNamespaces = strings.Replace(ofNamespaces, item, "", 1)
		} else {
			ofCluster = strings.Replace(ofCluster, item, "", 1)
		}
	}
	switch scoped {
	case 0:
		return "", rule, nil
	case len(list[0].Resources):
		return rule, "", nil
	default:
		return ofCluster, ofNamespaces, nil
	}
}

// escape returns a text in which template actions have no effect.
func escape(text string) string {
	return strings.ReplaceAll(text, "{{", `{{ "{{" }}`)
}
