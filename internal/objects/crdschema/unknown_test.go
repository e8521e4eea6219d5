// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdschema

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// documentAt returns the JSON of a document with a value at a path such as spec.skills[].visibility.
func documentAt(path, value string) string {
	head, tail := "", ""
	for segment := range strings.SplitSeq(path, ".") {
		name, lists := strings.TrimRight(segment, "[]"), strings.Count(segment, "[]")
		head += `{"` + name + `":` + strings.Repeat("[", lists)
		tail = strings.Repeat("]", lists) + "}" + tail
	}
	return head + value + tail
}

func observeDocument(t *testing.T, crd, document string, unknown ...string) Observed {
	t.Helper()
	agent, skill := &a2av1alpha1.Agent{}, &a2av1alpha1.AgentSkill{}
	into := map[string]any{Agents: agent, AgentSkills: skill}[crd]
	if err := json.Unmarshal([]byte(document), into); err != nil {
		t.Fatalf("decode %s: %v", document, err)
	}
	if crd == Agents {
		return ObserveAgent(agent, 1, unknown)
	}
	return ObserveAgentSkill(skill, 1, unknown)
}

// TestNoUnknownValueIsApplied sets each field that has an enum to a value that it does not have, and to each
// value that it has.
func TestNoUnknownValueIsApplied(t *testing.T) {
	fields := 0
	for _, crd := range []string{Agents, AgentSkills} {
		for _, path := range slices.Sorted(maps.Keys(Own(crd))) {
			enum := Own(crd)[path].Enum
			if enum == nil || !strings.HasPrefix(path, "spec.") {
				continue
			}
			fields++
			want := []string{strings.TrimSuffix(path, "[]") + ` "Unheard"`}
			observed := observeDocument(t, crd, documentAt(path, `"Unheard"`))
			if diff := cmp.Diff(want, observed.Unknown); diff != "" || observed.Trusted() {
				t.Errorf("%s: %s: Unknown (-want +got):\n%s", crd, path, diff)
			}
			reason, message := Untrusted(observed, 1)
			if reason != a2av1alpha1.ReasonSpecNotUnderstood || !strings.Contains(message, want[0]) || !strings.Contains(message, "upgrade the operator") {
				t.Errorf("%s: %s: Untrusted() = %s, %q", crd, path, reason, message)
			}
			for _, value := range enum {
				if observed := observeDocument(t, crd, documentAt(path, `"`+value+`"`)); !observed.Trusted() {
					t.Errorf("%s: %s %q: Unknown = %q", crd, path, value, observed.Unknown)
				}
			}
		}
	}
	t.Logf("%d fields", fields)
	if fields < 30 {
		t.Errorf("%d fields have an enum, want at least 30", fields)
	}
}

func TestSetNewFields(t *testing.T) {
	fields := NewFields{
		"spec.access.authorization[].until": "", "spec.quota": `{"calls":1}`, "spec.quota.calls": "", "spec.quota.unit": `"day"`,
		"spec.tone": `["dry"]`, "spec.workload.seats": "3", "spec.group": "", "spec.group.size": "1",
	}
	tests := map[string]struct {
		spec string
		want []string
	}{
		"none":                        {spec: `{"description":"x","access":{"authorization":[{"action":"Deny"}]}}`},
		"in a list":                   {spec: `{"access":{"authorization":[{},{"until":"noon"},{"until":"one"}]}}`, want: []string{"spec.access.authorization[].until"}},
		"null":                        {spec: `{"quota":null}`},
		"default of an object":        {spec: `{"quota":{"calls":1,"unit":"day"}}`},
		"other member":                {spec: `{"quota":{"calls":1,"unit":"hour"}}`, want: []string{"spec.quota"}},
		"member without a default":    {spec: `{"quota":{"calls":1,"unit":"day","more":1}}`, want: []string{"spec.quota"}},
		"without a defaulted member":  {spec: `{"quota":{"unit":"day"}}`, want: []string{"spec.quota"}},
		"default of a list":           {spec: `{"tone":["dry"]}`},
		"other list":                  {spec: `{"tone":["dry","wry"]}`, want: []string{"spec.tone"}},
		"default number":              {spec: `{"workload":{"seats":3}}`},
		"other number":                {spec: `{"workload":{"seats":0}}`, want: []string{"spec.workload.seats"}},
		"object without a default":    {spec: `{"group":{"size":1}}`, want: []string{"spec.group"}},
		"another field below a field": {spec: `{"access":{"authorization":"until"}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var spec map[string]any
			if err := utiljson.Unmarshal([]byte(test.spec), &spec); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, SetNewFields(spec, fields)); diff != "" {
				t.Errorf("SetNewFields() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewer(t *testing.T) {
	own := Fields{"spec.a": {}, "status.a": {}}
	installed := Fields{"spec.a": {Default: []byte("1")}, "spec.b": {Default: []byte(`"x"`)}, "spec.b.c": {}, "status.b": {}}
	if diff := cmp.Diff(NewFields{"spec.b": `"x"`, "spec.b.c": ""}, Newer(own, installed)); diff != "" {
		t.Errorf("Newer() (-want +got):\n%s", diff)
	}
	if got := Newer(installed, own); got != nil {
		t.Errorf("Newer() = %v for an older CRD", got)
	}
}

// TestLossOfAFieldThatWasUnknown checks that a field which the operator has not understood is not lost in silence,
// also if a newer operator has recorded it, and that a user may remove it.
func TestLossOfAFieldThatWasUnknown(t *testing.T) {
	unknown := observeDocument(t, Agents, `{"spec":{"description":"x"}}`, "spec.quota")
	if unknown.Digest == observeDocument(t, Agents, `{"spec":{"description":"x"}}`).Digest {
		t.Fatal("the digest lacks the unknown field")
	}
	for name, test := range map[string]struct {
		generation, schema int64
		lost               int
	}{
		"dropped by an older CRD":              {generation: 1, schema: 2, lost: 1},
		"dropped by an older CRD, then edited": {generation: 2, schema: 2, lost: 1},
		"removed by a user":                    {generation: 2, schema: 1},
	} {
		agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Generation: test.generation}}
		agent.Spec.Description = "x"
		agent.Status = a2av1alpha1.AgentStatus{ObservedGeneration: 1, ObservedSchemaGeneration: 1, ObservedSpecDigest: unknown.Digest}
		if got := ObserveAgent(agent, test.schema, nil); len(got.Lost) != test.lost {
			t.Errorf("%s: Lost = %q, want %d", name, got.Lost, test.lost)
		}
	}
}

// TestStructThatWasUnknown checks that the mark of a struct, which only an older build writes, stands for its fields.
func TestStructThatWasUnknown(t *testing.T) {
	former := agentSpec().digest(reflect.ValueOf(a2av1alpha1.AgentSpec{}), []string{"spec.networkPolicy"})
	set := &a2av1alpha1.AgentSpec{NetworkPolicy: a2av1alpha1.AgentNetworkPolicy{Management: "None"}}
	if lost := agentSpec().missing(former, AgentDigest(set)); len(lost) > 0 {
		t.Errorf("missing() = %q for a struct with a field", lost)
	}
	if lost := agentSpec().missing(former, AgentDigest(&a2av1alpha1.AgentSpec{})); len(lost) != 1 {
		t.Errorf("missing() = %q for a struct without a field", lost)
	}
}
