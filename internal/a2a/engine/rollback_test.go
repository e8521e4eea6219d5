// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
)

// A run whose task has lost events cannot complete the task, because the log would be
// incomplete.
func TestRunEndsIfTheStoreLosesEvents(t *testing.T) {
	for name, emits := range map[string]bool{"that emits": true, "that is silent": false} {
		t.Run(name, func(t *testing.T) {
			withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
				c := a.startRun(chunk("one"))
				r := a.subscribe(c.TaskID, nil)
				r.want(t, "task:working")
				a.member.rollBack()
				if emits {
					if err := c.emitEvents(chunk("two")); err == nil {
						t.Error("the run continues")
					}
					c.endRun(nil)
				}
				time.Sleep(10 * time.Second)
				b.wantState(c.TaskID, a2a.StateFailed)
				if m := b.task(c.TaskID).Status.Message; m == nil || m.Parts[0].Text != "The task store lost events of the task" {
					t.Errorf("status message = %+v", m)
				}
				a.wantNoCall()
			})
		})
	}
}

func TestStreamEndsIfTheStoreLosesEvents(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		c := a.startRun(chunk("one"))
		r := b.subscribe(c.TaskID, nil)
		r.want(t, "task:working")
		b.member.rollBack()
		c.mustEmit(chunk("two")) // wakes the stream, which then reads the log
		r.want(t, "task:working UNAVAILABLE")
		c.finishTask(status(a2a.StateCompleted))
	})
}

// A turn of a dead replica may have ended in a write that the store lost.
func TestTurnIsNotRerunAfterTheStoreLostWrites(t *testing.T) {
	withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		a.crash()
		b.member.rollBack()
		time.Sleep(time.Minute)
		b.wantNoCall()
		b.wantState(c.TaskID, a2a.StateFailed)
	})
}
