// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

func TestWire13_StreamEndsAfterAMessage(t *testing.T) {
	tests := map[string]struct {
		says   a2a.Event
		closes bool
	}{
		"on terminal":                                    {status(a2a.StateFailed), true},
		"on input-required":                              {status(a2a.StateInputRequired), true},
		"not on input-required of a waiting run":         {paused(a2a.StateInputRequired), false},
		"not on auth-required":                           {status(a2a.StateAuthRequired), false},
		"not on auth-required of a waiting run":          {paused(a2a.StateAuthRequired), false},
		"not on working, with the mark of a waiting run": {paused(a2a.StateWorking), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
				r := b.stream(newRequest("m", "hi"))
				c := b.nextCall()
				_ = c.emitEvents(tt.says)
				want := "task:submitted " + summary(&tt.says)
				if tt.closes {
					want += " EOF"
				}
				r.want(t, want)
			})
		})
	}
}

func TestWire12_SubscriptionEndsOnTerminalOnly(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking), chunk("x"))
		r := b.subscribe(c.TaskID, nil)
		c.mustEmit(status(a2a.StateInputRequired))
		r.want(t, "task:working status:input-required")
		c.endRun(nil)
		later := b.subscribe(c.TaskID, nil)
		b.send(withTask(newRequest("m2", "more"), c.TaskID))
		c = b.nextCall()
		c.finishTask(status(a2a.StateCompleted))
		r.want(t, "task:working status:input-required status:working status:completed EOF")
		later.want(t, "task:input-required status:working status:completed EOF")
	})
}

func TestWire12_SubscribeToATerminalTaskYieldsItsSnapshot(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.finishTask(status(a2a.StateCompleted))
		b.subscribe(c.TaskID, nil).want(t, "task:completed EOF")
		b.subscribe("none", nil).want(t, string(a2a.ReasonTaskNotFound))
	})
}

func TestWire12_SubscribeResumes(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking), chunk("x"), chunk("y"))
		// The log: message, submitted, working, x, y.
		all := strings.Fields("status:submitted status:working artifact:turn-1=x artifact:turn-1+y")
		for after := range uint64(6) {
			r := b.subscribe(c.TaskID, &after)
			from := min(max(int(after)-1, 0), len(all))
			r.want(t, strings.Join(all[from:], " "))
		}
		beyond := uint64(6)
		b.subscribe(c.TaskID, &beyond).want(t, "task:working")
		c.finishTask(status(a2a.StateCompleted))
		last, end := uint64(5), uint64(6)
		b.subscribe(c.TaskID, &last).want(t, "status:completed EOF")
		b.subscribe(c.TaskID, &end).want(t, "task:completed EOF")
	})
}

func TestWire12_SubscribeWithATrimmedLogStartsOver(t *testing.T) {
	options := engine.Options{Store: memory.New(memory.Options{MaxLogEvents: 4})}
	withEngine(t, options, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		for range 10 {
			c.mustEmit(chunk("x"))
		}
		early, late := uint64(3), uint64(12)
		b.subscribe(c.TaskID, &early).want(t, "task:working")
		b.subscribe(c.TaskID, &late).want(t, "artifact:turn-1+x")
	})
}

func TestWire12_SlowSubscriberIsDisconnectedAndDelaysNoOther(t *testing.T) {
	options := engine.Options{Store: memory.New(memory.Options{MaxLogEvents: 8})}
	withEngine(t, options, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		stalled, err := b.Subscribe(t.Context(), &a2a.SubscribeRequest{Owner: "owner", TaskID: c.TaskID})
		if err != nil {
			t.Fatal(err)
		}
		defer stalled.Close()
		if _, err := stalled.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		healthy := b.subscribe(c.TaskID, nil)
		want := "task:working"
		for i := range 50 {
			c.mustEmit(chunk(strconv.Itoa(i)))
			want += map[bool]string{true: " artifact:turn-1=", false: " artifact:turn-1+"}[i == 0] + strconv.Itoa(i)
			healthy.want(t, want)
		}
		for range 2 {
			if records, err := stalled.Next(t.Context()); err != a2a.ErrSlowSubscriber { //nolint:errorlint // Next must return the unwrapped error
				t.Errorf("Next() = %d records, %v, want ErrSlowSubscriber", len(records), err)
			}
		}
	})
}

func TestStreamOpensWithTheTask(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		first := b.stream(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateInputRequired, "which?"))
		c.endRun(nil)
		first.want(t, "task:submitted status:input-required(which?) EOF")
		none := 0
		request := withTask(newRequest("m2", "more"), c.TaskID)
		request.HistoryLength = &none
		stream, err := b.Stream(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		records, err := stream.Next(t.Context())
		if err != nil || records[0].Task == nil || records[0].Seq != 5 || records[0].Task.History != nil {
			t.Fatalf("Next() = %v, %v, want the task at 5 without history", records, err)
		}
		if got := records[0].Task.Status.State; got != a2a.StateWorking {
			t.Errorf("task opens as %s, want working: it goes on", got)
		}
	})
}

// Subscriptions that begin at the same event number get the same record (an equal pointer),
// so that the snapshot is encoded once.
func TestWire12_SubscribersShareRecords(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking), chunk("x"))
		var seen []*a2a.Record
		for range 3 {
			s, err := b.Subscribe(t.Context(), &a2a.SubscribeRequest{Owner: "owner", TaskID: c.TaskID})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			records, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, records[0])
		}
		if seen[0] != seen[1] || seen[1] != seen[2] {
			t.Error("snapshots at one moment are not shared")
		}
	})
}

// TestResumeAfterTheLastEventIsRefused checks that a client can ask for an error instead of the task
// once more.
func TestResumeAfterTheLastEventIsRefused(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.finishTask(status(a2a.StateCompleted))
		last := uint64(3)
		for after, want := range map[uint64]string{last: string(a2a.ReasonUnsupportedOperation), last - 1: ""} {
			s, err := b.Subscribe(t.Context(), &a2a.SubscribeRequest{Owner: "owner", TaskID: c.TaskID, After: &after, RefuseEnded: true})
			if err == nil {
				s.Close()
			}
			if want == "" && err != nil || want != "" && (err == nil || reasonOf(err) != want) {
				t.Errorf("Subscribe() after %d: error = %v, want %q", after, err, want)
			}
		}
	})
}
