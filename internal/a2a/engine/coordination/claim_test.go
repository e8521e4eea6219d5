// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coordination_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine/coordination"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// outrun is a member that calls then after it has learned whether another replica is alive.
type outrun struct {
	store.Member
	then func()
}

func (o outrun) Alive(ctx context.Context, r store.Replica) (bool, error) {
	alive, err := o.Member.Alive(ctx, r)
	o.then()
	return alive, err
}

// A replica that hung with a claim goes on, and creates the task, just when another replica replaces the claim. The other replica then
// follows this task, and no second one begins.
func TestClaimOfAReplicaThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 9 * time.Second
		s := storetest.NewMemory(memory.Options{})
		hung, other := s.Join("a"), s.Join("b")
		renew := func(m store.Member) {
			if _, err := m.Renew(t.Context(), lease); err != nil {
				t.Error(err)
			}
		}
		options := coordination.Options{
			Lease: lease, RetryFor: time.Minute, FenceRuns: func() bool { return true }, ClaimWindow: func() time.Duration { return time.Minute },
			Now: time.Now, Log: slog.New(slog.DiscardHandler),
		}
		request := &a2a.SendRequest{Owner: "owner", Message: message()[0].Message}
		renew(hung)
		claimed, err := coordination.NewShared(hung, options).Claim(t.Context(), coordination.ClaimRequest{Request: request, Task: "t1", Window: time.Minute})
		if err != nil || !claimed.Mine {
			t.Fatalf("Claim() = %+v, %v", claimed, err)
		}
		time.Sleep(2 * lease)
		renew(other)
		goesOn := func() {
			renew(hung)
			_, err := hung.Create(t.Context(), store.NewTask{
				Key: store.Key{Owner: "owner", TaskID: "t1"}, Events: message(),
				Write: store.Write{Replica: hung.Self(), Turn: &store.TurnDescriptor{Begin: 1, Attempt: 1, Claim: claimed.Claim}},
			})
			if err != nil {
				t.Error(err)
			}
		}
		got, err := coordination.NewShared(outrun{other, goesOn}, options).Claim(t.Context(), coordination.ClaimRequest{Request: request, Task: "t2", Window: time.Minute})
		if err != nil || got.Mine || got.Found == nil || got.Found.Key.TaskID != "t1" || got.Claim != claimed.Claim {
			t.Errorf("Claim() = %+v, %v, want the task t1", got, err)
		}
	})
}

// A replica that was paused while the store created a task takes the creation for failed, and releases its claim. A copy of the message finds
// the task all the same.
func TestReleasedClaimOfATaskThatHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 9 * time.Second
		s := storetest.NewMemory(memory.Options{})
		creates, other := s.Join("a"), s.Join("b")
		for _, m := range []store.Member{creates, other} {
			if _, err := m.Renew(t.Context(), lease); err != nil {
				t.Fatal(err)
			}
		}
		options := coordination.Options{
			Lease: lease, RetryFor: time.Minute, FenceRuns: func() bool { return true }, ClaimWindow: func() time.Duration { return time.Minute },
			Now: time.Now, Log: slog.New(slog.DiscardHandler),
		}
		request := &a2a.SendRequest{Owner: "owner", Message: message()[0].Message}
		claim := func(m store.Member, task string) coordination.Claimed {
			claimed, err := coordination.NewShared(m, options).Claim(t.Context(), coordination.ClaimRequest{Request: request, Task: task, Window: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			return claimed
		}
		claim(creates, "t0").Release()
		claimed := claim(creates, "t1")
		if !claimed.Mine {
			t.Fatalf("Claim() after the release of a claim without a task = %+v", claimed)
		}
		_, err := creates.Create(t.Context(), store.NewTask{
			Key: store.Key{Owner: "owner", TaskID: "t1"}, Events: message(),
			Write: store.Write{Replica: creates.Self(), Turn: &store.TurnDescriptor{Begin: 1, Attempt: 1, Claim: claimed.Claim}},
		})
		if err != nil {
			t.Fatal(err)
		}
		claimed.Release()
		if got := claim(other, "t2"); got.Mine || got.Found == nil || got.Found.Key.TaskID != "t1" {
			t.Errorf("Claim() = %+v, want the task t1", got)
		}
	})
}
