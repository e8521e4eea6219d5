// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// reattach attaches the configuration of a repeated message whose turn began with the event
// numbered after.
func (t *task) reattach(p *push.Pushes, c a2a.PushConfig, after uint64) {
	t.b.t.Helper()
	if c.URL == "" {
		c.URL = hook
	}
	c.Dialect = a2a.DialectV10
	if err := p.Reattach(t.b.t.Context(), t.key, c, after); err != nil {
		t.b.t.Fatalf("Reattach() error = %v", err)
	}
}

// attach attaches the configuration of a message that is about to continue the task.
func (t *task) attach(p *push.Pushes) { t.b.t.Helper(); t.attachAfter(p, t.seq) }

func (t *task) attachAfter(p *push.Pushes, after uint64) {
	t.b.t.Helper()
	if err := p.Attach(t.b.t.Context(), t.key, a2a.PushConfig{Dialect: a2a.DialectV10, URL: hook}, after); err != nil {
		t.b.t.Fatalf("Attach() error = %v", err)
	}
}

func TestReattachBeginsAfterTheTurnBegan(t *testing.T) {
	withFixture(t, push.Options{}, func(_ *testing.T, b *fixture) {
		works, ended := b.task("t1"), b.task("t2")
		works.setState(a2a.StateWorking)
		works.reattach(b.Pushes, a2a.PushConfig{}, 2)
		b.wantEvents("3")
		works.setState(a2a.StateCompleted)
		b.wantEvents("4")
		ended.setState(a2a.StateWorking)
		ended.setState(a2a.StateFailed)
		ended.reattach(b.Pushes, a2a.PushConfig{}, 2)
		b.wantEvents("3 4")
		b.wantFollowing(0)
		// If the beginning of the turn is not known, the last event is delivered.
		later := b.task("t3")
		later.setState(a2a.StateFailed)
		later.reattach(b.Pushes, a2a.PushConfig{}, 3)
		b.wantEvents("3")
		b.wantFollowing(0)
	})
}

func TestReattachKeepsTheConfigurationOfTheTask(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.attach(b.Pushes)
		task.setState(a2a.StateWorking)
		b.wantEvents("3")
		b.respond(unreachable)
		task.setState(a2a.StateInputRequired)
		b.wantEvents("4")
		// The retry of event 4 stays due after the delay.
		task.reattach(b.Pushes, a2a.PushConfig{}, 2)
		b.wantEvents("")
		b.respond(nil)
		time.Sleep(2 * time.Second)
		b.wantEvents("4")
		task.setState(a2a.StateCompleted)
		b.wantEvents("5")
		b.wantFollowing(0)
		task.reattach(b.Pushes, a2a.PushConfig{}, 2)
		b.wantEvents("")
		b.wantFollowing(0)
		// Two ids are two configurations.
		task.reattach(b.Pushes, a2a.PushConfig{ID: "other"}, 2)
		b.wantEvents("3 4 5")
		if n := b.configs.Len(); n != 2 {
			t.Errorf("%d configurations, want 2", n)
		}
	})
}

// A configuration with the same id and other fields replaces the former one, and continues its
// delivery.
func TestReattachReplacesAChangedConfiguration(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.attach(b.Pushes)
		task.setState(a2a.StateWorking)
		b.wantEvents("3")
		task.reattach(b.Pushes, a2a.PushConfig{URL: hook + "2"}, 2)
		task.setState(a2a.StateCompleted)
		all := b.takeReceived()
		if len(all) != 1 || all[0].url != hook+"2" || all[0].event() != "4" {
			t.Errorf("received %v, want event 4 at the new place", all)
		}
	})
}

// The events of a new task may include events of another replica. A client may choose the id of
// a former task, which the store has removed, and whose configuration is still in the store.
func TestAttachToANewTaskBeginsAfterItsCreation(t *testing.T) {
	for name, former := range map[string]*store.Push{
		"no former task": nil, "former task": {Acked: 57, Since: 57},
		"former task that has ended": {Acked: 57, Since: 57, Expires: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
				config := a2a.PushConfig{ID: "t1", TaskID: "t1", URL: hook, Dialect: a2a.DialectV10}
				task := b.task("t1")
				if former != nil {
					former.Task, former.Config = task.key, config
					if _, err := b.configs.Add(t.Context(), *former); err != nil {
						t.Fatal(err)
					}
				} else {
					task.setState(a2a.StateWorking)
				}
				task.attachAfter(b.Pushes, 2)
				if former != nil {
					task.setState(a2a.StateWorking)
				}
				b.wantEvents("3")
				task.setState(a2a.StateFailed)
				b.wantEvents("4")
				b.wantFollowing(0)
			})
		})
	}
}

