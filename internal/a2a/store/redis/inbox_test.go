// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"context"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// If the response with messages is lost, the next call returns the messages, once and
// in order. They cannot be withdrawn in the meantime.
func TestInboxMessagesSurviveALostResponse(t *testing.T) {
	server := start(t, redistest.Durable...)
	p := newProxy(t, server.Address())
	o := server.options()
	far := o
	far.Server.Addresses = []string{p.address}
	a, b := open(t, o).Join("a"), open(t, far).Join("b")
	if _, err := b.Renew(t.Context(), time.Minute); err != nil {
		t.Fatalf("Renew() error = %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	next := uint64(1)
	receive := func(last uint64) {
		t.Helper()
		for next <= last {
			mail, err := b.Receive(ctx)
			if ctx.Err() != nil {
				t.Fatalf("mail number %d does not come: %v", next, err)
			}
			for _, m := range mail {
				if m.Number != next {
					t.Fatalf("received number %d, want %d", m.Number, next)
				}
				next++
			}
		}
	}
	post := func(n uint64) (place string) {
		t.Helper()
		place, err := a.Post(ctx, b.Self(), &store.InboxMessage{Number: n})
		if err != nil {
			t.Fatalf("Post() error = %v", err)
		}
		return place
	}
	post(1)
	receive(1)
	for last := uint64(4); last <= 16; last += 3 {
		_, _ = post(last-2), post(last-1)
		place := post(last)
		p.swallow.Store(true)
		if mail, err := b.Receive(ctx); err == nil {
			t.Errorf("Receive() = %v without an answer", mail)
		}
		p.swallow.Store(false)
		if back, err := a.Withdraw(ctx, b.Self(), place); back || err != nil {
			t.Errorf("Withdraw() = %t, %v of mail that was given out", back, err)
		}
		receive(last)
	}
	if back, err := a.Withdraw(ctx, b.Self(), post(99)); !back || err != nil {
		t.Errorf("Withdraw() = %t, %v of mail that waits", back, err)
	}
}

// A claim that an earlier version stored, without a nonce, is in effect for its task
// and can be ended.
func TestClaimOfAnEarlierVersion(t *testing.T) {
	server := start(t)
	o := server.options()
	m := open(t, o).Join("b")
	if _, err := m.Renew(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	raw := client.NewClient(&client.Options{Addr: server.Address()})
	defer func() { _ = raw.Close() }()
	if err := raw.Set(t.Context(), o.Prefix+"k:message", "a\nt1", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	mine := store.MessageClaim{Replica: m.Self(), TaskID: "t2", Nonce: "n"}
	former := store.MessageClaim{Replica: "a", TaskID: "t1"}
	if stands, err := m.Claim(t.Context(), "message", mine, time.Minute); err != nil || stands != former {
		t.Fatalf("Claim() = %+v, %v; want %+v", stands, err, former)
	}
	if _, err := m.Unclaim(t.Context(), "message", former); err != nil {
		t.Fatalf("Unclaim() error = %v", err)
	}
	if stands, err := m.Claim(t.Context(), "message", mine, time.Minute); err != nil || stands != mine {
		t.Fatalf("Claim() = %+v, %v; want %+v", stands, err, mine)
	}
}
