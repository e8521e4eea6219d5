// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
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

// withLoads runs a task with a trimmed log, beside readers that have room for one large read at a time.
func withLoads(t *testing.T, test func(t *testing.T, a *replica, c *call, loads *store.Loads)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		loads := store.NewLoads(200 << 10)
		a := newReplica(t, storetest.NewMemory(memory.Options{MaxLogEvents: 4}), "a", engine.Options{Loads: loads})
		defer a.shutDown()
		c := a.startRun(status(a2a.StateWorking))
		for range 10 {
			c.mustEmit(chunk("x"))
		}
		test(t, a, c, loads)
		a.member.clear(logsAreLarge | readsAreLarge)
		c.finishTask(status(a2a.StateCompleted))
	})
}

// holdLoads reserves the memory for a large read for somebody else. It returns false if it is in use.
func holdLoads(t *testing.T, loads *store.Loads) (release func(), ok bool) {
	t.Helper()
	reader := loads.Reader("somebody else")
	err := store.ReserveLoad(reader.InPromptly(t.Context()), largeLog)
	return reader.Release, err == nil
}

// A stream that resumes after events that the log has dropped begins with the task, and holds its memory until the client has read it.
func TestResumeAfterATrimHoldsTheMemoryOfTheTask(t *testing.T) {
	withLoads(t, func(t *testing.T, a *replica, c *call, loads *store.Loads) {
		a.member.set(logsAreLarge)
		early := uint64(3)
		stream, err := a.Subscribe(t.Context(), &a2a.SubscribeRequest{Owner: "owner", TaskID: c.TaskID, After: &early})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		for _, next := range []string{"before Next", "while the client reads"} {
			if release, ok := holdLoads(t, loads); ok {
				release()
				t.Errorf("the memory of the task is free %s", next)
			}
			if records, err := stream.Next(t.Context()); err != nil || next == "before Next" && records[0].Task == nil {
				t.Fatalf("Next() = %v, %v", records, err)
			}
			c.mustEmit(chunk("y"))
		}
		release, ok := holdLoads(t, loads)
		if !ok {
			t.Error("the memory of the task is held after the client has read it")
		}
		release()
	})
}

// A stream waits for the memory for what it reads. If others use the memory for too long, the error says so: the store is not down.
func TestStreamsWaitForMemory(t *testing.T) {
	for _, test := range []struct {
		name string
		busy time.Duration
	}{{"for a short time", 10 * time.Second}, {"for a long time", time.Hour}} {
		t.Run(test.name, func(t *testing.T) {
			withLoads(t, func(t *testing.T, a *replica, c *call, loads *store.Loads) {
				stream, err := a.Subscribe(t.Context(), &a2a.SubscribeRequest{Owner: "owner", TaskID: c.TaskID})
				if err != nil {
					t.Fatal(err)
				}
				defer stream.Close()
				if _, err := stream.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
				release, _ := holdLoads(t, loads)
				defer release()
				a.member.set(readsAreLarge)
				c.mustEmit(chunk("y"))
				time.AfterFunc(test.busy, release)
				records, err := stream.Next(t.Context())
				refusal, _ := errors.AsType[*a2a.Error](err)
				switch {
				case test.busy < time.Minute && (err != nil || len(records) != 1):
					t.Errorf("Next() = %d records, %v", len(records), err)
				case test.busy > time.Minute && (refusal == nil || !strings.HasPrefix(refusal.Message, "All memory for tasks")):
					t.Errorf("Next() = %d records, %v, want a refusal because of the memory", len(records), err)
				}
			})
		})
	}
}