// Another replica ends the task before the message that is about to continue it, which is then
// refused.
func TestAttachToATaskThatHasJustEnded(t *testing.T) {
	for name, former := range map[string]bool{"new configuration": false, "former configuration": true} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{}, func(_ *testing.T, b *fixture) {
				task := b.task("t1")
				if former {
					b.respond(unreachable)
					task.attach(b.Pushes)
				}
				task.setState(a2a.StateInputRequired)
				known := task.seq
				task.setState(a2a.StateCanceled)
				b.takeReceived()
				b.respond(nil)
				task.attachAfter(b.Pushes, known)
				if former {
					b.wantEvents("3 4")
				} else {
					b.wantEvents("4")
				}
				b.wantFollowing(0)
			})
		})
	}
}

// interruptedConfigs calls between after the next Get, and counts the calls of the store.
type interruptedConfigs struct {
	store.SharedPushStore
	between          func()
	gets, adds, puts int
}

func (c *interruptedConfigs) Get(ctx context.Context, task store.Key, id string) (store.Push, error) {
	c.gets++
	p, err := c.SharedPushStore.Get(ctx, task, id)
	if between := c.between; between != nil {
		c.between = nil
		between()
	}
	return p, err
}

func (c *interruptedConfigs) Add(ctx context.Context, p store.Push) (uint64, error) {
	c.adds++
	return c.SharedPushStore.Add(ctx, p)
}

func (c *interruptedConfigs) Put(ctx context.Context, p store.Push) (uint64, error) {
	c.puts++
	return c.SharedPushStore.Put(ctx, p)
}

// Two replicas attach the configuration of two copies of a message. One of them adds the
// configuration, and delivers an event, while the other one adds it, too.
func TestTwoReplicasAttachTheConfigurationOfAMessage(t *testing.T) {
	for name, late := range map[string]func(*task, *push.Pushes){
		"first copy":    (*task).attach,
		"repeated copy": func(task *task, p *push.Pushes) { task.reattach(p, a2a.PushConfig{}, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
				b.stop()
				first := b.replica("a")
				defer first.stop()
				configs := &interruptedConfigs{SharedPushStore: b.configs}
				b.options.Configs = configs
				second := b.replica("b")
				defer second.stop()
				task := b.task("t1")
				configs.between = func() {
					task.reattach(first.Pushes, a2a.PushConfig{}, 2)
					task.setState(a2a.StateWorking)
					b.wantEvents("3")
				}
				late(task, second.Pushes)
				b.wantEvents("")
				task.setState(a2a.StateInputRequired)
				b.wantEvents("4")
				if n := b.configs.Len(); n != 1 {
					t.Errorf("%d configurations, want 1", n)
				}
			})
		})
	}
}

// The store has added a configuration, and its answer was lost.
func TestReattachFollowsAConfigurationWithoutADelivery(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		_, err := b.configs.Add(t.Context(), store.Push{
			Task: task.key, Config: a2a.PushConfig{TaskID: "t1", ID: "t1", URL: hook, Dialect: a2a.DialectV10}, Acked: 2, Since: 2,
		})
		if err != nil {
			t.Fatal(err)
		}
		task.reattach(b.Pushes, a2a.PushConfig{}, 2)
		b.wantFollowing(1)
		task.setState(a2a.StateCompleted)
		b.wantEvents("3")
		b.wantFollowing(0)
	})
}

func TestAttachCallsTheStoreTwice(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		configs := &interruptedConfigs{SharedPushStore: b.configs}
		b.options.Configs = configs
		b.restart()
		b.task("t1").attach(b.Pushes)
		if configs.gets != 1 || configs.adds != 1 || configs.puts != 0 {
			t.Errorf("Attach() made %d reads, %d additions and %d replacements, want one read and one addition", configs.gets, configs.adds, configs.puts)
		}
	})
}

// A replica that hangs after it has stored a message, and goes on when another replica has run the turn, does not send the notifications again.
func TestAttachAfterAnotherReplicaDelivered(t *testing.T) {
	for name, end := range map[string]a2a.State{"ended": a2a.StateCompleted, "waits": a2a.StateInputRequired} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
				b.stop()
				hangs := b.replica("a")
				other := b.replica("b")
				task := b.task("t1")
				task.setState(a2a.StateWorking)
				task.reattach(other.Pushes, a2a.PushConfig{}, 2)
				task.setState(end)
				b.wantEvents("3 4")
				task.attachAfter(hangs.Pushes, 2)
				b.wantEvents("")
			})
		})
	}
}
