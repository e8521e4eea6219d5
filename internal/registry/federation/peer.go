// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/sony/gobreaker/v2"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/boundedfile"
)

// Limits of one peer, in addition to its timeout.
const (
	// maxResponse bounds a response, in bytes.
	maxResponse = 1 << 20
	// breakerFailures is the number of consecutive failures after which the circuit breaker of the
	// peer opens. After breakerTimeout, one request probes the peer.
	breakerFailures = 3
	breakerTimeout  = 10 * time.Second
)

// limitedCallers bounds the callers that have a rate limit of their own at one peer. All further
// callers share one rate limit.
const limitedCallers = 1024

// peerRate is the rate limit for all requests to a peer, and callerRate the rate limit for the
// requests of one caller to the peer.
var (
	peerRate   = limit.Rate{PerSecond: 40, Burst: 80}
	callerRate = limit.Rate{PerSecond: peerRate.PerSecond / 2, Burst: peerRate.Burst / 2}
)

// peer is a peer with its connections, limits and state.
type peer struct {
	Peer
	guard      *egress.Guard
	breaker    *gobreaker.CircuitBreaker[struct{}]
	bucket     limit.Bucket
	callers    *limit.Table
	slots      *slots
	credential atomic.Pointer[credential]

	mu sync.Mutex
	// lastSuccess is the time of the last success, zero before the first one. last is the last
	// failure since then, nil for none.
	lastSuccess time.Time
	last        *failure
	// paused is the time until which this registry sends no search to the peer, because the peer
	// has responded 429.
	paused time.Time
	// isRetired is true if the peer is removed, but for searches that still run.
	isRetired bool
}

func newPeer(configured Peer, clusterDomain string, proxy func() *egress.Proxy) *peer {
	p := &peer{Peer: configured, bucket: limit.NewBucket(peerRate), callers: limit.NewTable(limitedCallers, callerRate), slots: newSlots()}
	policy := &egress.Policy{Local: configured.isLocal(), ClusterDomain: clusterDomain}
	if u, err := url.Parse(configured.URL); err == nil {
		if host, err := egress.Host(u); err == nil {
			policy.Configured = []string{host}
		}
	}
	options := egress.Options{Policy: policy, ConnectTimeout: configured.Timeout.Duration, MaxIdle: maxConcurrent, Proxy: proxy}
	if roots := configured.roots(); roots != nil {
		options.Roots = func() *x509.CertPool { return roots }
	}
	p.guard = egress.New(options)
	p.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name: configured.Name, Timeout: breakerTimeout,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakerFailures },
		IsSuccessful: func(err error) bool {
			f, failed := errors.AsType[*failure](err)
			return !failed || f.isOfQuery()
		},
		IsExcluded: func(err error) bool {
			f, failed := errors.AsType[*failure](err)
			return failed && f.outcome == Canceled
		},
	})
	return p
}

// reloadToken reads the token of the peer.
func (p *peer) reloadToken(log logr.Logger) {
	if p.TokenFile == "" {
		return
	}
	token, err := readToken(p.TokenFile)
	former := p.credential.Swap(&credential{token, err})
	if err != nil && (former == nil || former.err == nil || former.err.Error() != err.Error()) {
		log.Error(err, "token of a peer not usable; no search is sent to the peer", "peer", p.Name)
	}
}

// pause makes this registry send no search to the peer before the given time. A pause that ends
// later stays.
func (p *peer) pause(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.paused) {
		p.paused = until
	}
}

// patience returns how long a search waits for the peer: its timeout or, after a search that ended by the
// whole timeout, a quarter of it. So a slow peer delays every second search by its whole timeout, and a peer that was slow once
// gets the time to answer. The search that probes the peer after its circuit was open waits for the whole timeout.
func (p *peer) patience() time.Duration {
	p.mu.Lock()
	slow := p.last != nil && p.last.outcome == Timeout && !p.last.wasHurried
	p.mu.Unlock()
	if slow && p.breaker.State() == gobreaker.StateClosed {
		return p.Timeout.Duration / 4
	}
	return p.Timeout.Duration
}

func (p *peer) pausedUntil() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused
}

// record stores the outcome of a search in the state of the peer. The outcomes Canceled and
// CircuitOpen do not change the state, and neither does a failure of only the query
// (failure.isOfQuery). isNew is true if the peer fails for another cause than before.
func (p *peer) record(c clock.PassiveClock, failed *failure) (isNew bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case failed == nil:
		p.lastSuccess = c.Now()
		p.last = nil
	case failed.outcome != Canceled && failed.outcome != CircuitOpen && !failed.isOfQuery():
		isNew = p.last == nil || p.last.message != failed.message
		p.last = failed
	}
	return isNew
}

const maxToken = 16 << 10

// credential is the token of a peer, or the error of reading it.
type credential struct {
	token string
	err   error
}

func readToken(name string) (string, error) {
	text, err := boundedfile.Read(name, maxToken)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("%s is empty", name)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s has characters that a header cannot carry", name)
	}
	return token, nil
}

const (
	// maxConcurrent bounds the concurrent requests to a peer, and maxCallerConcurrent those of one
	// caller. Further requests wait for at most half of the peer's timeout.
	maxConcurrent       = 4
	maxCallerConcurrent = maxConcurrent / 2
)

