// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
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

// The circuit breaker of an owner at a host opens after tripAfter failed requests in a row. It
// stays open for cooldown, in which no request of the owner is sent to the host. Then it is
// half-open: one request at a time tries the host. A success closes the breaker, and a failure
// opens it again.
const (
	tripAfter = 5
	cooldown  = 30 * time.Second
)

// useHost sets the host and the share of a delivery, and counts the delivery as one more user.
// Its owner is set. mu is held.
func (p *Pushes) useHost(d *delivery) {
	to := endpointOf(d.Config.URL)
	d.host = p.hosts[to]
	if d.host == nil {
		d.host = &host{endpoint: to, shares: map[*owner]*share{}}
		p.hosts[to] = d.host
	}
	d.share = d.host.shares[d.owner]
	if d.share == nil {
		d.host.turn++
		d.share = &share{turn: d.host.turn} // a new owner does not pass those that wait
		d.host.shares[d.owner] = d.share
	}
	d.share.users++
}

// releaseHost ends the use of a host by a delivery. mu is held.
func (p *Pushes) releaseHost(d *delivery) {
	h := d.host
	h.waiting = slices.DeleteFunc(h.waiting, func(other *delivery) bool { return other == d })
	d.share.users--
	if d.share.users == 0 {
		delete(h.shares, d.owner)
	}
	if len(h.shares) == 0 {
		delete(p.hosts, h.endpoint)
	}
}

// endpointOf returns the endpoint of a URL. Spellings of the same host and port have the same
// endpoint.
func endpointOf(raw string) endpoint {
	u, err := url.Parse(raw)
	if err != nil {
		return endpoint{}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return endpoint{scheme: u.Scheme, address: net.JoinHostPort(name, port)}
}

// permission is the decision of the concurrency limiter of a host and the circuit breaker of an
// owner about a request.
type permission struct {
	// waits is true if the delivery waits for a slot. It is ready again once a slot is free.
	waits bool
	// openFor is the time after which the delivery may ask again, because the circuit breaker
	// is open, or half-open with another request in flight; otherwise 0.
	openFor time.Duration
}

// allow takes a slot of the host for a request of a delivery and returns the zero value, or
// returns why the request must wait.
func (p *Pushes) allow(d *delivery) permission {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := d.share
	others := s.inFlight
	if d.hasSlot {
		others--
	}
	if s.failures >= tripAfter {
		if wait := s.openUntil.Sub(p.options.Now()); wait > 0 {
			return permission{openFor: wait}
		}
		if others > 0 {
			return permission{openFor: cooldown / 10}
		}
	}
	switch {
	case d.hasSlot:
	case d.dropped || d.host.inFlight < p.options.PerHost:
		p.takeSlot(d)
	default:
		p.awaitSlot(d)
		return permission{waits: true}
	}
	return permission{}
}

// awaitSlot makes a delivery wait for a slot of its host. The delivery goes to the end of the
// queue, and releases its memory. A delivery that passed a slot on because it had no memory
// goes to the front instead, and keeps its memory: it would otherwise rarely have a slot and
// memory at the same time. At most PerHost deliveries of a host wait at the front, which
// bounds the memory that waiting deliveries hold. mu is held.
func (p *Pushes) awaitSlot(d *delivery) {
	p.setState(d, waiting)
	d.logChanged = false
	queue := &d.host.waiting
	front := 0
	for front < len(*queue) && (*queue)[front].passed {
		front++
	}
	if d.passed && front < p.options.PerHost {
		*queue = slices.Insert(*queue, front, d)
		return
	}
	d.charge.Release()
	*queue = append(*queue, d)
}

// record updates the circuit breaker of an owner at a host after a request.
func (p *Pushes) record(s *share, healthy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if healthy {
		s.failures = 0
		return
	}
	s.failures++
	if s.failures >= tripAfter {
		s.openUntil = p.options.Now().Add(cooldown)
	}
}
