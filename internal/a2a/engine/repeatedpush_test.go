// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// receiver is the webhook of a client. It confirms every notification.
type receiver struct {
	mu sync.Mutex
	// got are the event ids of the notifications, which are "<task>:<event>".
	got []string
}

func (*receiver) Check(string, string) error { return nil }
func (*receiver) Attempted(push.Result)      {}
func (*receiver) Abandoned(push.Cause)       {}

func (r *receiver) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, request.Header.Get("X-A2A-Event-Id"))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// want compares the numbers of all events that the receiver got for a task.
func (r *receiver) want(t *testing.T, task, want string) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var events []string
	for _, id := range r.got {
		if of, event, _ := strings.Cut(id, ":"); of == task {
			events = append(events, event)
		}
	}
	if got := strings.Join(events, " "); got != want {
		t.Errorf("the receiver got the events %q of the task, want %q", got, want)
	}
}

// crashingPushes are the push configurations of a replica that may crash while it attaches one.
type crashingPushes struct {
	*push.Pushes
	// before and after are called before and after the configuration is attached; nil does
	// nothing.
	before, after func()
	// refusal is the error of Reattach; nil calls Pushes.
	refusal error
	// reattached counts the calls of Reattach.
	reattached int
}

func (p *crashingPushes) Attach(ctx context.Context, k store.Key, c a2a.PushConfig, after uint64) error {
	if p.before != nil {
		p.before()
	}
	err := p.Pushes.Attach(ctx, k, c, after)
	if p.after != nil {
		p.after()
	}
	return err
}

func (p *crashingPushes) Reattach(ctx context.Context, k store.Key, c a2a.PushConfig, after uint64) error {
	p.reattached++
	if p.refusal != nil {
		return p.refusal
	}
	return p.Pushes.Reattach(ctx, k, c, after)
}

// pushReplica is a replica that delivers push notifications.
type pushReplica struct {
	*replica
	pushes *crashingPushes
	stop   func()
}

// crash ends the replica, apart from the goroutine of the caller.
func (p *pushReplica) crash() {
	p.replica.crash()
	p.stop()
}

type pushReplicas struct {
	a, b    *pushReplica
	configs *memory.Pushes
	*receiver
	// gone closes when the test ends. A goroutine of a replica that crashed waits for it.
	gone chan struct{}
}

// crashHere crashes a replica in the calling goroutine.
func (s *pushReplicas) crashHere(p *pushReplica) func() {
	return func() {
		p.crash()
		<-s.gone
	}
}

// configured returns the push configurations of a task.
func (s *pushReplicas) configured(t *testing.T, task string) []store.Push {
	t.Helper()
	all, err := s.configs.List(t.Context(), store.Key{Owner: "owner", TaskID: task})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// withPushReplicas runs a test with two replicas that share a store and its push
// configurations.
func withPushReplicas(t *testing.T, options engine.Options, test func(t *testing.T, s *pushReplicas)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tasks := storetest.NewMemory(memory.Options{})
		s := &pushReplicas{configs: memory.NewPushes(memory.PushOptions{}), receiver: &receiver{}, gone: make(chan struct{})}
		s.a, s.b = s.start(t, tasks, "a", options), s.start(t, tasks, "b", options)
		for _, p := range []*pushReplica{s.a, s.b} {
			defer p.shutDown()
			defer p.stop()
		}
		defer close(s.gone)
		time.Sleep(time.Minute) // a takeover waits until the store has answered for a lease
		test(t, s)
	})
}

func (s *pushReplicas) start(t *testing.T, tasks *storetest.Memory, name string, options engine.Options) *pushReplica {
	t.Helper()
	pushes := &crashingPushes{}
	options.Pushes = pushes
	p := &pushReplica{replica: newIdleReplica(t, tasks, name, options), pushes: pushes}
	var err error
	pushes.Pushes, err = push.New(push.Options{Tasks: p.member, Configs: s.configs, Member: p.member, Guard: s.receiver, Observer: s.receiver})
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _ = pushes.Resume(ctx) }()
	p.stop = func() {
		cancel()
		_ = pushes.Drain(ctx)
	}
	return p
}

