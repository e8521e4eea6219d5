// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// maxFailures is the number of notifications, given up in a row, after which the
// configuration is abandoned.
const maxFailures = 3

// step sends at most one notification of a delivery. Only the worker that runs the
// delivery calls it. batch is memory that the steps of a worker reuse.
func (p *Pushes) step(d *delivery, batch *[]*a2a.Record) nextStep {
	next := p.sendNext(d, batch)
	if next.action != waitForSlot { // after waitForSlot, another worker may run the delivery already
		d.charge.Release()
	}
	return next
}

// sendNext does the work of step. When it returns, the delivery may still hold memory
// (delivery.charge), which step releases.
func (p *Pushes) sendNext(d *delivery, batch *[]*a2a.Record) nextStep {
	queues := p.takeTurn(d)
	if !p.reserve(d, &d.charge, queues) { // without room, the step reads nothing
		return p.beginMemoryWait(d)
	}
	reader := p.options.Loads.Reader(d.Task.Owner)
	defer reader.Release()
	n, next := p.nextNotification(forRead(d, reader, queues), d, batch)
	if next.action != waitForMemory {
		d.endMemoryWait(p.options.Now())
	}
	if n == nil {
		return next
	}
	if d.since.IsZero() {
		d.since = p.options.Now()
	}
	switch permission := p.allow(d); {
	case permission.waits:
		return nextStep{action: waitForSlot}
	case permission.openFor > 0: // no request is sent, but the wait counts towards retryFor
		return p.retryOrGiveUp(d, n, permission.openFor+p.jitter(cooldown/10))
	}
	body, ok := p.body(d, n, &d.charge)
	if !ok {
		return p.beginMemoryWait(d)
	}
	n.encode = nil
	clear(*batch) // during the request, the worker keeps only the body in memory
	reader.Release()
	if err := p.beginAttempt(d, n); err != nil {
		return p.readFailed(d, "begin attempt", err)
	}
	d.last = n.last
	d.attempts++
	d.passed = false
	o := p.attempt(d, n, body)
	if d.ctx.Err() != nil {
		return nextStep{action: end}
	}
	if o.result != ResultDenied {
		p.record(d.share, o.healthy())
	}
	p.options.Observer.Attempted(o.result)
	switch {
	case o.result == ResultDelivered:
		d.failures = 0
		return p.advance(d, n, "")
	case o.result == ResultRetry && d.attempts < p.options.MaxAttempts:
		return p.retryOrGiveUp(d, n, p.delay(d.attempts, o.retryAfter))
	case o.result == ResultRetry:
		return p.giveUp(d, n, CauseExhausted, o)
	case o.result == ResultDenied:
		return p.giveUp(d, n, CauseDenied, o)
	case o.code == http.StatusGone:
		return p.giveUp(d, n, CauseGone, o)
	default:
		return p.giveUp(d, n, CauseRefused, o)
	}
}

// beginAttempt stores what the next attempt needs if another replica makes it: the events that the
// notification joins, and the cursor, if the store does not have it. It returns an error as checkHeld.
func (p *Pushes) beginAttempt(d *delivery, n *notification) error {
	switch {
	case d.unstored || n.joined && d.Through != n.last:
		d.Through = 0
		if n.joined {
			d.Through = n.last
		}
		d.unstored = true // until the store has answered
	case p.shared != nil:
		return p.checkHeld(d)
	default:
		return nil
	}
	err := p.options.Configs.Advance(d.ctx, d.Push)
	switch {
	case errors.Is(err, store.ErrNotFound):
		d.cancel(errDeleted)
		return errDeleted
	case err != nil:
		return fmt.Errorf("store cursor of push notifications: %w", err)
	}
	d.unstored = false
	return nil
}

// checkHeld returns an error if the configuration was replaced or deleted, or if another
// replica has taken it over.
func (p *Pushes) checkHeld(d *delivery) error {
	now, err := p.options.Configs.Get(d.ctx, d.Task, d.Config.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		d.cancel(errDeleted)
		return errDeleted
	case err != nil:
		return fmt.Errorf("read push configuration: %w", err)
	case now.Generation != d.Generation || now.Replica != d.Replica:
		d.cancel(errDeleted)
		return errDeleted
	}
	return nil
}

