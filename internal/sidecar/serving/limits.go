// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tokenbudget"
	"github.com/a2a-operator/a2a-operator/internal/kit/httpserver"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	// maxAccounts is the maximum number of accounting principals in each table.
	maxAccounts = 4096
	// maxPublicBody is the largest body of a request without a credential to a public route, in
	// bytes, and publicMemory the budget of all of them. Such requests never use the budget of
	// authenticated ones.
	maxPublicBody = 1 << 10
	publicMemory  = 1 << 20
	// memoryTimeout is how long a request waits for memory in one of the budgets.
	memoryTimeout = time.Second
	// answerTimeout bounds the time in which a client reads a response, so that slow clients
	// cannot hold the memory of answers for an hour. A response of 10 MiB needs 87 KiB/s.
	answerTimeout = 2 * time.Minute
	// callersShare is the divisor of the burst of all requests that gives what remains for callers with a credential, and of
	// the rate of all that gives what one caller or address cannot use.
	callersShare = 4
)

// LimitTurns is the value of the label limit for the limits of turns, which the engine
// enforces.
const LimitTurns = "turns"

// LimitsOfAll returns the values of the label limit for the limits that apply to all
// callers together.
func LimitsOfAll() []string {
	return []string{LimitTurns, limitTotalRequests, limitTotalStreams, string(tokenbudget.LimitTotalTokens)}
}

// The other values of the label limit.
const (
	limitRequests        = "requests"
	limitTotalRequests   = "total_requests"
	limitAuthentications = "failed_authentications"
	limitConnections     = "connections"
	limitStreams         = "streams"
	limitTotalStreams    = "total_streams"
)

// LimitOptions configure Limits.
type LimitOptions struct {
	Initial *sidecarconfig.Limits
	// Memory has the budgets for requests and answers.
	Memory memoryshare.Shares
	// Limited is called for each refused request, with the name of the limit.
	Limited func(limit string)
	// Deny answers a refused request.
	Deny func(http.ResponseWriter, *http.Request, *a2a.Error)
	// Metrics registers the metrics about the usage of the limits.
	Metrics prometheus.Registerer
	// Now is the clock of the deadlines of reads and writes. RateClock is the clock of the
	// rate limiters.
	Now, RateClock func() time.Time
}

// Limits enforces spec.limits for each accounting principal and for all of them together:
// the rates of requests and of failed authentications, open streams, and memory. It does
// not enforce the limits of turns and tokens: Turns returns the limits that the engine
// enforces, and Tokens those of the token budgets. The methods are safe for concurrent use.
type Limits struct {
	options LimitOptions
	current atomic.Pointer[sidecarconfig.Limits]
	// callers limits the requests and streams of authenticated callers. The table addresses
	// does the same for anonymous callers, and namespaces for all ServiceAccounts of a namespace together.
	callers, addresses, namespaces *limit.Table
	total                          limit.Bucket
	verifications                  *limit.Verifications

	openStreams       atomic.Int64
	bodies, responses *limit.Budget
	publicBodies      *limit.Budget
}

// NewLimits returns Limits with empty counts.
func NewLimits(o LimitOptions) *Limits {
	l := &Limits{options: o}
	effective := o.Initial.Effective()
	l.current.Store(&effective)
	requests := requestsOfOne(&effective)
	l.callers = limit.NewTable(maxAccounts, requests)
	l.addresses = limit.NewTable(maxAccounts, requests)
	l.namespaces = limit.NewTable(maxAccounts, shareOfAll(&effective))
	l.verifications = limit.NewVerifications(maxAccounts, limit.Rate(effective.FailedAuthentications))
	l.total = limit.NewBucket(limit.Rate(effective.TotalRequests))
	l.bodies = limit.NewBudget(o.Memory.Bodies, memoryTimeout)
	l.responses = limit.NewBudget(o.Memory.Answers, memoryTimeout)
	l.publicBodies = limit.NewBudget(publicMemory, memoryTimeout)
	o.Metrics.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "a2a_open_streams", Help: "Streams that are open."}, func() float64 { return float64(l.openStreams.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "a2a_body_bytes", Help: "Bytes of request bodies that are buffered and not decoded yet."}, func() float64 { return float64(l.bodies.Used()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "a2a_answer_bytes", Help: "Estimated bytes of large responses and push notifications that are buffered and not sent yet."}, func() float64 { return float64(l.responses.Used()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "a2a_limited_callers", Help: "Accounts of callers and addresses in the tables of the rate limiters."}, func() float64 {
			return float64(l.callers.Len() + l.addresses.Len() + l.verifications.Len())
		}),
	)
	return l
}

