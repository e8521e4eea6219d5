// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// An accepted turn waits for the memory for the tasks to which its message refers. It fails if others hold the memory for too long,
// and at once if the tasks never fit.
func TestReferencesWaitForMemory(t *testing.T) {
	for _, test := range []struct {
		name       string
		references int
		busy       time.Duration
		reason     string
	}{
		{"for a short time", 1, 20 * time.Second, ""},
		{"for a long time", 1, time.Hour, "All memory for tasks"},
		{"too many", 2, 0, "refer to fewer tasks"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loads := store.NewLoads(400 << 10)
				a := newReplica(t, storetest.NewMemory(memory.Options{}), "a", engine.Options{Loads: loads})
				defer a.shutDown()
				var references []string
				for i := range test.references {
					a.send(newRequest(string(rune('a'+i)), "hi"))
					c := a.nextCall()
					references = append(references, c.TaskID)
					c.finishTask(status(a2a.StateCompleted))
				}
				a.member.set(logsAreLarge)
				other := loads.Reader("somebody else")
				if test.busy > 0 {
					if err := store.ReserveLoad(other.In(t.Context()), 256<<10); err != nil {
						t.Fatal(err)
					}
				}
				r := newRequest("m", "hi")
				r.Message.ReferenceTasks = references
				r.ReturnImmediately = true
				sent := a.send(r)
				sent.want(t, "task:submitted")
				task := sent.event.Task.ID
				if test.reason == "" {
					time.Sleep(test.busy)
					a.wantNoCall()
					other.Release()
					time.Sleep(2 * time.Second)
					c := a.nextCall()
					if len(c.References) != 1 {
						t.Errorf("the agent is shown %d tasks", len(c.References))
					}
					c.finishTask(status(a2a.StateCompleted))
				} else {
					time.Sleep(40 * time.Second)
					synctest.Wait()
					a.wantNoCall()
					other.Release()
				}
				a.member.clear(logsAreLarge)
				if test.reason == "" {
					a.wantState(task, a2a.StateCompleted)
					return
				}
				if got := a.task(task).Status; got.State != a2a.StateFailed || got.Message == nil || !strings.Contains(text(got.Message.Parts), test.reason) {
					t.Errorf("the task is %+v, want a failure because of %q", got, test.reason)
				}
			})
		})
	}
}
