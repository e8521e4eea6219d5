// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// pushRecorder records push configurations. Check refuses the URL bad, and Attach refuses
// URLs that begin with full.
type pushRecorder struct {
	store.Store
	// attached has the URL and task of each configuration, and the state of the task when the
	// configuration was attached.
	attached []string
	logs     []store.Log
}

var errURL = a2a.InvalidParams("configuration.url", "is not allowed")

func (r *pushRecorder) Check(_ context.Context, c a2a.PushConfig) error {
	if c.URL == "bad" {
		return errURL
	}
	return nil
}

func (r *pushRecorder) Attach(ctx context.Context, k store.Key, c a2a.PushConfig, _ uint64) error {
	switch {
	case strings.HasPrefix(c.URL, "full"):
		return errURL
	case strings.HasPrefix(c.URL, "down"):
		return store.ErrUnavailable
	}
	log, err := r.Open(ctx, k)
	if err != nil {
		return err
	}
	record, err := log.Snapshot(ctx)
	if err != nil {
		return err
	}
	r.attached = append(r.attached, c.URL+" "+c.TaskID+" "+record.Task.Status.State.String())
	r.logs = append(r.logs, log)
	return nil
}

func pushing(r *a2a.SendRequest, url string) *a2a.SendRequest {
	r.Push = &a2a.PushConfig{URL: url}
	return r
}

// Reattach records nothing: in these tests, no configuration is lost.
func (r *pushRecorder) Reattach(context.Context, store.Key, a2a.PushConfig, uint64) error { return nil }

func TestPushConfigurationIsStoredBeforeTheTurn(t *testing.T) {
	pushes := &pushRecorder{Store: memory.New(memory.Options{})}
	withEngine(t, engine.Options{Store: pushes.Store, Pushes: pushes}, func(t *testing.T, b *fixture) {
		r := b.stream(pushing(newRequest("m1", "hi"), "one"))
		c := b.nextCall()
		r.want(t, "task:submitted")
		// A turn with a push configuration has a task, even if the agent answers with
		// a message.
		c.mustEmit(message("answer"))
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		b.send(pushing(withTask(newRequest("m2", "more"), c.TaskID), "two"))
		again := b.nextCall()
		waits := pushing(withTask(newRequest("m3", "even more"), c.TaskID), "three")
		b.send(waits)
		again.mustEmit(status(a2a.StateWorking))
		want := []string{"one " + c.TaskID + " submitted", "two " + c.TaskID + " input-required", "three " + c.TaskID + " working"}
		if got := strings.Join(pushes.attached, ", "); got != strings.Join(want, ", ") {
			t.Errorf("attached = %s, want %s", got, want)
		}
		again.finishTask(status(a2a.StateCompleted))
		records, err := pushes.logs[0].Read(t.Context(), nil, 2)
		if err != nil || summary(&records[0].Event) != "status:working(answer)" {
			t.Errorf("Read() = %v, %v", records, err)
		}
	})
}

func TestInvalidPushConfigurationRejectsTheMessage(t *testing.T) {
	pushes := &pushRecorder{Store: memory.New(memory.Options{})}
	withEngine(t, engine.Options{Store: pushes.Store, Pushes: pushes}, func(t *testing.T, b *fixture) {
		tasks := func() (n int, ended bool) {
			page, err := b.List(t.Context(), &a2a.ListRequest{Owner: "owner"})
			if err != nil {
				t.Fatal(err)
			}
			ended = true
			for _, task := range page.Tasks {
				ended = ended && task.Status.State.Terminal()
			}
			return page.TotalSize, ended
		}
		if s := b.send(pushing(newRequest("m1", "hi"), "bad")); !errors.Is(s.err, errURL) {
			t.Errorf("Send() = %s", s.result())
		}
		if n, _ := tasks(); n != 0 {
			t.Errorf("a message that was refused made %d tasks", n)
		}
		if s := b.send(pushing(newRequest("m2", "hi"), "full")); !errors.Is(s.err, errURL) {
			t.Errorf("Send() = %s", s.result())
		}
		if _, ended := tasks(); !ended {
			t.Error("a task is left that nobody works on")
		}
		b.wantNoCall()
		b.send(newRequest("m3", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		if s := b.send(pushing(withTask(newRequest("m4", "hi"), c.TaskID), "full")); !errors.Is(s.err, errURL) {
			t.Errorf("Send() to a task that works = %s", s.result())
		}
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		if s := b.send(pushing(withTask(newRequest("m5", "hi"), c.TaskID), "full")); !errors.Is(s.err, errURL) {
			t.Errorf("Send() to a task that waits = %s", s.result())
		}
		b.wantNoCall()
		b.wantState(c.TaskID, a2a.StateInputRequired)
		if got := b.Running(); got != 0 {
			t.Errorf("Running() = %d", got)
		}
	})
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		if got := b.send(pushing(newRequest("m1", "hi"), "one")).result(); got != string(a2a.ReasonPushNotSupported) {
			t.Errorf("Send() = %s without anybody who keeps configurations", got)
		}
	})
}

