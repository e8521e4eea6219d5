// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// staleViews lists the parts of the cluster that an operator sees in a stale state.
var staleViews = []struct {
	name      string
	resources []string
	// harmless is true if the operator writes no spec because of the stale state, not even for a time. The view of old
	// objects of users is not harmless: with an old Agent and the objects of its newer version, the operator sets the
	// objects back.
	harmless bool
}{
	{name: "all objects", harmless: true},
	{name: "objects of users", resources: []string{"agents", "agentskills"}},
	{name: "objects of the operator", resources: []string{"deployments", "configmaps", "services", "networkpolicies", "pods"}, harmless: true},
}

// TestStaleCacheAtTheStart is the campaign "the past" of docs/explanation/reliability.md. The operator
// starts with a cache from some moment of a finished workload, and sees the current state later.
func TestStaleCacheAtTheStart(t *testing.T) {
	points := 10
	if !full {
		points = 2
	}
	runEverywhere(t, 5, func(reference) []string {
		var names []string
		for _, p := range staleViews {
			names = append(names, p.name)
		}
		return names
	}, func(t *testing.T, w workload, want reference, i int) bool {
		p := staleViews[i]
		b := newBench(t, w.namespace())
		b.prepare(w, want.made)
		history := record(t, b.namespace)
		if err := w.act(t.Context(), b.user); err != nil {
			t.Fatal(err)
		}
		b.expectQuiet(want.state, idleFor)
		versions := history.versions()
		for n := range points {
			at := n * len(versions) / points
			t.Run(fmt.Sprintf("version %d of %d", at, len(versions)), func(t *testing.T) {
				b.t = t
				b.kill()
				b.start(newStaleView(versions[at], p.resources...))
				specs := specsOf(t.Context(), b.namespace)
				b.eventually("an idle operator with the stale state", func() string {
					if diff := cmp.Diff(specs, specsOf(t.Context(), b.namespace)); diff != "" && p.harmless {
						t.Fatalf("written because of the stale state: %s", diff)
					}
					if b.transport.idle() < idleFor {
						return "it sent something a moment ago, or does not watch everything yet"
					}
					return ""
				})
				if unseen := b.transport.staleView.unseen(); len(unseen) > 0 {
					t.Errorf("not stale: %v", unseen)
				}
				b.transport.staleView.end()
				b.expectQuiet(want.state, quietPeriod())
			})
		}
		b.t = t
		return true
	})
}

// specsOf returns the objects without their statuses.
func specsOf(ctx context.Context, namespace string) string {
	state, err := dump(ctx, namespace, false)
	if err != nil {
		return err.Error()
	}
	return state
}
