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

// Resume continues the deliveries that an earlier process has not finished, each after
// the last event that its receiver confirmed.
//
// If other replicas use the store, Resume takes over the deliveries of dead replicas
// until ctx ends, and then returns nil.
func (p *Pushes) Resume(ctx context.Context) error {
	if p.shared != nil {
		p.takeOverUntil(ctx)
		return nil
	}
	var failed error
	err := p.options.Configs.Unfinished(ctx, func(c store.Push) bool {
		failed = p.resume(ctx, c)
		return failed == nil
	})
	if err != nil {
		return fmt.Errorf("resume push notifications: %w", err)
	}
	return failed
}

// resume follows the task of a configuration, or deletes the configuration if there is
// no such task.
func (p *Pushes) resume(ctx context.Context, c store.Push) error {
	log, err := p.options.Tasks.Open(ctx, c.Task)
	switch {
	case err == nil:
		p.follow(c, log)
		return nil
	case errors.Is(err, store.ErrNotFound):
		err = p.options.Configs.Delete(ctx, c.Task, c.Config.ID)
	}
	if err != nil {
		return fmt.Errorf("resume push notifications: %w", err)
	}
	return nil
}

func (p *Pushes) takeOverUntil(ctx context.Context) {
	ticker := time.NewTicker(lease / 3)
	defer ticker.Stop()
	failing, forgotten := false, false
	for {
		err := p.takeOverDead(ctx)
		if err == nil && !forgotten {
			err = p.takeOverForgotten(ctx)
			forgotten = err == nil
		}
		if err != nil && !failing && ctx.Err() == nil {
			// The renewal of the lease logs an outage of the same store. The outage
			// affects push only if there are deliveries.
			level := slog.LevelDebug
			if p.Following() > 0 {
				level = slog.LevelError
			}
			p.options.Log.Log(ctx, level, "push notifications of dead replicas not taken over", "error", err)
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// takeOverDead takes over the deliveries of the replicas that have been dead for the time
// lease, and of earlier incarnations of this replica at once.
func (p *Pushes) takeOverDead(ctx context.Context) error {
	s := p.shared
	dead, err := s.Dead(ctx)
	if err != nil {
		clear(s.deadSince) // all leases may end during an outage
		return fmt.Errorf("list dead replicas: %w", err)
	}
	now := p.options.Now()
	former := s.deadSince
	s.deadSince = make(map[store.Replica]time.Time, len(dead))
	for _, r := range dead {
		since, known := former[r]
		if !known {
			since = now
		}
		s.deadSince[r] = since
		if now.Sub(since) >= lease || r.Name() == s.Self().Name() {
			if err := p.takeOver(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeOverForgotten takes over the deliveries of the replicas that the store has forgotten
// (store.Lease.Dead), because no replica ran for more than an hour. While this replica runs, it
// takes over the deliveries of each dead replica before the store forgets the replica.
func (p *Pushes) takeOverForgotten(ctx context.Context) error {
	s := p.shared
	var replicas []store.Replica
	err := s.configs.Unfinished(ctx, func(c store.Push) bool {
		if !slices.Contains(replicas, c.Replica) {
			replicas = append(replicas, c.Replica)
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("list the replicas of push notifications: %w", err)
	}
	for _, r := range replicas {
		if r == s.Self() {
			continue
		}
		if alive, err := s.Alive(ctx, r); err != nil {
			return fmt.Errorf("read the lease of a replica: %w", err)
		} else if alive {
			continue
		}
		dead, err := s.Dead(ctx)
		if err != nil {
			return fmt.Errorf("list dead replicas: %w", err)
		}
		if slices.Contains(dead, r) {
			continue // takeOverDead takes over, after the lease
		}
		if err := p.takeOver(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// takeOver takes over the deliveries of a replica. If several replicas try, each
// configuration goes to one of them.
func (p *Pushes) takeOver(ctx context.Context, from store.Replica) error {
	s := p.shared
	var failed error
	err := s.configs.UnfinishedOf(ctx, from, func(c store.Push) bool {
		if s.configs.Adopt(ctx, c, s.Self()) == nil {
			c.Replica = s.Self()
			failed = p.resume(ctx, c)
		}
		return failed == nil
	})
	if err != nil {
		return fmt.Errorf("take over push notifications: %w", err)
	}
	return failed
}
