// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// Budget of one peer, beside its timeout.
const (
	// maxConcurrent bounds the requests to a peer at a time. Others wait within their
	// timeout.
	maxConcurrent = 4
	// maxResponse bounds a response, in bytes.
	maxResponse = 1 << 20
	// breakerFailures is the number of consecutive failures that open the circuit, and
	// breakerTimeout the time until a request probes the peer.
	breakerFailures = 3
	breakerTimeout  = 10 * time.Second
)

// peerRate bounds the requests to a peer.
var peerRate = limit.Rate{PerSecond: 20, Burst: 40}

const userAgent = "a2a-operator"

// Outcome is the result of a search of a peer.
type Outcome string

// Outcomes.
const (
	Success         Outcome = "success"
	Timeout         Outcome = "timeout"
	Unreachable     Outcome = "unreachable"
	Unauthorized    Outcome = "unauthorized"
	Rejected        Outcome = "rejected"
	ServerError     Outcome = "server_error"
	InvalidResponse Outcome = "invalid_response"
	Limited         Outcome = "limited"
	CircuitOpen     Outcome = "circuit_open"
	NoToken         Outcome = "no_token"
	// Canceled is the outcome if the client left.
	Canceled Outcome = "canceled"
)

// failure is a search of a peer without a result. Its message has nothing that the peer
// wrote, so that a peer cannot write into our logs and responses.
type failure struct {
	outcome Outcome
	message string
}

func (f *failure) Error() string { return f.message }

// request is what is sent to a peer, beside its token.
type request struct {
	body      []byte
	header    http.Header
	withToken bool
}

// peer is a peer with its connections, budget and state.
type peer struct {
	Peer
	guard      *egress.Guard
	breaker    *gobreaker.CircuitBreaker[struct{}]
	bucket     limit.Bucket
	slots      chan struct{}
	credential atomic.Pointer[credential]

	mu sync.Mutex
	// lastSuccess is zero without one. last is the last failure, nil after a success.
	lastSuccess time.Time
	last        *failure
}

func newPeer(configured Peer) *peer {
	p := &peer{Peer: configured, bucket: limit.NewBucket(peerRate), slots: make(chan struct{}, maxConcurrent)}
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
			return !failed || f.outcome == Rejected // the peer is up, and refuses this query
		},
		IsExcluded: func(err error) bool {
			f, failed := errors.AsType[*failure](err)
			return failed && f.outcome == Canceled
		},
	})
	return p
}

// search sends a query to the peer within its budget, and gives the response to read.
func (f *Federation) search(ctx context.Context, p *peer, q *request, read func([]byte) error) *failure {
	start := f.options.Clock.Now()
	timed, cancel := context.WithTimeout(ctx, p.Timeout.Duration)
	defer cancel()
	failed := failureOf(ctx, f.limited(timed, p, q, read))
	outcome := Success
	if failed != nil {
		outcome = failed.outcome
	}
	requests.WithLabelValues(p.Name, string(outcome)).Inc()
	requestDuration.WithLabelValues(p.Name).Observe(f.options.Clock.Since(start).Seconds())
	p.record(f.options.Clock, failed)
	return failed
}

// limited waits for a slot of the peer, and sends it unless the circuit is open.
func (f *Federation) limited(ctx context.Context, p *peer, q *request, read func([]byte) error) error {
	header := q.header.Clone()
	if p.TokenFile != "" && q.withToken {
		c := p.credential.Load()
		if c == nil || c.err != nil {
			return &failure{NoToken, "the token for the peer cannot be read"}
		}
		header.Set("Authorization", "Bearer "+c.token)
	}
	if !p.bucket.Take(f.options.Clock.Now()) {
		return &failure{Limited, fmt.Sprintf("more than %v searches a second go to the peer", peerRate.PerSecond)}
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return &failure{Limited, "too many searches of the peer run at a time"}
	}
	_, err := p.breaker.Execute(func() (struct{}, error) {
		text, err := p.post(ctx, q.body, header)
		if err == nil {
			err = read(text)
		}
		return struct{}{}, err
	})
	return err
}

// post sends one request and reads its response.
func (p *peer) post(ctx context.Context, body []byte, header http.Header) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/search", bytes.NewReader(body))
	if err != nil {
		return nil, &failure{Unreachable, "the URL of the peer is not usable"}
	}
	r.Header = header
	response, err := p.guard.RoundTrip(r)
	if err != nil {
		return nil, transportFailure(ctx, err)
	}
	defer response.Body.Close()
	if failed := checkStatus(response); failed != nil {
		return nil, failed
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return nil, transportFailure(ctx, err)
	}
	if len(text) > maxResponse {
		return nil, &failure{InvalidResponse, fmt.Sprintf("the response of the peer has more than %d bytes", maxResponse)}
	}
	return text, nil
}

// checkStatus returns a failure for a response that has no results.
func checkStatus(r *http.Response) *failure {
	switch status := r.StatusCode; {
	case status == http.StatusOK:
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &failure{Unauthorized, "the peer does not accept the token, or wants one: status " + strconv.Itoa(status)}
	case status == http.StatusTooManyRequests:
		return &failure{Limited, "the peer limits the searches of this registry: status 429"}
	case status >= 300 && status < 400:
		return &failure{ServerError, "the peer redirects, which is not followed; correct its url: status " + strconv.Itoa(status)}
	case status >= 400 && status < 500 && status != http.StatusNotFound && status != http.StatusMethodNotAllowed:
		return &failure{Rejected, "the peer rejects the query: status " + strconv.Itoa(status)}
	default:
		return &failure{ServerError, "the peer fails, or its url is not the base of an API of ARD: status " + strconv.Itoa(status)}
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &failure{InvalidResponse, "the peer compressed its response, which this registry does not accept"}
	}
	return nil
}

// transportFailure returns the failure for an error of the connection.
func transportFailure(ctx context.Context, err error) *failure {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return &failure{Canceled, "the client left"}
	case errors.Is(err, egress.ErrDenied):
		return &failure{Unreachable, "the name of the peer resolves to a link-local, metadata or loopback address, which is not allowed"}
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return &failure{Timeout, "the peer did not answer in time"}
	default:
		return &failure{Unreachable, "the connection to the peer failed; check its url, its certificate and the network"}
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && timeout.Timeout()
}

// failureOf returns the failure for an error of a search, nil for none. ctx is that of
// the client.
func failureOf(ctx context.Context, err error) *failure {
	failed, known := errors.AsType[*failure](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &failure{Canceled, "the client left"}
	case known:
		return failed
	default:
		return &failure{CircuitOpen, fmt.Sprintf("the peer failed %d times in a row; it is probed again within %s", breakerFailures, breakerTimeout)}
	}
}

// record stores the outcome of a search as the state of the peer. A search that did not
// reach the peer changes nothing.
func (p *peer) record(c clock.PassiveClock, failed *failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case failed == nil:
		p.lastSuccess, p.last = c.Now(), nil
	case failed.outcome != Canceled && failed.outcome != CircuitOpen && failed.outcome != Limited && failed.outcome != Rejected:
		p.last = failed
	}
}
