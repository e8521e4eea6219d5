// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/registry/watch"
)

// A caller that loses the right to a namespace receives the event remove for each agent of the
// namespace within ten seconds, and no event about later changes there.
func TestRevokedAccessRemovesAgentsWithinTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		for _, namespace := range []string{"hers", "theirs"} {
			c.write(agentAt(index.Key{Namespace: namespace, Name: "a"}, "text"), false)
		}
		r := startReplica(t, c)
		var lost atomic.Bool
		authorizer := access.NewAuthorizer(access.AuthorizerOptions{
			Review: func(_ context.Context, _ access.Caller, r access.Right) (bool, error) {
				return r.Namespace == "hers" || r.Namespace == "theirs" && !lost.Load(), nil
			},
			Bindings: access.NewBindings(clock.RealClock{}), Clock: clock.RealClock{},
			Candidates: func() []string { return []string{"hers", "theirs"} },
		})
		sees := func(ctx context.Context) (*access.Set, error) { return authorizer.VisibleSet(ctx, access.Caller{}) }
		caller := &reader{agents: map[string]string{}, left: -1}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); caller.connect(ctx, t, r, "watch=true", sees) }()
		synctest.Wait()
		agents, before := caller.state()
		if len(agents) != 2 {
			t.Fatalf("agents = %v, want two", agents)
		}
		lost.Store(true)
		time.Sleep(reviewLifetime)
		synctest.Wait()
		if agents, _ = caller.state(); len(agents) != 1 || agents["hers/a"] == "" {
			t.Errorf("agents after the right is lost = %v, want hers/a", agents)
		}
		c.write(agentAt(index.Key{Namespace: "theirs", Name: "b"}, "secret"), false)
		r.cache(c, len(c.log))
		r.notify(c, len(c.log))
		time.Sleep(time.Second)
		synctest.Wait()
		if agents, _ = caller.state(); len(agents) != 1 {
			t.Errorf("agents after a change that the caller must not see = %v", agents)
		}
		cancel()
		<-done
		// A reader that was disconnected when the right was lost starts again with all agents.
		caller.last, caller.agents["theirs/a"], caller.resets = before, "stale", 0
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		caller.connectUntil(ctx, t, r, "watch=true", sees)
		if len(caller.agents) != 1 || caller.resets != 1 {
			t.Errorf("agents = %v after %d resets, want hers/a after a reset", caller.agents, caller.resets)
		}
		r.stop()
		<-r.done
	})
}

// reviewLifetime is the time within which the registry observes the loss of a right without a
// change of RBAC objects.
const reviewLifetime = 10*time.Second + time.Millisecond

// blockedReader blocks from its second write on, until unblock is closed.
type blockedReader struct {
	reader
	unblock chan struct{}
	writes  int
}

func (b *blockedReader) Write(text []byte) (int, error) {
	if b.writes++; b.writes > 1 {
		<-b.unblock
	}
	return len(text), nil
}

func TestSlowConsumerIsDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		key := index.Key{Namespace: "n", Name: "a"}
		c.write(agentAt(key, "0"), false)
		r := startReplica(t, c)
		q, err := index.ParseQuery("watch=true")
		if err != nil {
			t.Fatal(err)
		}
		stream, err := watch.New(t.Context(), watch.Options{Feed: r.feed, Query: q, VisibleSet: adminSet(), Clock: clock.RealClock{}})
		if err != nil {
			t.Fatal(err)
		}
		slow := &blockedReader{unblock: make(chan struct{})}
		ended := make(chan error, 1)
		go func() { ended <- stream.Run(t.Context(), slow) }()
		synctest.Wait()
		for i := range 12 { // 24,000 changes
			for j := range 2000 {
				c.write(agentAt(index.Key{Namespace: "n", Name: "a" + strings.Repeat("b", j%40) + strings.Repeat("c", j/40)}, strings.Repeat("x", i+1)), false)
			}
			r.cache(c, len(c.log))
			r.notify(c, len(c.log))
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		close(slow.unblock)
		if err := <-ended; !errors.Is(err, watch.ErrSlowConsumer) {
			t.Errorf("Run() error = %v, want ErrSlowConsumer", err)
		}
		r.stop()
		<-r.done
	})
}

