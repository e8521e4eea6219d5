// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// released is a CRD with one field for each kind of change.
const released = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}, scale: {specReplicasPath: .spec.n, statusReplicasPath: .status.n}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                n: {type: integer}
                removed: {type: string}
                retyped: {type: string}
                narrowed: {type: string, maxLength: 64}
                value: {type: string, enum: [A, B]}
                text: {type: string, pattern: "^[a-z]*$"}
                defaulted: {type: string, default: a}
                list: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}
                described: {type: string, description: What it is.}
    - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`

// TestCompare tests each kind of incompatible change, and some compatible changes.
func TestCompare(t *testing.T) {
	edits := strings.NewReplacer(
		"removed: {type: string}", "added: {type: string}",
		"retyped: {type: string}", "retyped: {type: integer}",
		"maxLength: 64", "maxLength: 63",
		"[A, B]", "[A, C]",
		"[a-z]*", "[a-y]*",
		"default: a", "default: b",
		"atomic", "set",
		"What it is.", "Something else.",
		", scale: {specReplicasPath: .spec.n, statusReplicasPath: .status.n}", "",
		"            spec:\n              type: object\n", `            spec:
              type: object
              required: [n]
              x-kubernetes-validations: [{rule: "has(self.n)", message: n is missing}]
`,
		"v1alpha1, served: true", "v1alpha1, served: false",
	)
	before, after := write(t, released), write(t, edits.Replace(released))
	changes, err := compare(t.Context(), before, after)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, strings.Join(strings.Fields(fmt.Sprint(c.Version, " ", c.Field, " ", c.Change)), " "))
	}
	slices.Sort(got)
	want := []string{
		"existingFieldRemoval",
		"v1 .spec required",
		"v1 .spec unhandled",
		"v1 .spec.defaulted default",
		"v1 .spec.list unhandled",
		"v1 .spec.narrowed maxLength",
		"v1 .spec.removed type",
		"v1 .spec.retyped type",
		"v1 .spec.text unhandled",
		"v1 .spec.value enum",
		"v1 scaleRemoved",
		"v1alpha1 versionRemoved",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestCompareAcceptsEqualCRDs(t *testing.T) {
	changes, err := compare(t.Context(), write(t, released), write(t, strings.Replace(released, "[A, B]", "[A, B, C]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) > 0 {
		t.Errorf("%v, want nothing", changes)
	}
}

func TestCompareReportsARemovedCRD(t *testing.T) {
	changes, err := compare(t.Context(), write(t, released), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]change{{CRD: "things.example.com", Change: "removed"}}, changes, cmp.AllowUnexported(change{})); diff != "" {
		t.Error(diff)
	}
}

func TestAccepted(t *testing.T) {
	done := change{CRD: "things.example.com", Version: "v1", Field: ".spec.text", Change: "unhandled", detail: "text"}
	known := done
	known.detail = ""
	other := known
	other.Field = ".spec.list"
	tests := map[string]struct {
		accepted exceptions
		changes  []change
		want     int
	}{
		"nothing":          {},
		"not accepted":     {changes: []change{done}, want: 1},
		"accepted":         {accepted: exceptions{{known, "ratchets"}}, changes: []change{done}},
		"without a reason": {accepted: exceptions{{known, ""}}, changes: []change{done}, want: 1},
		"of another field": {accepted: exceptions{{other, "ratchets"}}, changes: []change{done}, want: 2},
		"without a change": {accepted: exceptions{{known, "ratchets"}}, want: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.accepted.judge(test.changes); len(got) != test.want {
				t.Errorf("complaints: %q, want %d", got, test.want)
			}
		})
	}
}

// write makes a directory with a CRD.
func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "example.com_things.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