func withHook(r *a2a.SendRequest) *a2a.SendRequest {
	r.Push = &a2a.PushConfig{URL: "https://hooks.example.com/hook", Dialect: a2a.DialectV10}
	return r
}

// onlyTask returns the id of the only task of an owner.
func (p *pushReplica) onlyTask(t *testing.T, owner a2a.Owner) string {
	t.Helper()
	page, err := p.List(t.Context(), &a2a.ListRequest{Owner: owner})
	if err != nil || len(page.Tasks) != 1 {
		t.Fatalf("List() = %+v, %v, want one task", page, err)
	}
	return page.Tasks[0].ID
}

// A replica dies after it has created the task of a message, and before it has attached the push
// configuration. Its client repeats the message at another replica.
func TestRepeatedMessageAttachesAPushConfigurationThatACrashLost(t *testing.T) {
	crash := func(t *testing.T, s *pushReplicas) (task string) {
		s.a.pushes.before = s.crashHere(s.a)
		s.a.send(withHook(newRequest("m1", "hi")))
		task = s.b.onlyTask(t, "owner")
		if all := s.configured(t, task); len(all) > 0 {
			t.Fatalf("configurations = %+v", all)
		}
		return task
	}
	t.Run("before the takeover", func(t *testing.T) {
		withPushReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, s *pushReplicas) {
			task := crash(t, s)
			again := s.b.send(returnImmediately(withHook(newRequest("m1", "hi"))))
			again.want(t, "task:submitted")
			if all := s.configured(t, task); len(all) != 1 {
				t.Errorf("configurations = %+v, want one", all)
			}
			time.Sleep(20 * time.Second)
			c := s.b.nextCall()
			c.mustEmit(chunk("x"))
			c.finishTask(status(a2a.StateCompleted))
			time.Sleep(time.Second)
			s.want(t, task, "3 4 5")
			// A third copy changes nothing.
			s.b.send(withHook(newRequest("m1", "hi"))).want(t, "task:completed")
			time.Sleep(time.Second)
			s.want(t, task, "3 4 5")
			if all := s.configured(t, task); len(all) != 1 || !all[0].Ended() {
				t.Errorf("configurations = %+v, want one that has ended", all)
			}
			s.b.wantNoCall()
		})
	})
	t.Run("while the turn is re-run", func(t *testing.T) {
		withPushReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, s *pushReplicas) {
			task := crash(t, s)
			time.Sleep(20 * time.Second)
			c := s.b.nextCall()
			c.mustEmit(chunk("x"))
			s.want(t, task, "")
			stream := s.b.stream(withHook(newRequest("m1", "hi")))
			time.Sleep(time.Second)
			s.want(t, task, "3 4")
			c.finishTask(status(a2a.StateCompleted))
			s.want(t, task, "3 4 5")
			stream.want(t, "task:submitted status:working artifact:turn-1=x status:completed EOF")
		})
	})
	t.Run("after the end of the task", func(t *testing.T) {
		withPushReplicas(t, engine.Options{}, func(t *testing.T, s *pushReplicas) {
			task := crash(t, s)
			time.Sleep(20 * time.Second)
			s.b.wantState(task, a2a.StateFailed)
			for range 2 {
				s.b.send(withHook(newRequest("m1", "hi"))).want(t, "task:failed")
				s.want(t, task, "3")
			}
			if all := s.configured(t, task); len(all) != 1 || !all[0].Ended() {
				t.Errorf("configurations = %+v, want one that has ended", all)
			}
		})
	})
	t.Run("error", func(t *testing.T) {
		withPushReplicas(t, engine.Options{}, func(t *testing.T, s *pushReplicas) {
			task := crash(t, s)
			s.b.pushes.refusal = errURL
			s.b.send(withHook(newRequest("m1", "hi"))).want(t, string(a2a.ReasonInvalidParams))
			s.b.wantState(task, a2a.StateSubmitted)
			s.b.pushes.refusal = nil
			s.b.send(returnImmediately(withHook(newRequest("m1", "hi")))).want(t, "task:submitted")
			time.Sleep(20 * time.Second)
			s.want(t, task, "3")
		})
	})
	t.Run("another owner", func(t *testing.T) {
		withPushReplicas(t, engine.Options{}, func(t *testing.T, s *pushReplicas) {
			task := crash(t, s)
			foreign := withHook(newRequest("m1", "hi"))
			foreign.Owner = "other"
			s.b.send(foreign)
			c := s.b.nextCall()
			if c.TaskID == task {
				t.Error("the other owner gets the task")
			}
			c.finishTask(status(a2a.StateCompleted))
			time.Sleep(20 * time.Second)
			s.want(t, c.TaskID, "3")
			s.want(t, task, "")
			if all := s.configured(t, task); len(all) > 0 {
				t.Errorf("configurations = %+v, want none", all)
			}
			if s.b.pushes.reattached > 0 {
				t.Error("the configuration was attached as one of a repeated message")
			}
		})
	})
}