// recorder is a Writer that stores the events of a stream.
type recorder struct{ strings.Builder }

// Flush implements watch.Writer.
func (*recorder) Flush() error { return nil }

// A replica that has not reached the revision of the cursor, such as a replica of another cluster,
// cannot determine the changes since the cursor. It must send all agents.
func TestAWatchFromTheFutureGetsTheWholeState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.write(agentAt(index.Key{Namespace: "n", Name: "a"}, "0"), false)
		r := startReplica(t, c)
		q, err := index.ParseQuery("watch=true")
		if err != nil {
			t.Fatal(err)
		}
		read := func(resume *watch.Cursor) (sent string, waited time.Duration) {
			start := time.Now()
			stream, err := watch.New(t.Context(), watch.Options{Feed: r.feed, Query: q, VisibleSet: adminSet(), Clock: clock.RealClock{}, Resume: resume})
			if err != nil {
				t.Fatal(err)
			}
			waited = time.Since(start)
			ctx, cancel := context.WithCancel(t.Context())
			out, ended := &recorder{}, make(chan struct{})
			go func() { defer close(ended); _ = stream.Run(ctx, out) }()
			synctest.Wait()
			cancel()
			<-ended
			return out.String(), waited
		}
		state, _ := read(nil)
		_, id, _ := strings.Cut(state, "\nid: ")
		id, _, _ = strings.Cut(id, "\n")
		cursor, err := watch.ParseCursor(id)
		if err != nil {
			t.Fatalf("id %q of %q: %v", id, state, err)
		}
		cursor.Revision.Agents += 1000
		again, waited := read(&cursor)
		if again != state || !strings.Contains(again, "event: reset") || waited != 2*time.Second {
			t.Errorf("after %s, a watch from the future got %q, want %q", waited, again, state)
		}
		r.stop()
		<-r.done
	})
}

func TestQuietStreamSendsBookmarksAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.write(agentAt(index.Key{Namespace: "n", Name: "a"}, "0"), false)
		r := startReplica(t, c)
		q, err := index.ParseQuery("watch=true&skill=none")
		if err != nil {
			t.Fatal(err)
		}
		stream, err := watch.New(t.Context(), watch.Options{Feed: r.feed, Query: q, VisibleSet: adminSet(), Clock: clock.RealClock{}})
		if err != nil {
			t.Fatal(err)
		}
		caller := &reader{agents: map[string]string{}, left: -1}
		ended := make(chan error, 1)
		start := time.Now()
		go func() { ended <- stream.Run(t.Context(), caller) }()
		synctest.Wait()
		_, first := caller.state()
		c.write(agentAt(index.Key{Namespace: "n", Name: "b"}, "0"), false) // does not match the filter of the watch
		r.cache(c, 2)
		r.notify(c, 2)
		time.Sleep(time.Minute)
		synctest.Wait()
		if agents, last := caller.state(); last == first || len(agents) != 0 {
			t.Errorf("after a minute: the id is still %s, agents %v; want a bookmark with the new revision", first, agents)
		}
		if err := <-ended; !errors.Is(err, watch.ErrExpired) || time.Since(start) > 10*time.Minute {
			t.Errorf("Run() = %v after %s, want ErrExpired within ten minutes", err, time.Since(start))
		}
		r.stop()
		<-r.done
	})
}

func TestParseCursor(t *testing.T) {
	want := watch.Cursor{Revision: index.Revision{Agents: 7, ConfigMaps: 9}, View: "0123456789abcdef"}
	if got, err := watch.ParseCursor(string(want.Append(nil))); err != nil || got != want {
		t.Errorf("ParseCursor(%s) = %v, %v", want.Append(nil), got, err)
	}
	for _, text := range []string{"", "1", "1.7-9", "2.7-9.0123456789abcdef", "1.7.0123456789abcdef", "1.-7-9.0123456789abcdef", "1.7-9.0123456789ABCDEF", "1.7-9.0123456789abcdef.x"} {
		if got, err := watch.ParseCursor(text); !errors.Is(err, watch.ErrCursor) {
			t.Errorf("ParseCursor(%q) = %v, %v; want ErrCursor", text, got, err)
		}
	}
}

