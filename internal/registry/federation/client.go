// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
)

// maxPages bounds the requests to a peer for the results of one search.
const maxPages = 8

const userAgent = "a2a-operator"

// request is a search that this registry sends to peers. If withToken is true, each peer receives
// the token that is configured for the peer. size is the maximum number of results.
type request struct {
	caller    a2a.AccountingPrincipal
	body      []byte
	header    http.Header
	withToken bool
	size      int
}

// reading reads a response. It returns the body of the request for the rest of the results, nil if there is none.
type reading func(text []byte) (rest []byte, err error)

// search sends a query to a peer within the limits of the peer, and calls read with the response.
// It takes at most 1.5 times the timeout of the peer. It returns nil after a success.
func (f *Federation) search(ctx context.Context, p *peer, q *request, read reading) *failure {
	start := f.options.Clock.Now()
	failed := failureOf(ctx, f.limited(ctx, p, q, read))
	outcome := Success
	if failed != nil {
		outcome = failed.outcome
	}
	requests.WithLabelValues(p.Name, string(outcome)).Inc()
	requestDuration.WithLabelValues(p.Name).Observe(f.options.Clock.Since(start).Seconds())
	if p.record(f.options.Clock, failed) {
		f.options.Log.Info("search of a peer failed", "peer", p.Name, "outcome", failed.outcome, "cause", failed.message)
	}
	return failed
}

// limited checks the rate limits of the peer, waits for a slot, and sends the query through the
// circuit breaker. A query that exceeds a rate limit, or that gets no slot in time, does not count
// as a failure of the peer.
func (f *Federation) limited(ctx context.Context, p *peer, q *request, read reading) error {
	header := q.header.Clone()
	if p.TokenFile != "" && q.withToken {
		c := p.credential.Load()
		if c == nil || c.err != nil {
			return &failure{outcome: NoToken, message: "the token for the peer cannot be read"}
		}
		header.Set("Authorization", "Bearer "+c.token)
	}
	now := f.options.Clock.Now()
	if wait := p.pausedUntil().Sub(now); wait > 0 {
		return limitedFor(wait)
	}
	if !p.callers.Bucket(q.caller, now).Take(now) {
		return &failure{outcome: Limited, message: fmt.Sprintf("this caller sends more than %v searches per second to the peer", callerRate.PerSecond)}
	}
	if !p.bucket.Take(now) {
		return &failure{outcome: Limited, message: fmt.Sprintf("this registry sends more than %v searches per second to the peer", peerRate.PerSecond)}
	}
	timeout := p.patience()
	release, ok := p.slots.acquire(ctx, q.caller, timeout/2)
	if !ok {
		return &failure{outcome: Limited, message: "too many searches of the peer are running"}
	}
	defer release()
	_, err := p.breaker.Execute(func() (struct{}, error) {
		timed, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		text, err := p.post(timed, q, header, now, maxResponse)
		var rest []byte
		if err == nil {
			rest, err = read(text)
		}
		if rest != nil {
			f.follow(timed, p, *q, header, rest, maxResponse-len(text), read)
		}
		if failed, ok := errors.AsType[*failure](err); ok {
			failed.wasHurried = timeout < p.Timeout.Duration
			if failed.wait > 0 {
				p.pause(f.options.Clock.Now().Add(failed.wait))
			}
		}
		return struct{}{}, err
	})
	return err
}

// follow requests the rest of the results of a peer that ends a page early, while the time, the size of all responses, the rate
// limits and maxPages allow it. A failure does not change the results before it.
func (f *Federation) follow(ctx context.Context, p *peer, q request, header http.Header, rest []byte, size int, read reading) {
	for page := 1; page < maxPages && rest != nil; page++ {
		now := f.options.Clock.Now()
		if !p.callers.Bucket(q.caller, now).Take(now) || !p.bucket.Take(now) {
			return
		}
		q.body = rest
		text, err := p.post(ctx, &q, header, now, size)
		if err == nil {
			size -= len(text)
			rest, err = read(text)
		}
		if failed, ok := errors.AsType[*failure](err); ok && failed.wait > 0 {
			p.pause(f.options.Clock.Now().Add(failed.wait))
		}
		if err != nil {
			return
		}
	}
}

