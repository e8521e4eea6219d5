// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// TestAConfigMapOfManySkills edits a ConfigMap with the files of many skills, which many Agents select. The informer handles the ConfigMaps of all
// tenants one after the other, so the handler must list nothing, and the work of the fan-out must not be the product of skills and Agents.
func TestAConfigMapOfManySkills(t *testing.T) {
	const skills, agents = 100, 50
	scheme := runtime.NewScheme()
	if err := a2av1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	lists := 0
	builder := fake.NewClientBuilder().WithScheme(scheme).
		WithIndex(&a2av1alpha1.Agent{}, agentsBySkill, skillKeys).
		WithIndex(&a2av1alpha1.Agent{}, byConfigMap, configMapKeys).
		WithIndex(&a2av1alpha1.AgentSkill{}, byConfigMap, configMapKeys).
		WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			lists++
			return c.List(ctx, list, options...)
		}})
	for i := range skills {
		skill := &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprintf("skill-%d", i)}}
		skill.Spec.Resources = []a2av1alpha1.SkillResource{{ConfigMap: a2av1alpha1.SkillConfigMap{Name: "files"}}}
		builder.WithObjects(skill)
	}
	want := sets.New[string]()
	for i := range agents {
		agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprintf("agent-%d", i)}}
		agent.Spec.SkillSelector = &metav1.LabelSelector{}
		if i%2 == 0 {
			agent.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "skill-1"}}
		}
		want.Insert(agent.Name)
		builder.WithObjects(agent)
	}
	securitypage.Attempts(t, "T-STORM", agents)
	mapping := agentMapping{cache: builder.Build()}
	files := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "files"}}
	handled := mapping.ofConfigMap(t.Context(), files)
	if want := fanOut(kindConfigMap, "team", "files"); lists > 0 || !slices.Equal(handled, want) {
		t.Errorf("the handler lists %d times, and enqueues %v, want %v", lists, handled, want)
	}
	requests := expand(t, mapping, handled)
	got := sets.New[string]()
	for _, each := range requests {
		got.Insert(each.Name)
	}
	if !got.Equal(want) || len(requests) != agents {
		t.Errorf("%d requests for %d Agents, want one for each of %d", len(requests), len(got), agents)
	}
	if most := skills + 3; lists > most {
		t.Errorf("%d lists, want at most %d", lists, most)
	}
}

// expand returns the requests that a controller reconciles after it has reconciled all fan-outs.
func expand(t *testing.T, mapping agentMapping, requests []reconcile.Request) []reconcile.Request {
	t.Helper()
	f := mapping.fanOuts()
	queue := f.newQueue(2)("", workqueue.DefaultTypedItemBasedRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	var reconciled []reconcile.Request
	reconciler := f.reconciler(reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
		reconciled = append(reconciled, r)
		return reconcile.Result{}, nil
	}))
	for _, each := range requests {
		queue.Add(each)
	}
	for queue.Len() > 0 {
		next, _ := queue.Get()
		if _, err := reconciler.Reconcile(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		queue.Done(next)
	}
	return reconciled
}

// TestForgedOwners lets a tenant write owner references with the names of fan-outs. They enqueue nothing.
func TestForgedOwners(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := a2av1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapping := agentMapping{cache: fake.NewClientBuilder().WithScheme(scheme).Build()}
	for _, kind := range append(slices.Collect(maps.Keys(mapping.fanOuts().dependents)), "other") {
		child := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "child", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: a2av1alpha1.GroupVersion.String(), Kind: a2av1alpha1.AgentKind, Name: kind + "/1", Controller: new(true),
		}}}}
		if requests := mapping.ofChild(sameName)(t.Context(), child); len(requests) > 0 {
			t.Errorf("an owner of the kind %s enqueues %v", kind, requests)
		}
	}
	if requests := expand(t, mapping, fanOut("other", "team", "1")); len(requests) > 0 {
		t.Errorf("an unknown fan-out enqueues %v", requests)
	}
}

// TestInventedReferences checks that references to AgentSkills which do not exist take no turns of other namespaces, and that no reference
// has the key of Agents that select skills.
func TestInventedReferences(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := a2av1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	exists := &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: "shared", Name: "quote"}}
	r := &AgentSkillReconciler{client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(exists).Build()}
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "agent"}}
	agent.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{
		{Namespace: "shared", Name: "quote"}, {Namespace: "invented", Name: "x"}, {Namespace: "shared", Name: "*"}, {Name: "namespace/x"},
	}
	var got []reconcile.Request
	for _, each := range r.skillsOfAgent(t.Context(), agent) {
		if each.Namespace != agent.Namespace {
			t.Errorf("%v takes a turn of another namespace", each)
		}
		kind, name, _ := strings.Cut(each.Name, "/")
		if kind != kindReference {
			t.Errorf("the fan-out is %v, want one of a reference", each)
		}
		got = append(got, r.referenced(t.Context(), types.NamespacedName{Namespace: each.Namespace, Name: name})...)
	}
	if want := request("shared", "quote"); !slices.Equal(got, want) {
		t.Errorf("the references enqueue %v, want %v", got, want)
	}
	if keys := skillKeys(agent); slices.Contains(keys, skillKey("shared", anySkill)) {
		t.Errorf("the keys %v contain that of all skills", keys)
	}
}
