// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// body encodes a notification, and charges the body to the owner of a delivery. It returns
// false, and sets d.needs, if the budget has no room now. It first charges the estimated
// size of the notification, which ignores base64 and the escapes of JSON. After encoding, it
// raises the charge to the size of the result.
func (p *Pushes) body(d *delivery, n *notification, charge *limit.Reservation) (body []byte, ok bool) {
	d.needs = n.size
	if !p.reserve(d, charge) {
		return nil, false
	}
	body = n.encode()
	d.needs = cap(body)
	if !p.reserve(d, charge) {
		return nil, false
	}
	d.needs = 0
	return body, true
}

// reserve charges the owner of a delivery for d.needs bytes, and returns false if the budget
// has no room now.
func (p *Pushes) reserve(d *delivery, charge *limit.Reservation) bool {
	memory := p.options.Memory
	if d.needs <= limit.Small || memory == nil {
		return true
	}
	principal := a2a.AccountingPrincipal{Principal: d.owner.name}
	return memory.TryGrow(charge, principal, min(int64(d.needs), memory.Largest()))
}

// beginMemoryWait ends a step that found no room in the budget.
func (p *Pushes) beginMemoryWait(d *delivery) nextStep {
	d.memoryWaitSince = p.options.Now()
	return nextStep{action: waitForMemory}
}

// endMemoryWait ends the wait for memory, if the previous step began one. It moves since by
// the duration of the wait, because this wait does not count towards retryFor.
func (d *delivery) endMemoryWait(now time.Time) {
	if !d.since.IsZero() && !d.memoryWaitSince.IsZero() {
		d.since = d.since.Add(now.Sub(d.memoryWaitSince))
	}
	d.memoryWaitSince = time.Time{}
}