// A caller without rights receives an agent when the agent becomes public, although the JSON of
// the agent does not change. On resume, it receives a remove if the agent is not public any more.
func TestStreamFollowsTheVisibilityOfAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		write := func(r *replica, visibility a2av1alpha1.Visibility) {
			agent := agentAt(index.Key{Namespace: "n", Name: "a"}, "text")
			agent.Spec.Discovery.Visibility = visibility
			c.write(agent, false)
			if r != nil {
				r.cache(c, len(c.log))
				r.notify(c, len(c.log))
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
			}
		}
		write(nil, a2av1alpha1.VisibilityCluster)
		r := startReplica(t, c)
		time.Sleep(time.Minute)
		c.write(configAt(index.Key{Namespace: "other", Name: "b"}, "s"), false)
		write(r, a2av1alpha1.VisibilityFederated) // after these writes, the replica knows all removals, so streams can resume
		sees := constantSet(access.NewSet(access.VisibilityPublic))
		caller := &reader{agents: map[string]string{}, left: -1}
		connect := func() (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); caller.connect(ctx, t, r, "watch=true", sees) }()
			synctest.Wait()
			return func() { cancel(); <-done }
		}
		stop := connect()
		expect := func(when string, want int) {
			t.Helper()
			if agents, _ := caller.state(); len(agents) != want {
				t.Errorf("%s: agents = %v, want %d", when, agents, want)
			}
		}
		expect("federated", 0)
		write(r, a2av1alpha1.VisibilityPublic)
		expect("public", 1)
		write(r, a2av1alpha1.VisibilityCluster)
		expect("not public any more", 0)
		write(r, a2av1alpha1.VisibilityPublic)
		time.Sleep(time.Minute) // until a bookmark
		stop()
		expect("public again", 1)
		write(r, a2av1alpha1.VisibilityFederated)
		caller.resets = 0
		stop = connect()
		expect("after it resumed", 0)
		if caller.resets != 0 {
			t.Error("the stream started again; want a remove")
		}
		stop()
		r.stop()
		<-r.done
	})
}

// TestUpdatesForASlowReaderAreBoundedInBytes blocks a write while an agent with a large text changes. The updates since then are in
// memory for the reader, so the stream must end before they have more than index.MaxHeld bytes, also while the write blocks.
func TestUpdatesForASlowReaderAreBoundedInBytes(t *testing.T) {
	const text, most = 256 << 10, 64
	for name, interrupts := range map[string]bool{"write that blocks": true, "write that ends late": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				key := index.Key{Namespace: "n", Name: "a"}
				c.write(agentAt(key, "0"), false)
				r := startReplica(t, c)
				q, err := index.ParseQuery("watch=true")
				if err != nil {
					t.Fatal(err)
				}
				slow := &blockedReader{unblock: make(chan struct{})}
				unblock := sync.OnceFunc(func() { close(slow.unblock) })
				options := watch.Options{Feed: r.feed, Query: q, VisibleSet: adminSet(), Clock: clock.RealClock{}}
				if interrupts {
					options.Interrupt = unblock
				}
				stream, err := watch.New(t.Context(), options)
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- stream.Run(t.Context(), slow) }()
				synctest.Wait()
				for i := range most {
					c.write(agentAt(key, strings.Repeat(string(rune('a'+i%26)), text)), false)
					r.cache(c, len(c.log))
					r.notify(c, len(c.log))
					time.Sleep(100 * time.Millisecond)
					synctest.Wait()
				}
				if !interrupts {
					unblock()
					synctest.Wait()
				}
				select {
				case err := <-ended:
					if !errors.Is(err, watch.ErrSlowConsumer) {
						t.Errorf("Run() error = %v, want ErrSlowConsumer", err)
					}
				default:
					t.Errorf("the stream of a reader that does not read holds %d updates of %d KiB", most, text>>10)
					unblock()
				}
				r.stop()
				<-r.done
			})
		})
	}
}
