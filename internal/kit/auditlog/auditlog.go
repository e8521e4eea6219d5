// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package auditlog logs denied requests in the sidecar and in the registry: one event for each
// request, with the keys of docs/how-to/logs.md. It limits the rate of the events of each Kind,
// because any client can cause denied requests. The package imports neither the types of requests
// nor the authorization rules.
package auditlog

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// The rate limit for the events of one Kind. Denied drops the events beyond the limit, and counts them.
const (
	PerSecond = 10
	Burst     = 100
)

// Kind classifies denied requests by their credential. Each Kind has its own rate limit. Requests
// without a credential, which any client can send, therefore do not use up the limits of the other
// kinds.
type Kind int

// Kinds of denials.
const (
	WithoutCredential Kind = iota
	WithWrongCredential
	OfKnownCaller
	kinds
)

// Keys of an event.
const (
	KeyBy         = "by"
	KeyReason     = "reason"
	KeyAddress    = "address"
	KeyCaller     = "caller"
	KeySubject    = "subject"
	KeyProven     = "proven"
	KeyAnonymous  = "anonymous"
	KeyCredential = "credential"
	KeyCause      = "cause"
	KeyOperation  = "operation"
	KeyRule       = "rule"
	keyDropped    = "dropped"
)

// Values of KeyBy: the check that denied the request.
const (
	ByAuthentication = "authentication"
	ByAuthorization  = "authorization"
)

// boundedEvents limits the rate of the events of one Kind. If events were dropped, the next logged
// event has their number in keyDropped.
type boundedEvents struct {
	limiter *rate.Limiter
	dropped atomic.Int64
}

// Log is an audit log. It is safe for concurrent use.
type Log struct {
	log    *slog.Logger
	now    func() time.Time
	events [kinds]boundedEvents
}

// New returns an audit log that writes to log.
func New(log *slog.Logger, now func() time.Time) *Log {
	l := &Log{log: log, now: now}
	for kind := range l.events {
		l.events[kind].limiter = rate.NewLimiter(PerSecond, Burst)
	}
	return l
}

// Denied logs a denied request, unless the events of its kind exceed Rate. The attributes must contain
// no part of a credential or of a request's body.
func (l *Log) Denied(ctx context.Context, kind Kind, attributes ...slog.Attr) {
	events := &l.events[kind]
	if !events.limiter.AllowN(l.now(), 1) {
		events.dropped.Add(1)
		return
	}
	if dropped := events.dropped.Swap(0); dropped > 0 {
		attributes = append(attributes, slog.Int64(keyDropped, dropped))
	}
	l.log.LogAttrs(ctx, slog.LevelInfo, "request denied", attributes...)
}
