// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/inprocess"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

const (
	// maxBody bounds the requests that the gateway keeps in memory, in bytes.
	maxBody = 10 << 20
	// bodyTimeout bounds the time in which the agent's container must send such a request.
	bodyTimeout = 25 * time.Second
	// firstPiece is the memory for a body of unknown length, in bytes. It doubles until the
	// body fits.
	firstPiece = 64 << 10
)

var errBusy = &a2a.Error{
	Reason: a2a.ReasonUnavailable, Message: "Too much is held in memory for other requests; try again", RetryAfter: retrySoon,
}

// chargedBody is a body in memory. Its memory is released once it is read or closed: the
// response to a request may be a long stream.
type chargedBody struct {
	rest    []byte
	release func()
}

// Read implements io.Reader.
func (b *chargedBody) Read(p []byte) (int, error) {
	n := copy(p, b.rest)
	if b.rest = b.rest[n:]; len(b.rest) > 0 {
		return n, nil
	}
	b.rest = nil
	b.release()
	return n, io.EOF
}

// Close releases the memory. It may be called more than once.
func (b *chargedBody) Close() error {
	b.release()
	return nil
}

// readBody reads a request into memory. It charges the budget for two copies, until release is
// called, unless the request comes from this process: the MCP server has charged the budget
// for the copies of its requests. The errors are *a2a.Error, or that of the context if the
// client has left.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	tooLarge := &a2a.Error{Reason: a2a.ReasonTooLarge, Message: fmt.Sprintf("Request body with the header %s is larger than %d MiB", headerTask, maxBody>>20)}
	if r.ContentLength > maxBody {
		return nil, nil, tooLarge
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(h.options.Now().Add(bodyTimeout))
	reservation := &limit.Reservation{}
	ctx := r.Context()
	charge := func(size int64) bool {
		return inprocess.Sent(ctx) || h.options.Bodies.Grow(ctx, reservation, a2a.AccountingPrincipalAt(r.RemoteAddr), 2*size)
	}
	body, err = readCharged(r.Body, r.ContentLength, maxBody, charge)
	switch {
	case err == nil:
		_ = control.SetReadDeadline(time.Time{})
		return body, sync.OnceFunc(reservation.Release), nil
	case errors.Is(err, errTooLong):
		err = tooLarge
	case ctx.Err() != nil:
		err = fmt.Errorf("read request: %w", context.Cause(ctx))
	case !errors.Is(err, errBusy):
		err = &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: "Request body is incomplete"}
	}
	reservation.Release()
	return nil, nil, err
}

// errTooLong is the error of a body that is larger than its limit.
var errTooLong = errors.New("body is too large")

// readCharged reads a body with a limit of most bytes, whose length is declared, or negative if it
// is unknown. charge raises the charge to a number of bytes before they are read, and returns
// false if there is no memory for them, which is errBusy.
func readCharged(from io.Reader, declared, most int64, charge func(size int64) bool) ([]byte, error) {
	size := declared
	if declared < 0 {
		size = firstPiece
	}
	body := []byte{}
	for {
		size = min(size, most)
		if !charge(size) {
			return nil, errBusy
		}
		// The byte more shows the end.
		body = append(make([]byte, 0, size+1), body...)
		for len(body) < cap(body) {
			n, err := from.Read(body[len(body):cap(body)])
			body = body[:len(body)+n]
			switch {
			case int64(len(body)) > most:
				return nil, errTooLong
			case errors.Is(err, io.EOF):
				return body, nil
			case err != nil:
				return nil, err
			}
		}
		size = max(2*size, firstPiece)
	}
}
