// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"

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

// resumed returns a configuration for a delivery that continues another one. The next notification
// has the events that Push.Through names, or a single one, because a former attempt may have sent it.
func resumed(c store.Push) store.Push {
	c.Through = max(c.Through, c.Acked+1)
	return c
}

// resume follows the task of a configuration, or abandons the configuration if there is no
// such task.
func (p *Pushes) resume(ctx context.Context, c store.Push) error {
	log, err := p.options.Tasks.Open(ctx, c.Task)
	switch {
	case err == nil:
		p.follow(resumed(c), log)
		return nil
	case errors.Is(err, store.ErrNotFound):
		err = p.abandonRemoved(ctx, &c)
	}
	if err != nil {
		return fmt.Errorf("resume push notifications: %w", err)
	}
	return nil
}
