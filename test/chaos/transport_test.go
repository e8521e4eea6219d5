// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos disturbs the operator and checks the result: after any fault, and after a crash at
// any point, the final state must equal the state of an undisturbed run, and no writes may follow.
//
// The complete operator runs in this process, against a real API server. Faults happen in the
// transport between the two. `make chaos` runs the whole campaign, and the ordinary tests run a
// part of it.
package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// fault is a fault of one request.
type fault string

const (
	// none is no fault.
	none fault = "none"
	// crashBefore ends the process before it sends the request.
	crashBefore fault = "crash before"
	// crashAfter ends the process after the API server has processed the request, and before the
	// operator has the answer.
	crashAfter fault = "crash after"
	// conflict, throttled and broken are error answers of an API server that changes nothing.
	conflict  fault = "409"
	throttled fault = "429"
	broken    fault = "500"
	// lost processes the request and loses the answer.
	lost fault = "timeout after commit"
)

// plan is a fault and the number of its request, from 0. Requests count from the moment when the
// transport is armed.
type plan struct {
	fault fault
	at    int
	// reads is true if the count includes requests that only read.
	reads bool
}

// transport is the connection of one run of the operator to the API server.
type transport struct {
	next http.RoundTripper
	// crash ends the operator.
	crash context.CancelFunc
	// staleView is the stale state that the operator sees; nil for the current state.
	staleView *staleView
	// decodedWatch decodes the watches, which use JSON then.
	decodedWatch bool
	// stream disturbs one of the watches.
	stream watchDisturbance

	mu       sync.Mutex
	plan     plan
	armed    bool
	count    int
	hit      string
	dead     bool
	written  []string
	refused  []string
	flying   int
	last     time.Time
	watching map[string]bool
}

var (
	errDead = errors.New("the process is gone")
	errLost = errors.New("i/o timeout: the answer was lost")
)

// arm starts the count of requests.
func (t *transport) arm(p plan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.plan, t.armed, t.count = p, true, 0
}

// hitBy returns the method and the path of the request that the fault met, "" for none.
func (t *transport) hitBy() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hit
}

// requests returns the number of requests since the transport was armed.
func (t *transport) requests() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// writesSince returns all writes except for the first n.
func (t *transport) writesSince(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.written[n:]...)
}

// refusalsSince returns all writes that the API server refused except for the first n.
func (t *transport) refusalsSince(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.refused[n:]...)
}

// die blocks all further requests.
func (t *transport) die() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dead = true
}

// gone reports whether a fault has ended the operator.
func (t *transport) gone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dead
}

// watched is the number of kinds that an operator watches before its first reconcile: those of its
// cache (internal/operator/informercache), Agents and AgentSkills.
const watched = 11

// idle returns for how long the operator has sent no request and waited for no answer. It returns zero until the
// operator has opened all its watches.
func (t *transport) idle() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flying > 0 || len(t.watching) < watched {
		return 0
	}
	return time.Since(t.last)
}

// rest is like idle, but does not wait for the watches.
func (t *transport) rest() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flying > 0 {
		return 0
	}
	return time.Since(t.last)
}

// watches reports whether the operator watches a resource.
func (t *transport) watches(suffix string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for path := range t.watching {
		if strings.HasSuffix(path, suffix) {
			return true
		}
	}
	return false
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	f, err := t.begin(r)
	if err != nil {
		return nil, err
	}
	defer t.end()
	response, err := t.disturbed(f, r)
	if err == nil && writes(r) && response.StatusCode >= http.StatusBadRequest {
		t.mu.Lock()
		t.refused = append(t.refused, r.Method+" "+r.URL.Path)
		t.mu.Unlock()
	}
	if err == nil && isWatch(r) && response.StatusCode == http.StatusOK {
		t.opened(r, response)
	}
	return response, err
}

// disturbed sends a request, unless a fault prevents that.
func (t *transport) disturbed(f fault, r *http.Request) (*http.Response, error) {
	switch f {
	case crashBefore:
		t.crash()
		return nil, errDead
	case conflict:
		return answer(r, http.StatusConflict, "Conflict"), nil
	case throttled:
		response := answer(r, http.StatusTooManyRequests, "TooManyRequests")
		response.Header.Set("Retry-After", "1")
		return response, nil
	case broken:
		return answer(r, http.StatusInternalServerError, "InternalError"), nil
	default:
	}
	if t.staleView != nil {
		asked := t.staleView.ask(r)
		if asked == nil {
			return answer(r, http.StatusUnprocessableEntity, "Invalid"), nil
		}
		r = asked
	}
	response, err := t.next.RoundTrip(r)
	if f == none || err != nil {
		return response, err
	}
	_ = response.Body.Close()
	if f == lost {
		return nil, errLost
	}
	t.crash()
	return nil, errDead
}

// begin counts a request and returns its fault.
func (t *transport) begin(r *http.Request) (fault, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dead {
		return none, errDead
	}
	t.flying++
	if !isWatch(r) && !unrelated(r) {
		t.last = time.Now()
	}
	write := writes(r)
	if write {
		t.written = append(t.written, r.Method+" "+r.URL.Path)
	}
	counts := write || t.plan.reads && reads(r)
	if !t.armed || !counts {
		return none, nil
	}
	at := t.count
	t.count++
	if at != t.plan.at || t.plan.fault == "" {
		return none, nil
	}
	t.hit = r.Method + " " + r.URL.Path
	if t.plan.fault == crashBefore || t.plan.fault == crashAfter {
		// The process ends with this request, so its other goroutines send nothing more.
		t.dead = true
	}
	return t.plan.fault, nil
}

func (t *transport) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flying--
}

// opened is called when a watch has begun.
func (t *transport) opened(r *http.Request, response *http.Response) {
	t.mu.Lock()
	if t.watching == nil {
		t.watching = map[string]bool{}
	}
	if !t.watching[r.URL.Path] {
		t.watching[r.URL.Path], t.last = true, time.Now()
	}
	t.mu.Unlock()
	if t.staleView != nil && t.staleView.about(r) {
		response.Body = &held{ReadCloser: response.Body, until: t.staleView.over}
	}
	if t.decodedWatch {
		response.Body = t.stream.decodeWatch(response.Body)
	}
}

// unrelated reports whether a request is about no object of a workload: events, Leases and access
// reviews.
func unrelated(r *http.Request) bool {
	for _, part := range []string{"/events", "/leases", "/tokenreviews", "/subjectaccessreviews"} {
		if strings.Contains(r.URL.Path, part) {
			return true
		}
	}
	return false
}

func writes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !unrelated(r)
}

func reads(r *http.Request) bool {
	return r.Method == http.MethodGet && !isWatch(r) && !unrelated(r)
}

func isWatch(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// answer returns a Status of the API server.
func answer(r *http.Request, code int, reason string) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"chaos","reason":%q,"code":%d}`, reason, code)
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", code, http.StatusText(code)),
		StatusCode:    code,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader([]byte(body))),
		ContentLength: int64(len(body)),
		Request:       r,
	}
}
