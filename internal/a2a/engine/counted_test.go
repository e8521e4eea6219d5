// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
)

// The memory of a message stays reserved until the turn runs, waits in the turn queue or for its task, or the message is refused.
func TestMessagesKeepTheirMemoryUntilTheyAreCounted(t *testing.T) {
	limits := func() engine.TurnLimits {
		return engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 1, QueueTimeout: time.Hour}
	}
	withTwoReplicas(t, engine.Options{Turns: limits}, func(t *testing.T, a, b *replica) {
		counted := map[string]int{}
		send := func(to *replica, r *a2a.SendRequest) *pendingSend {
			r.Counted = func() { counted[r.Message.ID]++ }
			s := to.send(r)
			synctest.Wait()
			return s
		}
		first := send(a, newRequest("runs", "hi"))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		joined := send(a, newRequest("runs", "hi"))
		waits := send(a, withTask(newRequest("waits", "hi"), c.TaskID))
		queued := send(a, newRequest("queued", "hi"))
		send(b, withTask(newRequest("forwarded", "hi"), "none")).want(t, string(a2a.ReasonTaskNotFound))
		forwarded := send(b, withTask(newRequest("away", "hi"), c.TaskID))
		for _, id := range []string{"waits", "queued", "forwarded", "away"} {
			if counted[id] != 1 {
				t.Errorf("the memory of %s was released %d times, want once", id, counted[id])
			}
		}
		if counted["runs"] != 2 { // the message and its copy
			t.Errorf("the memory of runs was released %d times, want twice", counted["runs"])
		}
		for _, s := range []*pendingSend{first, joined, waits, queued, forwarded} {
			s.want(t, "pending")
		}
		c.finishTask(status(a2a.StateCompleted))
		a.nextCall().finishTask(status(a2a.StateCompleted))
		first.want(t, "task:completed")
	})
}
