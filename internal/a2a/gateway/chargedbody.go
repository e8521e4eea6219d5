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
	// maxBody is the maximum size of a request that the gateway holds in memory, in bytes.
	maxBody = 10 << 20
	// bodyTimeout bounds the time in which the agent's container must send such a request.
	bodyTimeout = 25 * time.Second
	// firstPiece is the first size of the buffer for a body of unknown length, in bytes. The
	// size doubles until the body fits.
	firstPiece = 64 << 10
)

var errBusy = &a2a.Error{
	Reason: a2a.ReasonUnavailable, Message: "Other requests use all memory for buffered bodies and responses; try again", RetryAfter: retrySoon,
}

// chargedBody is a request or response body in memory. It releases its memory when it has
// been read to its end or is closed. It does not wait for the end of the exchange, because
// the response to a request may be a long stream.
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

// readBody reads the body of a request into memory. It charges the budget for two copies of
// the body until release is called. It does not charge for requests from this process,
// because the MCP server has already charged the budget for the copies of its requests. Its
// errors are *a2a.Error. If the client disconnects, the error wraps the cause of the context.
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

// readCharged reads a body whose maximum size is most bytes. declared is the length of the
// body, or negative if the length is unknown. readCharged calls charge with a size before it
// reads that many bytes. charge returns false if there is not enough memory, and readCharged
// then returns errBusy. A longer body is errTooLong.
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
		// The buffer has one byte more than the body, so that the read after the last byte returns
		// the end.
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
