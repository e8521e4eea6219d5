// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coordination_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine/coordination"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// undecided is a host that accepts messages and decides none.
type undecided struct {
	stopping
	accepted chan a2a.Owner
}

func (u undecided) Accept(_ context.Context, f coordination.Forwarded) coordination.Accepted {
	u.accepted <- f.Request.Owner
	return undecidedMessage{}
}

type undecidedMessage struct{}

func (undecidedMessage) Decided() bool { return true }

func (undecidedMessage) Wait(ctx context.Context) (coordination.Outcome, error) {
	<-ctx.Done()
	return coordination.Outcome{}, ctx.Err()
}

// busyInbox is a member whose Post ends with its context.
type busyInbox struct{ store.Member }

func (busyInbox) Post(ctx context.Context, _ store.Replica, _ *store.InboxMessage) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// One caller has at most half of the places for messages that another replica processes, at the sender and at the receiver.
func TestOneCallerLeavesPlacesToForwardedMessagesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewMemory(memory.Options{})
		options := coordination.Options{
			Lease: time.Minute, RetryFor: time.Minute, FenceRuns: func() bool { return false },
			ClaimWindow: func() time.Duration { return 0 }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		}
		self, other := s.Join("a"), s.Join("b")
		if _, err := other.Renew(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		host := undecided{stopping{stopRuns: func(context.Context) {}}, make(chan a2a.Owner, 2*store.MaxInbox)}
		receiver := coordination.NewShared(self, options)
		receiver.Start(host)
		defer receiver.Stop(t.Context())
		sender := coordination.NewShared(busyInbox{other}, options)
		defer sender.Stop(t.Context())
		synctest.Wait()
		forwarded := map[a2a.Owner]int{}
		for _, owner := range []a2a.Owner{"alice", "bob"} {
			for i := range 1024 {
				request := &a2a.SendRequest{Owner: owner, Message: storetest.Message(fmt.Sprint(i), "hi")}
				if owner == "bob" && i == 10 {
					break
				}
				if sender.Forward(coordination.Forwarded{To: self.Self(), Request: request}, func(context.Context, coordination.Outcome, error) {}) == nil {
					forwarded[owner]++
				}
				if i >= 200 {
					continue
				}
				if _, err := other.Post(t.Context(), self.Self(), &store.InboxMessage{
					From: other.Self(), Kind: store.ForwardedMessage, Number: uint64(i + 1), Request: request,
				}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
		}
		if diff := cmp.Diff(map[a2a.Owner]int{"alice": 512, "bob": 10}, forwarded); diff != "" {
			t.Errorf("forwarded messages (-want +got):\n%s", diff)
		}
		accepted := map[a2a.Owner]int{}
		for range len(host.accepted) {
			accepted[<-host.accepted]++
		}
		if diff := cmp.Diff(map[a2a.Owner]int{"alice": store.MaxInbox / 2, "bob": 10}, accepted); diff != "" {
			t.Errorf("accepted messages (-want +got):\n%s", diff)
		}
	})
}
