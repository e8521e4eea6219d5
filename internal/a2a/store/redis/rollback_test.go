// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// backUp writes a backup. restore replaces the data of the server by this backup.
func (s server) backUp(t *testing.T) {
	t.Helper()
	c := client.NewClient(&client.Options{Addr: s.Address()})
	defer func() { _ = c.Close() }()
	if err := c.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

func (s server) restore() {
	s.Kill()
	s.Run()
}

func wantRolledBack(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, store.ErrRolledBack) {
		t.Errorf("%s: error = %v, want ErrRolledBack", what, err)
	}
}

func TestLogEndsIfTheServerLosesItsEvents(t *testing.T) {
	s := start(t)
	tasks := open(t, s.options())
	log := create(t, tasks)
	add(t, log, 2)
	s.backUp(t)
	add(t, log, 3)
	add(t, log, 4)
	woken := make(chan struct{}, 1)
	stop := log.Watch(func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	defer stop()
	s.restore()
	_, err := log.Append(t.Context(), store.Append{After: 5, Events: []a2a.Event{storetest.Chunk("a", "6")}})
	wantRolledBack(t, "Append()", err)
	_, err = log.Snapshot(t.Context())
	wantRolledBack(t, "Snapshot()", err)
	_, err = log.Read(t.Context(), nil, 5)
	wantRolledBack(t, "Read()", err)
	select {
	case <-woken:
	case <-time.After(5 * time.Second):
		t.Error("the watcher is not woken")
	}
	now := reopen(t, tasks)
	wantChunks(t, now, 3)
	add(t, now, 3)
	wantChunks(t, now, 4)
}

// The new log has as many events as the lost one or more. Only the tokens of the appends
// distinguish the two logs.
func TestOtherEventsWithTheSameNumbersAreALoss(t *testing.T) {
	for name, more := range map[string]uint64{"as many events": 5, "more events": 7} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			o := s.options()
			tasks := open(t, o)
			log := create(t, tasks)
			s.backUp(t)
			for after := uint64(2); after < 5; after++ {
				add(t, log, after)
			}
			s.restore()
			other := reopen(t, open(t, o))
			for after := uint64(2); after < more; after++ {
				add(t, other, after)
			}
			if now := reopen(t, tasks); now == log {
				t.Error("Open() returns the log that lost its events")
			}
			_, err := log.Read(t.Context(), nil, 5)
			wantRolledBack(t, "Read()", err)
		})
	}
}

func TestNoReplicaTakesATaskThatLostEvents(t *testing.T) {
	s := start(t)
	o := s.options()
	me := open(t, o).Join("a")
	log := create(t, me)
	s.backUp(t)
	add(t, log, 2)
	s.restore()
	add(t, reopen(t, open(t, o)), 2)
	_, err := log.Append(t.Context(), store.Append{
		After: 3, Events: []a2a.Event{storetest.Chunk("a", "4")}, Hold: store.Take, Write: store.Write{Replica: me.Self()},
	})
	wantRolledBack(t, "Append()", err)
}

func TestRenewalReportsTheLossOfAnEarlierOne(t *testing.T) {
	s := start(t)
	me := open(t, s.options()).Join("a")
	renew := func() error {
		_, err := me.Renew(t.Context(), time.Minute)
		return err
	}
	if err := renew(); err != nil {
		t.Fatalf("Renew() error = %v", err)
	}
	started := func(id string) store.Key {
		k := store.Key{Owner: "alice", TaskID: id}
		if _, err := me.Create(t.Context(), store.NewTask{
			Key: k, Origin: origin, Events: storetest.Begin(), Write: store.Write{Replica: me.Self()},
		}); err != nil {
			t.Fatalf("Create() error = %v", err)
		}
		return k
	}
	before := started("before")
	s.backUp(t)
	time.Sleep(2 * time.Millisecond) // two renewals in one millisecond would have the same end
	if err := renew(); err != nil {
		t.Fatalf("Renew() error = %v", err)
	}
	lost := started("lost")
	s.restore()
	var keys []store.Key
	var err error
	for err = store.ErrUnavailable; errors.Is(err, store.ErrUnavailable); {
		keys, err = me.Renew(t.Context(), time.Minute)
	}
	wantRolledBack(t, "Renew()", err)
	if len(keys) != 1 || keys[0] != before {
		t.Errorf("Renew() = %v, want %v", keys, before)
	}
	if err := renew(); err != nil {
		t.Errorf("Renew() error = %v, want it once", err)
	}
	if hold, err := me.Holder(t.Context(), before); err != nil || !hold.RolledBack || hold.Replica != me.Self() {
		t.Errorf("Holder() = %+v, %v, want one that is rolled back", hold, err)
	}
	if _, err := me.Holder(t.Context(), lost); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Holder() of a lost task: error = %v, want ErrNotFound", err)
	}
	time.Sleep(2 * time.Millisecond)
	if hold, err := me.Holder(t.Context(), started("after")); err != nil || hold.RolledBack {
		t.Errorf("Holder() = %+v, %v, want one that is not rolled back", hold, err)
	}
}