// The replica that has claimed a message dies before it has attached the push configuration.
// Another replica has forwarded its copy of the message to it, and finds the message in the
// log.
func TestForwardedMessageAttachesAPushConfigurationThatACrashLost(t *testing.T) {
	limits := func() engine.TurnLimits {
		return engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 8, QueueTimeout: time.Minute}
	}
	withPushReplicas(t, engine.Options{Turns: limits}, func(t *testing.T, s *pushReplicas) {
		s.a.send(newRequest("m0", "hi"))
		busy := s.a.nextCall()
		s.a.pushes.before = s.crashHere(s.a)
		s.a.send(withHook(newRequest("m1", "hi")))
		again := s.b.send(withHook(newRequest("m1", "hi")))
		if !again.pending() {
			t.Fatalf("Send() = %s, want it to wait for the other replica", again.result())
		}
		busy.finishTask(status(a2a.StateCompleted))
		time.Sleep(20 * time.Second)
		again.want(t, "task:failed")
		s.want(t, again.event.Task.ID, "3")
	})
}

// A replica creates the task of a message and stalls. Its lease ends, and another replica fails or
// re-runs the task before the first replica attaches the push configuration.
func TestPushConfigurationThatIsAttachedAfterATakeoverMissesNoEvent(t *testing.T) {
	stall := func(s *pushReplicas) *pendingSend {
		s.a.pushes.before = func() {
			s.a.member.set(renewFails)
			time.Sleep(40 * time.Second)
			s.a.member.clear(renewFails)
		}
		sent := s.a.send(withHook(newRequest("m1", "hi")))
		time.Sleep(20 * time.Second)
		return sent
	}
	t.Run("the task fails", func(t *testing.T) {
		withPushReplicas(t, engine.Options{}, func(t *testing.T, s *pushReplicas) {
			sent := stall(s)
			task := s.b.onlyTask(t, "owner")
			s.b.wantState(task, a2a.StateFailed)
			time.Sleep(time.Minute)
			sent.want(t, "task:failed")
			s.want(t, task, "3")
			if all := s.configured(t, task); len(all) != 1 || !all[0].Ended() {
				t.Errorf("configurations = %+v, want one that has ended", all)
			}
		})
	})
	t.Run("the turn is re-run", func(t *testing.T) {
		withPushReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, s *pushReplicas) {
			sent := stall(s)
			c := s.b.nextCall()
			c.mustEmit(chunk("x"))
			time.Sleep(time.Minute)
			c.finishTask(status(a2a.StateCompleted))
			sent.want(t, "task:completed")
			s.want(t, c.TaskID, "3 4 5")
		})
	})
}

