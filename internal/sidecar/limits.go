// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

const (
	// accounts bounds each table of those who are charged.
	accounts = 4096
	// bodyMemory and answerMemory bound what all requests hold that are not
	// decoded, and all answers that are not sent. A budget is at least eight of
	// the largest bodies, so that one caller may bring three at a time.
	bodyMemory   = 64 << 20
	answerMemory = 64 << 20
	bodiesAtOnce = 8
	// memoryPatience is how long a request waits for either.
	memoryPatience = time.Second
)

// The limits, as metrics name them.
const (
	limitRequests        = "requests"
	limitTotalRequests   = "total_requests"
	limitAuthentications = "failed_authentications"
	limitTurns           = "turns"
	limitStreams         = "streams"
	limitTotalStreams    = "total_streams"
)

// limits are what callers may use, and what they have used of it.
//
//	address    who shows credentials in vain is refused before they are looked at
//	gate       who is calling
//	caller     requests a second, of one caller and of all
//	streams    those that are open, by the operations that open them
//
// Turns are counted by the engine, bytes by the bindings.
type limits struct {
	metrics *metrics
	now     func() time.Time
	deny    func(http.ResponseWriter, *http.Request, *a2a.Error)

	current atomic.Pointer[sidecarconfig.Limits]
	// callers and addresses are charged for requests: those who are somebody, and
	// those who are not. failures are charged for credentials.
	callers, addresses, failures *limit.Table
	total                        limit.Bucket

	streams atomic.Int64
	bodies  *limit.Budget
	answers *limit.Budget
}

func newLimits(c *sidecarconfig.Limits, m *metrics, now func() time.Time) *limits {
	l := &limits{metrics: m, now: now}
	effective := c.Effective()
	l.current.Store(&effective)
	requests := rateOf(effective.Requests)
	l.callers, l.addresses = limit.NewTable(accounts, requests), limit.NewTable(accounts, requests)
	l.failures = limit.NewTable(accounts, rateOf(effective.FailedAuthentications))
	l.total = limit.NewBucket(rateOf(effective.TotalRequests))
	l.bodies = limit.NewBudget(bodyBudget(&effective), memoryPatience)
	l.answers = limit.NewBudget(answerMemory, memoryPatience)
	m.gauge("a2a_open_streams", "Streams that are open.", func() float64 { return float64(l.streams.Load()) })
	m.gauge("a2a_body_bytes", "What requests hold that are not decoded yet.", func() float64 { return float64(l.bodies.Used()) })
	m.gauge("a2a_answer_bytes", "What large answers hold that are not sent yet, by estimate.", func() float64 { return float64(l.answers.Used()) })
	m.gauge("a2a_limited_callers", "Callers and addresses whose requests are counted.", func() float64 {
		return float64(l.callers.Len() + l.addresses.Len() + l.failures.Len())
	})
	return l
}

func rateOf(r sidecarconfig.Rate) limit.Rate {
	return limit.Rate{PerSecond: r.PerSecond, Burst: r.Burst}
}

func bodyBudget(c *sidecarconfig.Limits) int64 { return max(bodyMemory, bodiesAtOnce*c.MaxBodyBytes) }

// swap changes the limits. What callers have used stays used.
func (l *limits) swap(c *sidecarconfig.Limits) {
	effective, now := c.Effective(), l.now()
	l.callers.Set(rateOf(effective.Requests), now)
	l.addresses.Set(rateOf(effective.Requests), now)
	l.failures.Set(rateOf(effective.FailedAuthentications), now)
	l.total.Set(rateOf(effective.TotalRequests), now)
	l.bodies.Set(bodyBudget(&effective))
	l.current.Store(&effective)
}

func (l *limits) maxBody() int64 { return l.current.Load().MaxBodyBytes }

// turns are the engine's.
func (l *limits) turns() engine.TurnLimits {
	t := &l.current.Load().Turns
	return engine.TurnLimits{
		Max: t.Max, MaxPerPrincipal: t.MaxPerCaller, MaxQueued: t.MaxQueued, QueueTimeout: time.Duration(t.QueueTimeout),
	}
}

// address stands before the gate: a client at an address that showed too many
// credentials in vain shows another one in vain, too, unless it was seen to be
// good. So those who share an address with an attacker go on.
func (l *limits) address(gate *auth.Gate, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := l.now()
		bucket, known := l.failures.Known(a2a.AccountingPrincipalAt(r.RemoteAddr))
		if !known || !bucket.Empty(now) || gate.VerifiedBefore(r) {
			next.ServeHTTP(w, r)
			return
		}
		l.refuse(w, r, bucket, limitAuthentications, "Too many credentials of this address were refused")
	})
}

