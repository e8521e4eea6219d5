// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import (
	"cmp"
	"context"
	"mime"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// WriteError writes an error response. If Call.Status is set, it replaces status.
func (c *Call) WriteError(problem *a2a.Error, status int, contentType string, body []byte) {
	status = cmp.Or(c.Status, status)
	h := c.W.Header()
	if seconds := errormap.RetrySeconds(problem); seconds > 0 {
		h.Set("Retry-After", strconv.Itoa(seconds))
	}
	if problem.Challenge != "" {
		h.Set("WWW-Authenticate", problem.Challenge)
	}
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		if h.Get("Retry-After") == "" {
			h.Set("Retry-After", "1")
		}
	case http.StatusUnauthorized:
		SetChallenge(h, c.R)
	}
	c.write(status, contentType, body)
}

// maxUncharged is the size of the largest response that needs no reservation, in bytes. The
// limit for an event of a stream is maxPooled, which is larger: the number of streams is
// limited, but not the number of other responses that wait for their clients.
const maxUncharged = 4 << 10

// ReserveAnswer reserves memory for a response of about size bytes. The caller calls release
// when the response is written. A response of at most 4 KiB needs no reservation. Otherwise,
// ReserveAnswer behaves like AnswerMemory.Reserve.
func (c *Call) ReserveAnswer(size int) (release func(), err error) {
	reservation, err := c.AnswerMemory().reserve(c.R.Context(), size, maxUncharged)
	return reservation.Release, err
}

// AnswerMemory returns the memory for the responses to the caller.
func (c *Call) AnswerMemory() AnswerMemory { return AnswerMemory{c.Limits.Answers, principalOf(c.R)} }

// AnswerMemory is the memory for the responses to one caller. It does not refer to the
// request, so that a parked stream can keep it without the request.
type AnswerMemory struct {
	budget    *limit.Budget
	principal a2a.AccountingPrincipal
}

// Reserve reserves memory for an event of a stream of about size bytes. The caller calls
// release when the event is written. An event of at most 64 KiB needs no reservation. An
// event that is larger than the budget reserves the whole budget. If the budget has no room
// in time, Reserve returns errBusy, or the error of ctx if ctx ended during the wait.
func (m AnswerMemory) Reserve(ctx context.Context, size int) (release func(), err error) {
	reservation, err := m.reserve(ctx, size, maxPooled)
	return reservation.Release, err
}

// reserve returns a reservation, which holds nothing if the response needs none, or after an error.
func (m AnswerMemory) reserve(ctx context.Context, size, uncharged int) (*limit.Reservation, error) {
	reservation := &limit.Reservation{}
	if size <= uncharged || m.budget == nil {
		return reservation, nil
	}
	if !m.budget.Grow(ctx, reservation, m.principal, min(int64(size), m.budget.Largest())) {
		return reservation, noMemory(ctx)
	}
	return reservation, nil
}

// answerBuffers hold encoded responses.
var answerBuffers = sync.Pool{New: func() any { return new([]byte) }}

// WriteResult writes a successful response. appendTo appends the encoded response to pooled
// memory. size is an estimate of its length, in bytes. WriteResult calls appendTo only
// after it has reserved memory for the response. If it cannot reserve memory in time, it
// writes nothing and returns the error of ReserveAnswer.
func (c *Call) WriteResult(contentType string, size int, appendTo func([]byte) []byte) error {
	reservation, err := c.AnswerMemory().reserve(c.R.Context(), size, maxUncharged)
	if err != nil {
		return err
	}
	defer reservation.Release()
	pooled := answerBuffers.Get().(*[]byte)
	body := (*pooled)[:0]
	if size > maxPooled {
		body = make([]byte, 0, size) // a buffer that grows would need more than is reserved
	}
	body = appendTo(body)
	if reservation.Held() > limit.Small {
		transfer, end := c.Limits.Answers.Watch(reservation, c.Limits.Now, func() { _ = http.NewResponseController(c.W).SetWriteDeadline(c.Limits.Now()) })
		defer end()
		c.transfer = transfer
	}
	c.write(http.StatusOK, contentType, body)
	if cap(body) <= maxPooled {
		*pooled = body
		answerBuffers.Put(pooled)
	}
	return nil
}

// write writes a response. A client that does not read a piece of 64 KiB within
// WriteTimeout is disconnected. A client that reads each piece in time is disconnected only
// after AnswerTimeout, or if it is slow while others wait for the memory of its response.
func (c *Call) write(status int, contentType string, body []byte) {
	c.Answered = true
	h := c.W.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.W.WriteHeader(status)
	const piece = 64 << 10
	control := http.NewResponseController(c.W)
	var end time.Time
	if c.Limits != nil && c.Limits.AnswerTimeout > 0 {
		end = c.Limits.Now().Add(c.Limits.AnswerTimeout)
	}
	for len(body) > 0 {
		if c.Limits != nil {
			deadline := c.Limits.Now().Add(c.Limits.WriteTimeout)
			if !end.IsZero() && deadline.After(end) {
				deadline = end
			}
			extend := func() { _ = control.SetWriteDeadline(deadline) }
			if c.transfer == nil {
				extend()
			} else if !c.transfer.Unstopped(extend) {
				return
			}
		}
		n, err := c.W.Write(body[:min(len(body), piece)])
		if err != nil {
			return
		}
		body = body[n:]
		if c.transfer != nil {
			c.transfer.Moved(n)
		}
	}
}

// IsJSON reports whether the content type of a request is a JSON type. It also accepts a
// request with neither a content type nor an Origin. With an Origin, the content type is
// required: without this rule, a web page could call the agent without a CORS preflight, by
// a request without a content type.
func IsJSON(h http.Header) bool {
	text := h.Get("Content-Type")
	if text == "" {
		return h.Get("Origin") == ""
	}
	mediaType, _, err := mime.ParseMediaType(text)
	return err == nil && (mediaType == "application/json" || mediaType == "application/a2a+json")
}

// SetChallenge sets WWW-Authenticate, which every 401 must have (RFC 9110 section 11.6.1),
// unless it is set already. If the request has a caller, which is anonymous, the header has
// a value for each authentication method of the policy. If there is no such method, the
// value is Bearer realm="a2a".
func SetChallenge(h http.Header, r *http.Request) {
	if h.Get("WWW-Authenticate") != "" {
		return
	}
	if caller, ok := auth.CallerFrom(r.Context()); ok {
		for _, c := range caller.Challenges() {
			h.Add("WWW-Authenticate", c)
		}
	}
	if h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", `Bearer realm="a2a"`)
	}
}

// SetPrivate forbids all caches to store a response for one caller. A Vary header alone
// would not suffice, because the credential may be in any header, in the query or in a
// client certificate.
func SetPrivate(h http.Header) {
	h.Set("Cache-Control", "private, no-store")
	h.Add("Vary", "Authorization")
}