// Swap replaces the limits. The counts of callers are preserved.
func (l *Limits) Swap(c *sidecarconfig.Limits) {
	effective := c.Effective()
	now := l.options.RateClock()
	requests := requestsOfOne(&effective)
	l.callers.Set(requests, now)
	l.addresses.Set(requests, now)
	l.namespaces.Set(shareOfAll(&effective), now)
	l.verifications.Set(limit.Rate(effective.FailedAuthentications), now)
	l.total.Set(limit.Rate(effective.TotalRequests), now)
	l.current.Store(&effective)
}

// requestsOfOne returns the rate of requests of one caller or address: that of the limits, but at most shareOfAll.
func requestsOfOne(l *sidecarconfig.Limits) limit.Rate {
	most := shareOfAll(l)
	return limit.Rate{PerSecond: min(l.Requests.PerSecond, most.PerSecond), Burst: min(l.Requests.Burst, most.Burst)}
}

// shareOfAll returns three quarters of the rate of all requests, which all ServiceAccounts of a namespace together cannot exceed.
func shareOfAll(l *sidecarconfig.Limits) limit.Rate {
	most := func(ofAll int) int { return max(1, ofAll-ofAll/callersShare) }
	return limit.Rate{PerSecond: most(l.TotalRequests.PerSecond), Burst: most(l.TotalRequests.Burst)}
}

// Turns returns the limits that the engine enforces.
func (l *Limits) Turns() engine.TurnLimits {
	t := &l.current.Load().Turns
	return engine.TurnLimits{
		Max: t.Max, MaxPerCaller: t.MaxPerCaller, MaxQueued: t.MaxQueued, QueueTimeout: time.Duration(t.QueueTimeout),
	}
}

// Tokens returns the token budgets.
func (l *Limits) Tokens() tokenbudget.Limits {
	t := &l.current.Load().Tokens
	return tokenbudget.Limits{
		PerHour: t.PerHour, PerCallerPerHour: t.PerCallerPerHour, DenyUnreported: t.Unreported == sidecarconfig.UnreportedDeny,
	}
}

// HTTP returns the limits of the bindings.
func (l *Limits) HTTP() *httpcall.Limits {
	return &httpcall.Limits{
		MaxBody: l.maxBody,
		Bodies:  l.bodies, Answers: l.responses, WriteTimeout: WriteTimeout, AnswerTimeout: answerTimeout, Now: l.options.Now,
	}
}

// Public returns the limits of the bindings for public routes.
func (l *Limits) Public() *httpcall.Limits {
	public := l.HTTP()
	public.MaxBody = func() int64 { return maxPublicBody }
	public.Bodies = l.publicBodies
	return public
}

// limitPublicBody limits the body of a request to a public route.
func limitPublicBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The framing of gRPC needs a few bytes.
		r.Body = http.MaxBytesReader(w, r.Body, 2*maxPublicBody)
		next.ServeHTTP(w, r)
	})
}

// maxBody returns the limit of a request body, in bytes: the configured one, or what fits into
// the memory.
func (l *Limits) maxBody() int64 {
	return min(l.current.Load().MaxBodyBytes, l.options.Memory.MaxBody())
}

