// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Resume goes on with the deliveries that a former process left behind, each
// behind the last event that was acknowledged.
//
// On a store that other replicas use it returns when ctx ends, with nil: until
// then it takes over the deliveries of those that are gone.
func (p *Pushes) Resume(ctx context.Context) error {
	if p.shared != nil {
		p.takeOver(ctx)
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

// resume follows the task of a configuration, if there is one.
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

// Drain sends what can be sent at once and ends. It waits for requests that are
// on their way, and for no second attempt. When ctx ends first they are broken
// off, and Drain returns ctx's cause. It may be called more than once.
func (p *Pushes) Drain(ctx context.Context) error {
	p.stopResting()
	var cause error
	select {
	case <-p.idle:
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	for _, d := range p.dropAll() {
		d.close()
	}
	p.workers.Wait()
	return cause
}

func (p *Pushes) stopResting() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draining = true
	for _, d := range p.deliveries {
		if d.state == resting && d.timer.Stop() && d.lingering {
			p.enqueue(d)
		}
	}
	if p.busy == 0 {
		p.closeIdle()
	}
}

func (p *Pushes) dropAll() []*delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	var dropped []*delivery
	for _, d := range p.deliveries {
		if p.drop(d) {
			dropped = append(dropped, d)
		}
	}
	return dropped
}

// closeIdle needs mu.
func (p *Pushes) closeIdle() {
	select {
	case <-p.idle:
	default:
		close(p.idle)
	}
}