func TestRestoredServerRepeatsNoGeneration(t *testing.T) {
	s := start(t)
	pushes := open(t, s.options()).Pushes()
	put := func() uint64 {
		for {
			generation, err := pushes.Put(t.Context(), store.Push{Task: key, Config: a2a.PushConfig{ID: "p", URL: "https://example.com"}})
			if err == nil {
				return generation
			} else if !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("Put() error = %v", err)
			}
		}
	}
	put()
	s.backUp(t)
	lost := put()
	s.restore()
	if got := put(); got <= lost {
		t.Errorf("Put() = %d, want more than %d", got, lost)
	}
}

func TestOldMessagesAreNotReceived(t *testing.T) {
	s := start(t)
	o := s.options()
	me := open(t, o).Join("a")
	if _, err := me.Renew(t.Context(), time.Minute); err != nil {
		t.Fatalf("Renew() error = %v", err)
	}
	c := client.NewClient(&client.Options{Addr: s.Address()})
	defer func() { _ = c.Close() }()
	old := strconv.FormatInt(time.Now().Add(-2*time.Minute).UnixMilli(), 10) + "-0"
	if err := c.XAdd(t.Context(), &client.XAddArgs{Stream: o.Prefix + "b:" + string(me.Self()), ID: old, Values: []string{"m", `{"Number":1}`}}).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := me.Post(t.Context(), me.Self(), &store.InboxMessage{Number: 2}); err != nil {
		t.Fatalf("Post() error = %v", err)
	}
	got, err := me.Receive(t.Context())
	if err != nil || len(got) != 1 || got[0].Number != 2 {
		t.Errorf("Receive() = %v, %v, want the new message only", got, err)
	}
}

// The response of a Receive is lost. Before the next Receive, the messages of this response
// become older than maxMessageAge. Later messages are still received.
func TestInboxReceivesAfterItsGivenMessagesAreTooOld(t *testing.T) {
	s := start(t)
	o := s.options()
	me := open(t, o).Join("a")
	if _, err := me.Renew(t.Context(), time.Minute); err != nil {
		t.Fatalf("Renew() error = %v", err)
	}
	c := client.NewClient(&client.Options{Addr: s.Address()})
	defer func() { _ = c.Close() }()
	old := strconv.FormatInt(time.Now().Add(-2*time.Minute).UnixMilli(), 10) + "-0"
	box, mark := o.Prefix+"b:"+string(me.Self()), o.Prefix+"g:"+string(me.Self())
	if err := c.XAdd(t.Context(), &client.XAddArgs{Stream: box, ID: old, Values: []string{"m", `{"Number":1}`}}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.Set(t.Context(), mark, old, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for n := uint64(2); n < 4; n++ {
		if _, err := me.Post(ctx, me.Self(), &store.InboxMessage{Number: n}); err != nil {
			t.Fatalf("Post() error = %v", err)
		}
		if got, err := me.Receive(ctx); err != nil || len(got) != 1 || got[0].Number != n {
			t.Fatalf("Receive() = %v, %v, want message %d only", got, err, n)
		}
	}
}
