// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcptools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
	"github.com/a2a-operator/a2a-operator/internal/kit/jsonweight"
)

var (
	errTooLarge = errors.New("the answer of the MCP server is too large")
	errNoMemory = errors.New("all memory for answers is in use; try again")
	errOver     = errors.New("the call has ended")
)

// answerMemory is the memory that one call has reserved for what the server has sent, until the call ends: the session stores
// messages that it has not handled, and a server may send any number of them. While there is no room, nothing more is read. It is
// safe for concurrent use.
type answerMemory struct {
	budget    *limit.Budget
	principal a2a.AccountingPrincipal

	// reconnects paces the requests that go on with the events of the call.
	reconnects pace

	mu          sync.Mutex
	reservation limit.Reservation
	// cost is what the bytes so far cost.
	cost   int64
	isOver bool
	// refused is why there was no room, nil if there was.
	refused error
}

// grow reserves cost more bytes of memory.
func (m *answerMemory) grow(ctx context.Context, cost int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cost += cost
	switch {
	case m.isOver:
		return errOver
	case m.budget == nil:
		return nil
	case m.cost > m.budget.Largest():
		m.refused = errTooLarge
	case !m.budget.Grow(ctx, &m.reservation, m.principal, m.cost):
		m.refused = errNoMemory
	}
	return m.refused
}

// explained returns the error of a request: why there was no room, if there was none, and otherwise err. The session names no reason
// for events that it could not read.
func (m *answerMemory) explained(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return cmp.Or(m.refused, err)
}

func (m *answerMemory) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.isOver = true
	m.reservation.Release()
}

// memoryKey is the key of the answerMemory of a call in the context of its requests.
type memoryKey struct{}

// maxWeight is how many bytes one byte of the limit of an answer may weigh (jsonweight). A list of tools with schemas, of which the model
// gets the first maxList bytes, weighs about nine times its length.
const maxWeight = 8

// bounded is a transport that bounds what a server sends: each answer that is not in events, and all events that no call has asked for,
// have at most limit bytes, and weigh at most maxWeight times as much. Those of a call are also charged to its answerMemory.
type bounded struct {
	http.RoundTripper
	limit int64
	// reconnects paces the requests for events that no call has asked for.
	reconnects *pace
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	memory, _ := r.Context().Value(memoryKey{}).(*answerMemory)
	if r.Method == http.MethodGet {
		reconnects := b.reconnects
		if memory != nil {
			reconnects = &memory.reconnects
		}
		if err := reconnects.wait(r.Context()); err != nil {
			return nil, err
		}
	}
	response, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden {
		_ = response.Body.Close()
		return nil, ErrUnauthorized
	}
	body := &boundedBody{ReadCloser: response.Body, ctx: r.Context(), memory: memory, limit: b.limit}
	response.Body = body
	switch isEvents := strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream"); {
	case memory == nil:
	case isEvents:
		body.limit = 0 // the session bounds each event
	default:
		response.Body = &answerBody{boundedBody: body, request: r}
	}
	return response, nil
}

// reconnectInterval is the least time between two requests for the same events. A server may end the events at any time, and chooses when the
// library asks for them again, which may be after a millisecond.
const reconnectInterval = time.Second

// pace lets requests pass one by one. The first one does not wait.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// wait waits until a request may be sent.
func (p *pace) wait(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now() //nolint:forbidigo // a difference of times of the machine
	at := now
	if p.next.After(now) {
		at = p.next
	}
	p.next = at.Add(reconnectInterval)
	p.mu.Unlock()
	if at.Equal(now) {
		return nil
	}
	select {
	case <-time.After(at.Sub(now)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type boundedBody struct {
	io.ReadCloser
	ctx    context.Context //nolint:containedctx // that of the request, which a body does not have
	memory *answerMemory
	// limit is 0 for none.
	limit, read int64
	weight      jsonweight.Counter
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	before := b.weight.Weight()
	b.weight.Add(p[:n])
	if b.limit > 0 && (b.read > b.limit || b.weight.Weight() > maxWeight*b.limit) {
		return 0, errTooLarge
	}
	if b.memory != nil && n > 0 {
		if err := b.memory.grow(b.ctx, memoryshare.EventCost*int64(n)+b.weight.Weight()-before); err != nil {
			return 0, err
		}
	}
	return n, err
}

// answerBody is the answer to a call. If it has no room, the error takes its place: the session would otherwise end, with the calls of
// others.
type answerBody struct {
	*boundedBody
	request *http.Request
	text    io.Reader
}

// Read implements io.Reader.
func (a *answerBody) Read(p []byte) (int, error) {
	if a.text == nil {
		text, err := io.ReadAll(a.boundedBody)
		switch {
		case errors.Is(err, errTooLarge), errors.Is(err, errNoMemory):
			text = errorFor(a.request, err)
		case err != nil:
			return 0, err
		}
		a.text = bytes.NewReader(text)
	}
	return a.text.Read(p)
}

// errorFor returns the error of a JSON-RPC request as its answer.
func errorFor(r *http.Request, problem error) []byte {
	var request struct {
		ID json.RawMessage `json:"id"`
	}
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			_ = json.NewDecoder(body).Decode(&request)
		}
	}
	if request.ID == nil {
		request.ID = json.RawMessage("null")
	}
	answer := append([]byte(`{"jsonrpc":"2.0","id":`), request.ID...)
	answer = jsonwrite.String(append(answer, `,"error":{"code":-32603,"message":`...), problem.Error())
	return append(answer, "}}"...)
}
