// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/bench/registry/corpus"
)

const (
	// namespaces is the number of namespaces of every cluster.
	namespaces = 1000
	// hiddenNamespaces is the number of namespaces that no restricted user sees.
	hiddenNamespaces = 10
	// skillsEach is the number of skills of an Agent of a large cluster.
	skillsEach = 3
)

func namespaceName(i int) string { return fmt.Sprintf("team-%04d", i) }

func skillID(text int) string { return fmt.Sprintf("skill-%04d", text) }

// agent contains the values from which an Agent and its sidecar configuration are made.
type agent struct {
	number int
	ready  bool
	// edition changes with each change of the card.
	edition int
	texts   []corpus.Agent
	skills  []int
}

// newAgents returns Agents with skills of the corpus. Nine of ten are ready.
func newAgents(count int) ([]agent, error) {
	texts, err := corpus.Agents()
	if err != nil {
		return nil, err
	}
	agents := make([]agent, count)
	for i := range agents {
		agents[i] = agent{number: i, ready: i%10 != 0, texts: texts}
		for _, distance := range []int{0, 1, 7}[:skillsEach] {
			agents[i].skills = append(agents[i].skills, (i+distance)%len(texts))
		}
	}
	return agents, nil
}

// corpusAgents returns one Agent for each agent of the corpus.
func corpusAgents() ([]agent, error) {
	agents, err := newAgents(len(corpus.Languages) * 250)
	for i := range agents {
		agents[i].skills = agents[i].skills[:1]
	}
	return agents, err
}

func (a *agent) name() string      { return fmt.Sprintf("agent-%06d", a.number) }
func (a *agent) namespace() string { return namespaceName(a.number % namespaces) }

func (a *agent) uid() types.UID {
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", a.number))
}

// created is the creation time of all objects.
var created = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

// objects returns the Agent and its ConfigMap, as the operator and the API server store them.
func (a *agent) objects() (*a2av1alpha1.Agent, *corev1.ConfigMap, error) {
	c := a.card()
	url := "http://" + a.name() + "." + a.namespace() + ".svc.cluster.local/"
	meta := metav1.ObjectMeta{Namespace: a.namespace(), Name: a.name(), UID: a.uid(), Generation: 1, CreationTimestamp: created}
	agent := &a2av1alpha1.Agent{
		ObjectMeta: meta,
		Spec: a2av1alpha1.AgentSpec{
			DisplayName: c.Name, Description: c.Description, Version: c.Version,
			Workload: &a2av1alpha1.AgentWorkload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "agent", Image: "registry.example/agents/" + a.name() + ":1.0.0"}},
			}}},
		},
		Status: a2av1alpha1.AgentStatus{URL: url},
	}
	for _, s := range c.Skills {
		agent.Spec.Skills = append(agent.Spec.Skills, a2av1alpha1.Skill{ID: a2av1alpha1.SkillID(s.ID), SkillDetails: a2av1alpha1.SkillDetails{
			Name: s.Name, Description: s.Description, Tags: s.Tags, Examples: s.Examples,
		}})
	}
	agent.Status.Conditions = a.conditions()
	inside := card.NewBase(url)
	text, err := sidecarconfig.Encode(&sidecarconfig.Config{
		Version: sidecarconfig.Version,
		Agent:   sidecarconfig.Agent{Namespace: a.namespace(), Name: a.name()},
		Card:    *c.At(inside), Bases: []card.Base{inside},
		Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents, URL: "http://127.0.0.1:8080/"},
		Access:  sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}},
		Drain:   sidecarconfig.Drain{GracePeriod: sidecarconfig.Duration(30 * time.Second)},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("encode sidecar configuration: %w", err)
	}
	meta.Name = names.ConfigMap(a.name())
	meta.UID = types.UID("1" + string(a.uid())[1:])
	meta.Labels = map[string]string{a2av1alpha1.LabelAgent: a.name(), a2av1alpha1.LabelManagedBy: a2av1alpha1.ManagedBy}
	meta.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: a2av1alpha1.GroupVersion.String(), Kind: a2av1alpha1.AgentKind, Name: a.name(), UID: a.uid(), Controller: new(true),
	}}
	return agent, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{sidecarconfig.FileName: string(text)}}, nil
}

func (a *agent) conditions() []metav1.Condition {
	var conditions []metav1.Condition
	for _, name := range []string{"Accepted", "SkillsResolved", "Programmed", "CardPublished", "Exposed"} {
		conditions = append(conditions, metav1.Condition{
			Type: name, Status: metav1.ConditionTrue, Reason: name, Message: "The operator is done.", ObservedGeneration: 1, LastTransitionTime: created,
		})
	}
	for _, name := range []string{a2av1alpha1.ConditionAvailable, a2av1alpha1.ConditionReady} {
		status, reason := metav1.ConditionTrue, name
		if !a.ready {
			status, reason = metav1.ConditionFalse, "PodsNotReady"
		}
		conditions = append(conditions, metav1.Condition{
			Type: name, Status: status, Reason: reason, Message: "Of 2 pods, some serve.", ObservedGeneration: 1, LastTransitionTime: created,
		})
	}
	return conditions
}

func (a *agent) card() *card.Card {
	first := a.texts[a.skills[0]]
	c := &card.Card{
		Name: first.Name, Description: first.Description, Version: fmt.Sprintf("1.%d.0", a.edition),
		Provider:     &card.Provider{Organization: "Example " + a.namespace(), URL: "https://example.com/"},
		Capabilities: card.Capabilities{Streaming: true},

		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
	}
	for _, text := range a.skills {
		t := a.texts[text]
		c.Skills = append(c.Skills, card.Skill{ID: skillID(text), Name: t.Skill, Description: t.Detail, Tags: t.Tags})
	}
	return c
}

// accessObjects returns the namespaces, and the RBAC objects that let users list Agents.
func accessObjects() []client.Object {
	rules := []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{a2av1alpha1.GroupVersion.Group}, Resources: []string{"agents"}}}
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "viewer"}
	objects := []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Rules: rules},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: everything}, RoleRef: role, Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: everything}},
		},
	}
	for i := range namespaces {
		objects = append(objects, &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: namespaceName(i)},
		})
	}
	for i := range restrictedUsers {
		user := fmt.Sprintf("%s%d", restricted, i)
		for _, namespace := range namespacesOf(user) {
			objects = append(objects, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user}, RoleRef: role, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
			})
		}
	}
	return objects
}
