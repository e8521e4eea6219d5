// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Cause says why a configuration died.
type Cause string

// The causes.
const (
	// CauseRefused: the receiver answered that it does not want the last
	// notification, or several in a row.
	CauseRefused Cause = "refused"
	// CauseExhausted: the same, after all attempts.
	CauseExhausted Cause = "exhausted"
	// CauseGone: the receiver answered 410.
	CauseGone Cause = "gone"
	// CauseDenied: the URL leads to an address that is not allowed.
	CauseDenied Cause = "denied"
)

// maxFailures is how many notifications in a row may be given up.
const maxFailures = 3

// step brings a delivery forward by at most one notification. Only the worker
// that took the delivery calls it.
func (p *Pushes) step(d *delivery, batch *[]*a2a.Record) next {
	n, what := p.prepare(d, batch)
	if n == nil {
		return what
	}
	if d.since.IsZero() {
		d.since = p.options.Now()
	}
	switch a := p.admit(d); {
	case a.parked:
		return next{do: left}
	case a.openFor > 0:
		// Nobody was asked, so it is no attempt, but time goes by.
		return p.later(d, n, a.openFor+p.jitter(cooldown/10))
	}
	if p.shared != nil {
		if err := p.still(d); err != nil {
			return p.failed(d, "read push configuration", err)
		}
	}
	d.last = n.last
	d.attempts++
	o := p.attempt(d, n)
	if d.ctx.Err() != nil {
		return next{do: end}
	}
	if o.result != ResultDenied {
		p.judge(d.host, o.healthy())
	}
	p.options.Observer.Attempted(o.result)
	switch {
	case o.result == ResultDelivered:
		d.failures = 0
		return p.done(d, n, "")
	case o.result == ResultRetry && d.attempts < p.options.MaxAttempts:
		return p.later(d, n, p.delay(d.attempts, o.retryAfter))
	case o.result == ResultRetry:
		return p.giveUp(d, n, CauseExhausted, o)
	case o.result == ResultDenied:
		return p.giveUp(d, n, CauseDenied, o)
	case o.code == codeGone:
		return p.giveUp(d, n, CauseGone, o)
	default:
		return p.giveUp(d, n, CauseRefused, o)
	}
}

// prepare returns the next notification, or what to do without one.
func (p *Pushes) prepare(d *delivery, batch *[]*a2a.Record) (*notification, next) {
	records, err := d.log.Read(d.ctx, (*batch)[:0], d.Acked)
	*batch = records
	switch {
	case errors.Is(err, store.ErrTrimmed):
		return p.snapshot(d)
	case err != nil:
		return nil, p.failed(d, "read log of task", err)
	}
	for i, r := range records {
		switch {
		case r.Status != nil:
			return p.status(d, r)
		case r.Artifact != nil && version10(d.Config.Dialect):
			n, open := ofArtifact(records[i:], d.last)
			if open && d.last == 0 && !d.lingered {
				d.lingered = true
				return nil, next{do: linger, in: p.options.Linger}
			}
			return n, next{}
		}
		// It is nobody's notification.
		d.Acked = r.Seq
	}
	if len(records) > 0 {
		return nil, next{do: again}
	}
	return nil, next{do: wait}
}

func (p *Pushes) status(d *delivery, r *a2a.Record) (*notification, next) {
	if version10(d.Config.Dialect) {
		return ofStatus(d.Config.Dialect, r, nil), next{}
	}
	task, err := taskAt(d, r.Seq)
	if err != nil {
		return nil, p.failed(d, "read task", err)
	}
	return ofStatus(d.Config.Dialect, r, task), next{}
}

