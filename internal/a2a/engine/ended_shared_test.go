// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// A message to a task reads the task only while there is memory for it, and keeps none of it. The task is read again for a message that
// repeats its claim.
func TestMessageToATaskReadsItWithinItsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loads := store.NewLoads(200 << 10)
		a := newReplica(t, storetest.NewMemory(memory.Options{}), "a", engine.Options{Loads: loads})
		defer a.shutDown()
		c := a.startRun(status(a2a.StateWorking))
		c.finishTask(status(a2a.StateCompleted))
		a.member.set(logsAreLarge | readsAreLarge)
		release, ok := holdLoads(t, loads)
		if !ok {
			t.Fatal("the memory is in use")
		}
		refused := a.send(withTask(newRequest("m2", "hi"), c.TaskID))
		time.Sleep(2 * time.Second)
		refused.want(t, string(a2a.ReasonUnavailable))
		release()
		for range 2 {
			a.send(withTask(newRequest("m3", "hi"), c.TaskID)).want(t, string(a2a.ReasonUnsupportedOperation))
			release, ok = holdLoads(t, loads)
			if !ok {
				t.Fatal("the memory of the task stays in use")
			}
			release()
		}
	})
}

// A replica takes no task over whose waiting messages do not fit beside those that wait here, and takes it over as soon as they do.
func TestTakeoverWaitsForMemoryForWaitingMessages(t *testing.T) {
	const oneMessage = 500 // two do not fit
	for name, state := range map[string]a2a.State{"working": a2a.StateWorking, "paused": a2a.StateInputRequired} {
		t.Run(name, func(t *testing.T) {
			withTwoReplicas(t, engine.Options{Retry: retry, WaitingBytes: oneMessage}, func(t *testing.T, a, b *replica) {
				c := a.startRun(status(a2a.StateWorking))
				a.accept("m2", c.TaskID)
				b.send(newRequest("other", "hi"))
				d := b.nextCall()
				d.mustEmit(status(a2a.StateWorking))
				waits := b.send(withTask(newRequest("m3", "three"), d.TaskID))
				if state == a2a.StateInputRequired {
					a.pauseWhileDraining(c)
				}
				a.crash()
				time.Sleep(5 * time.Minute)
				b.wantNoCall()
				d.finishTask(status(a2a.StateCompleted))
				waits.want(t, string(a2a.ReasonUnsupportedOperation))
				time.Sleep(time.Minute)
				next := b.nextCall()
				if next.TaskID != c.TaskID {
					t.Errorf("the agent gets the task %s", next.TaskID)
				}
				next.mustEmit(status(a2a.StateInputRequired))
				next.endRun(nil)
				if state == a2a.StateWorking {
					next = b.nextCall()
				}
				if next.Message.ID != "m2" {
					t.Errorf("the agent gets %s", next.Message.ID)
				}
				c.endRun(nil)
				if state == a2a.StateWorking {
					next.finishTask(status(a2a.StateCompleted))
				}
			})
		})
	}
}
