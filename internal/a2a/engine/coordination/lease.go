// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coordination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// renewLease renews the lease after each third of its duration, and starts to take over orphaned
// tasks after each renewal, unless it still does: a takeover reads a whole task, and must not
// delay a renewal. It retries a failed renewal after each fifteenth of the
// duration, so that the lease survives a store that fails from time to time. It closes
// attempted after the first attempt.
func (s *Shared) renewLease(attempted chan<- struct{}) {
	ended := sync.OnceFunc(func() { close(attempted) })
	defer ended()
	lease := s.options.Lease
	next := time.NewTimer(lease)
	defer next.Stop()
	// The fence comes before the end of the lease. From that end on, other replicas may process
	// messages that this replica has claimed and, under Options.FenceRuns, re-run its turns.
	fence := time.AfterFunc(lease*2/3, s.fenceBeforeLeaseEnds)
	defer fence.Stop()
	health := storeHealth{}
	var takingOver atomic.Bool
	stopTakingOver := func() {}
	defer func() { stopTakingOver() }()
	for {
		began := s.options.Now()
		wait := lease / 15
		if held, err := s.renew(); err == nil {
			fence.Reset(lease*2/3 - s.options.Now().Sub(began))
			s.unfence()
			ended()
			if health.answered(began) {
				s.options.Log.InfoContext(s.ctx, "task store answers again")
			}
			if takingOver.CompareAndSwap(false, true) {
				since := health.since
				ctx, cancel := context.WithCancel(s.ctx)
				stopTakingOver = cancel
				s.group.Go(func() {
					defer takingOver.Store(false)
					defer cancel()
					s.takeOver(ctx, held, began, since)
				})
			}
			wait = max(lease/3-s.options.Now().Sub(began), 0)
		} else {
			stopTakingOver()
			if health.failed() && s.ctx.Err() == nil {
				s.options.Log.ErrorContext(s.ctx, "lease not renewed: the task store does not answer", "error", err)
			}
		}
		ended()
		s.announceRenewal()
		next.Reset(wait)
		select {
		case <-next.C:
		case <-s.renewalWanted:
		case <-s.ctx.Done():
			return
		}
	}
}

// wantRenewal makes renewLease renew the lease at once. It returns a channel that closes after the
// next attempt.
func (s *Shared) wantRenewal() <-chan struct{} {
	select {
	case s.renewalWanted <- struct{}{}:
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempted
}

// announceRenewal closes the channel that wantRenewal has returned.
func (s *Shared) announceRenewal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.attempted)
	s.attempted = make(chan struct{})
}

// awaitRenewal renews the lease at once. It returns nil after an attempt.
func (s *Shared) awaitRenewal(ctx context.Context) error {
	select {
	case <-s.wantRenewal():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrUnavailable, context.Cause(ctx))
	case <-s.ctx.Done():
		return errStopping()
	}
}

