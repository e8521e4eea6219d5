// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
)

// The backoff between attempts: to connect, and after a 429 or 503 without
// Retry-After.
const (
	minRedialDelay = 50 * time.Millisecond
	maxRedialDelay = time.Second
	minRetryDelay  = time.Second
	maxRetryDelay  = 16 * time.Second
)

// Request is a call of an agent, which can be sent again.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
}

func (r *Request) http(ctx context.Context) *http.Request {
	out := &http.Request{
		Method: r.Method, URL: r.URL, Host: r.URL.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.Header,
	}
	if r.Body != nil {
		out.Body = io.NopCloser(bytes.NewReader(r.Body))
		out.ContentLength = int64(len(r.Body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
	}
	return out.WithContext(ctx)
}

// Do sends a request and returns the answer, whatever its status. What was sent
// is not sent again: tried again are connections that were not made, and
// requests that the agent turned away for now. An error is a failure of the
// turn.
func (c *Client) Do(ctx context.Context, r *Request) (*http.Response, error) {
	begin := c.now()
	redial, retry := minRedialDelay, minRetryDelay
	for {
		resp, err := c.send(ctx, r)
		since := c.now().Sub(begin)
		var pause time.Duration
		switch {
		case isTurnError(err):
			return nil, err
		case err != nil && !isDialError(err):
			return nil, backend.Interrupted("The connection to the agent broke", err)
		case err != nil:
			if since+redial > c.limits.Connect {
				return nil, backend.Interrupted(unreachableReason(c.limits.Connect, err), err)
			}
			pause, redial = redial, min(2*redial, maxRedialDelay)
		case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable:
			pause, retry = retryAfter(resp, retry, c.now()), min(2*retry, maxRetryDelay)
			// At once is once: to be asked without end makes nobody less busy.
			pause, redial = max(pause, redial), min(2*redial, maxRedialDelay)
			if since+pause > c.limits.FirstEvent {
				return resp, nil
			}
			CloseResponse(resp)
		default:
			return resp, nil
		}
		if err := Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// send sends a request once.
func (c *Client) send(ctx context.Context, r *Request) (*http.Response, error) {
	if c.direct != nil && http1.Supports(r.URL) {
		return c.direct.Do(ctx, &http1.Request{Method: r.Method, URL: r.URL, Header: r.Header, Body: r.Body})
	}
	return c.transport.RoundTrip(r.http(ctx))
}

// explained reports that a transport has said what its failure means.
func isTurnError(err error) bool {
	_, ok := errors.AsType[*backend.TurnError](err)
	return ok
}

// notConnected reports that there was no connection to send anything on.
func isDialError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// unreachable returns why no connection was made, without the address.
func unreachableReason(limit time.Duration, err error) string {
	reason := "The agent could not be reached within " + limit.String()
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return reason + ": " + errno.Error()
	}
	return reason
}

// retryAfter is what the agent asks for (RFC 9110 section 10.2.3).
func retryAfter(resp *http.Response, otherwise time.Duration, now time.Time) time.Duration {
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(date.Sub(now), 0)
	}
	return otherwise
}

// Success reports whether a status is one of 2xx.
func IsSuccess(status int) bool { return status >= 200 && status <= 299 }

// Refusal is what any other status means for the task. The body stays here: who
// wrote it did not write it for the client.
func StatusError(status int) *backend.TurnError {
	code := strconv.Itoa(status)
	if text := http.StatusText(status); text != "" {
		code += " " + text
	}
	switch status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return backend.Rejected("The agent rejected the message: " + code)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return backend.Failed("The agent is too busy: "+code, nil)
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		// Somebody before the agent says that it is gone.
		return backend.Interrupted("The agent answered "+code, nil)
	default:
		return backend.Failed("The agent answered "+code, nil)
	}
}

// Release gives a connection back, when little is left on it.
func CloseResponse(resp *http.Response) {
	discard(resp.Body)
	_ = resp.Body.Close()
}

// Sleep waits; it returns the cause when ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait to try again: %w", context.Cause(ctx))
	}
}
