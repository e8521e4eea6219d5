// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

// crowdOfSkills are the numbers of what a tenant creates for skills.
type crowdOfSkills struct {
	// skills have instructions of 60 KB. agents refer to 16 of them, and selecting ones select them with the largest selectors.
	skills, agents, selecting int
	// configMaps have 900 KB each, of which the skills take little.
	configMaps int
}

// random returns a text of a number of bytes that no other text shares.
func random(bytes int) string {
	some := make([]byte, bytes*3/4)
	_, _ = rand.Read(some)
	return base64.RawURLEncoding.EncodeToString(some)
}

const (
	refersTo         = 16
	instructionsSize = 60_000
	fileSize         = 900_000
	maxSelector      = 32
)

func (h *hostile) configMap(i int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: fmt.Sprintf("files-%d", i)},
		Data:       map[string]string{"small": "a", "rest": strings.Repeat("x", fileSize)},
	}
}

func (h *hostile) skill(t *testing.T, i int, n crowdOfSkills) *a2av1alpha1.AgentSkill {
	t.Helper()
	skill := &a2av1alpha1.AgentSkill{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: fmt.Sprintf("skill-%d", i), Labels: map[string]string{}, Annotations: map[string]string{"a": fat["a"][:100_000]}},
	}
	for label := range maxSelector {
		skill.Labels[fmt.Sprintf("label-%d", label)] = fmt.Sprintf("value-%d", maxSelector-1)
	}
	text, err := json.Marshal(map[string]any{
		"id": fmt.Sprintf("skill-%d", i), "name": "S", "description": "d", "tags": []string{"t"}, "instructions": random(instructionsSize),
		"resources": []any{map[string]any{"configMap": map[string]any{"name": fmt.Sprintf("files-%d", 1+i%n.configMaps), "items": []any{map[string]any{"key": "small"}}}}},
	})
	if err == nil {
		err = json.Unmarshal(text, &skill.Spec)
	}
	if err != nil {
		t.Error(err)
	}
	return skill
}

// referring returns an Agent that refers to some skills.
func (h *hostile) referring(t *testing.T, i int, n crowdOfSkills) client.Object {
	t.Helper()
	agent := newAgent(t, fmt.Sprintf("referring-%d", i), h.namespace, "d", "", "")
	var refs []any
	for j := range min(refersTo, n.skills) {
		refs = append(refs, map[string]any{"name": fmt.Sprintf("skill-%d", 1+(i*refersTo+j)%n.skills)})
	}
	if err := unstructured.SetNestedSlice(agent.Object, refs, "spec", "skillRefs"); err != nil {
		t.Error(err)
	}
	return agent
}

// selecting returns an Agent with the largest selector, which matches all skills by its last values.
func (h *hostile) selecting(t *testing.T, i int) client.Object {
	t.Helper()
	agent := newAgent(t, fmt.Sprintf("selecting-%d", i), h.namespace, "d", "", "")
	var requirements []any
	for label := range maxSelector {
		var values []any
		for value := range maxSelector {
			values = append(values, fmt.Sprintf("value-%d", value))
		}
		requirements = append(requirements, map[string]any{"key": fmt.Sprintf("label-%d", label), "operator": "In", "values": values})
	}
	if err := unstructured.SetNestedSlice(agent.Object, requirements, "spec", "skillSelector", "matchExpressions"); err != nil {
		t.Error(err)
	}
	return agent
}

// changes patches the ConfigMaps and the labels of the skills again and again, until ctx ends.
func (h *hostile) changes(ctx context.Context, t *testing.T, n crowdOfSkills) {
	t.Helper()
	var group sync.WaitGroup
	edit := func(of int, object func(i int) client.Object, patch string) {
		for range 2 {
			group.Go(func() {
				for ctx.Err() == nil {
					body := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, patch, rand.Text()))
					if err := h.Patch(ctx, object(1+mathrand.N(of)), body); err != nil && ctx.Err() == nil {
						t.Errorf("patch: %v", err)
					}
				}
			})
		}
	}
	edit(n.configMaps, func(i int) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: fmt.Sprintf("files-%d", i)}}
	}, `{"data":{"small":%q}}`)
	edit(n.skills, func(i int) client.Object {
		return &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: fmt.Sprintf("skill-%d", i)}}
	}, `{"metadata":{"labels":{"changed":%q}}}`)
	group.Wait()
}

