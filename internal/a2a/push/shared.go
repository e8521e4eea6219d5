// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// shared is what replicas that deliver from one store know of each other. Each
// configuration is one replica's: the last to set it, or to take it over.
type shared struct {
	store.Lease
	configs store.SharedPushStore
	// dead says since when replicas have been found dead. Resume alone uses it.
	dead map[store.Replica]time.Time
}

// takeOver looks for replicas that are gone, until ctx ends.
func (p *Pushes) takeOver(ctx context.Context) {
	look := time.NewTicker(p.options.Lease / 3)
	defer look.Stop()
	failing := false
	for {
		err := p.adoptAll(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			// The lease is renewed from the same store, which logs the outage. It costs
			// deliveries only where there are some.
			level := slog.LevelDebug
			if p.Following() > 0 {
				level = slog.LevelError
			}
			p.options.Log.Log(ctx, level, "take over push notifications", "error", err)
		}
		failing = err != nil
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p *Pushes) adoptAll(ctx context.Context) error {
	s := p.shared
	gone, err := s.Dead(ctx)
	if err != nil {
		// After an outage all leases have lapsed: the dead are counted anew.
		clear(s.dead)
		return fmt.Errorf("look for replicas that are gone: %w", err)
	}
	now := p.options.Now()
	former := s.dead
	s.dead = make(map[store.Replica]time.Time, len(gone))
	for _, r := range gone {
		since, known := former[r]
		if !known {
			since = now
		}
		s.dead[r] = since
		// A former life of this replica is dead for certain.
		if now.Sub(since) >= p.options.Lease || r.Name() == s.Self().Name() {
			if err := p.adopt(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// adopt takes over what a replica delivered. Of several that try, one gets each.
func (p *Pushes) adopt(ctx context.Context, from store.Replica) error {
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

// still returns an error unless a delivery is this replica's: others may have
// replaced or deleted its configuration, or taken it over.
func (p *Pushes) still(d *delivery) error {
	now, err := p.options.Configs.Get(d.ctx, d.Task, d.Config.ID)
	switch {
	case err != nil:
		return fmt.Errorf("read push configuration: %w", err)
	case now.Generation != d.Generation || now.Replica != d.Replica:
		d.cancel(errDeleted)
		return errDeleted
	}
	return nil
}
