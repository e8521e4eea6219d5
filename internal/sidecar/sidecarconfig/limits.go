// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Limits limits the resources that callers use. In every field, zero means the default.
// By default, there are no token budgets.
//
// A new member has omitempty for one release, because sidecars of the release before refuse
// unknown members. Its name is also in limitNames of internal/sidecar/settings.
type Limits struct {
	// Requests limits the requests of each caller, by default to 500 per second.
	// TotalRequests limits the requests of all callers together, by default to 2,000 per
	// second. The default burst is twice the rate.
	Requests      Rate `json:"requests"`
	TotalRequests Rate `json:"totalRequests"`
	// FailedAuthentications limits the rejected credentials of each address, by default to
	// 5 per second with a burst of 50.
	FailedAuthentications Rate         `json:"failedAuthentications"`
	Turns                 TurnLimits   `json:"turns"`
	Streams               StreamLimits `json:"streams"`
	// Tokens limits the tokens that callers use in an hour.
	Tokens TokenBudgets `json:"tokens"`
	// MaxBodyBytes is the maximum size of a request's body, 10 MiB by default.
	MaxBodyBytes int64 `json:"maxBodyBytes"`
}

// Rate is a rate per second with a burst (token bucket). If Burst is 0, it is twice
// PerSecond.
type Rate struct {
	PerSecond int `json:"perSecond"`
	Burst     int `json:"burst"`
}

// TurnLimits limits the running turns and the queued messages.
type TurnLimits struct {
	// Max is the maximum number of running turns, 256 by default. MaxPerCaller is the
	// maximum for each caller, half of Max by default.
	Max          int `json:"max"`
	MaxPerCaller int `json:"maxPerCaller"`
	// MaxQueued is the maximum number of queued messages, 256 by default. QueueTimeout is
	// how long a message waits in the queue, 5 s by default.
	MaxQueued    int      `json:"maxQueued"`
	QueueTimeout Duration `json:"queueTimeout"`
}

// StreamLimits limits the open streams.
type StreamLimits struct {
	// Max is the maximum number of open streams, 2,048 by default. MaxPerCaller is the
	// maximum for each caller, a quarter of Max by default.
	Max          int `json:"max"`
	MaxPerCaller int `json:"maxPerCaller"`
}

// TokenBudgets limits the tokens of language models that the agent reports. Zero means
// no budget.
type TokenBudgets struct {
	// PerHour is the number of tokens in an hour for all callers together, and
	// PerCallerPerHour for each caller.
	PerHour          int64 `json:"perHour"`
	PerCallerPerHour int64 `json:"perCallerPerHour"`
	// Unreported is UnreportedAllow, the default, or UnreportedDeny.
	Unreported string `json:"unreported"`
}

// The values of TokenBudgets.Unreported: what a call of the agent without a readable report of its
// usage costs. UnreportedAllow costs what was reported. UnreportedDeny costs the whole budget of
// the caller.
const (
	UnreportedAllow = "Allow"
	UnreportedDeny  = "Deny"
)

// The maximum values of the limits, and the minimum of MaxBodyBytes. failuresBurst is the
// default burst of FailedAuthentications.
const (
	maxRate       = 1_000_000
	maxTurns      = 65_536
	maxStreams    = 65_536
	maxTokens     = 1_000_000_000_000
	maxBodyBytes  = 32 << 20
	minBodyBytes  = 1 << 10
	maxQueueTime  = 5 * time.Minute
	failuresBurst = 50
)

// Effective returns a copy of the limits in which defaults replace the zero values.
func (l *Limits) Effective() Limits {
	c := *l
	c.Requests = c.Requests.or(500)
	c.TotalRequests = c.TotalRequests.or(2000)
	if c.FailedAuthentications == (Rate{}) {
		c.FailedAuthentications.Burst = failuresBurst
	}
	c.FailedAuthentications = c.FailedAuthentications.or(5)
	t := &c.Turns
	t.Max = cmp.Or(t.Max, 256)
	t.MaxPerCaller = cmp.Or(t.MaxPerCaller, max(t.Max/2, 1))
	t.MaxQueued = cmp.Or(t.MaxQueued, 256)
	t.QueueTimeout = cmp.Or(t.QueueTimeout, Duration(5*time.Second))
	s := &c.Streams
	s.Max = cmp.Or(s.Max, 2048)
	s.MaxPerCaller = cmp.Or(s.MaxPerCaller, max(s.Max/4, 1))
	c.MaxBodyBytes = cmp.Or(c.MaxBodyBytes, 10<<20)
	return c
}

func (r Rate) or(perSecond int) Rate {
	r.PerSecond = cmp.Or(r.PerSecond, perSecond)
	r.Burst = cmp.Or(r.Burst, 2*r.PerSecond)
	return r
}

// Validate returns an error that names every limit outside of its range.
func (l *Limits) Validate() error {
	var errs []error
	l.validate(func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf(field+" "+format, args...))
	})
	return errors.Join(errs...)
}

func (l *Limits) validate(refuse func(field, format string, args ...any)) {
	within := func(field string, value, most int) {
		if value < 0 || value > most {
			refuse("limits."+field, "is %d, must be 1 to %d, or absent for the default", value, most)
		}
	}
	rate := func(field string, r Rate) {
		within(field+".perSecond", r.PerSecond, maxRate)
		within(field+".burst", r.Burst, 2*maxRate)
	}
	rate("requests", l.Requests)
	rate("totalRequests", l.TotalRequests)
	rate("failedAuthentications", l.FailedAuthentications)
	within("turns.max", l.Turns.Max, maxTurns)
	within("turns.maxPerCaller", l.Turns.MaxPerCaller, maxTurns)
	within("turns.maxQueued", l.Turns.MaxQueued, maxTurns)
	within("streams.max", l.Streams.Max, maxStreams)
	within("streams.maxPerCaller", l.Streams.MaxPerCaller, maxStreams)
	budget := func(field string, tokens int64) {
		if tokens < 0 || tokens > maxTokens {
			refuse("limits.tokens."+field, "is %d, must be 1 to %d, or absent for no budget", tokens, int64(maxTokens))
		}
	}
	switch u := l.Tokens.Unreported; u {
	case "", UnreportedAllow, UnreportedDeny:
	default:
		refuse("limits.tokens.unreported", "is %q, must be Allow or Deny", u)
	}
	budget("perHour", l.Tokens.PerHour)
	budget("perCallerPerHour", l.Tokens.PerCallerPerHour)
	if t := time.Duration(l.Turns.QueueTimeout); t < 0 || t > maxQueueTime {
		refuse("limits.turns.queueTimeout", "is %s, must be at most %s", t, maxQueueTime)
	}
	if b := l.MaxBodyBytes; b != 0 && (b < minBodyBytes || b > maxBodyBytes) {
		refuse("limits.maxBodyBytes", "is %d, must be %d to %d", b, minBodyBytes, maxBodyBytes)
	}
}
