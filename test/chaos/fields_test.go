// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// sequence is the number of changes in a row before the objects are created again.
const sequence = 8

// outcome counts the results of changes.
type outcome struct {
	accepted, rejected, reported, compared atomic.Int32
}

// TestFieldsChange is the campaign "fields" of docs/explanation/reliability.md: it gives every
// field many values in a row. The API server rejects a value that the schema does not allow. Any
// other value is rejected, accepted, or reported as a user error that does not change the running
// objects and ends with its correction. The objects after a sequence of changes equal the objects
// of new resources with the same specs.
func TestFieldsChange(t *testing.T) {
	changes := allChanges(t)
	if !full {
		changes = slices.DeleteFunc(changes, func(c change) bool { return deep(c.path) })
	}
	rand.New(rand.NewPCG(seed(), 2)).Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	if !full {
		changes = changes[:5*sequence]
	}
	var got outcome
	t.Run("parallel sequences", func(t *testing.T) {
		t.Run("remote Agents", func(t *testing.T) {
			t.Parallel()
			changeRemote(t, &got)
		})
		for lane := range 5 {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				var own []change
				for i := lane; i < len(changes); i += 5 {
					own = append(own, changes[i])
				}
				b := newBench(t, fmt.Sprintf("chaos-fields-%d", lane))
				sequences := slices.Collect(slices.Chunk(own, sequence))
				for i, group := range sequences {
					b.changes(group, &got)
					t.Logf("%d of %d sequences", i+1, len(sequences))
				}
			})
		}
	})
	t.Logf("%d changes: %d rejected by the API server, %d reported and reverted, %d accepted; %d sequences compared with new objects",
		got.rejected.Load()+got.reported.Load()+got.accepted.Load(), got.rejected.Load(), got.reported.Load(), got.accepted.Load(), got.compared.Load())
}

// TestModelServersChange changes a container to the URL of a model server and back. With a container, the sidecar is an
// init container. With a URL, the pod has no other container, so the sidecar is a regular one.
func TestModelServersChange(t *testing.T) {
	agent := subject{kind: "agent", schema: specSchema(t, filepath.Join(root, "config", "crd", "bases", agentsCRD)), object: func(u *user) client.Object { return u.agent() }}
	var got outcome
	b := newBench(t, "chaos-fields-model")
	b.changes(modelServers(agent), &got)
	if got.rejected.Load() != 2 || got.accepted.Load() != 6 || got.reported.Load() != 0 {
		t.Errorf("%d rejected, %d accepted, %d reported; want 2, 6, 0", got.rejected.Load(), got.accepted.Load(), got.reported.Load())
	}
}

// TestModelFieldsChange is the part of the campaign "fields" for agents without code.
func TestModelFieldsChange(t *testing.T) {
	agent := subject{kind: "agent", schema: specSchema(t, filepath.Join(root, "config", "crd", "bases", agentsCRD)), object: func(u *user) client.Object { return u.agent() }}
	changes := modelFields(agent)
	rand.New(rand.NewPCG(seed(), 3)).Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	if !full {
		changes = changes[:sequence]
	}
	var got outcome
	b := newBench(t, "chaos-fields-of-model")
	for group := range slices.Chunk(changes, sequence) {
		b.changes(group, &got)
	}
	t.Logf("%d changes: %d rejected by the API server, %d reported and reverted, %d accepted; %d sequences compared with new objects",
		len(changes), got.rejected.Load(), got.reported.Load(), got.accepted.Load(), got.compared.Load())
}

