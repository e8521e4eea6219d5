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
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

const userAgent = "a2a-operator"

// request is what is sent to a peer, beside its token.
type request struct {
	caller    a2a.AccountingPrincipal
	body      []byte
	header    http.Header
	withToken bool
}

// search sends a query to the peer within its budget, and gives the response to read. It
// takes the timeout of the peer and half of it at most.
func (f *Federation) search(ctx context.Context, p *peer, q *request, read func([]byte) error) *failure {
	start := f.options.Clock.Now()
	failed := failureOf(ctx, f.limited(ctx, p, q, read))
	outcome := Success
	if failed != nil {
		outcome = failed.outcome
	}
	requests.WithLabelValues(p.Name, string(outcome)).Inc()
	requestDuration.WithLabelValues(p.Name).Observe(f.options.Clock.Since(start).Seconds())
	p.record(f.options.Clock, failed)
	return failed
}

// limited waits for a slot of the peer, and sends the query unless the circuit is open. The
// wait is no failure of the peer.
func (f *Federation) limited(ctx context.Context, p *peer, q *request, read func([]byte) error) error {
	header := q.header.Clone()
	if p.TokenFile != "" && q.withToken {
		c := p.credential.Load()
		if c == nil || c.err != nil {
			return &failure{NoToken, "the token for the peer cannot be read"}
		}
		header.Set("Authorization", "Bearer "+c.token)
	}
	now := f.options.Clock.Now()
	if !p.callers.Bucket(q.caller, now).Take(now) {
		return &failure{Limited, fmt.Sprintf("more than %v searches a second of this caller go to the peer", callerRate.PerSecond)}
	}
	if !p.bucket.Take(now) {
		return &failure{Limited, fmt.Sprintf("more than %v searches a second go to the peer", peerRate.PerSecond)}
	}
	release, ok := p.slots.acquire(ctx, q.caller, p.Timeout.Duration/2)
	if !ok {
		return &failure{Limited, "too many searches of the peer run at a time"}
	}
	defer release()
	_, err := p.breaker.Execute(func() (struct{}, error) {
		timed, cancel := context.WithTimeout(ctx, p.Timeout.Duration)
		defer cancel()
		text, err := p.post(timed, q.body, header)
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
		return nil, &failure{ResponseTooLarge, fmt.Sprintf("the response of the peer has more than %d bytes", maxResponse)}
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