// slots bounds the concurrent requests to one peer: maxConcurrent in total, and maxCallerConcurrent
// of each caller, so that one caller cannot use all slots. It is safe for concurrent use.
type slots struct {
	all chan struct{}

	mu sync.Mutex
	// callers has an entry for each caller with a request that waits or runs.
	callers map[a2a.AccountingPrincipal]*callerSlots
}

type callerSlots struct {
	running chan struct{}
	// requests is the number of the caller's requests that wait or run.
	requests int
}

func newSlots() *slots {
	return &slots{all: make(chan struct{}, maxConcurrent), callers: map[a2a.AccountingPrincipal]*callerSlots{}}
}

// acquire waits for a slot. ok is false if no slot becomes free within timeout, or if ctx ends. If
// ok is true, the caller of acquire must call release once.
func (s *slots) acquire(ctx context.Context, caller a2a.AccountingPrincipal, timeout time.Duration) (release func(), ok bool) {
	expired := time.After(timeout)
	own := s.enter(caller)
	if !take(ctx, own.running, expired) {
		s.leave(caller)
		return nil, false
	}
	if !take(ctx, s.all, expired) {
		<-own.running
		s.leave(caller)
		return nil, false
	}
	return func() { <-s.all; <-own.running; s.leave(caller) }, true
}

func take(ctx context.Context, slots chan<- struct{}, timeout <-chan time.Time) bool {
	select {
	case slots <- struct{}{}:
		return true
	case <-timeout:
		return false
	case <-ctx.Done():
		return false
	}
}

func (s *slots) enter(caller a2a.AccountingPrincipal) *callerSlots {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.callers[caller]
	if own == nil {
		own = &callerSlots{running: make(chan struct{}, maxCallerConcurrent)}
		s.callers[caller] = own
	}
	own.requests++
	return own
}

func (s *slots) leave(caller a2a.AccountingPrincipal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.callers[caller]; own.requests > 1 {
		own.requests--
	} else {
		delete(s.callers, caller)
	}
}

// Outcome is the outcome of a search of one peer.
type Outcome string

// Outcomes. Only a search with the outcome Success has results.
const (
	Success     Outcome = "success"
	Timeout     Outcome = "timeout"
	Unreachable Outcome = "unreachable"
	// Unauthorized is the outcome for the statuses 401 and 403.
	Unauthorized Outcome = "unauthorized"
	// Rejected is the outcome for a status 4xx except 401, 403, 404, 405 and 429.
	Rejected Outcome = "rejected"
	// ServerError is the outcome for the statuses 404 and 405, for redirects, and for all statuses
	// that no other outcome covers.
	ServerError Outcome = "server_error"
	// InvalidResponse is the outcome for a compressed body, and for a body that is not a search
	// response.
	InvalidResponse Outcome = "invalid_response"
	// ResponseTooLarge is the outcome for a response of more than maxResponse bytes.
	ResponseTooLarge Outcome = "response_too_large"
	// Limited is the outcome for the status 429, and for a search that exceeds a limit of this
	// registry.
	Limited Outcome = "limited"
	// CircuitOpen is the outcome while the circuit breaker of the peer is open.
	CircuitOpen Outcome = "circuit_open"
	// NoToken is the outcome if the file with the token for the peer cannot be read.
	NoToken Outcome = "no_token"
	// Canceled is the outcome if the client has disconnected.
	Canceled Outcome = "canceled"
)

// failure is the error of a search of a peer. Its message contains no text from the peer, so that
// the peer cannot write into the logs and responses of this registry.
type failure struct {
	outcome Outcome
	message string
	// wait is how long this registry must send no search to the peer (Retry-After), 0 for none.
	wait time.Duration
	// isOfPeer is true for a response that is too large although so few results were requested that usable ones
	// would have had room.
	isOfPeer bool
	// wasHurried is true if the search had a part of the timeout only (patience).
	wasHurried bool
}

func (f *failure) Error() string { return f.message }

// isOfQuery reports whether the peer works and only this query failed. Another query, or the same one later, may
// succeed.
func (f *failure) isOfQuery() bool {
	return f.outcome == Rejected || f.outcome == ResponseTooLarge && !f.isOfPeer || f.outcome == Limited
}

// transportFailure returns the failure for an error of the connection.
func transportFailure(ctx context.Context, err error) *failure {
	proxy, isProxy := errors.AsType[*egress.ProxyError](err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return &failure{outcome: Canceled, message: "the client closed the connection"}
	case errors.Is(err, egress.ErrDenied):
		return &failure{outcome: Unreachable, message: "the name of the peer resolves to a link-local, metadata or loopback address, which is not allowed"}
	case isProxy:
		return &failure{outcome: Unreachable, message: proxy.Reason() + "; correct the chart's egress.proxy (--egress-proxy-url)"}
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return &failure{outcome: Timeout, message: "the peer did not answer in time"}
	}
	message := "the connection to the peer failed; check its url and the network"
	switch fault, detail := egress.CertificateFaultOf(err); fault {
	case egress.NotValidNow:
		message = "the certificate of the peer is not valid now: it " + detail + "; its operator must renew it"
	case egress.WrongName:
		message = "the certificate of the peer is not for the name " + detail + "; correct the url of the peer, or its certificate"
	case egress.UnknownAuthority:
		message = "the certificate of the peer is of an authority that is not trusted here; set the caBundle of the peer"
	case egress.NotVerifiable:
		message = "the certificate of the peer cannot be verified; its operator must correct it"
	case egress.NoFault:
	}
	return &failure{outcome: Unreachable, message: message}
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}