// nextNotification returns the next notification, or nil and the next step.
func (p *Pushes) nextNotification(ctx context.Context, d *delivery, batch *[]*a2a.Record) (*notification, nextStep) {
	records, err := d.log.Read(ctx, (*batch)[:0], d.Acked)
	*batch = records
	switch {
	case errors.Is(err, store.ErrTrimmed):
		return p.snapshot(ctx, d)
	case err != nil:
		return nil, p.readFailed(d, "read log of task", err)
	}
	// An attempt of another replica may have joined more events than one read returns.
	for more := len(records) > 0; more && records[len(records)-1].Seq < d.last; {
		had := len(records)
		records, err = d.log.Read(ctx, records, records[had-1].Seq)
		if err != nil {
			return nil, p.readFailed(d, "read log of task", err)
		}
		*batch = records
		more = len(records) > had
	}
	for i, r := range records {
		switch {
		case r.Status != nil:
			return p.status(ctx, d, r)
		case r.Artifact != nil && isV10(d.Config.Dialect):
			n, open := artifactNotification(records[i:], d.last)
			if open && d.last == 0 && !d.lingered {
				d.lingered = true
				return nil, nextStep{action: linger, delay: p.options.Linger}
			}
			return n, nextStep{}
		}
		d.Acked = r.Seq // there is no notification of this event
	}
	if len(records) > 0 {
		return nil, nextStep{action: retry}
	}
	return nil, nextStep{action: waitForLog}
}

func (p *Pushes) status(ctx context.Context, d *delivery, r *a2a.Record) (*notification, nextStep) {
	if isV10(d.Config.Dialect) {
		return statusNotification(d.Config.Dialect, r, nil), nextStep{}
	}
	task, err := taskAt(ctx, d, r.Seq)
	if err != nil {
		return nil, p.readFailed(d, "read task", err)
	}
	return statusNotification(d.Config.Dialect, r, task), nextStep{}
}

// taskAt returns the task as it was after the event numbered seq, so that all attempts of a
// notification have the same body: a receiver treats notifications with the same event id
// as one (deduplication). If the log was trimmed and the task has changed since the event,
// taskAt returns a task with the ids only, and the receiver has to read the rest.
func taskAt(ctx context.Context, d *delivery, seq uint64) (*a2a.Task, error) {
	record, err := store.TaskAt(ctx, d.log, seq)
	switch {
	case errors.Is(err, store.ErrTrimmed):
		return &a2a.Task{ID: record.Task.ID, ContextID: record.Task.ContextID, Dialect: record.Task.Dialect}, nil
	case err != nil:
		return nil, err // the caller compares it
	}
	return record.Task, nil
}

func (p *Pushes) snapshot(ctx context.Context, d *delivery) (*notification, nextStep) {
	now, err := d.log.Snapshot(ctx)
	if err != nil {
		return nil, p.readFailed(d, "read task", err)
	}
	return snapshotNotification(d.Config.Dialect, now), nextStep{}
}

// readFailed handles an error of the store. It deletes the configuration of a task that
// does not exist any more.
func (p *Pushes) readFailed(d *delivery, operation string, err error) nextStep {
	if d.ctx.Err() != nil {
		return nextStep{action: end}
	}
	if errors.Is(err, store.ErrNotFound) {
		if err := p.abandonRemoved(d.ctx, &d.Push); err != nil {
			p.options.Log.ErrorContext(d.ctx, "push configuration not deleted", "push", d.Config, "error", err)
		}
		return nextStep{action: end}
	}
	if errors.Is(err, store.ErrRolledBack) {
		return p.restart(d)
	}
	if problem, ok := errors.AsType[*a2a.Error](err); ok && problem.RetryAfter > 0 { // there is no memory to read the task
		return p.beginMemoryWait(d)
	}
	p.options.Log.ErrorContext(d.ctx, "push notification not sent", "push", d.Config, "operation", operation, "error", err)
	return nextStep{action: retry, delay: p.delay(1, 0)}
}