// TestTaskFailsIfTheStoreDoesNotServeItsPushConfiguration checks that an outage is no refusal of the
// configuration.
func TestTaskFailsIfTheStoreDoesNotServeItsPushConfiguration(t *testing.T) {
	pushes := &pushRecorder{Store: memory.New(memory.Options{})}
	withEngine(t, engine.Options{Store: pushes.Store, Pushes: pushes}, func(t *testing.T, b *fixture) {
		for url, want := range map[string]a2a.State{"down": a2a.StateFailed, "full": a2a.StateRejected} {
			_ = b.send(pushing(newRequest("m "+url, "hi"), url))
			page, err := b.List(t.Context(), &a2a.ListRequest{Owner: "owner", State: want})
			if err != nil || len(page.Tasks) != 1 {
				t.Errorf("%s: %+v, %v, want a task that is %s", url, page, err, want)
			}
		}
	})
}

// disconnectingPushes disconnects the client when a configuration is attached. Attach then
// fails if ctx has ended with the request, as a store would.
type disconnectingPushes struct {
	*pushRecorder
	disconnect context.CancelFunc
}

func (p *disconnectingPushes) Attach(ctx context.Context, k store.Key, c a2a.PushConfig, after uint64) error {
	p.disconnect()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return p.pushRecorder.Attach(ctx, k, c, after)
}

// A task with a push configuration belongs to the engine, and not to the connection of its client.
func TestClientDisconnectsBeforeThePushConfigurationIsAttached(t *testing.T) {
	pushes := &disconnectingPushes{pushRecorder: &pushRecorder{Store: memory.New(memory.Options{})}}
	withEngine(t, engine.Options{Store: pushes.Store, Pushes: pushes}, func(t *testing.T, b *fixture) {
		send := func(r *a2a.SendRequest) {
			ctx, cancel := context.WithCancel(t.Context())
			pushes.disconnect = cancel
			_, _ = b.Send(ctx, r)
		}
		send(pushing(newRequest("m1", "hi"), "one"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		send(pushing(withTask(newRequest("m2", "more"), c.TaskID), "two"))
		c = b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		send(pushing(withTask(newRequest("m3", "even more"), c.TaskID), "three"))
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		b.nextCall().finishTask(status(a2a.StateCompleted))
		if len(pushes.attached) != 3 {
			t.Errorf("attached = %q, want three configurations", pushes.attached)
		}
	})
}

// A push configuration is refused, and the store does not answer the rejection of its task. The
// client was refused, so no replica runs the turn.
func TestTaskOfARefusedPushConfigurationIsNotRerun(t *testing.T) {
	pushes := &pushRecorder{}
	withTwoReplicas(t, engine.Options{Pushes: pushes, Retry: retry}, func(t *testing.T, a, b *replica) {
		pushes.Store = a.member
		time.Sleep(time.Minute)
		a.member.set(appendsFailAfterCreate)
		s := a.send(pushing(newRequest("m1", "hi"), "full"))
		time.Sleep(time.Minute)
		if s.pending() || s.err == nil {
			t.Fatalf("Send() = %s, want a refusal", s.result())
		}
		a.member.clear(appendsFailAfterCreate)
		a.member.clear(appendsFail)
		time.Sleep(time.Minute)
		a.wantNoCall()
		b.wantNoCall()
		page, err := b.List(t.Context(), &a2a.ListRequest{Owner: "owner"})
		if err != nil || len(page.Tasks) != 1 || !page.Tasks[0].Status.State.Terminal() {
			t.Errorf("List() = %+v, %v, want one task that has ended", page, err)
		}
	})
}
