// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tokenbudget limits the tokens of language models that callers use in an hour
// (spec.limits.tokens).
//
// The sidecar learns the number of tokens of a turn when the agent reports it. A turn
// therefore begins while the budget has any token left, and may exceed the budget. The
// package depends on no transport and on no task.
package tokenbudget

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Limits are numbers of tokens in an hour. 0 means no limit.
type Limits struct {
	// PerHour limits all callers together. PerCallerPerHour limits each caller.
	PerHour, PerCallerPerHour int64
	// DenyUnreported makes a call of the agent without a readable report of its usage count as
	// PerCallerPerHour, or as PerHour without it.
	DenyUnreported bool
}

// isSet reports whether there is a limit.
func (l Limits) isSet() bool { return l.PerHour > 0 || l.PerCallerPerHour > 0 }

// Limit is the name of a budget, in metrics.
type Limit string

// The budgets: of one caller, and of all callers.
const (
	LimitTokens      Limit = "tokens"
	LimitTotalTokens Limit = "total_tokens"
)

// Options configure a Budget. All fields are required.
type Options struct {
	// Limits returns the limits, which may change at any time.
	Limits   func() Limits
	Counters store.TokenCounters
	// Refused is called for each message that a budget refuses.
	Refused func(Limit)
	// Unreported is called for each call of the agent, while there is a limit, whose report was
	// unreadable or absent.
	Unreported func(unreadable bool)
	Log        *slog.Logger
	Now        func() time.Time
}

// Budget checks and charges the token budgets of callers. It is safe for concurrent use.
// Without limits it neither counts tokens nor calls the counters.
type Budget struct{ options Options }

// New returns a Budget.
func New(o Options) *Budget { return &Budget{o} }

// Allow returns nil if the budgets have tokens left for a message of a principal, an
// *a2a.Error if they have none, and another error if the counters fail.
func (b *Budget) Allow(ctx context.Context, by a2a.AccountingPrincipal) error {
	limits := b.options.Limits()
	if !limits.isSet() {
		return nil
	}
	own, total, err := b.options.Counters.Tokens(ctx, accountOf(by))
	switch {
	case err != nil:
		return fmt.Errorf("read token counts: %w", err)
	case limits.PerCallerPerHour > 0 && own.Tokens >= limits.PerCallerPerHour:
		return b.refuse(LimitTokens, "This caller has used its token budget", "perCallerPerHour", limits.PerCallerPerHour, own.Left)
	case limits.PerHour > 0 && total.Tokens >= limits.PerHour:
		return b.refuse(LimitTotalTokens, "The callers of this agent have used its token budget", "perHour", limits.PerHour, total.Left)
	default:
		return nil
	}
}

// refuse counts and returns a refusal. left is the time until the budget is available again.
func (b *Budget) refuse(limit Limit, what, field string, tokens int64, left time.Duration) error {
	b.options.Refused(limit)
	left = max(left, time.Second)
	// Retry-After has whole seconds, rounded up, and the text names the same moment.
	free := b.options.Now().Add(left + time.Second - 1).UTC().Format(time.RFC3339)
	return &a2a.Error{
		Reason: a2a.ReasonResourceExhausted, RetryAfter: left,
		Message: fmt.Sprintf("%s: limits.tokens.%s is %d; the budget is available again at %s", what, field, tokens, free),
	}
}

// Charge charges a principal for tokens that its turn has used. It returns when the tokens
// are counted. If the counters fail, it logs the error, and it is unknown whether the tokens
// were counted.
func (b *Budget) Charge(ctx context.Context, by a2a.AccountingPrincipal, tokens int64) {
	if tokens <= 0 || !b.options.Limits().isSet() {
		return
	}
	// The tokens of a turn that was canceled count, too, so the end of ctx does not end the call.
	// The counters limit its time.
	if err := b.options.Counters.AddTokens(context.WithoutCancel(ctx), accountOf(by), tokens); err != nil {
		b.options.Log.WarnContext(ctx, "tokens not counted", "tokens", tokens, "error", err)
	}
}