// A replica dies after it has attached the push configuration, and before its client gets an
// answer. Each event is delivered once.
func TestRepeatedMessageKeepsThePositionOfItsPushConfiguration(t *testing.T) {
	withPushReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, s *pushReplicas) {
		s.a.send(withHook(newRequest("m1", "hi")))
		c := s.a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		c.mustEmit(chunk("x"))
		time.Sleep(time.Second)
		s.want(t, c.TaskID, "3 4")
		s.a.crash()
		s.b.send(returnImmediately(withHook(newRequest("m1", "hi")))).want(t, "task:working")
		time.Sleep(40 * time.Second)
		s.want(t, c.TaskID, "3 4 5")
		s.b.nextCall().finishTask(status(a2a.StateCompleted))
		time.Sleep(time.Second)
		s.want(t, c.TaskID, "3 4 5 6")
		if all := s.configured(t, c.TaskID); len(all) != 1 {
			t.Errorf("configurations = %+v, want one", all)
		}
	})
}

// Another replica cancels a paused task while a message that answers it attaches its push
// configuration. The message is refused, and the configuration must not wait for further events.
func TestPushConfigurationOfARefusedMessageEndsWithTheTask(t *testing.T) {
	withPushReplicas(t, engine.Options{}, func(t *testing.T, s *pushReplicas) {
		s.a.send(newRequest("m1", "hi"))
		c := s.a.nextCall()
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		time.Sleep(time.Second)
		s.a.pushes.before = func() {
			if _, err := s.b.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: c.TaskID}); err != nil {
				t.Errorf("Cancel() error = %v", err)
			}
		}
		s.a.send(withHook(withTask(newRequest("m2", "more"), c.TaskID))).want(t, string(a2a.ReasonUnsupportedOperation))
		time.Sleep(time.Second)
		s.want(t, c.TaskID, "4")
		if all := s.configured(t, c.TaskID); len(all) != 1 || !all[0].Ended() {
			t.Errorf("configurations = %+v, want one that has ended", all)
		}
	})
}

// The first copy of a message, and a copy that joins its turn in memory, attach the
// configuration once.
func TestRepeatedMessageInMemoryAttachesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks, configs, hook := memory.New(memory.Options{}), memory.NewPushes(memory.PushOptions{}), &receiver{}
		p, err := push.New(push.Options{Tasks: tasks, Configs: configs, Guard: hook, Observer: hook})
		if err != nil {
			t.Fatal(err)
		}
		pushes := &crashingPushes{Pushes: p}
		b := &fixture{t: t, calls: make(chan *call, 100)}
		if b.Engine, err = engine.New(engine.Options{Store: tasks, Backend: b, Pushes: pushes}); err != nil {
			t.Fatal(err)
		}
		first := b.send(withHook(newRequest("m1", "hi")))
		c := b.nextCall()
		again := b.send(withHook(newRequest("m1", "hi")))
		c.mustEmit(status(a2a.StateWorking))
		c.finishTask(status(a2a.StateCompleted))
		first.want(t, "task:completed")
		again.want(t, "task:completed")
		b.send(withHook(newRequest("m1", "hi"))).want(t, "task:completed")
		hook.want(t, c.TaskID, "3 4")
		if configs.Len() != 1 || pushes.reattached > 0 {
			t.Errorf("%d configurations and %d calls of Reattach, want one and none", configs.Len(), pushes.reattached)
		}
		b.wantNoCall()
		_ = b.Drain(t.Context())
		_ = p.Drain(t.Context())
	})
}

// A message that is not repeated needs one call of Attach, also if another replica processes it.
func TestForwardedMessageAttachesItsPushConfigurationOnce(t *testing.T) {
	withPushReplicas(t, engine.Options{}, func(t *testing.T, s *pushReplicas) {
		s.a.send(newRequest("m1", "hi"))
		c := s.a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		waits := s.b.send(withHook(withTask(newRequest("m2", "more"), c.TaskID)))
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		s.a.nextCall().finishTask(status(a2a.StateCompleted))
		time.Sleep(time.Second)
		waits.want(t, "task:completed")
		s.want(t, c.TaskID, "4 6 7")
		if n := s.a.pushes.reattached + s.b.pushes.reattached; n > 0 {
			t.Errorf("Reattach was called %d times", n)
		}
	})
}
