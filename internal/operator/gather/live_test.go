// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
)

// liveReader returns a client of an API server that has one object of a kind.
func liveReader(t *testing.T, kind string, object client.Object) client.Reader {
	t.Helper()
	version := metav1.TypeMeta{APIVersion: a2av1alpha1.GroupVersion.String(), Kind: kind}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any
		switch {
		case strings.Contains(r.URL.Path, "/namespaces/"):
			list := version
			list.Kind += "List"
			object.GetObjectKind().SetGroupVersionKind(version.GroupVersionKind())
			answer = struct {
				metav1.TypeMeta `json:",inline"`

				Items []client.Object `json:"items"`
			}{list, []client.Object{object}}
		default:
			answer = metav1.APIResourceList{GroupVersion: version.APIVersion, APIResources: []metav1.APIResource{
				{Name: strings.ToLower(kind) + "s", Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"list"}},
			}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	scheme := runtime.NewScheme()
	if err := a2av1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	live, err := client.New(&rest.Config{Host: server.URL, WrapTransport: pagedlist.Bound}, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// TestLargeObjectsAreReadFresh has an Agent and an AgentSkill of more than 512 KiB: the annotation of kubectl apply has the spec once more.
func TestLargeObjectsAreReadFresh(t *testing.T) {
	meta := metav1.ObjectMeta{
		Namespace: "team", Name: "echo", UID: "u1", Generation: 1,
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("\n", 200<<10)},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"` + strings.Repeat("f", 200<<10) + `":{}}`)}},
	}
	t.Run("Agent", func(t *testing.T) {
		agent := &a2av1alpha1.Agent{ObjectMeta: meta, Spec: a2av1alpha1.AgentSpec{DisplayName: "Echo"}}
		lacking := &a2av1alpha1.Agent{ObjectMeta: meta, Status: a2av1alpha1.AgentStatus{ObservedSpecDigest: crdschema.AgentDigest(&agent.Spec)}}
		g := &Gatherer{Live: liveReader(t, a2av1alpha1.AgentKind, agent)}
		fresh, err := g.Fresh(t.Context(), lacking)
		if err != nil || fresh.Spec.DisplayName != "Echo" || len(fresh.ManagedFields) > 0 {
			t.Errorf("Fresh() = %v, %v", fresh != nil, err)
		}
		lacking.UID = "u0"
		if fresh, err = g.Fresh(t.Context(), lacking); err != nil || fresh != lacking {
			t.Errorf("Fresh() of a deleted Agent: %v", err)
		}
		g.NewFields = NewNewFields(testclock.NewFakePassiveClock(time.Now()))
		agent.UID = "u1"
		fields, err := g.newFields(t.Context(), a2av1alpha1.AgentKind, agent, crdschema.NewFields{"spec.displayName": ""}, 1)
		if err != nil || !slices.Equal(fields, []string{"spec.displayName"}) {
			t.Errorf("newFields() = %v, %v", fields, err)
		}
	})
	t.Run("AgentSkill", func(t *testing.T) {
		skill := &a2av1alpha1.AgentSkill{ObjectMeta: meta, Spec: a2av1alpha1.AgentSkillSpec{ID: "sums"}}
		lacking := &a2av1alpha1.AgentSkill{ObjectMeta: meta, Status: a2av1alpha1.AgentSkillStatus{ObservedSpecDigest: crdschema.AgentSkillDigest(&skill.Spec)}}
		g := &Gatherer{Live: liveReader(t, "AgentSkill", skill)}
		fresh, err := g.FreshSkill(t.Context(), lacking)
		if err != nil || fresh.Spec.ID != "sums" {
			t.Errorf("FreshSkill() = %v, %v", fresh != nil, err)
		}
	})
}
