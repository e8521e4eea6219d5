// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// Later changes of the task and a restart of the process do not change the body of the
// notification of an event, in any version.
func TestRetriesOfAnEventHaveOneBody(t *testing.T) {
	for name, dialect := range map[string]a2a.Dialect{"0.1": a2a.DialectV01, "0.3": a2a.DialectV03, "1.0": a2a.DialectV10} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{Linger: time.Nanosecond}, func(t *testing.T, b *fixture) {
				task := b.task("t1")
				task.add(chunk("t1", "a", "before", false))
				task.config(a2a.PushConfig{Dialect: dialect})
				b.respond(status(http.StatusServiceUnavailable))
				task.setState(a2a.StateWorking)
				bodies := map[string]string{}
				collect := func(atLeast int) {
					t.Helper()
					all := b.takeReceived()
					if len(all) < atLeast {
						t.Fatalf("received %d, want at least %d", len(all), atLeast)
					}
					for _, r := range all {
						if former, known := bodies[r.event()]; known && former != r.body {
							t.Errorf("event %s was\n%s\nand is, in a retry,\n%s", r.event(), former, r.body)
						}
						bodies[r.event()] = r.body
					}
				}
				collect(1)
				more := state("t1", a2a.StateWorking)
				more.Status.Metadata = a2a.Object(`{"k":1}`)
				task.add(chunk("t1", "a", " and after", true), chunk("t1", "b", "new", false), more)
				time.Sleep(time.Minute)
				collect(1)
				b.restart()
				time.Sleep(time.Minute)
				collect(1)
				task.setState(a2a.StateCompleted)
				b.respond(nil)
				time.Sleep(10 * time.Minute)
				collect(3)
				if dialect != a2a.DialectV10 && strings.Contains(bodies["4"], "after") {
					t.Errorf("the first event contains a later one: %s", bodies["4"])
				}
			})
		})
	}
}

// The state of the task at an event is unknown once the log is trimmed: each attempt
// posts the status without artifacts.
func TestRetriesOfATrimmedLogHaveOneBody(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		b.tasks = storetest.NewMemory(memory.Options{MaxLogEvents: 8})
		b.options.Tasks = b.tasks
		b.restart()
		task := b.task("t1")
		task.add(chunk("t1", "a", "before", false), chunk("t1", "a", "x", true), chunk("t1", "a", "x", true), chunk("t1", "a", "x", true))
		task.config(a2a.PushConfig{Dialect: a2a.DialectV03})
		b.respond(status(http.StatusServiceUnavailable))
		task.add(chunk("t1", "a", "x", true), state("t1", a2a.StateInputRequired), chunk("t1", "a", "x", true), chunk("t1", "a", "x", true))
		first := b.takeReceived()
		task.add(chunk("t1", "a", "y", true))
		time.Sleep(30 * time.Second)
		again := b.takeReceived()
		if len(first) == 0 || len(again) == 0 {
			t.Fatalf("received %d and %d", len(first), len(again))
		}
		for _, r := range append(first, again...) {
			if r.event() != "8" || r.body != first[0].body || !strings.Contains(r.body, `"input-required"`) {
				t.Errorf("event %s is %s, want %s", r.event(), r.body, first[0].body)
			}
		}
	})
}