// accountOf returns the account of a principal: a digest, so that accounts have one size and
// no store contains the name or the address of a caller.
func accountOf(p a2a.AccountingPrincipal) (account store.TokenAccount) {
	text := "principal " + p.Principal
	if p.Address.IsValid() {
		text = "address " + p.Address.String()
	}
	sum := sha256.Sum256([]byte(text))
	copy(account[:], sum[:])
	return account
}

// chargeInterval is the least time between two charges for a call that has not ended.
const chargeInterval = time.Second

// Meter counts the tokens of one call of the agent. Its methods are called from one
// goroutine.
type Meter struct {
	budget    *Budget
	principal a2a.AccountingPrincipal
	// usage is the largest reported usage. charged is the number of charged tokens. at is the
	// time of the last charge.
	usage    backend.Usage
	reported bool
	// answered is true once the agent has sent an event. A call without one used no tokens that
	// anyone knows of.
	answered bool
	// chunks is the number of chunks of output after the largest usage was reported.
	chunks  int64
	charged int64
	at      time.Time
}

// Meter returns a Meter that charges a principal.
func (b *Budget) Meter(by a2a.AccountingPrincipal) *Meter { return &Meter{budget: b, principal: by} }

// Usage returns the usage of the call, and false if the agent has reported none.
func (m *Meter) Usage() (backend.Usage, bool) { return m.usage, m.reported }

// Report records a report of the usage of the call so far. It charges at most once a second.
func (m *Meter) Report(ctx context.Context, usage backend.Usage) {
	if larger := m.usage.Max(usage); larger != m.usage {
		m.usage = larger
		m.chunks = 0
	}
	m.reported = m.reported || !usage.Unreadable || usage.Total() > 0
	if now := m.budget.options.Now(); m.at.IsZero() || now.Sub(m.at) >= chargeInterval {
		m.Charge(ctx)
	}
}

// Read records the reports in the metadata of events, and then calls ChargeAtEnd.
func (m *Meter) Read(ctx context.Context, events []a2a.Event) {
	for i := range events {
		var metadata a2a.Object
		switch e := &events[i]; {
		case e.Status != nil:
			metadata = e.Status.Metadata
		case e.Message != nil:
			metadata = e.Message.Metadata
		}
		if usage, ok := backend.UsageIn(metadata); ok {
			m.Report(ctx, usage)
		}
	}
	m.ChargeAtEnd(ctx, events)
}

// ChargeAtEnd charges all reported tokens if an event ends or pauses the turn. The caller
// calls it before the client receives the event.
func (m *Meter) ChargeAtEnd(ctx context.Context, events []a2a.Event) {
	m.answered = m.answered || len(events) > 0
	for i := range events {
		e := &events[i]
		if e.Message != nil || e.Status != nil && (e.Status.Status.State.Terminal() || e.Status.Status.State.Interrupted()) {
			m.Charge(ctx)
			return
		}
	}
}

// Chunk counts a chunk of output as one token, until Report records a larger usage.
func (m *Meter) Chunk() { m.chunks++ }

// End charges the tokens that were not charged yet, including one for each chunk that no
// usage includes. For a call without a readable report, it charges what Limits.DenyUnreported says.
func (m *Meter) End(ctx context.Context) {
	total := m.usage.Total() + m.chunks
	if limits := m.budget.options.Limits(); m.answered && limits.isSet() && (m.usage.Unreadable || !m.reported) {
		m.budget.options.Unreported(m.usage.Unreadable)
		if m.usage.Unreadable {
			m.budget.options.Log.WarnContext(ctx, "usage of the agent's call not readable: prompt_tokens and completion_tokens must be whole numbers")
		}
		if limits.DenyUnreported {
			total = max(total, cmp.Or(limits.PerCallerPerHour, limits.PerHour))
		}
	}
	m.charge(ctx, total)
}

// Charge charges the tokens that were reported and not charged yet.
func (m *Meter) Charge(ctx context.Context) { m.charge(ctx, m.usage.Total()) }

func (m *Meter) charge(ctx context.Context, total int64) {
	if tokens := total - m.charged; tokens > 0 {
		m.budget.Charge(ctx, m.principal, tokens)
		m.charged = total
		m.at = m.budget.options.Now()
	}
}