// failed charges an address for a credential that opened nothing.
func (l *limits) failed(r *http.Request, problem *a2a.Error) {
	if !auth.Missing(problem) {
		now := l.now()
		l.failures.Bucket(a2a.AccountingPrincipalAt(r.RemoteAddr), now).Take(now)
	}
}

// caller stands behind the gate, and before what is open to all.
func (l *limits) caller(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := l.now()
		caller, ok := auth.CallerFrom(r.Context())
		table, payer := l.callers, caller.AccountingPrincipal()
		if !ok || caller.Anonymous {
			table, payer = l.addresses, a2a.AccountingPrincipalAt(r.RemoteAddr)
		}
		switch bucket := table.Bucket(payer, now); {
		case !bucket.Take(now):
			l.refuse(w, r, bucket, limitRequests, "Too many requests of this caller")
		case !l.total.Take(now):
			l.refuse(w, r, l.total, limitTotalRequests, "Too many requests to this agent")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// refuse tells a client when to come back. The headers are those of GitHub and
// many others: Reset is a time, in seconds of Unix.
func (l *limits) refuse(w http.ResponseWriter, r *http.Request, bucket limit.Bucket, name, message string) {
	now := l.now()
	refusal := bucket.Refusal(now)
	h := w.Header()
	h.Set("X-Ratelimit-Limit", strconv.Itoa(refusal.Limit))
	h.Set("X-Ratelimit-Remaining", "0")
	h.Set("X-Ratelimit-Reset", strconv.FormatInt(now.Add(refusal.Full+time.Second-1).Unix(), 10))
	l.metrics.limited.WithLabelValues(name).Inc()
	l.deny(w, r, &a2a.Error{
		Reason: a2a.ReasonResourceExhausted, Message: message, RetryAfter: max(refusal.Wait, time.Second),
	})
}

// metered counts streams, and says who pays for turns. It implements
// a2a.Handler.
type metered struct {
	a2a.Handler
	limits *limits
}

// Send implements a2a.Handler.
func (m *metered) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	r.AccountingPrincipal = payer(ctx)
	return m.Handler.Send(ctx, r)
}

// Stream implements a2a.Handler.
func (m *metered) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	r.AccountingPrincipal = payer(ctx)
	return m.limits.open(ctx, func() (a2a.Stream, error) { return m.Handler.Stream(ctx, r) })
}

// Subscribe implements a2a.Handler.
func (m *metered) Subscribe(ctx context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
	return m.limits.open(ctx, func() (a2a.Stream, error) { return m.Handler.Subscribe(ctx, r) })
}

// payer is who is charged for a turn.
func payer(ctx context.Context) a2a.AccountingPrincipal {
	caller, _ := auth.CallerFrom(ctx)
	return caller.AccountingPrincipal()
}

// open opens a stream, if one more may be open.
func (l *limits) open(ctx context.Context, stream func() (a2a.Stream, error)) (a2a.Stream, error) {
	caller, _ := auth.CallerFrom(ctx)
	table := l.callers
	if caller.Anonymous {
		table = l.addresses
	}
	bounds := &l.current.Load().Streams
	release, ok := table.Hold(caller.AccountingPrincipal(), bounds.MaxPerCaller, l.now())
	if !ok {
		l.metrics.limited.WithLabelValues(limitStreams).Inc()
		return nil, a2a.Busy("Too many streams of this caller are open")
	}
	if l.streams.Add(1) > int64(bounds.Max) {
		l.streams.Add(-1)
		release()
		l.metrics.limited.WithLabelValues(limitTotalStreams).Inc()
		return nil, a2a.Busy("Too many streams are open")
	}
	s := &openStream{limits: l, release: release}
	opened := false
	defer func() {
		// Also when it panics: a place that is lost stays lost.
		if !opened {
			s.end()
		}
	}()
	var err error
	if s.Stream, err = stream(); err != nil {
		return nil, err
	}
	opened = true
	return s, nil
}

// openStream is counted until it is closed.
type openStream struct {
	a2a.Stream
	limits  *limits
	release func()
	once    sync.Once
}

// Close implements a2a.Stream.
func (s *openStream) Close() {
	defer s.end()
	s.Stream.Close()
}

func (s *openStream) end() {
	s.once.Do(func() {
		s.release()
		s.limits.streams.Add(-1)
	})
}

// exchange is what the bindings keep to.
func (l *limits) exchange() *httpcall.Limits {
	return &httpcall.Limits{
		MaxBody: l.maxBody, Bodies: l.bodies, Answers: l.answers, WriteTimeout: writeTimeout, Now: l.now,
	}
}
