// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValuesTable(t *testing.T) {
	got, err := valuesTable([]byte(`# About the file.

image:
  # -- Where it is,
  # in two lines.
  repository: example.com/a
  # -- Its tag.
  tag: ""

# -- All | of them.
resources:
  limits: {memory: 1Mi}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := "| value | default | what it is |\n|---|---|---|\n" +
		"| `image.repository` | `\"example.com/a\"` | Where it is, in two lines. |\n" +
		"| `image.tag` | `\"\"` | Its tag. |\n" +
		"| `resources` | `{\"limits\":{\"memory\":\"1Mi\"}}` | All \\| of them. |"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("valuesTable() (-want +got):\n%s", diff)
	}
}

func TestValuesTableRequiresComments(t *testing.T) {
	_, err := valuesTable([]byte("a:\n  # plain\n  b: 1\n"))
	if err == nil || !strings.Contains(err.Error(), "a.b has no comment") {
		t.Errorf("valuesTable() error = %v, want it to name a.b", err)
	}
}

func TestCRDTemplate(t *testing.T) {
	got, err := crdTemplate(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    generator: v1
  name: agents
spec:
  description: like {{ this }}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := notice + `{{- if .Values.crds.enabled }}
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  labels:
    {{- include "a2a-operator.labels" . | nindent 4 }}
  annotations:
    {{- if .Values.crds.keep }}
    helm.sh/resource-policy: keep
    {{- end }}
    generator: v1
  name: agents
spec:
  description: like {{ "{{" }} this }}
{{- end }}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("crdTemplate() (-want +got):\n%s", diff)
	}
}

func TestRoleTemplate(t *testing.T) {
	got, err := roleTemplate(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: manager
rules:
- nonResourceURLs:
  - /a
  verbs:
  - get
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - list
- apiGroups:
  - ""
  resources:
  - namespaces
  verbs:
  - list
  - watch
- apiGroups:
  - rbac.authorization.k8s.io
  resources:
  - clusterroles
  - roles
  verbs:
  - list
`)
	if err != nil {
		t.Fatal(err)
	}
	want := notice + `{{- define "a2a-operator.clusterRules" }}
- nonResourceURLs:
  - /a
  verbs:
  - get
- apiGroups:
  - ""
  resources:
  - namespaces
  verbs:
  - list
  - watch
- apiGroups:
  - rbac.authorization.k8s.io
  resources:
  - clusterroles
  verbs:
  - list
{{- end }}
{{- define "a2a-operator.namespacedRules" }}
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - list
- apiGroups:
  - rbac.authorization.k8s.io
  resources:
  - roles
  verbs:
  - list
{{- end -}}
` + roles
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roleTemplate() (-want +got):\n%s", diff)
	}
}

func TestRoleTemplateRejectsUnsupportedRoles(t *testing.T) {
	tests := map[string]string{
		"a second object": "---\nkind: ClusterRole\nrules:\n- a\n---\nkind: Role\nrules:\n- b\n",
		"a Role":          "---\nkind: Role\nrules:\n- b\n",
		"no rules":        "---\nkind: ClusterRole\n",
		"an empty rule":   "---\nkind: ClusterRole\nrules:\n- verbs: [get]\n",
		"a flow sequence": "---\nkind: ClusterRole\nrules:\n- resources: [pods, namespaces]\n  verbs: [get]\n",
	}
	for name, role := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := roleTemplate(role); err == nil {
				t.Errorf("roleTemplate() = %q, want an error", got)
			}
		})
	}
}
