// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import "testing"

// faults are the kills that hit a task. Only they excuse that it fails, is forgotten or does not know the outcome of a call.
type faults struct {
	// holder is the replica that holds the task: the last one that called the model or a tool for it. It is nil before the first call after a
	// message of the client, and after its kill. Any replica may hold the task then.
	holder *replica
	// interruptions are the kills of the holder, modelKills those of its model server and serverKills those of the MCP server.
	interruptions, modelKills, serverKills int
}

// attempts is the number of attempts at a turn: if all are interrupted, the task fails.
const attempts = 3

// note notes a kill of a replica or of its model server, or a kill of the MCP server.
func (f *faults) note(m moment, r *replica) {
	isHit := f.holder == nil || f.holder == r
	switch {
	case m == serverAway || m == serverInAnswer:
		f.serverKills++
	case !isHit:
	case m == modelAway || m == modelInAnswer:
		f.modelKills++
	default:
		f.interruptions++
		f.holder = nil
	}
}

// begin starts to note what hits the next task of a conversation. A server that is down counts as killed.
func (w *world) begin(token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := &faults{}
	for _, r := range w.replicas {
		if r.model.isDown.Load() {
			f.modelKills++
		}
	}
	if w.mcp.isDown.Load() {
		f.serverKills++
	}
	w.faults[token] = f
}

// passOn notes that the client sends a message. The replica that gets it holds the task then.
func (w *world) passOn(token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[token].holder = nil
}

// finish ends what begin started.
func (w *world) finish(token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.faults, token)
}

// faultsOf returns what has hit the task of a conversation.
func (w *world) faultsOf(token string) faults {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *w.faults[token]
}

func TestOnlyFaultsOfTheHolderHitATask(t *testing.T) {
	a := &replica{}
	b := &replica{}
	f := &faults{}
	f.note(afterAnswer, a) // nobody knows who holds the task
	f.holder = a
	f.note(afterAnswer, b)
	f.note(modelAway, b)
	f.note(modelAway, a)
	f.note(beforeCall, a)
	f.note(beforeCall, b) // it may have taken the task over
	f.note(serverAway, b)
	if want := (faults{interruptions: 3, modelKills: 1, serverKills: 1}); *f != want {
		t.Errorf("the task was hit by %+v, want %+v", *f, want)
	}
}