// taskAt returns the task as it was at an event, so that the body of a
// notification is the same whenever it is made: a receiver takes one with the id
// of another for the same. When the log has lost its beginning and the task has
// gone on, the task has nothing but its ids; the receiver has to ask for the rest.
func taskAt(d *delivery, seq uint64) (*a2a.Task, error) {
	now, err := d.log.Snapshot(d.ctx)
	if err != nil || now.Seq == seq {
		return taskOf(now), err //nolint:wrapcheck // its caller knows the outcomes
	}
	fold := store.NewFold(now.Task.ID, store.Origin{ContextID: now.Task.ContextID, Dialect: now.Task.Dialect})
	var batch []*a2a.Record
	for at := uint64(0); at < seq; {
		batch, err = d.log.Read(d.ctx, batch[:0], at)
		switch {
		case errors.Is(err, store.ErrTrimmed):
			return &a2a.Task{ID: now.Task.ID, ContextID: now.Task.ContextID, Dialect: now.Task.Dialect}, nil
		case err != nil:
			return nil, err //nolint:wrapcheck // as above
		case len(batch) == 0:
			return nil, errShortLog
		}
		for _, r := range batch {
			if at = r.Seq; at <= seq {
				fold.Replay(&r.Event)
			}
		}
	}
	return fold.Task(), nil
}

// errShortLog is that of a log that ends before an event that was read from it.
var errShortLog = errors.New("log ends too early")

func taskOf(r *a2a.Record) *a2a.Task {
	if r == nil {
		return nil
	}
	return r.Task
}

func (p *Pushes) snapshot(d *delivery) (*notification, next) {
	now, err := d.log.Snapshot(d.ctx)
	if err != nil {
		return nil, p.failed(d, "read task", err)
	}
	return ofSnapshot(d.Config.Dialect, now), next{}
}

// failed is what follows from a log that cannot be read. A task that is gone
// has taken its configurations along.
func (p *Pushes) failed(d *delivery, doing string, err error) next {
	if d.ctx.Err() != nil {
		return next{do: end}
	}
	if errors.Is(err, store.ErrNotFound) {
		if err := p.options.Configs.Delete(d.ctx, d.Task, d.Config.ID); err != nil {
			p.options.Log.ErrorContext(d.ctx, "delete push configuration", "push", d.Config, "error", err)
		}
		return next{do: end}
	}
	p.options.Log.ErrorContext(d.ctx, "deliver push notification: "+doing, "push", d.Config, "error", err)
	return next{do: again, in: p.delay(1, 0)}
}

// later tries again, unless that were too late.
func (p *Pushes) later(d *delivery, n *notification, in time.Duration) next {
	if p.options.Now().Add(in).Sub(d.since) > p.options.RetryFor {
		return p.giveUp(d, n, CauseExhausted, outcome{})
	}
	return next{do: again, in: in}
}

// ends reports whether a notification is the last one.
func (d *delivery) ends(n *notification) bool { return n.terminal && n.last > d.Since }

// giveUp leaves a notification out.
func (p *Pushes) giveUp(d *delivery, n *notification, why Cause, o outcome) next {
	d.failures++
	p.options.Log.WarnContext(d.ctx, "gave up push notification", "push", d.Config, "host", d.host.name,
		"event", n.last, "attempts", d.attempts, "status", o.code, "cause", string(why))
	if d.ends(n) || why == CauseDenied || why == CauseGone || d.failures >= maxFailures {
		return p.done(d, n, why)
	}
	return p.done(d, n, "")
}

// done stores that a notification is through, and goes on behind it. A cause of
// death is the end, as is the last status of the task.
func (p *Pushes) done(d *delivery, n *notification, death Cause) next {
	d.Acked, d.last, d.attempts, d.since, d.lingered = n.last, 0, 0, time.Time{}, false
	if d.ends(n) || death != "" {
		d.Expires = p.options.Now().Add(p.options.Keep)
	}
	err := p.options.Configs.Advance(d.ctx, d.Push)
	switch {
	case errors.Is(err, store.ErrNotFound) || d.ctx.Err() != nil:
		return next{do: end}
	case err != nil:
		// It may be delivered once more after a restart, and no worse.
		p.options.Log.ErrorContext(d.ctx, "store progress of push notifications", "push", d.Config, "error", err)
	}
	if death != "" {
		p.options.Observer.Died(death)
		p.options.Log.WarnContext(d.ctx, "push configuration died", "push", d.Config, "host", d.host.name, "cause", string(death))
	}
	if d.Ended() {
		return next{do: end}
	}
	return next{do: again}
}
