// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
)

const (
	// maxResponse bounds the bytes that are read of a response. They are read so that the
	// connection can be used again.
	maxResponse = 64 << 10
	userAgent   = "a2a-operator"
	// headerEvent is the header with the id of a notification.
	headerEvent = "X-A2A-Event-Id"
)

// outcome is the outcome of a request.
type outcome struct {
	result Result
	// code is the HTTP status, 0 without a response.
	code       int
	retryAfter time.Duration
}

// healthy reports whether the host serves, even if it refused the request.
func (o outcome) healthy() bool { return o.code > 0 && o.code < http.StatusInternalServerError }

// attempt posts the body of a notification once.
func (p *Pushes) attempt(d *delivery, n *notification, body []byte) outcome {
	owner := a2a.Owner(d.Task.Owner.Principal())
	ctx, span := p.options.Tracer.StartDelivery(d.ctx, d.Task.TaskID, owner, d.Config.Trace)
	if span == nil {
		return p.post(ctx, d, n, body, d.Config.Trace)
	}
	o := p.post(ctx, d, n, body, span.Trace)
	span.Answered(o.code)
	failure := string(o.result)
	if o.result == ResultDelivered {
		failure = ""
	}
	span.End(failure)
	return o
}

// post posts the body of a notification with a trace context.
func (p *Pushes) post(ctx context.Context, d *delivery, n *notification, body []byte, trace a2a.TraceContext) outcome {
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.Config.URL, bytes.NewReader(body))
	if err != nil {
		return outcome{result: ResultDenied}
	}
	setHeader(r.Header, &d.Config, d.Task.TaskID, n.last)
	setTrace(r.Header, trace)
	if err := p.sign(r, &d.Config, body); err != nil {
		p.options.Log.ErrorContext(ctx, "signing a push notification failed", "error", err)
		return outcome{result: ResultRetry}
	}
	response, err := p.options.Guard.RoundTrip(r)
	if err != nil {
		if errors.Is(err, egress.ErrDenied) {
			return outcome{result: ResultDenied}
		}
		return outcome{result: ResultRetry}
	}
	o := outcome{result: resultOf(response.StatusCode), code: response.StatusCode}
	if o.result == ResultRetry {
		o.retryAfter = parseRetryAfter(response.Header.Get("Retry-After"), p.options.Now())
	}
	_, _ = io.CopyN(io.Discard, response.Body, maxResponse)
	_ = response.Body.Close()
	return o
}

func resultOf(code int) Result {
	switch {
	case code >= 200 && code < 300:
		return ResultDelivered
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		return ResultRetry
	default:
		return ResultRefused
	}
}

// setHeader sets the headers of a push notification: those of all dialects, and then those
// that the dialect of the configuration defines.
func setHeader(h http.Header, c *a2a.PushConfig, task string, event uint64) {
	h.Set("User-Agent", userAgent)
	h.Set(headerEvent, url.PathEscape(task)+":"+strconv.FormatUint(event, 10))
	set := func(name, value string) {
		if value != "" {
			h.Set(name, value)
		}
	}
	set("X-A2A-Notification-Token", c.Token)
	set("Authorization", authorization(c.Scheme, c.Credentials))
	extensions := strings.Join(c.Extensions, ", ")
	switch {
	case isV10(c.Dialect):
		h.Set("Content-Type", "application/a2a+json")
		h.Set("A2A-Version", "1.0")
		// 1.0 defines no header for the token; SDKs use this header or
		// X-A2A-Notification-Token.
		set("A2A-Notification-Token", c.Token)
		set("A2A-Extensions", extensions)
	case c.Dialect == a2a.DialectV01:
		h.Set("Content-Type", "application/json")
	default:
		h.Set("Content-Type", "application/json")
		set("X-A2A-Extensions", extensions)
	}
}

// setTrace sets the headers of a trace context. A receiver gets no baggage, which is for the
// agent.
func setTrace(h http.Header, t a2a.TraceContext) {
	if t.Parent != "" {
		h.Set("Traceparent", t.Parent)
	}
	if t.State != "" {
		h.Set("Tracestate", t.State)
	}
}

// authorization returns the Authorization header, "" without credentials. For the scheme
// Basic, it encodes credentials of the form name:password that are not base64 yet.
func authorization(scheme, credentials string) string {
	switch {
	case credentials == "":
		return ""
	case strings.EqualFold(scheme, "Bearer"):
		return "Bearer " + credentials
	case strings.EqualFold(scheme, "Basic"):
		if _, err := base64.StdEncoding.DecodeString(credentials); err != nil && strings.Contains(credentials, ":") {
			credentials = base64.StdEncoding.EncodeToString([]byte(credentials))
		}
		return "Basic " + credentials
	default:
		return scheme + " " + credentials
	}
}

// delay returns the time until the next attempt. attempts is the number of failed attempts.
// The time is an exponential backoff, half of which is random. It is at least asked, which is
// the delay that the receiver requested (Retry-After).
func (p *Pushes) delay(attempts int, asked time.Duration) time.Duration {
	d := p.options.FirstDelay
	for range attempts - 1 {
		d *= 2
		if d >= maxDelay {
			break
		}
	}
	d = min(d, maxDelay)
	return max(d/2+p.jitter(d/2), asked)
}

// jitter returns a random part of d, so that retries do not come at the same time.
func (p *Pushes) jitter(d time.Duration) time.Duration {
	return time.Duration(p.options.Random() * float64(d))
}

// parseRetryAfter returns the delay of a Retry-After header (RFC 9110, section 10.2.3):
// seconds or a date, at most a day, and 0 for any other value.
func parseRetryAfter(value string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, most)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	return 0
}
