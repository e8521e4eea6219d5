// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"strings"
	"sync"
	"testing"
)

// reference is an undisturbed run.
type reference struct {
	// made is the state in which the user acts, and state that of the end.
	made, state string
	// writes, requests and events are how many there were after that.
	writes, requests, events int
}

// references are made once for each workload, whatever it is disturbed by.
var references sync.Map

// refer runs a workload with nothing in the way.
func refer(t *testing.T, w workload) reference {
	t.Helper()
	if known, ok := references.Load(w.name); ok {
		return known.(reference)
	}
	var r reference
	t.Run("undisturbed", func(t *testing.T) {
		b := newBench(t, w.namespace(), speaksJSON)
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

// namespace is that of a workload's runs, one after the other: its name is in
// the cards, and so in their digests.
func (w workload) namespace() string { return "chaos-" + strings.ReplaceAll(w.name, " ", "-") }

// prepare comes to where the user acts, and returns what is there. That is what
// was there before every other run of the workload, or "" for the first.
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
		return b.settles(check)
	}
	b.reaches(want)
	b.rested()
	return want
}

// end comes to where an undisturbed run stays, and returns what is there.
func (b *bench) end(w workload) string {
	b.t.Helper()
	pause := stillness()
	if full {
		pause = longStillness
	}
	// On a machine that is busy with something else, what looks like the end
	// may not be.
	const tries = 5
	for try := 1; ; try++ {
		state := b.settles(w.complaint)
		moved := b.moves(state, pause)
		if moved == "" {
			return state
		}
		if try == tries {
			b.t.Fatalf("it does not come to an end: %s", moved)
		}
	}
}
