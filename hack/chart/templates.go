// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
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

// roleTemplate gives the manager's ClusterRole the release's name.
func roleTemplate(role string) (string, error) {
	if n := strings.Count(role, "\nkind: "); n != 1 || !strings.Contains(role, "\nkind: ClusterRole\n") {
		return "", fmt.Errorf("want one ClusterRole, found %d objects; a namespaced Role has no template yet", n)
	}
	_, rules, ok := strings.Cut(escape(role), "\nrules:\n")
	if !ok {
		return "", errors.New("the role has no rules")
	}
	const head = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "a2a-operator.fullname" . }}-manager
  labels:
    {{- include "a2a-operator.labels" . | nindent 4 }}
rules:
`
	return notice + head + rules, nil
}

// escape keeps text that looks like a template action as it is.
func escape(text string) string {
	return strings.ReplaceAll(text, "{{", `{{ "{{" }}`)
}
