// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// Other replicas take over the tasks of a replica without a lease, so such a replica runs
// no turn.
func TestReplicaRunsNoTurnBeforeItsFirstLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewMemory(memory.Options{})
		b := newReplica(t, s, "b", engine.Options{Retry: retry})
		defer b.shutDown()
		time.Sleep(time.Minute)
		a := newIdleReplica(t, s, "a", engine.Options{Retry: retry})
		defer a.shutDown()
		a.member.set(renewFails)
		a.Start()
		synctest.Wait()
		first := a.send(returnImmediately(newRequest("m1", "hi")))
		switch first.result() {
		case string(a2a.ReasonUnavailable):
			return
		case "pending": // it waits for the lease
			a.wantNoCall()
			return
		}
		c := a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		b.send(returnImmediately(withTask(newRequest("m2", "two"), c.TaskID)))
		again := b.nextCall()
		t.Errorf("b runs %s, attempt %d, while the run of a has the error %v", again.Message.ID, again.Attempt, c.ctx.Err())
	})
}