// noteCertificate sets the metric of the certificate of the peer, unless the peer was removed.
func (p *peer) noteCertificate(of httptrace.GotConnInfo) {
	state := responseheader.State(of.Conn)
	if state == nil || len(state.PeerCertificates) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isRetired {
		certificateExpiry.WithLabelValues(p.Name).Set(float64(state.PeerCertificates[0].NotAfter.Unix()))
	}
}

// post sends one request and reads its response, which has at most a number of bytes.
func (p *peer) post(ctx context.Context, q *request, header http.Header, now time.Time, size int) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/search", bytes.NewReader(q.body))
	if err != nil {
		return nil, &failure{outcome: Unreachable, message: "the URL of the peer is not usable"}
	}
	r.Header = header
	response, err := p.guard.RoundTrip(r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: p.noteCertificate})))
	if err != nil {
		return nil, transportFailure(ctx, err)
	}
	defer response.Body.Close()
	if failed := checkStatus(response, now); failed != nil {
		return nil, failed
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, int64(size)+1))
	if err != nil {
		return nil, transportFailure(ctx, err)
	}
	if len(text) > size {
		return nil, &failure{
			outcome: ResponseTooLarge, isOfPeer: q.size*maxResult < maxResponse,
			message: fmt.Sprintf("the response of the peer has more than %d bytes", maxResponse),
		}
	}
	return text, nil
}

const (
	// If a peer responds 429, this registry sends it no search for the time in Retry-After, with
	// defaultPause as the minimum and maxPause as the maximum. Without a usable Retry-After, the
	// time is defaultPause.
	defaultPause = time.Second
	maxPause     = time.Minute
)

// retryAfter returns the time for which this registry must send no search to a peer that has
// responded 429 (RFC 9110, section 10.2.3), from defaultPause to maxPause.
func retryAfter(r *http.Response, now time.Time) time.Duration {
	text := r.Header.Get("Retry-After")
	wait := defaultPause
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, defaultPause), maxPause)
}

func limitedFor(wait time.Duration) *failure {
	return &failure{
		outcome: Limited, wait: wait,
		message: fmt.Sprintf("the peer limits the searches of this registry: it receives the next search in %s", wait.Round(time.Second)),
	}
}

// checkStatus returns a failure for a response with a status other than 200 or with a compressed body,
// else nil.
func checkStatus(r *http.Response, now time.Time) *failure {
	switch status := r.StatusCode; {
	case status == http.StatusOK:
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &failure{outcome: Unauthorized, message: "the peer refuses the token, or requires one: status " + strconv.Itoa(status)}
	case status == http.StatusTooManyRequests:
		return limitedFor(retryAfter(r, now))
	case status >= 300 && status < 400:
		return &failure{outcome: ServerError, message: "the peer redirects, which is not followed; correct its url: status " + strconv.Itoa(status)}
	case status >= 400 && status < 500 && status != http.StatusNotFound && status != http.StatusMethodNotAllowed:
		return &failure{outcome: Rejected, message: "the peer rejects the query: status " + strconv.Itoa(status)}
	default:
		return &failure{outcome: ServerError, message: "the peer fails, or its url is not the base of an API of ARD: status " + strconv.Itoa(status)}
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &failure{outcome: InvalidResponse, message: "the peer compressed its response, which this registry does not accept"}
	}
	return nil
}

// failureOf returns the failure for an error of a search, or nil if err is nil. ctx is the context
// of the client's request. An error that is not a *failure is from the circuit breaker, which is
// open.
func failureOf(ctx context.Context, err error) *failure {
	failed, known := errors.AsType[*failure](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &failure{outcome: Canceled, message: "the client closed the connection"}
	case known:
		return failed
	default:
		return &failure{outcome: CircuitOpen, message: fmt.Sprintf("the peer failed %d times in a row; it is probed again within %s", breakerFailures, breakerTimeout)}
	}
}
