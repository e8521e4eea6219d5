// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"crypto/x509"
	"errors"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/sony/gobreaker/v2"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// Limits of one peer, in addition to its timeout.
const (
	// maxResponse bounds a response, in bytes.
	maxResponse = 1 << 20
	// breakerFailures is the number of consecutive failures that open the circuit.
	// breakerTimeout is the time for which the circuit is open, until a request probes the peer.
	breakerFailures = 3
	breakerTimeout  = 10 * time.Second
)

// limitedCallers bounds the callers with a rate of their own at one peer. Further callers
// share one rate.
const limitedCallers = 1024

// peerRate bounds the requests to a peer, and callerRate the requests of one caller to it.
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
	// lastSuccess is zero before the first success. last is the last failure, nil after a
	// success.
	lastSuccess time.Time
	last        *failure
	// paused is the time until which the peer requests no search.
	paused time.Time
}

func newPeer(configured Peer) *peer {
	p := &peer{Peer: configured, bucket: limit.NewBucket(peerRate), callers: limit.NewTable(limitedCallers, callerRate), slots: newSlots()}
	policy := &egress.Policy{Local: configured.isLocal()}
	if u, err := url.Parse(configured.URL); err == nil {
		if host, err := egress.Host(u); err == nil {
			policy.Configured = []string{host}
		}
	}
	options := egress.Options{Policy: policy, ConnectTimeout: configured.Timeout.Duration, MaxIdle: maxConcurrent}
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

// pause stops searches of the peer until a time. It does not shorten a pause that ends later.
func (p *peer) pause(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.After(p.paused) {
		p.paused = until
	}
}

func (p *peer) pausedUntil() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused
}

// record stores the outcome of a search as the state of the peer. The state does not change if
// the search did not reach the peer, or if only the query failed.
func (p *peer) record(c clock.PassiveClock, failed *failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case failed == nil:
		p.lastSuccess, p.last = c.Now(), nil
	case failed.outcome != Canceled && failed.outcome != CircuitOpen && !failed.isOfQuery():
		p.last = failed
	}
}
