// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// heldTask is a task that a replica holds.
type heldTask struct {
	store.Member
	log store.Log
	seq uint64
}

func newHeldTask(t *testing.T, o redis.Options) *heldTask {
	t.Helper()
	me := open(t, o).Join("a")
	if _, err := me.Renew(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	log, err := me.Create(t.Context(), store.NewTask{
		Key: key, Origin: origin, Events: storetest.Begin(), Write: store.Write{Replica: me.Self()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &heldTask{Member: me, log: log, seq: 2}
}

// set appends a status.
func (h *heldTask) set(t *testing.T, state a2a.State, hold store.HoldChange, c *store.WaitingChange) error {
	t.Helper()
	seq, err := h.log.Append(t.Context(), store.Append{
		After: h.seq, Events: []a2a.Event{storetest.Status(state, nil)}, Hold: hold, Waiting: c,
		Write: store.Write{Token: store.NewToken(), Replica: h.Self()},
	})
	if err == nil {
		h.seq = seq
	}
	return err
}

func waits(id, text string) *store.WaitingChange {
	return &store.WaitingChange{Add: &store.WaitingMessage{Request: &a2a.SendRequest{Owner: key.Owner, Message: storetest.Message(id, text)}}}
}

func TestWaitingMessagesLeaveNoField(t *testing.T) {
	s := start(t)
	o := s.options()
	h := newHeldTask(t, o)
	c := client.NewClient(&client.Options{Addr: s.Address()})
	defer func() { _ = c.Close() }()
	fields := func() string {
		keys, err := c.Keys(t.Context(), o.Prefix+"t:*").Result()
		if err != nil || len(keys) != 1 {
			t.Fatalf("%d tasks, %v", len(keys), err)
		}
		return " " + strings.Join(c.HKeys(t.Context(), keys[0]).Val(), " ") + " "
	}
	if err := errors.Join(
		h.set(t, a2a.StateWorking, store.Keep, waits("m2", "two")),
		h.set(t, a2a.StateWorking, store.Keep, waits("m3", "three")),
		h.set(t, a2a.StateWorking, store.Keep, waits("m4", "four")),
		h.set(t, a2a.StateWorking, store.Take, &store.WaitingChange{Remove: 4}),
	); err != nil {
		t.Fatal(err)
	}
	if got := fields(); !strings.Contains(got, " w3 ") || strings.Contains(got, " w4 ") || !strings.Contains(got, " w5 ") {
		t.Errorf("fields are%s, want w3 and w5", got)
	}
	if err := h.set(t, a2a.StateInputRequired, store.Release, nil); err != nil {
		t.Fatal(err)
	}
	if got := fields(); regexp.MustCompile(` (waiting|w\d+) `).MatchString(got) {
		t.Errorf("fields of a task without a holder are%s", got)
	}
}

func TestWaitingMessageWithoutRequestIsAnError(t *testing.T) {
	s := start(t)
	o := s.options()
	h := newHeldTask(t, o)
	if err := h.set(t, a2a.StateWorking, store.Keep, waits("m2", "two")); err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(&client.Options{Addr: s.Address()})
	defer func() { _ = c.Close() }()
	keys := c.Keys(t.Context(), o.Prefix+"t:*").Val()
	if n, err := c.HSet(t.Context(), keys[0], "w3", "{}").Result(); n != 0 || err != nil {
		t.Fatalf("HSET = %d, %v", n, err)
	}
	if got, err := h.Waiting(t.Context(), key); err == nil {
		t.Errorf("Waiting() = %+v, want an error", got)
	}
}

func TestTooLargeMessageDoesNotWait(t *testing.T) {
	s := start(t)
	o := s.options()
	o.MaxTaskBytes = 8 << 10
	h := newHeldTask(t, o)
	if err := h.set(t, a2a.StateWorking, store.Keep, waits("m2", strings.Repeat("x", 10<<10))); !errors.Is(err, store.ErrFull) {
		t.Errorf("Append() error = %v, want ErrFull", err)
	}
	if err := h.set(t, a2a.StateWorking, store.Keep, waits("m2", strings.Repeat("x", 4<<10))); err != nil {
		t.Errorf("Append() error = %v", err)
	}
}

// The server loses the append that began the turn of the message. The task then seems to
// wait for its client, and its message to have no turn.
func TestLostBeginningOfAWaitingMessageIsReported(t *testing.T) {
	s := start(t)
	o := s.options()
	h := newHeldTask(t, o)
	if err := errors.Join(
		h.set(t, a2a.StateWorking, store.Keep, waits("m2", "two")),
		h.set(t, a2a.StateInputRequired, store.Keep, nil),
	); err != nil {
		t.Fatal(err)
	}
	s.backUp(t)
	if hold, err := h.Holder(t.Context(), key); err != nil || hold.RolledBack {
		t.Errorf("Holder() = %+v, %v before the loss", hold, err)
	}
	time.Sleep(2 * time.Millisecond) // two renewals in one millisecond would have the same end
	if _, err := h.Renew(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := h.set(t, a2a.StateWorking, store.Take, &store.WaitingChange{Remove: 3}); err != nil {
		t.Fatal(err)
	}
	s.restore()
	var err error
	for err = store.ErrUnavailable; errors.Is(err, store.ErrUnavailable); {
		_, err = h.Renew(t.Context(), time.Minute)
	}
	wantRolledBack(t, "Renew()", err)
	if hold, err := h.Holder(t.Context(), key); err != nil || !hold.RolledBack {
		t.Errorf("Holder() = %+v, %v, want one that is rolled back", hold, err)
	}
}