// changes makes a sequence of changes and compares the result with that of new resources with the
// same specs.
func (b *bench) changes(group []change, got *outcome) {
	b.t.Helper()
	b.clean()
	if err := b.user.create(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.eventually("a working agent before the change", b.userErrorOf)
	b.waitObserved()
	var accepted []string
	for _, c := range group {
		if b.change(c, got) {
			accepted = append(accepted, c.String())
		}
	}
	end := b.waitStable(func(string) string { return "" })
	specs := map[string]any{}
	for _, s := range group {
		specs[s.of.kind] = b.spec(s.of)["spec"]
	}
	b.clean()
	if err := b.remake(group, specs); err != nil {
		b.t.Fatal(err)
	}
	withoutPast := func(state string) string {
		state = history.ReplaceAllString(state, "")
		if slices.ContainsFunc(group, namesAccount) {
			state = accounts.ReplaceAllString(state, "")
		}
		return state
	}
	var diff string
	deadline := time.Now().Add(runTimeout / 2)
	b.eventually("the new objects", func() string {
		diff = cmp.Diff(withoutPast(b.state()), withoutPast(end))
		if time.Now().After(deadline) {
			return ""
		}
		return diff
	})
	if diff != "" {
		b.t.Errorf("after %s the objects differ from new ones (-new +changed):\n%s", strings.Join(accepted, ", "), diff)
	}
	got.compared.Add(1)
}

// remake creates the skill and the agent again, with specs that were read before.
func (b *bench) remake(group []change, specs map[string]any) error {
	for _, object := range []client.Object{b.user.skill(), b.user.agent()} {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{Object: fields}
		kind := "agent"
		if _, ok := object.(*a2av1alpha1.AgentSkill); ok {
			kind = "skill"
		}
		u.SetGroupVersionKind(a2av1alpha1.GroupVersion.WithKind(kindOf(object)))
		if spec, ok := specs[kind]; ok {
			u.Object["spec"] = spec
		}
		if err := cluster.Create(b.t.Context(), u); err != nil {
			return fmt.Errorf("create again after %v: %w", group, err)
		}
	}
	return nil
}

// spec returns the stored resource as a map.
func (b *bench) spec(s subject) map[string]any {
	b.t.Helper()
	object := s.object(b.user)
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(a2av1alpha1.GroupVersion.WithKind(kindOf(object)))
	if err := cluster.Get(b.t.Context(), client.ObjectKeyFromObject(object), u); err != nil {
		b.t.Fatal(err)
	}
	return u.Object
}

// replace writes a spec, whatever the current version of the resource is.
func (b *bench) replace(s subject, spec any) error {
	body, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": spec}})
	if err != nil {
		return err
	}
	return cluster.Patch(b.t.Context(), s.object(b.user), client.RawPatch(types.JSONPatchType, body))
}

// change makes one change, and reverts it if it is a user error. It returns true if the change was
// not reverted.
func (b *bench) change(c change, got *outcome) bool {
	b.t.Helper()
	before := b.spec(c.of)
	was, template := runtime.DeepCopyJSON(before)["spec"], b.template()
	on := before["spec"]
	if c.on != nil {
		on = c.on
	}
	if err := b.replace(c.of, set(c.of.schema, on, c.path, c.value)); err != nil {
		b.refusal(c, err)
		got.rejected.Add(1)
		return false
	}
	if c.invalid {
		b.t.Errorf("%s violates the schema and was not rejected", c)
	}
	b.waitObserved()
	problem := b.userErrorOf()
	if problem == "" {
		got.accepted.Add(1)
		return true
	}
	if diff := cmp.Diff(template, b.template()); diff != "" && !strings.HasPrefix(problem, a2av1alpha1.ConditionExposed) {
		b.t.Errorf("%s is a user error (%s), but the running objects changed: %s", c, problem, diff)
	}
	if err := b.replace(c.of, was); err != nil {
		b.t.Errorf("%s cannot be reverted: %v", c, err)
		return false
	}
	b.eventually("a working agent after the revert", func() string { return b.userErrorOf() })
	b.waitObserved()
	if diff := cmp.Diff(template, b.template()); diff != "" {
		b.t.Errorf("%s was reverted, but the running objects differ: %s", c, diff)
	}
	got.reported.Add(1)
	return false
}

// refusal checks the message with which the API server rejects a value.
func (b *bench) refusal(c change, err error) {
	b.t.Helper()
	if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
		b.t.Errorf("%s: %v", c, err)
		return
	}
	if !c.invalid {
		return
	}
	for _, step := range slices.Backward(c.path) {
		if name, ok := step.(string); ok {
			if !strings.Contains(err.Error(), name) {
				b.t.Errorf("%s is rejected, but the message does not name the field: %v", c, err)
			}
			return
		}
	}
}

// waitObserved waits until every status is current and the operator is idle.
func (b *bench) waitObserved() {
	b.t.Helper()
	b.eventually("current statuses", func() string {
		if _, err := stateOf(b.t.Context(), b.namespace); err != nil {
			return err.Error()
		}
		agent := b.user.agent()
		if err := cluster.Get(b.t.Context(), client.ObjectKeyFromObject(agent), agent); err != nil {
			return err.Error()
		}
		if agent.Status.ObservedGeneration != agent.Generation {
			return "not looked at yet"
		}
		if c := meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionAvailable); b.user.remote != "" && c.Status == metav1.ConditionUnknown {
			return "its card was not looked at yet"
		}
		if min(time.Since(seen.lastChange(b.namespace)), b.transport.idle()) < idleFor {
			return "still moving"
		}
		return ""
	})
}

// userErrorOf returns the condition of a user error with its message. An unreachable remote agent
// counts as one.
func (b *bench) userErrorOf() string {
	agent := b.user.agent()
	if err := cluster.Get(b.t.Context(), client.ObjectKeyFromObject(agent), agent); err != nil {
		return err.Error()
	}
	names := []string{
		a2av1alpha1.ConditionAccepted, a2av1alpha1.ConditionSkillsResolved, a2av1alpha1.ConditionProgrammed, a2av1alpha1.ConditionExposed,
	}
	if b.user.remote != "" {
		names = append(names, a2av1alpha1.ConditionAvailable)
	}
	for _, name := range names {
		c := meta.FindStatusCondition(agent.Status.Conditions, name)
		if c != nil && c.Status != metav1.ConditionTrue {
			return name + ": " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

// template returns the pod template, without the number of replicas, which the operator writes
// even with a user error.
func (b *bench) template() string {
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = b.namespace, b.user.agent().Name
	if err := cluster.Get(b.t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		return err.Error()
	}
	d.Spec.Replicas = nil
	text, err := render(&appsv1.Deployment{Spec: d.Spec}, false)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// history matches the revisions in the status of an Agent, which say what it was before. A new Agent has no past.
var history = regexp.MustCompile(`(?m)^  revisions:\n(    .*\n)+`)

// accounts matches the ServiceAccounts of a state. The operator, which may delete none, keeps that of an Agent whose pods now use
// another one. A new Agent never had it.
var accounts = regexp.MustCompile(`(?m)^--- ServiceAccount\n([^-].*\n)+`)

// namesAccount reports whether a change names the ServiceAccount of the pods.
func namesAccount(c change) bool {
	return slices.Contains(c.path, any("serviceAccountName")) || slices.Contains(c.path, any("serviceAccount"))
}
