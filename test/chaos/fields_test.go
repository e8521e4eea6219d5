// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
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

// sequence is how many changes come one after another before all is made anew.
const sequence = 8

// outcome is what becomes of changes.
type outcome struct {
	taken, refused, shown, compared atomic.Int32
}

// TestFieldsChange gives every field many values, one after another: C6 and C7
// of the reliability plan. What the schema does not allow is refused; any other
// value is refused, taken, or shown as a mistake that leaves what runs alone and
// is over when it is put right. What a sequence of changes comes to is what
// comes of the same resources made anew.
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
	t.Run("lanes", func(t *testing.T) {
		t.Run("elsewhere", func(t *testing.T) {
			t.Parallel()
			elsewhere(t, &got)
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
	t.Logf("%d changes: %d refused by the API server, %d shown and put right, %d taken; %d sequences compared with what was made anew",
		got.refused.Load()+got.shown.Load()+got.taken.Load(), got.refused.Load(), got.shown.Load(), got.taken.Load(), got.compared.Load())
}

// TestModelServersChange goes from a container to a model server by its address
// and back, which is a regular container in the place of an init container.
func TestModelServersChange(t *testing.T) {
	agent := subject{kind: "agent", schema: specSchema(t, filepath.Join(root, "config", "crd", "bases", agentsCRD)), object: func(u *user) client.Object { return u.agent() }}
	var got outcome
	b := newBench(t, "chaos-fields-model")
	b.changes(modelServers(agent), &got)
	if got.refused.Load() != 2 || got.taken.Load() != 6 || got.shown.Load() != 0 {
		t.Errorf("%d refused, %d taken, %d shown; want 2, 6, 0", got.refused.Load(), got.taken.Load(), got.shown.Load())
	}
}

// changes makes a sequence of changes, and compares its end with what comes of
// the same resources made anew.
func (b *bench) changes(group []change, got *outcome) {
	b.t.Helper()
	b.clean()
	if err := b.user.create(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.eventually("it to work before it is changed", b.mistake)
	b.looked()
	var taken []string
	for _, c := range group {
		if b.change(c, got) {
			taken = append(taken, c.String())
		}
	}
	end := b.settles(func(string) string { return "" })
	specs := map[string]any{}
	for _, s := range group {
		specs[s.of.kind] = b.spec(s.of)["spec"]
	}
	b.clean()
	if err := b.remake(group, specs); err != nil {
		b.t.Fatal(err)
	}
	var diff string
	deadline := time.Now().Add(patience / 2)
	b.eventually("what is made anew", func() string {
		diff = cmp.Diff(b.state(), end)
		if time.Now().After(deadline) {
			return ""
		}
		return diff
	})
	if diff != "" {
		b.t.Errorf("after %s it is not what is made anew (-anew +changed):\n%s", strings.Join(taken, ", "), diff)
	}
	got.compared.Add(1)
}

// remake creates the skill and the agent with specs that were read before.
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
			return fmt.Errorf("create anew after %v: %w", group, err)
		}
	}
	return nil
}

// spec is a resource as it is.
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

// replace writes a spec, whatever else became of the resource meanwhile.
func (b *bench) replace(s subject, spec any) error {
	body, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": spec}})
	if err != nil {
		return err
	}
	return cluster.Patch(b.t.Context(), s.object(b.user), client.RawPatch(types.JSONPatchType, body))
}

// change makes one change, and puts it right again if it is a mistake. It
// reports whether the change stays.
func (b *bench) change(c change, got *outcome) bool {
	b.t.Helper()
	before := b.spec(c.of)
	was, template := runtime.DeepCopyJSON(before)["spec"], b.template()
	if err := b.replace(c.of, set(c.of.schema, before["spec"], c.path, c.value)); err != nil {
		b.refusal(c, err)
		got.refused.Add(1)
		return false
	}
	if c.invalid {
		b.t.Errorf("%s is against the schema and was not refused", c)
	}
	b.looked()
	mistake := b.mistake()
	if mistake == "" {
		got.taken.Add(1)
		return true
	}
	if diff := cmp.Diff(template, b.template()); diff != "" && !strings.HasPrefix(mistake, a2av1alpha1.ConditionExposed) {
		b.t.Errorf("%s is a mistake (%s), and yet what runs was changed: %s", c, mistake, diff)
	}
	if err := b.replace(c.of, was); err != nil {
		b.t.Errorf("%s cannot be put right: %v", c, err)
		return false
	}
	b.eventually("what is put right to work", func() string { return b.mistake() })
	b.looked()
	if diff := cmp.Diff(template, b.template()); diff != "" {
		b.t.Errorf("%s was put right, and something else runs: %s", c, diff)
	}
	got.shown.Add(1)
	return false
}

// refusal checks what the API server says of a value.
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
				b.t.Errorf("%s is refused, and the field is not named: %v", c, err)
			}
			return
		}
	}
}

// looked waits until the operator has said something of everything, and rests.
func (b *bench) looked() {
	b.t.Helper()
	b.eventually("the operator to look", func() string {
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
		if min(time.Since(seen.lastChange(b.namespace)), b.transport.idle()) < breath {
			return "still moving"
		}
		return ""
	})
}

// mistake is the condition that tells of one, with what it says. Of an agent
// that runs elsewhere, that nobody answers is one.
func (b *bench) mistake() string {
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

// template is what runs. How many pods of it do is what the spec says, whatever
// is wrong with the rest.
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
