// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pasts are which part of the cluster an operator sees as it was.
var pasts = []struct {
	name      string
	resources []string
	// harmless is true when nothing is changed because of it, not even for a
	// time. Who sees an old Agent and what became of a newer one takes that for
	// tampering.
	harmless bool
}{
	{name: "everything", harmless: true},
	{name: "what users wrote", resources: []string{"agents", "agentskills"}},
	{name: "what came of it", resources: []string{"deployments", "configmaps", "services", "networkpolicies", "pods"}, harmless: true},
}

// TestOperatorSeesThePast starts the operator again, with a cache as it was at
// some moment of a workload that is over, and lets it see the present later: C3
// of the reliability plan.
func TestOperatorSeesThePast(t *testing.T) {
	points := 10
	if !full {
		points = 2
	}
	everywhere(t, 5, func(reference) []string {
		var names []string
		for _, p := range pasts {
			names = append(names, p.name)
		}
		return names
	}, func(t *testing.T, w workload, want reference, i int) bool {
		p := pasts[i]
		b := newBench(t, w.namespace())
		b.prepare(w, want.made)
		history := record(t, b.namespace)
		if err := w.act(t.Context(), b.user); err != nil {
			t.Fatal(err)
		}
		b.rests(want.state, breath)
		versions := history.versions()
		for n := range points {
			at := n * len(versions) / points
			t.Run(fmt.Sprintf("version %d of %d", at, len(versions)), func(t *testing.T) {
				b.t = t
				b.kill()
				b.start(newPast(versions[at], p.resources...))
				specs := specsOf(t.Context(), b.namespace)
				b.eventually("the operator to rest in the past", func() string {
					if diff := cmp.Diff(specs, specsOf(t.Context(), b.namespace)); diff != "" && p.harmless {
						t.Fatalf("written because of what is over: %s", diff)
					}
					if b.transport.idle() < breath {
						return "it sent something a moment ago, or does not watch everything yet"
					}
					return ""
				})
				if unseen := b.transport.past.unseen(); len(unseen) > 0 {
					t.Errorf("seen as they are: %v", unseen)
				}
				b.transport.past.end()
				b.rests(want.state, stillness())
			})
		}
		b.t = t
		return true
	})
}

// specsOf is what is there, without what is said of it.
func specsOf(ctx context.Context, namespace string) string {
	state, err := look(ctx, namespace, false)
	if err != nil {
		return err.Error()
	}
	return state
}
