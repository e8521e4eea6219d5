// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpcall is one HTTP request and its answer, for the bindings over
// HTTP: a body that is read within bounds, and an answer that a client which
// does not read cannot hold up. It knows no method, no version and no error
// but those of HTTP.
package httpcall

import (
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// Limits bound an exchange. All fields are required.
type Limits struct {
	// MaxBody bounds a request's body, in bytes.
	MaxBody func() int64
	// Bodies is what all requests may hold that are not decoded yet, and Answers
	// what those hold that are not sent.
	Bodies, Answers *limit.Budget
	// WriteTimeout bounds each write.
	WriteTimeout time.Duration
	Now          func() time.Time
}

// Exchange is one request and its answer.
type Exchange struct {
	W http.ResponseWriter
	R *http.Request
	// Limits is nil for an answer to a request that was refused unread; its
	// writing is bounded by the server.
	Limits *Limits
	// Status overrides that of an error, for failures of HTTP itself.
	Status int
	// Answered is true when nothing more can be written.
	Answered bool
	// Framing is what a binding puts around a body, in bytes.
	Framing int64

	pooled      *[]byte
	body        []byte
	reservation limit.Reservation
}

var bodies = sync.Pool{New: func() any { return new([]byte) }}

// BodyTimeout bounds how long a client may send its request.
const BodyTimeout = 25 * time.Second

// maxPooled keeps one large request from holding its memory for ever.
const maxPooled = 64 << 10

// errBusy is the answer when all requests together hold as much as they may.
var errBusy = &a2a.Error{
	Reason: a2a.ReasonUnavailable, Message: "Too much is held in memory for other requests", RetryAfter: time.Second,
}

// payer is who is charged for a request.
func payer(r *http.Request) a2a.AccountingPrincipal {
	if caller, ok := auth.CallerFrom(r.Context()); ok {
		return caller.AccountingPrincipal()
	}
	return a2a.AccountingPrincipalAt(r.RemoteAddr)
}

// Body reads the request into pooled memory, which Release gives back. Its
// errors are *a2a.Error, or the context's when the client left.
func (x *Exchange) Body() ([]byte, error) {
	most := x.Limits.MaxBody() + x.Framing
	if x.R.ContentLength > most {
		return nil, &a2a.Error{Reason: a2a.ReasonTooLarge}
	}
	x.pooled = bodies.Get().(*[]byte)
	x.body = (*x.pooled)[:0]
	// A body may take its time, but not for ever.
	control := http.NewResponseController(x.W)
	// The server's own limit on writing is for answers that do not wait.
	_ = control.SetWriteDeadline(time.Time{})
	_ = control.SetReadDeadline(x.Limits.Now().Add(BodyTimeout))
	err := x.readAll(http.MaxBytesReader(x.W, x.R.Body, most))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, &a2a.Error{Reason: a2a.ReasonTooLarge}
	}
	if errors.Is(err, errBusy) {
		return nil, err
	}
	if err != nil {
		// The deadline stays, or the server would wait for the rest itself.
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if late {
			x.Status = http.StatusRequestTimeout
		}
		if ctxErr := x.R.Context().Err(); ctxErr != nil && !late {
			return nil, ctxErr
		}
		return nil, &a2a.Error{Reason: a2a.ReasonParse, Message: "Request body is incomplete"}
	}
	_ = control.SetReadDeadline(time.Time{})
	return x.body, nil
}

// Charge charges the client for so many bytes beside the body, until Release.
func (x *Exchange) Charge(bytes int64) error {
	if !x.hold(int64(len(x.body)) + bytes) {
		return errBusy
	}
	return nil
}

// Release gives back what Body took.
func (x *Exchange) Release() {
	if x.pooled != nil && x.body != nil && cap(x.body) <= maxPooled {
		*x.pooled = x.body
		bodies.Put(x.pooled)
	}
	x.pooled, x.body = nil, nil
	x.reservation.Release()
}

// Forget lets go of the body before the answer, which may be long in coming: the
// caller must not use it any more. A small one goes, too: with the streams that
// may be open, their bodies would be all that requests may hold.
func (x *Exchange) Forget() { x.Release() }

