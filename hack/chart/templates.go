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

// crdTemplate puts a CRD behind the chart's crds values.
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

// clusterScoped are the resources of the manager's role that are in no
// namespace. One that is missing here is granted by no ClusterRole once the
// manager is to watch some namespaces only, which its tests notice.
var clusterScoped = []string{"namespaces", "customresourcedefinitions", "tokenreviews", "subjectaccessreviews"}

// roleTemplate makes of the manager's ClusterRole one that has the release's
// name, and that leaves the rights in namespaces to a Role in each of those
// that are watched, unless all are.
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
		rule = "- " + rule + "\n"
		ofCluster, err := isClusterScoped(rule)
		switch {
		case err != nil:
			return "", err
		case ofCluster:
			everywhere.WriteString(rule)
		default:
			inNamespaces.WriteString(rule)
		}
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

// isClusterScoped tells of one rule, as an item of a list, whether it is about
// what is in no namespace.
func isClusterScoped(rule string) (bool, error) {
	var list []struct {
		NonResourceURLs []string `yaml:"nonResourceURLs"`
		Resources       []string `yaml:"resources"`
	}
	if err := yaml.Unmarshal([]byte(rule), &list); err != nil {
		return false, fmt.Errorf("read a rule: %w", err)
	}
	if len(list) != 1 || len(list[0].NonResourceURLs)+len(list[0].Resources) == 0 {
		return false, fmt.Errorf("this is not one rule about something:\n%s", rule)
	}
	if len(list[0].NonResourceURLs) > 0 {
		return true, nil
	}
	n := 0
	for _, resource := range list[0].Resources {
		if slices.Contains(clusterScoped, resource) {
			n++
		}
	}
	if n != 0 && n != len(list[0].Resources) {
		return false, fmt.Errorf("resources of the cluster and of namespaces have the same verbs, and so are one rule:\n%s", rule)
	}
	return n > 0, nil
}

// escape keeps text that looks like a template action as it is.
func escape(text string) string {
	return strings.ReplaceAll(text, "{{", `{{ "{{" }}`)
}
