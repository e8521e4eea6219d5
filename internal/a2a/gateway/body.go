// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/inprocess"
)

const (
	// maxBody is the maximum size of a request that the gateway holds in memory, in bytes.
	maxBody = 10 << 20
	// bodyTimeout bounds the time in which the agent's container must send a request that
	// the gateway holds in memory.
	bodyTimeout = 25 * time.Second
	// firstPiece is the first size of the buffer for a body of unknown length, in bytes. The
	// size doubles until the body fits.
	firstPiece = 64 << 10
	// maxTaskID is the maximum length of the id of a task, in bytes.
	maxTaskID = 256
)

var errBusy = &a2a.Error{
	Reason: a2a.ReasonUnavailable, Message: "Other requests use all memory for buffered bodies and responses; try again", RetryAfter: retrySoon,
}

// chargedBody is a request or response body in memory. It releases its memory when it has
// been read to its end or is closed. The memory of a request is therefore free while its
// response, which may be a long stream, is forwarded.
type chargedBody struct {
	rest    []byte
	release func()
}

// Read implements io.Reader.
func (b *chargedBody) Read(p []byte) (int, error) {
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	if len(b.rest) > 0 {
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
	most := min(maxBody, h.options.Bodies.Largest()/2)
	tooLarge := &a2a.Error{Reason: a2a.ReasonTooLarge, Message: fmt.Sprintf("Request body with the header %s is larger than %d KiB", headerTask, most>>10)}
	if r.ContentLength > most {
		return nil, nil, tooLarge
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(h.options.Now().Add(bodyTimeout))
	reservation := &limit.Reservation{}
	ctx := r.Context()
	charge := func(size int64) bool {
		return inprocess.Sent(ctx) || h.options.Bodies.Grow(ctx, reservation, a2a.AccountingPrincipalAt(r.RemoteAddr), 2*size)
	}
	body, err = readCharged(r.Body, r.ContentLength, most, charge)
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

// readCharged reads a body whose maximum size is most bytes. declared is the length of
// the body, or negative if the length is unknown. readCharged calls charge with a size
// before it reads that many bytes. charge returns false if there is not enough memory,
// and readCharged then returns errBusy. For a longer body it returns errTooLong.
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

// addParentTask adds the id of the agent's own task to the tasks to which a message refers,
// so that the task of the called agent refers to its parent. It changes only the message in a
// request of JSON-RPC or HTTP+JSON. It reads such a request into memory, and charges the
// budget for it until the body is closed. Its errors are *a2a.Error, or wrap the cause of a
// canceled request. isMessage reports whether it has added the id to a message.
func (h *Handler) addParentTask(w http.ResponseWriter, r *http.Request, to *destination) (isMessage bool, err error) {
	task := taskOf(r.Header)
	if task == "" || !isJSON(r.Header.Get("Content-Type")) || r.Method != http.MethodPost || r.Body == nil {
		return false, nil
	}
	if len(task) > maxTaskID || !utf8.ValidString(task) {
		return false, &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: headerTask + " is not a task id"}
	}
	path := messagePath
	if isRESTMessage(to.rest) {
		path = messagePathREST
	}
	body, release, err := h.readBody(w, r)
	if err != nil {
		return false, err
	}
	if len(body) == 0 {
		release() // the proxy does not close an empty body
		return false, nil
	}
	at, isMessage := messageAt(body, path)
	if isMessage {
		const member = `"referenceTaskIds":[`
		added := make([]byte, 0, len(body)+len(member)+2*len(task)+4)
		added = append(append(added, body[:at]...), member...)
		added, _ = jsontext.AppendQuote(added, task) // UTF-8 has no error
		body = append(append(added, "],"...), body[at:]...)
	}
	_ = r.Body.Close()
	r.Body = &chargedBody{rest: body, release: release}
	r.ContentLength = int64(len(body))
	return isMessage, nil
}

// isJSON reports whether a content type is one of JSON in the bindings.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && (mediaType == "application/json" || mediaType == "application/a2a+json")
}

// isRESTMessage reports whether an escaped path is a path of HTTP+JSON that accepts a
// message.
func isRESTMessage(path string) bool {
	return strings.HasSuffix(path, "/message:send") || strings.HasSuffix(path, "/message:stream")
}

// The paths of the members that lead to the message in a request of JSON-RPC and of
// HTTP+JSON. In 0.2, the member of HTTP+JSON is named request.
var (
	messagePath     = [][]string{{"params"}, {"message"}}
	messagePathREST = [][]string{{"message", "request"}}
)

// decoders has the decoders of messageAt.
var decoders = sync.Pool{New: func() any { return &jsontext.Decoder{} }}

// noBytes is a reader of nothing.
type noBytes struct{}

// Read implements io.Reader.
func (noBytes) Read([]byte) (int, error) { return 0, io.EOF }

// messageAt returns the offset after the opening brace of the message. It returns false if
// there is no message, or if the message is empty or already refers to tasks.
func messageAt(body []byte, path [][]string) (at int64, ok bool) {
	d := decoders.Get().(*jsontext.Decoder) // New makes them
	defer func() {
		d.Reset(noBytes{}) // the body can be collected
		decoders.Put(d)
	}()
	d.Reset(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true)) // the called agent refuses them
	for _, names := range path {
		if !enter(d, names...) {
			return 0, false
		}
	}
	if d.PeekKind() != '{' {
		return 0, false
	}
	if _, err := d.ReadToken(); err != nil {
		return 0, false
	}
	at = d.InputOffset()
	members := 0
	for d.PeekKind() == '"' {
		name, ok := readName(d)
		if !ok || string(name) == "referenceTaskIds" || string(name) == "reference_task_ids" {
			return 0, false
		}
		if d.SkipValue() != nil {
			return 0, false
		}
		members++
	}
	return at, members > 0
}