// abandonRemoved deletes the configuration of a task that the store has removed.
func (p *Pushes) abandonRemoved(ctx context.Context, c *store.Push) error {
	if err := p.options.Configs.Delete(ctx, c.Task, c.Config.ID); err != nil {
		return err // the caller adds the operation
	}
	p.options.Observer.Abandoned(CauseTaskRemoved)
	p.options.Log.WarnContext(ctx, "push configuration abandoned", "push", c.Config, "cause", string(CauseTaskRemoved))
	return nil
}

// restart ends a delivery whose log has lost events. Its successor has the configuration and
// the log that the store still has.
func (p *Pushes) restart(d *delivery) nextStep {
	now, err := p.options.Configs.Get(d.ctx, d.Task, d.Config.ID)
	var log store.Log
	if err == nil {
		log, err = p.options.Tasks.Open(d.ctx, d.Task)
	}
	switch {
	case d.ctx.Err() != nil, errors.Is(err, store.ErrNotFound):
		return nextStep{action: end}
	case err != nil:
		p.options.Log.ErrorContext(d.ctx, "push notifications not continued", "push", d.Config, "error", err)
		return nextStep{action: retry, delay: p.delay(1, 0)}
	}
	if now.Replica != d.Replica {
		return nextStep{action: end}
	}
	return nextStep{action: end, successor: &delivery{Push: resumed(now), log: log}}
}

// retryOrGiveUp retries a notification after a delay. If retryFor would end before that, it
// gives the notification up.
func (p *Pushes) retryOrGiveUp(d *delivery, n *notification, delay time.Duration) nextStep {
	if p.options.Now().Add(delay).Sub(d.since) > retryFor {
		return p.giveUp(d, n, CauseExhausted, outcome{})
	}
	return nextStep{action: retry, delay: delay}
}

// isFinal reports whether a notification is the last one of its delivery.
func (d *delivery) isFinal(n *notification) bool { return n.terminal && n.last > d.Since }

// giveUp skips a notification. It abandons the configuration if the notification is the
// final one, if the receiver gets no later one (CauseDenied, CauseGone), or after
// maxFailures notifications in a row.
func (p *Pushes) giveUp(d *delivery, n *notification, why Cause, o outcome) nextStep {
	d.failures++
	p.options.Log.WarnContext(d.ctx, "push notification given up", "push", d.Config, "host", d.host.address,
		"event", n.last, "attempts", d.attempts, "status", o.code, "cause", string(why))
	if d.isFinal(n) || why == CauseDenied || why == CauseGone || d.failures >= maxFailures {
		return p.advance(d, n, why)
	}
	return p.advance(d, n, "")
}

// advance moves the cursor past a notification and stores it. The delivery ends with
// the final notification, or if abandoned is not "".
func (p *Pushes) advance(d *delivery, n *notification, abandoned Cause) nextStep {
	d.Acked = n.last
	d.Through = 0
	d.last = 0
	d.attempts = 0
	d.since = time.Time{}
	d.lingered = false
	d.needs = 0
	d.passed = false
	if d.isFinal(n) || abandoned != "" {
		d.Expires = p.options.Now().Add(p.options.Keep)
	}
	err := p.options.Configs.Advance(d.ctx, d.Push)
	switch {
	case errors.Is(err, store.ErrNotFound) || d.ctx.Err() != nil:
		return nextStep{action: end}
	case err != nil: // after a restart, this notification is sent again
		d.unstored = true
		p.options.Log.ErrorContext(d.ctx, "cursor of push notifications not stored", "push", d.Config, "error", err)
	}
	if abandoned != "" {
		p.options.Observer.Abandoned(abandoned)
		p.options.Log.WarnContext(d.ctx, "push configuration abandoned", "push", d.Config, "host", d.host.address, "cause", string(abandoned))
	}
	if d.Ended() {
		return nextStep{action: end}
	}
	return nextStep{action: retry}
}