// leased returns an error of a write of this replica. If the store has no lease of the replica, it
// makes renewLease renew the lease, and returns an outage (store.ErrUnavailable): after a loss
// of data, the store may lack the claim on the message, too, so the client has to send it again.
func (s *Shared) leased(err error) error {
	if !errors.Is(err, store.ErrNoLease) {
		return err
	}
	s.wantRenewal()
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// storeHealth records whether the store answered the latest renewals.
type storeHealth struct {
	// since is the time of the first successful renewal after the last failure; zero
	// after a failure.
	since     time.Time
	attempted bool
}

// answered records a successful renewal and reports whether the renewal before it failed.
func (h *storeHealth) answered(now time.Time) (again bool) {
	again = h.attempted && h.since.IsZero()
	if h.since.IsZero() {
		h.since = now
	}
	h.attempted = true
	return again
}

// failed records a failed renewal and reports whether it is the first failure in a row.
func (h *storeHealth) failed() (first bool) {
	first = !h.attempted || !h.since.IsZero()
	h.since = time.Time{}
	h.attempted = true
	return first
}

// renew renews the lease, and reviews the active tasks that this replica does not hold any
// more. It returns the tasks that this replica holds.
func (s *Shared) renew() ([]store.Key, error) {
	active := s.host.Active()
	ctx, cancel := context.WithTimeout(s.ctx, s.options.Lease/3)
	defer cancel()
	held, err := s.member.Renew(ctx, s.options.Lease)
	switch {
	case errors.Is(err, store.ErrRolledBack):
		s.options.Log.ErrorContext(s.ctx, "task store lost acknowledged writes: it was restored from a backup, or crashed before they were on disk")
		s.fenceCreations() // the store may have lost the claims on their messages
		// The messages are forgotten before this replica claims further ones.
		review := s.host.StoreRolledBack()
		s.group.Go(func() { review(s.ctx) })
	case err != nil:
		return nil, err
	}
	s.keepClaims(ctx, held)
	mine := make(map[store.Key]bool, len(held))
	for _, k := range held {
		mine[k] = true
	}
	for _, k := range active {
		if !mine[k] {
			s.review(k)
		}
	}
	return held, nil
}

// keepClaims keeps the claims on the messages whose turns run here. If it fails, the next renewal
// repeats it.
func (s *Shared) keepClaims(ctx context.Context, held []store.Key) {
	window := s.options.ClaimWindow()
	if len(held) == 0 || window <= 0 {
		return
	}
	if err := s.member.KeepClaims(ctx, s.claimTTL(window)); err != nil && s.ctx.Err() == nil {
		s.options.Log.ErrorContext(ctx, "claims on messages not kept", "error", err)
	}
}

// review starts Host.Review for a task in the background, because an append that the
// store does not answer may hold the lock of the task. If store.MaxInbox reviews are in
// progress, review does nothing; the next renewal repeats it.
func (s *Shared) review(k store.Key) {
	select {
	case s.reviewing <- struct{}{}:
		s.group.Go(func() {
			defer func() { <-s.reviewing }()
			s.host.Review(s.ctx, k)
		})
	default:
	}
}

// takeOver takes over orphaned tasks: the tasks that this replica holds (held) and does not
// run, and the tasks of replicas without a lease. After an outage, the leases of living
// replicas have ended, too. takeOver therefore takes over tasks of other replicas only
// after the store has answered for the duration of a lease, in which living replicas have
// renewed their leases. now is a time before the store was asked for held. ctx ends when the store does not answer a renewal.
func (s *Shared) takeOver(ctx context.Context, held []store.Key, now, answersSince time.Time) {
	if s.host.Draining() {
		return
	}
	all := s.takeOverAll(ctx, held)
	trusted := now.Sub(answersSince) >= s.options.Lease
	if trusted && all {
		s.forgetRefused(now.Add(-s.options.Lease))
	}
	dead, err := s.member.Dead(ctx)
	if !trusted {
		// Former incarnations of this replica remain in the list: they are dead even if the
		// store did not answer.
		dead = slices.DeleteFunc(dead, func(r store.Replica) bool { return r.Name() != s.member.Self().Name() })
	}
	for _, replica := range dead {
		if held, err = s.member.Holding(ctx, replica); err != nil {
			break
		}
		s.takeOverAll(ctx, held)
	}
	if err != nil && ctx.Err() == nil {
		s.options.Log.ErrorContext(s.ctx, "orphaned tasks not found", "error", err)
	}
}

// takeOverAll takes over each of the tasks that is orphaned. It returns false if a takeover
// failed.
func (s *Shared) takeOverAll(ctx context.Context, tasks []store.Key) (all bool) {
	all = true
	for _, k := range tasks {
		err := s.host.TakeOver(ctx, k)
		all = all && err == nil
		if err != nil && ctx.Err() == nil {
			s.options.Log.ErrorContext(s.ctx, "task not taken over", "task", k.TaskID, "error", err)
		}
	}
	return all
}

// fenceBeforeLeaseEnds fences creations. If Options.FenceRuns returns true, it also fences
// all writes and stops all runs. It ends the writes first, because they hold the locks of
// their tasks. If Options.FenceRuns returns false, runs continue, and the store refuses
// their appends once another replica has taken their tasks over (store.Keep).
func (s *Shared) fenceBeforeLeaseEnds() {
	s.fenceCreations()
	if !s.options.FenceRuns() {
		return
	}
	s.fence()
	s.host.StopRuns(s.ctx)
}
