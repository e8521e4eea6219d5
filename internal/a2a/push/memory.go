// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// body encodes a notification, and charges the body to the owner of a delivery. It returns
// false, and sets d.needs, if the budget has no room now. It first charges the estimated
// size of the notification, which ignores base64 and the escapes of JSON. After encoding, it
// raises the charge to the size of the result.
func (p *Pushes) body(d *delivery, n *notification, charge *limit.Reservation) (body []byte, ok bool) {
	d.needs = n.size
	if !p.reserve(d, charge, false) {
		return nil, false
	}
	body = n.encode()
	d.needs = cap(body)
	if !p.reserve(d, charge, false) {
		return nil, false
	}
	d.needs = 0
	return body, true
}

// reserve charges the owner of a delivery for d.needs bytes, and returns false if the budget
// has no room now. If queues is true, it waits in the budget first.
func (p *Pushes) reserve(d *delivery, charge *limit.Reservation, queues bool) bool {
	memory := p.options.Memory
	if d.needs <= limit.Small || memory == nil {
		return true
	}
	principal := a2a.AccountingPrincipal{Principal: d.owner.name}
	to := min(int64(d.needs), memory.Largest())
	if queues {
		return memory.Grow(d.ctx, charge, principal, to)
	}
	return memory.TryGrow(charge, principal, to)
}

// forRead returns the context in which a step of a delivery reads its task.
func forRead(d *delivery, reader *store.Reader, queues bool) context.Context {
	if queues {
		return reader.In(d.ctx)
	}
	return reader.InPromptly(d.ctx)
}

// takeTurn reports whether the step that begins waits in the budgets. It logs a long wait.
func (p *Pushes) takeTurn(d *delivery) (queues bool) {
	queues = d.queues
	d.queues = false
	if waited := p.options.Now().Sub(d.memoryWaitSince); queues && waited >= logAfter && !d.warned {
		d.warned = true
		p.options.Log.WarnContext(d.ctx, "push notification waits for memory", "push", d.Config, "bytes", d.needs, "for", waited)
	}
	return queues
}

// giveTurn lets one of the deliveries that poll wait in the budgets in its next step, if it has polled for pollFor. One
// delivery in a second has a turn, and their shares have turns in rotation. mu is held.
func (p *Pushes) giveTurn(polling []*delivery) {
	now := p.options.Now()
	if now.Before(p.nextTurn) {
		return
	}
	var next *delivery
	isPast := func(d *delivery) bool { return d.owner.share <= p.lastTurn }
	for _, d := range polling {
		if d.state != awaitingMemory || now.Sub(d.memoryWaitSince) < pollFor {
			continue
		}
		if next == nil || isPast(next) && !isPast(d) || isPast(next) == isPast(d) && d.owner.share < next.owner.share {
			next = d
		}
	}
	if next != nil {
		next.queues = true
		p.lastTurn = next.owner.share
		p.nextTurn = now.Add(time.Second)
	}
}

// beginMemoryWait ends a step that found no room in the budget.
func (p *Pushes) beginMemoryWait(d *delivery) nextStep {
	if d.memoryWaitSince.IsZero() {
		d.memoryWaitSince = p.options.Now()
	}
	return nextStep{action: waitForMemory}
}

// endMemoryWait ends the wait for memory, if an earlier step began one. It moves since by
// the duration of the wait, because this wait does not count towards retryFor.
func (d *delivery) endMemoryWait(now time.Time) {
	if !d.since.IsZero() && !d.memoryWaitSince.IsZero() {
		d.since = d.since.Add(now.Sub(d.memoryWaitSince))
	}
	d.memoryWaitSince = time.Time{}
	d.warned = false
}
