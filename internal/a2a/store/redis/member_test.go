// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// A replica that returns after hours reports a loss only if the server lost its last renewal, whether or not another
// replica forgot it meanwhile.
func TestRenewalAfterHoursReportsLossesOnly(t *testing.T) {
	server := redistest.Start(t)
	// stored changes the end of the lease that the server has.
	type stored func(m *member, end float64)
	set := func(m *member, end float64) {
		if err := m.calls.client.ZAdd(t.Context(), m.options.Prefix+"replicas", redis.Z{Score: end, Member: string(m.self)}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		server stored
		lost   bool
	}{
		"the server has the renewal":        {server: set},
		"the server has an earlier renewal": {server: func(m *member, end float64) { set(m, end-1) }, lost: true},
		"the server was restored to a time before the replica": {server: func(m *member, _ float64) {
			if n, err := m.calls.client.ZRem(t.Context(), m.options.Prefix+"replicas", string(m.self)).Result(); n != 1 || err != nil {
				t.Fatalf("ZREM = %d, %v", n, err)
			}
		}, lost: true},
	} {
		for _, forgotten := range []bool{false, true} {
			when := name
			if forgotten {
				when += ", and forgets the replica"
			}
			t.Run(when, func(t *testing.T) {
				s, err := Open(Options{Server: Server{Addresses: []string{server.Address()}}, Prefix: "a2a:{" + t.Name() + "}:"})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = s.Close() }()
				m, other := s.Join("a").(*member), s.Join("b") // Join returns nothing else
				for _, one := range []store.Member{m, other} {
					if _, err := one.Renew(t.Context(), time.Minute); err != nil {
						t.Fatalf("Renew() error = %v", err)
					}
				}
				// Instead of waiting for two hours, the test moves the end of the lease back.
				m.leaseEnd.Store(m.leaseEnd.Load() - uint64(2*time.Hour/time.Millisecond))
				if err := m.calls.client.Del(t.Context(), m.options.Prefix+"m:"+string(m.self)).Err(); err != nil {
					t.Fatal(err)
				}
				test.server(m, float64(m.leaseEnd.Load()))
				if forgotten {
					if dead, err := other.Dead(t.Context()); len(dead) > 0 || err != nil {
						t.Fatalf("Dead() = %q, %v, want that the replica is forgotten", dead, err)
					}
				}
				if _, err := m.Renew(t.Context(), time.Minute); errors.Is(err, store.ErrRolledBack) != test.lost || err != nil && !test.lost {
					t.Errorf("Renew() error = %v, want a loss: %t", err, test.lost)
				}
				if _, err := m.Renew(t.Context(), time.Minute); err != nil {
					t.Errorf("Renew() error = %v, want none", err)
				}
			})
		}
	}
}

// A process that was paused renews a lease that the next incarnation has ended. The server
// has lost nothing.
func TestRenewalBehindALaterIncarnationIsNoLoss(t *testing.T) {
	server := redistest.Start(t)
	s, err := Open(Options{Server: Server{Addresses: []string{server.Address()}}, Prefix: "a2a:{test}:"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	former, later := s.Join("a"), s.Join("a")
	for i, m := range []store.Member{former, later, former, later} {
		if _, err := m.Renew(t.Context(), time.Minute); err != nil {
			t.Errorf("renewal %d: error = %v", i, err)
		}
	}
}

// The store keeps the lease ends of a bounded number of forgotten replicas.
func TestForgottenReplicasAreBounded(t *testing.T) {
	server := redistest.Start(t)
	s, err := Open(Options{Server: Server{Addresses: []string{server.Address()}}, Prefix: "a2a:{test}:"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	m := s.Join("a")
	if _, err := m.Renew(t.Context(), time.Minute); err != nil {
		t.Fatalf("Renew() error = %v", err)
	}
	key := func(name string) string { return s.options.Prefix + name }
	const many = maxForgotten + 500
	gone := make([]redis.Z, many)
	for i := range gone {
		gone[i] = redis.Z{Score: float64(i + 1), Member: string(s.Join("gone").Self())}
	}
	c := s.calls.client
	if err := c.ZAdd(t.Context(), key("replicas"), gone...).Err(); err != nil {
		t.Fatal(err)
	}
	if dead, err := m.Dead(t.Context()); len(dead) > 0 || err != nil {
		t.Fatalf("Dead() = %d replicas, %v, want none", len(dead), err)
	}
	left, err := c.ZRangeWithScores(t.Context(), key("forgotten"), 0, -1).Result()
	if err != nil || len(left) != maxForgotten || left[0].Score != many-maxForgotten+1 {
		t.Errorf("%d replicas are kept, %v, want the latest %d", len(left), err, maxForgotten)
	}
	if ttl := c.TTL(t.Context(), key("forgotten")).Val(); ttl <= 0 {
		t.Errorf("TTL = %v, want an end", ttl)
	}
	if n := c.ZCard(t.Context(), key("replicas")).Val(); n != 1 {
		t.Errorf("%d replicas are known, want 1", n)
	}
}