// TestSkillsOfATenant creates fat AgentSkills with fat files, and Agents that refer to them and select them, and edits them all the time.
func TestSkillsOfATenant(t *testing.T) {
	c := startCluster(t)
	n := crowdOfSkills{skills: 32, agents: 6, selecting: 6, configMaps: 8}
	edits := lasts
	if full {
		n = crowdOfSkills{skills: 2000, agents: 100, selecting: 300, configMaps: 32}
		edits = 2 * time.Minute
	}
	manager := startManager(t, c, c.kubeconfig)
	manager.grows = true
	manager.usual += int64(n.skills)*(instructionsSize+32<<10) + int64(n.agents)*(1<<20)
	bad := newHostile(t, c)
	good := newTenant(t, c)
	attacked := func(what string, happens func(ctx context.Context)) {
		good.forget()
		manager.withstands(t, what, 20*time.Minute, func(ctx context.Context) string {
			good.worksDuring(ctx, t, happens)
			return fmt.Sprintf("%s; peak %d MiB", good, manager.Peak()>>20)
		})
		good.inTime(t, what)
	}
	attacked(fmt.Sprintf("%d AgentSkills of 60 KB with files of %d ConfigMaps of 900 KB, %d Agents", n.skills, n.configMaps, n.agents+n.selecting), func(ctx context.Context) {
		bad.create(ctx, t, "ConfigMaps", n.configMaps, func(i int) client.Object { return bad.configMap(i) })
		bad.create(ctx, t, "AgentSkills", n.skills, func(i int) client.Object { return bad.skill(t, i, n) })
		bad.create(ctx, t, "Agents that refer to skills", n.agents, func(i int) client.Object { return bad.referring(t, i, n) })
		bad.create(ctx, t, "Agents that select skills", n.selecting, func(i int) client.Object { return bad.selecting(t, i) })
	})
	attacked("edits of these ConfigMaps and AgentSkills all the time", func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, edits)
		defer cancel()
		bad.changes(ctx, t, n)
	})
	t.Log(bad.created)
}

// TestCrowdOfObjects creates ConfigMaps that concern no Agent, and events about pods of an Agent that do not start.
func TestCrowdOfObjects(t *testing.T) {
	c := startCluster(t)
	number := 300
	pods := 4
	atMost := time.Minute
	if full {
		number = 10_000
		pods = 40
		atMost = 20 * time.Minute
	}
	manager := startManager(t, c, c.kubeconfig)
	manager.usual += int64(number) * 8 << 10
	bad := newHostile(t, c)
	good := newTenant(t, c)
	agent := newAgent(t, "waits", bad.namespace, "d", "", "")
	if err := bad.Create(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	manager.withstands(t, fmt.Sprintf("%d ConfigMaps and %d Events", number, number), atMost, func(ctx context.Context) string {
		good.worksDuring(ctx, t, func(ctx context.Context) {
			var uids []types.UID
			for i := range pods {
				uids = append(uids, bad.waitingPod(ctx, t, i))
			}
			bad.create(ctx, t, "Events", number, func(i int) client.Object {
				about := corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: bad.namespace, Name: fmt.Sprintf("waits-1-%d", i%pods), UID: uids[i%pods]}
				return &corev1.Event{
					ObjectMeta: metav1.ObjectMeta{Namespace: bad.namespace, Name: fmt.Sprintf("event-%d", i)}, InvolvedObject: about,
					Type: corev1.EventTypeWarning, Reason: "FailedMount", Message: random(1000), LastTimestamp: metav1.Now(),
				}
			})
			bad.create(ctx, t, "ConfigMaps", number, func(i int) client.Object {
				m := &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: bad.namespace, Name: names.ConfigMap(fmt.Sprintf("crowd-%d", i))},
					Data:       map[string]string{"a": random(4000)},
				}
				if i%20 == 0 {
					m.Annotations = fat
				}
				return m
			})
		})
		return fmt.Sprint(bad.created, " ", good)
	})
	good.inTime(t, "with many objects of another tenant")
}

// waitingPod creates a pod of the Agent waits that is scheduled and does not start, and returns its UID.
func (h *hostile) waitingPod(ctx context.Context, t *testing.T, i int) types.UID {
	t.Helper()
	yes := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: h.namespace, Name: fmt.Sprintf("waits-1-%d", i), Labels: names.Labels("waits"),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "waits-1", UID: "00000000-0000-0000-0000-000000000001", Controller: &yes}},
		},
		Spec: corev1.PodSpec{NodeName: "none", Containers: []corev1.Container{{Name: "a", Image: "b"}}},
	}
	err := h.Create(ctx, pod)
	if err == nil {
		pod.Status.Phase = corev1.PodPending
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}
		err = h.Status().Update(ctx, pod)
	}
	if err != nil {
		t.Error(err)
	}
	return pod.UID
}
