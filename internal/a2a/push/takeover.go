// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// takeOverUntil takes over the deliveries of dead and of forgotten replicas until ctx ends.
func (p *Pushes) takeOverUntil(ctx context.Context) {
	ticker := time.NewTicker(lease / 3)
	defer ticker.Stop()
	complete := false
	logged := notLogged
	var nextForgotten time.Time
	var forgottenDelay time.Duration
	for {
		err := p.takeOverDead(ctx)
		if p.shared.left {
			complete = false
			p.shared.left = false
		}
		switch now := p.options.Now(); {
		case err != nil:
			complete = false
		case !complete && !now.Before(nextForgotten):
			err = p.takeOverForgotten(ctx)
			complete = err == nil
			if complete {
				forgottenDelay = 0
			} else {
				forgottenDelay = nextDelay(forgottenDelay)
				nextForgotten = now.Add(forgottenDelay)
			}
		}
		if level := p.levelOf(err); err != nil && level > logged && ctx.Err() == nil {
			p.options.Log.Log(ctx, level, "push notifications of dead replicas not taken over", "error", err)
			logged = level
		}
		if err == nil && p.shared.retryDelay == 0 && forgottenDelay == 0 {
			logged = notLogged
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// notLogged is lower than each level at which a failed takeover is logged.
const notLogged = slog.LevelDebug - 1

// levelOf returns the level at which a failed takeover is logged. During an outage of the store,
// the renewal of the lease logs an error. Here, the outage is an error only if there are deliveries
// that it affects.
func (p *Pushes) levelOf(err error) slog.Level {
	if errors.Is(err, store.ErrUnavailable) && p.Following() == 0 {
		return slog.LevelDebug
	}
	return slog.LevelError
}

// takeOverDead takes over the deliveries of the replicas that have been dead for at least the
// duration lease. It takes over those of earlier incarnations of this replica at once. It
// repeats a takeover each takeoverInterval, because a write of a dead replica may still reach
// the store.
func (p *Pushes) takeOverDead(ctx context.Context) error {
	s := p.shared
	dead, err := s.Dead(ctx)
	if err != nil {
		clear(s.nextTakeover) // all leases may end during an outage, so the wait begins again
		s.retryDelay = 0
		return fmt.Errorf("list dead replicas: %w", err)
	}
	now := p.options.Now()
	former := s.nextTakeover
	s.nextTakeover = make(map[store.Replica]time.Time, len(dead))
	var due []store.Replica
	for _, r := range dead {
		next, known := former[r]
		if !known && r.Name() != s.Self().Name() {
			next = now.Add(lease)
		}
		s.nextTakeover[r] = next
		if !now.Before(next) {
			due = append(due, r)
		}
	}
	for r := range former {
		s.left = s.left || !slices.Contains(dead, r)
	}
	if len(dead) == 0 {
		s.retryDelay = 0 // nothing is left to retry
	}
	if len(due) == 0 {
		return nil
	}
	err = p.takeOver(ctx, due)
	next := now.Add(takeoverInterval)
	if err != nil {
		s.retryDelay = nextDelay(s.retryDelay)
		next = now.Add(s.retryDelay)
	} else {
		s.retryDelay = 0
	}
	for _, r := range due {
		s.nextTakeover[r] = next
	}
	return err
}

// nextDelay returns the delay of the retry after a takeover that failed. last is the delay before
// that takeover, 0 after a success. Each failure in a row doubles the delay, from one tick to
// takeoverInterval, because a damaged configuration fails each time, and each takeover reads all
// configurations.
func nextDelay(last time.Duration) time.Duration {
	return min(max(2*last, lease/3), takeoverInterval)
}

// takeOverForgotten takes over the deliveries of the replicas that the store has forgotten
// (store.Lease.Dead), because no replica ran for more than an hour, or because the store did not
// answer for that time. While the store answers this replica, it takes over the deliveries of each
// dead replica before the store forgets the replica.
func (p *Pushes) takeOverForgotten(ctx context.Context) error {
	s := p.shared
	// A dead replica that the store lists is not forgotten: takeOverDead waits for it. The leases
	// are read after this list. Otherwise, a replica that renews its lease between the two reads
	// would seem to be forgotten, because it is neither in the list nor alive.
	known, err := s.Dead(ctx)
	if err != nil {
		return fmt.Errorf("list dead replicas: %w", err)
	}
	known = append(known, s.Self())
	var others []store.Replica
	unresumed := false // an earlier call has adopted a configuration, and then failed
	unread := s.configs.Unfinished(ctx, func(c store.Push) bool {
		if c.Replica == s.Self() && !p.follows(id{c.Task, c.Config.ID}) {
			unresumed = true
		}
		if !slices.Contains(known, c.Replica) && !slices.Contains(others, c.Replica) {
			others = append(others, c.Replica)
		}
		return true
	})
	forgotten, err := s.forgotten(ctx, others)
	switch {
	case err != nil:
		return err
	case len(forgotten) > 0 || unresumed:
		err = p.takeOver(ctx, forgotten)
	}
	if err == nil && unread != nil { // the list may lack replicas
		err = fmt.Errorf("list the replicas of push notifications: %w", unread)
	}
	return err
}

// forgotten returns those of the replicas that have no lease and are not in the list of dead
// replicas. A lease may end or be renewed between two reads, so forgotten reads the leases before
// and after the list.
func (s *shared) forgotten(ctx context.Context, replicas []store.Replica) ([]store.Replica, error) {
	ended, err := s.ended(ctx, replicas)
	if err != nil || len(ended) == 0 {
		return nil, err
	}
	dead, err := s.Dead(ctx)
	if err != nil {
		return nil, fmt.Errorf("list dead replicas: %w", err)
	}
	return s.ended(ctx, slices.DeleteFunc(ended, func(r store.Replica) bool { return slices.Contains(dead, r) }))
}

// ended returns those of the replicas that have no lease.
func (s *shared) ended(ctx context.Context, replicas []store.Replica) ([]store.Replica, error) {
	var ended []store.Replica
	for _, r := range replicas {
		alive, err := s.Alive(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("read the lease of a replica: %w", err)
		}
		if !alive {
			ended = append(ended, r)
		}
	}
	return ended, nil
}

// takeOver takes over the deliveries of the replicas from. If several replicas try, each
// configuration goes to one of them. If the takeover of one configuration fails, for example
// because the task cannot be read, takeOver continues with the next configuration. After an
// error, the caller repeats the call.
func (p *Pushes) takeOver(ctx context.Context, from []store.Replica) error {
	s := p.shared
	var failed error
	err := s.configs.Unfinished(ctx, func(c store.Push) bool {
		var err error
		switch {
		case slices.Contains(from, c.Replica):
			err = p.adopt(ctx, c)
		case c.Replica == s.Self():
			err = p.resumeOwn(ctx, &c)
		}
		if failed == nil {
			failed = err
		}
		return ctx.Err() == nil
	})
	if err != nil {
		return fmt.Errorf("take over push notifications: %w", err)
	}
	return failed
}

// adopt takes over one configuration, or does nothing if another replica or a client was faster.
func (p *Pushes) adopt(ctx context.Context, c store.Push) error {
	switch err := p.shared.configs.Adopt(ctx, c, p.shared.Self()); {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("take over push notifications: %w", err)
	}
	// The former replica may have stored another cursor since the caller read the configuration. After
	// Adopt, it stores none.
	now, err := p.shared.configs.Get(ctx, c.Task, c.Config.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read push configuration: %w", err)
	case now.Generation != c.Generation || now.Replica != p.shared.Self():
		return nil
	}
	return p.resume(ctx, now)
}

// resumeOwn resumes a configuration of this replica that has no delivery. Such a configuration
// exists if an earlier call of adopt failed after the store had adopted the configuration.
func (p *Pushes) resumeOwn(ctx context.Context, c *store.Push) error {
	defer p.lockConfigs(c.Task.Owner)()
	if p.follows(id{c.Task, c.Config.ID}) {
		return nil
	}
	// The delivery may have ended since the caller read the configuration.
	now, err := p.shared.configs.Get(ctx, c.Task, c.Config.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read push configuration: %w", err)
	case now.Ended() || now.Replica != p.shared.Self():
		return nil
	}
	return p.resume(ctx, now)
}