// readAll reads a body. A declared length is charged, and then believed: nothing
// is held twice, and what does not come takes no memory.
func (x *Exchange) readAll(r io.Reader) error {
	need := maxPooled
	if declared := x.R.ContentLength; declared >= 0 {
		need = int(declared) + 1
	}
	if !x.hold(int64(max(need, cap(x.body)))) {
		return errBusy
	}
	if cap(x.body) < need {
		x.body = make([]byte, 0, need)
	}
	n, err := fill(r, x.body[:cap(x.body)])
	x.body = x.body[:n]
	if err == nil {
		err = x.readOn(r)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// pieceSize is that of the pieces in which a large body is kept until its length
// is known. A buffer that grows would leave as much garbage as the body has.
const pieceSize = 1 << 20

// readOn reads the rest of a large body, and returns io.EOF at its end.
func (x *Exchange) readOn(r io.Reader) error {
	var held []*[pieceSize]byte
	total := len(x.body)
	for {
		if !x.hold(int64(total) + pieceSize) {
			return errBusy
		}
		piece := new([pieceSize]byte)
		held = append(held, piece)
		n, err := fill(r, piece[:])
		if total += n; err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		whole := append(make([]byte, 0, total), x.body...)
		for _, piece := range held {
			whole = append(whole, piece[:min(total-len(whole), pieceSize)]...)
		}
		x.body = whole
		return err
	}
}

// fill reads until a buffer is full.
func fill(r io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var more int
		more, err = r.Read(buffer[n:])
		n += more
	}
	return n, err
}

// hold charges the bytes of the body to its client.
func (x *Exchange) hold(bytes int64) bool {
	return x.Limits.Bodies.Grow(x.R.Context(), &x.reservation, payer(x.R), bytes)
}

// JSON reports whether a request may hold JSON. One that a web page can send
// without asking first must not pass: it has another type, or none and an
// Origin.
func JSON(h http.Header) bool {
	text := h.Get("Content-Type")
	if text == "" {
		return h.Get("Origin") == ""
	}
	mediaType, _, err := mime.ParseMediaType(text)
	return err == nil && (mediaType == "application/json" || mediaType == "application/a2a+json")
}

// Refuse writes the answer to an error; status is the binding's for it.
func (x *Exchange) Refuse(problem *a2a.Error, status int, contentType string, body []byte) {
	status = cmp.Or(x.Status, status)
	if seconds := errormap.RetrySeconds(problem); seconds > 0 {
		x.W.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		if x.W.Header().Get("Retry-After") == "" {
			x.W.Header().Set("Retry-After", "1")
		}
	}
	if status == http.StatusUnauthorized {
		Challenge(x.W.Header(), x.R)
	}
	x.Respond(status, contentType, body)
}

// Challenge sets WWW-Authenticate, which every 401 must have (RFC 9110 section
// 11.6.1), unless the gate has set it already. A caller that was admitted
// without a credential gets one value for each method that takes one.
func Challenge(h http.Header, r *http.Request) {
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

// Private keeps an answer that is one caller's from all caches. What decides may
// be a key in any header or in the query, or a certificate, which Vary cannot name.
func Private(h http.Header) {
	h.Set("Cache-Control", "private, no-store")
	h.Add("Vary", "Authorization")
}

// Respond writes a whole answer.
func (x *Exchange) Respond(status int, contentType string, body []byte) {
	x.Answered = true
	h := x.W.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.W.WriteHeader(status)
	x.write(body)
}

// Room takes a place for an answer of about so many bytes among those that are
// encoded or not sent yet; release gives it back. What is small needs none, and
// one that is larger than the budget has it alone.
func (x *Exchange) Room(size int) (release func(), err error) {
	if size <= maxPooled {
		return func() {}, nil
	}
	var reservation limit.Reservation
	if !x.Limits.Answers.Grow(x.R.Context(), &reservation, payer(x.R), min(int64(size), x.Limits.Answers.Largest())) {
		return nil, errBusy
	}
	return reservation.Release, nil
}

var responses = sync.Pool{New: func() any { return new([]byte) }}

// Result writes the answer that appendTo appends to pooled memory; size is an
// estimate of it. A large one waits for its place among those that are encoded
// or not sent yet, and may find none.
func (x *Exchange) Result(contentType string, size int, appendTo func([]byte) []byte) error {
	release, err := x.Room(size)
	if err != nil {
		return err
	}
	defer release()
	pooled := responses.Get().(*[]byte)
	body := appendTo((*pooled)[:0])
	x.Respond(http.StatusOK, contentType, body)
	if cap(body) <= maxPooled {
		*pooled = body
		responses.Put(pooled)
	}
	return nil
}

// write gives each piece its time, so that a client which does not read is cut
// off, and a slow one is not.
func (x *Exchange) write(body []byte) {
	const piece = 64 << 10
	control := http.NewResponseController(x.W)
	for len(body) > 0 {
		if x.Limits != nil {
			_ = control.SetWriteDeadline(x.Limits.Now().Add(x.Limits.WriteTimeout))
		}
		n, err := x.W.Write(body[:min(len(body), piece)])
		if err != nil {
			return
		}
		body = body[n:]
	}
}
