// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import "context"

// Drain sends the notifications that can be sent at once, and ends the deliveries. It
// waits for requests in flight, but not for retries. When ctx ends first, Drain cancels
// the requests and returns the cause of ctx. It may be called more than once.
func (p *Pushes) Drain(ctx context.Context) error {
	p.beginDrain()
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

// beginDrain sets draining, stops the timers of delayed deliveries, and makes the
// lingering ones ready.
func (p *Pushes) beginDrain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draining = true
	for _, d := range p.deliveries {
		if d.state == delayed && d.timer.Stop() && d.lingering {
			p.enqueue(d)
		}
	}
	p.signalIdle()
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
