// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// lossy has two stores on one server. store uses a proxy that may lose responses, and direct
// does not.
type lossy struct {
	server        server
	proxy         *proxy
	store, direct *redis.Store
}

func newLossy(t *testing.T) *lossy {
	t.Helper()
	l := &lossy{server: start(t)}
	l.proxy = newProxy(t, l.server.Address())
	o := l.server.options()
	l.direct = open(t, o)
	// From here on, the server has the scripts, so that one attempt is one call.
	other, err := l.direct.Create(t.Context(), store.NewTask{Key: store.Key{TaskID: "other"}, Events: storetest.Begin()})
	if err != nil {
		t.Fatal(err)
	}
	add(t, other, 2)
	o.Server.Addresses = []string{l.proxy.address}
	o.Timeout, o.AppendTimeout = 300*time.Millisecond, 300*time.Millisecond
	l.store = open(t, o)
	return l
}

// loses runs a call whose first attempt is stored and whose responses are all lost.
func (l *lossy) loses(call func()) {
	l.proxy.swallow.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	for ended := false; !ended; {
		select {
		case <-l.proxy.swallowed:
		case <-done:
			ended = true
		}
	}
	l.proxy.swallow.Store(false)
}

func TestWritesWithoutResponseAreRepeated(t *testing.T) {
	l := newLossy(t)
	n := store.NewTask{Key: key, Origin: origin, Events: storetest.Begin(), Write: store.Write{Token: store.NewToken()}}
	l.loses(func() {
		if _, err := l.store.Create(t.Context(), n); !errors.Is(err, store.ErrIndeterminate) {
			t.Errorf("Create() error = %v, want ErrIndeterminate", err)
		}
	})
	n.Repeat, n.RetryFor = true, 10*time.Second
	if _, err := l.store.Create(t.Context(), n); err != nil {
		t.Fatalf("repeated Create() error = %v", err)
	}
	holder := l.direct.Join("a")
	if _, err := holder.Renew(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		between func(t *testing.T)
		change  store.HoldChange
	}{
		"at once":                  {between: func(*testing.T) {}},
		"the hold":                 {between: func(*testing.T) {}, change: store.Take},
		"behind another's append":  {between: func(t *testing.T) { appendDirectly(t, l.direct, 1) }},
		"behind a thousand events": {between: func(t *testing.T) { appendDirectly(t, l.direct, 1000) }},
	} {
		t.Run(name, func(t *testing.T) {
			after := seqOf(t, l.direct)
			log, err := l.store.Open(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			a := store.Append{
				After: after, Events: []a2a.Event{storetest.Chunk("a", "x")}, Hold: test.change,
				Write: store.Write{Token: store.NewToken(), Replica: holder.Self()},
			}
			l.loses(func() {
				if _, err := log.Append(t.Context(), a); !errors.Is(err, store.ErrIndeterminate) {
					t.Errorf("Append() error = %v, want ErrIndeterminate", err)
				}
			})
			test.between(t)
			now := seqOf(t, l.direct)
			a.Events = []a2a.Event{storetest.Chunk("a", "x")}
			a.Repeat, a.RetryFor = true, 10*time.Second
			if seq, err := log.Append(t.Context(), a); seq != after+1 || err != nil {
				t.Errorf("repeated Append() = %d, %v, want %d", seq, err, after+1)
			}
			if again := seqOf(t, l.direct); again != now || now == after {
				t.Errorf("the log went from %d to %d, and to %d by the repeat", after, now, again)
			}
		})
	}
}

// appendDirectly appends chunks to the task, one a call.
func appendDirectly(t *testing.T, s *redis.Store, n int) {
	t.Helper()
	log := reopen(t, s)
	after := seqOf(t, s)
	for range n {
		add(t, log, after)
		after++
	}
}

func seqOf(t *testing.T, s *redis.Store) uint64 {
	t.Helper()
	record, err := reopen(t, s).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return record.Seq
}

// A server that became full refuses a repeat before it compares the token. The
// refusal does not show whether the first attempt was stored.
func TestFullServerDoesNotAnswerARepeat(t *testing.T) {
	l := newLossy(t)
	log := create(t, l.store)
	c := client.NewClient(&client.Options{Addr: l.server.Address()})
	defer func() { _ = c.Close() }()
	limit := func(bytes string) {
		if err := c.ConfigSet(t.Context(), "maxmemory", bytes).Err(); err != nil {
			t.Fatal(err)
		}
	}
	a := store.Append{After: 2, Events: []a2a.Event{storetest.Chunk("a", "3")}, Write: store.Write{Token: store.NewToken()}}
	l.loses(func() {
		if _, err := log.Append(t.Context(), a); !errors.Is(err, store.ErrIndeterminate) {
			t.Errorf("Append() error = %v, want ErrIndeterminate", err)
		}
	})
	limit("1")
	a.Events, a.Repeat = []a2a.Event{storetest.Chunk("a", "3")}, true
	if _, err := log.Append(t.Context(), a); !errors.Is(err, store.ErrIndeterminate) || errors.Is(err, store.ErrFull) {
		t.Errorf("repeated Append() error = %v, want ErrIndeterminate", err)
	}
	fresh := store.Append{After: 3, Events: []a2a.Event{storetest.Chunk("a", "4")}}
	if _, err := log.Append(t.Context(), fresh); !errors.Is(err, store.ErrFull) {
		t.Errorf("Append() error = %v, want ErrFull", err)
	}
	limit("0")
	a.Events, a.RetryFor = []a2a.Event{storetest.Chunk("a", "3")}, 10*time.Second
	if seq, err := log.Append(t.Context(), a); seq != 3 || err != nil {
		t.Errorf("repeated Append() = %d, %v, want 3", seq, err)
	}
	wantChunks(t, reopen(t, l.direct), 3)
}

// A write ends as soon as its context ends, even if its retry time has not passed.
func TestCanceledWriteReturns(t *testing.T) {
	l := newLossy(t)
	log := create(t, l.store)
	l.server.Kill()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	a := store.Append{After: 2, Events: []a2a.Event{storetest.Chunk("a", "3")}, Write: store.Write{RetryFor: time.Minute}}
	if _, err := log.Append(ctx, a); !errors.Is(err, store.ErrIndeterminate) {
		t.Errorf("Append() error = %v, want ErrIndeterminate", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("Append() took %v behind the end of its context", took)
	}
}