// limitFailures limits the rate of requests from an address that sent too many wrong
// credentials, before the credential is verified. It passes requests whose credential has
// been verified before, so that callers that share an address with an attacker are not
// affected.
func (l *Limits) limitFailures(gate *auth.Gate, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address := a2a.AccountingPrincipalAt(r.RemoteAddr)
		now := l.options.RateClock()
		if !l.verifications.IsSuspect(address, now) || gate.VerifiedBefore(r) {
			next.ServeHTTP(w, r)
			return
		}
		if refused, ok := l.verifications.Take(address, now); !ok {
			l.options.Deny(w, r, l.refusal(w.Header(), refused, limitAuthentications, "Too many credentials of this address were refused"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Denied charges a failed authentication to the address of a request that the gate
// denied. It charges nothing if the request contained no credential.
func (l *Limits) Denied(r *http.Request, problem *a2a.Error) {
	if !auth.Missing(problem) {
		l.verifications.Fail(a2a.AccountingPrincipalAt(r.RemoteAddr), l.options.RateClock())
	}
}

// limitCaller limits the rate of requests of each accounting principal, and the connections with requests of an
// authenticated caller, from all addresses.
func (l *Limits) limitCaller(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := l.options.RateClock()
		caller, ok := auth.CallerFrom(r.Context())
		table := l.callers
		principal := caller.AccountingPrincipal()
		switch {
		case !ok:
			table = l.addresses
			principal = a2a.AccountingPrincipalAt(r.RemoteAddr)
		case caller.Anonymous:
			table = l.addresses
		}
		bucket := table.Bucket(principal, now)
		share := principal.Share()
		of := "this caller"
		refused := !bucket.Take(now)
		if share != principal && !refused {
			bucket = l.namespaces.Bucket(share, now)
			of = "the ServiceAccounts of this caller's namespace"
			refused = !bucket.Take(now)
		}
		switch {
		case refused:
			l.options.Deny(w, r, l.refusal(w.Header(), bucket, limitRequests, "Too many requests of "+of))
		case ok && !caller.Anonymous && !httpserver.Own(r, share.Principal):
			l.options.Limited(limitConnections)
			l.options.Deny(w, r, a2a.Busy("Too many requests of this caller run at a time"))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// limitAll limits the rate of the requests of all callers together. A request counts when it has arrived in whole, so that
// streams that a client resets do not count. Those without a credential leave a quarter of the burst to callers.
func (l *Limits) limitAll(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == http.NoBody {
			problem := l.admit(w, r)
			if problem != nil {
				l.options.Deny(w, r, problem)
				return
			}
		} else {
			r.Body = &countedBody{ReadCloser: r.Body, limits: l, w: w, r: r}
		}
		next.ServeHTTP(w, r)
	})
}

// admit counts a request that has arrived in whole. It returns an error if the rate of all requests refuses it.
func (l *Limits) admit(w http.ResponseWriter, r *http.Request) *a2a.Error {
	rest := 0
	if caller, _ := auth.CallerFrom(r.Context()); caller.Anonymous {
		rest = l.current.Load().TotalRequests.Burst / callersShare
	}
	if l.total.TakeAbove(l.options.RateClock(), rest) {
		return nil
	}
	return l.refusal(w.Header(), l.total, limitTotalRequests, "Too many requests to this agent")
}

// countedBody is the body of a request that counts when the body has been read. Read then returns the error of admit, if
// there is one, in place of io.EOF.
type countedBody struct {
	io.ReadCloser
	limits *Limits
	w      http.ResponseWriter
	r      *http.Request
	end    error
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	if b.end != nil {
		return 0, b.end
	}
	n, err := b.ReadCloser.Read(p)
	if err != io.EOF {
		return n, err
	}
	b.end = err
	problem := b.limits.admit(b.w, b.r)
	if problem != nil {
		b.end = problem
	}
	return n, b.end
}

// refusal returns the error of a refused request, with the time after which the client may retry. The X-Ratelimit
// headers have the format of GitHub and many others. X-Ratelimit-Reset is a Unix time in
// seconds.
func (l *Limits) refusal(h http.Header, bucket limit.Bucket, name, message string) *a2a.Error {
	now := l.options.RateClock()
	refusal := bucket.Refusal(now)
	h.Set("X-Ratelimit-Limit", strconv.Itoa(refusal.Limit))
	h.Set("X-Ratelimit-Remaining", "0")
	h.Set("X-Ratelimit-Reset", strconv.FormatInt(now.Add(refusal.Full+time.Second-1).Unix(), 10))
	l.options.Limited(name)
	return &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: message, RetryAfter: max(refusal.Wait, time.Second)}
}

// Meter returns a handler that limits the number of open streams, and sets the accounting
// principal of each turn.
func (l *Limits) Meter(h a2a.Handler) a2a.Handler { return &meteredHandler{h, l} }

type meteredHandler struct {
	a2a.Handler
	limits *Limits
}

// Send implements a2a.Handler.
func (m *meteredHandler) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	caller, _ := auth.CallerFrom(ctx)
	r.AccountingPrincipal = caller.AccountingPrincipal()
	return m.Handler.Send(ctx, r)
}

// Stream implements a2a.Handler.
func (m *meteredHandler) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	caller, _ := auth.CallerFrom(ctx)
	r.AccountingPrincipal = caller.AccountingPrincipal()
	return m.limits.openStream(&caller, func() (a2a.Stream, error) { return m.Handler.Stream(ctx, r) })
}

// Subscribe implements a2a.Handler.
func (m *meteredHandler) Subscribe(ctx context.Context, r *a2a.SubscribeRequest) (a2a.Stream, error) {
	caller, _ := auth.CallerFrom(ctx)
	return m.limits.openStream(&caller, func() (a2a.Stream, error) { return m.Handler.Subscribe(ctx, r) })
}

// openStream calls open to open a stream of a caller, if the limits allow one more
// stream. Otherwise its error is a2a.Busy.
func (l *Limits) openStream(caller *auth.Caller, open func() (a2a.Stream, error)) (a2a.Stream, error) {
	table := l.callers
	if caller.Anonymous {
		table = l.addresses
	}
	limits := &l.current.Load().Streams
	principal := caller.AccountingPrincipal()
	now := l.options.RateClock()
	release, ok := table.Hold(principal, limits.MaxPerCaller, now)
	if share := principal.Share(); ok && share != principal {
		ofCaller := release
		var ofShare func()
		ofShare, ok = l.namespaces.Hold(share, max(limits.MaxPerCaller, limits.Max-limits.Max/callersShare), now)
		if ok {
			release = func() { ofShare(); ofCaller() }
		} else {
			ofCaller()
		}
	}
	if !ok {
		l.options.Limited(limitStreams)
		return nil, a2a.Busy("Too many streams of this caller are open")
	}
	if l.openStreams.Add(1) > int64(limits.Max) {
		l.openStreams.Add(-1)
		release()
		l.options.Limited(limitTotalStreams)
		return nil, a2a.Busy("Too many streams are open")
	}
	s := &countedStream{limits: l, release: release}
	opened := false
	defer func() {
		// If open fails or panics, the stream must not be counted any longer.
		if !opened {
			s.end()
		}
	}()
	var err error
	if s.Stream, err = open(); err != nil {
		return nil, err
	}
	opened = true
	return s, nil
}

// countedStream is a stream that counts as open until Close.
type countedStream struct {
	a2a.Stream
	limits  *Limits
	release func()
	once    sync.Once
}

// Close implements a2a.Stream.
func (s *countedStream) Close() {
	defer s.end()
	s.Stream.Close()
}

func (s *countedStream) end() {
	s.once.Do(func() {
		s.release()
		s.limits.openStreams.Add(-1)
	})
}
