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

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
	"github.com/a2a-operator/a2a-operator/internal/kit/headervalue"
	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
)

// The delays of the exponential backoff: redial delays between attempts to connect, retry
// delays after a 429 or 503 without Retry-After.
const (
	minRedialDelay = 50 * time.Millisecond
	maxRedialDelay = time.Second
	minRetryDelay  = time.Second
	maxRetryDelay  = 16 * time.Second
)

// Request is a request to an agent. It can be sent more than once.
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

// Do sends a request and returns the response, whatever its status. It retries with
// exponential backoff, for Limits.Connect if no connection could be made, and for
// Limits.FirstEvent if the agent answered 429 or 503, unless Limits.Once is true. It never
// sends a request twice for another reason. An error is a *backend.TurnError, or wraps the cause of ctx.
func (c *Client) Do(ctx context.Context, r *Request) (*http.Response, error) {
	begin := machineTime()
	redial := minRedialDelay
	retry := minRetryDelay
	for {
		resp, err := c.send(ctx, r)
		since := machineTime().Sub(begin)
		var pause time.Duration
		switch {
		case isTurnError(err):
			return nil, err
		case errors.Is(err, responseheader.ErrTooLong):
			return nil, backend.Failed("The header of the agent's answer has more than 16 KiB or 128 fields", err)
		case err != nil && !isDialError(err):
			return nil, backend.Interrupted("The connection to the agent broke", err)
		case err != nil:
			if c.limits.Once || since+redial > c.limits.Connect {
				return nil, backend.Interrupted(unreachableReason(c.limits.Connect, err), err)
			}
			pause = redial
			redial = min(2*redial, maxRedialDelay)
		case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable:
			pause = retryAfter(resp, retry, machineTime())
			retry = min(2*retry, maxRetryDelay)
			// The pause is at least the redial delay, so that retries with Retry-After: 0
			// also back off.
			pause = max(pause, redial)
			redial = min(2*redial, maxRedialDelay)
			if c.limits.Once || since+pause > c.limits.FirstEvent {
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

// isTurnError reports whether an error of a transport is a *backend.TurnError, which then is
// the failure of the turn.
func isTurnError(err error) bool {
	_, ok := errors.AsType[*backend.TurnError](err)
	return ok
}

// isDialError reports whether a request failed before a connection was made.
func isDialError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// unreachableReason returns the reason why no connection was made, without the address.
func unreachableReason(limit time.Duration, err error) string {
	reason := "The agent could not be reached within " + limit.String()
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return reason + ": " + errno.Error()
	}
	return reason
}

// retryAfter returns the delay in a Retry-After header (RFC 9110 section 10.2.3), 0 for a
// date in the past. If the header is missing or invalid, it returns the second parameter.
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

// IsSuccess reports whether a status is a 2xx.
func IsSuccess(status int) bool { return status >= 200 && status <= 299 }

// StatusError returns the failure of a turn whose response has a status other than 2xx. It
// does not read the body, whose text is not meant for clients.
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
		// These are the statuses with which a proxy in front of the agent reports that it
		// does not reach the agent.
		return backend.Interrupted("The agent answered "+code, nil)
	default:
		return backend.Failed("The agent answered "+code, nil)
	}
}

// CloseResponse closes the body of a response. It first reads up to maxDiscard bytes of the
// rest, so that the connection can be reused.
func CloseResponse(resp *http.Response) {
	discard(resp.Body)
	_ = resp.Body.Close()
}

// Sleep waits for a duration. If ctx ends first, it returns an error that wraps the cause of
// ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the next attempt: %w", context.Cause(ctx))
	}
}

// Header returns the header of every request of a turn. The keys have the documented case,
// not the canonical case of net/http.
func Header(t *backend.Turn, accept string) http.Header {
	h := http.Header{
		"Content-Type":   {"application/json"},
		"Accept":         {accept},
		"A2A-Task-Id":    {headervalue.Encode(t.TaskID)},
		"A2A-Context-Id": {headervalue.Encode(t.ContextID)},
	}
	if t.Attempt > 1 {
		h["A2A-Attempt"] = []string{strconv.Itoa(t.Attempt)}
	}
	if t.Owner != "" {
		h["A2A-Principal"] = []string{Caller(t)}
	}
	if t.Owner.Subject() != "" && t.Subject != nil {
		h["A2A-Subject"] = []string{headervalue.Encode(t.Subject.Principal)}
		if t.Subject.Proven {
			h["A2A-Subject-Proven"] = []string{"true"}
		}
	}
	addTrace(h, &t.Trace)
	return h
}

// Caller returns the name of the caller in the headers of a turn's request, "" for none.
func Caller(t *backend.Turn) string { return headervalue.Encode(string(t.Owner)) }

// addTrace adds the headers of a trace context. It omits a tracestate or a baggage with
// characters that a header cannot hold, because replacing the characters would change the
// list.
func addTrace(h http.Header, t *a2a.TraceContext) {
	if t.Parent != "" {
		h["traceparent"] = []string{headervalue.Encode(t.Parent)}
	}
	if t.State != "" && headervalue.IsPlain(t.State) {
		h["tracestate"] = []string{t.State}
	}
	if t.Baggage != "" && headervalue.IsPlain(t.Baggage) {
		h["baggage"] = []string{t.Baggage}
	}
}
