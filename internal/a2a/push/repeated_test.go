// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// An owner replica that dies before it stores the cursor has sent a notification already. The next owner
// replica, which finds more events in the log, sends this notification again, and no other one with the same events.
func TestTakeoverRepeatsNotificationsUnchanged(t *testing.T) {
	for name, test := range map[string]struct {
		// first are the pieces of the artifact that the first owner replica sends.
		first int
		want  string
	}{
		"a single event": {1, "4 18 19"},
		"joined events":  {3, "6 18 19"},
		"all events":     {20, "23 24"},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
				b.stop()
				first := b.replica("a")
				task := b.task("t1")
				if _, err := first.SetPush(t.Context(), &a2a.SetPushRequest{Owner: task.key.Owner, Config: a2a.PushConfig{
					Dialect: a2a.DialectV10, TaskID: "t1", URL: hook,
				}}); err != nil {
					t.Fatal(err)
				}
				task.setState(a2a.StateWorking)
				b.wantEvents("3")
				b.respond(status(http.StatusServiceUnavailable))
				for i := range test.first {
					task.add(chunk("t1", "a", fmt.Sprintf("c.%d ", i), i > 0))
				}
				time.Sleep(150 * time.Millisecond)
				sent := b.takeReceived()
				for i := test.first; i < 15; i++ {
					task.add(chunk("t1", "a", fmt.Sprintf("c.%d ", i), true))
				}
				first.stop()
				b.takeReceived()
				b.respond(nil)
				task.setState(a2a.StateCompleted)
				later := b.replica("a")
				defer later.stop()
				synctest.Wait()
				time.Sleep(time.Second)
				again := b.takeReceived()
				if len(sent) == 0 || len(again) == 0 || again[0].event() != sent[0].event() || again[0].body != sent[0].body {
					t.Errorf("sent %v, and after the takeover %v", sent, again)
				}
				var ids []string
				for _, r := range again {
					ids = append(ids, r.event())
				}
				if got := strings.Join(ids, " "); got != test.want {
					t.Errorf("events after the takeover: %s, want %s", got, test.want)
				}
			})
		})
	}
}

// A client that replaces its configuration gets the notification that was in flight unchanged.
func TestReplacedConfigurationRepeatsNotificationsUnchanged(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		b.respond(status(http.StatusServiceUnavailable))
		task.add(chunk("t1", "a", "one ", false))
		time.Sleep(150 * time.Millisecond)
		task.add(chunk("t1", "a", "two ", true), chunk("t1", "a", "three ", true))
		b.takeReceived()
		b.respond(nil)
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10, Token: "another"})
		time.Sleep(time.Second)
		b.wantEvents("3 5")
	})
}

// fickleAdvance is a push store that loses some calls of Advance before and some after it has executed them.
type fickleAdvance struct {
	*memory.Pushes
	random *sharedRandom
}

// sharedRandom is a source of numbers for several goroutines.
type sharedRandom struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (s *sharedRandom) IntN(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

func (f *fickleAdvance) Advance(ctx context.Context, p store.Push) error {
	switch f.random.IntN(4) {
	case 0:
		return store.ErrUnavailable
	case 1:
		return errors.Join(f.Pushes.Advance(ctx, p), store.ErrUnavailable)
	default:
		return f.Pushes.Advance(ctx, p)
	}
}

var pieces = regexp.MustCompile(`c\.\d+`)

// However often receivers and the store fail and owner replicas die, a piece of an artifact always comes in the same
// notification.
func TestEachEventHasOneNotification(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			withFixture(t, push.Options{MaxAttempts: 1000}, func(t *testing.T, b *fixture) {
				random := &sharedRandom{random: rand.New(rand.NewPCG(seed, 0))}
				b.options.Configs = &fickleAdvance{b.configs, random}
				b.stop()
				owner := b.replica("a")
				task := b.task("t1")
				if _, err := owner.SetPush(t.Context(), &a2a.SetPushRequest{Owner: task.key.Owner, Config: a2a.PushConfig{
					Dialect: a2a.DialectV10, TaskID: "t1", URL: hook,
				}}); err != nil {
					t.Fatal(err)
				}
				b.respond(func(r *http.Request) (*http.Response, error) {
					switch random.IntN(3) {
					case 0:
						return status(http.StatusServiceUnavailable)(r)
					case 1:
						return unreachable(r)
					default:
						return status(http.StatusOK)(r)
					}
				})
				added := 0
				for range 40 {
					for range random.IntN(6) {
						task.add(chunk("t1", "a", fmt.Sprintf("c.%d ", added), added > 0))
						added++
					}
					time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
					synctest.Wait()
					if random.IntN(3) == 0 {
						owner.stop()
						owner = b.replica("a")
					}
				}
				b.respond(nil)
				task.setState(a2a.StateCompleted)
				for range 100 {
					time.Sleep(10 * time.Second)
					b.renew(owner)
				}
				owner.stop()
				bodies := map[string]string{}
				notified := map[string]string{}
				for _, r := range b.takeReceived() {
					if former, ok := bodies[r.event()]; ok && former != r.body {
						t.Errorf("event %s is\n%s\nand was\n%s", r.event(), r.body, former)
					}
					bodies[r.event()] = r.body
					for _, piece := range pieces.FindAllString(r.body, -1) {
						if former, ok := notified[piece]; ok && former != r.event() {
							t.Errorf("%s is in event %s, and was in event %s", piece, r.event(), former)
						}
						notified[piece] = r.event()
					}
				}
				if len(notified) != added {
					t.Errorf("%d of %d pieces were notified", len(notified), added)
				}
			})
		})
	}
}
