// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"strings"
	"sync"
	"testing"
)

// reference is the result of an undisturbed run.
type reference struct {
	// made is the state before the user acts, and state is the state at the end.
	made, state string
	// writes, requests and events are the numbers of writes, requests and events after the user has acted.
	writes, requests, events int
}

// references contains one reference for each workload, which all its disturbed runs share.
var references sync.Map

// runReference runs a workload without faults.
func runReference(t *testing.T, w workload) reference {
	t.Helper()
	if known, ok := references.Load(w.name); ok {
		return known.(reference)
	}
	var r reference
	t.Run("undisturbed", func(t *testing.T) {
		b := newBench(t, w.namespace(), useJSON)
		r.made = b.prepare(w, "")
		b.transport.arm(plan{reads: true})
		b.transport.stream.arm("", 0)
		written := len(b.transport.writesSince(0))
		if err := w.act(t.Context(), b.user); err != nil {
			t.Fatal(err)
		}
		r.state = b.end(w)
		r.writes, r.requests = len(b.transport.writesSince(written)), b.transport.requests()
		r.events, _ = b.transport.stream.events()
		references.Store(w.name, r)
	})
	if t.Failed() {
		t.FailNow()
	}
	return r
}

// namespace returns the namespace of a workload. All runs of the workload use it, because the cards and their digests
// contain its name.
func (w workload) namespace() string { return "chaos-" + strings.ReplaceAll(w.name, " ", "-") }

// prepare runs the workload up to the action of the user, and returns the state. want is the state that another run of
// the workload had at this point, "" in the first run; prepare waits until the state equals want.
func (b *bench) prepare(w workload, want string) string {
	b.t.Helper()
	check := func(string) string { return "" }
	if w.made {
		if err := b.user.create(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
		check = workload{shows: made}.complaint
	}
	if want == "" {
		return b.waitStable(check)
	}
	b.waitForEnd(want)
	b.waitIdle()
	return want
}

// end waits until the state of an undisturbed run is the end that the workload expects, and is stable. It returns the
// state.
func (b *bench) end(w workload) string {
	b.t.Helper()
	pause := quietPeriod()
	if full {
		pause = longQuietPeriod
	}
	// On a busy machine, a state may look stable before the end.
	const tries = 5
	for try := 1; ; try++ {
		state := b.waitStable(w.complaint)
		moved := b.changesWhileIdle(state, pause)
		if moved == "" {
			return state
		}
		if try == tries {
			b.t.Fatalf("the state is not stable: %s", moved)
		}
	}
}
