// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"strconv"
	"time"

	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
	"github.com/a2a-operator/a2a-operator/internal/web/ui"
)

const (
	// turnSlots is how many pages are made at a time, turnSlotsOfOne how many of them for one person, turnsWaiting how many
	// wait, and turnTimeout for how long.
	// All pages that receive changes may ask at the same moment.
	turnSlots      = 4
	turnSlotsOfOne = 2
	turnsWaiting   = 2 * maxStreams
	turnTimeout    = 5 * time.Second
	// pageMemory bounds the pages of all people that are not sent yet, in bytes. memoryTimeout bounds the wait for it.
	pageMemory    = 16 << 20
	memoryTimeout = 3 * time.Second
	// outcomeMemory is the memory for the response to a POST request, in bytes.
	outcomeMemory = 64 << 10
	// piece is how much of a page is written at a time, in bytes.
	piece = 64 << 10
)

// turns bounds what pages cost, whose size the owners of agents choose: people take turns to have a page made, and its bytes
// are counted until the browser has read them.
type turns struct {
	slots  *fairslots.Slots[string]
	memory *limit.Budget
	clock  clock.PassiveClock
	// refuse responds to a request for whose page there is no memory.
	refuse http.HandlerFunc
}

func newTurns(c clock.PassiveClock, refuse http.HandlerFunc) *turns {
	return &turns{
		slots:  fairslots.New[string](fairslots.Options{Slots: turnSlots, PerTenant: turnSlotsOfOne, Waiting: turnsWaiting}),
		memory: limit.NewBudget(pageMemory, memoryTimeout), clock: c, refuse: refuse,
	}
}

type turnKey struct{}

// turn is the turn of the person who sent a request. One goroutine uses it.
type turn struct {
	slots   *fairslots.Slots[string]
	person  string
	release func()
}

var (
	errNoTurn   = &ui.PageError{Status: http.StatusServiceUnavailable, Message: "Too many pages are made at a time.", Hint: "Try again in some seconds."}
	errNoMemory = &ui.PageError{Status: http.StatusServiceUnavailable, Message: "Too many large pages are sent at a time.", Hint: "Try again in some seconds."}
)

// takeTurn waits for the turn of the request in ctx, before the request reads what the owners of agents have written. The turn lasts
// until the page is made.
func takeTurn(ctx context.Context) error {
	t, _ := ctx.Value(turnKey{}).(*turn)
	if t == nil || t.release != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	release, err := t.slots.Acquire(ctx, t.person)
	if err != nil {
		return errNoTurn
	}
	t.release = release
	return nil
}

func (t *turn) end() {
	if t.release != nil {
		t.release()
		t.release = nil
	}
}

// rendered returns a handler that sends the pages of next. A page keeps its turn until there is memory for it, and not while the
// browser reads it.
func (t *turns) rendered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of := &turn{slots: t.slots, person: viewerOf(r).Key}
		defer of.end()
		person := a2a.AccountingPrincipal{Principal: of.person}
		reservation := &limit.Reservation{}
		defer reservation.Release()
		// What a POST request has changed must not be answered with a refusal.
		if r.Method == http.MethodPost && !t.memory.Grow(r.Context(), reservation, person, outcomeMemory) {
			t.refuse(w, r)
			return
		}
		page := &renderedPage{ResponseWriter: w, header: w.Header().Clone()}
		next.ServeHTTP(page, r.WithContext(context.WithValue(r.Context(), turnKey{}, of)))
		if !t.memory.Grow(r.Context(), reservation, person, int64(cap(page.body))) {
			t.refuse(w, r)
			return
		}
		of.end()
		t.send(w, page, reservation)
	})
}

// send writes a page. It stops if the browser is slow while others wait for the memory.
func (t *turns) send(w http.ResponseWriter, page *renderedPage, reservation *limit.Reservation) {
	control := http.NewResponseController(w)
	transfer, end := t.memory.Watch(reservation, t.clock.Now, func() { _ = control.SetWriteDeadline(t.clock.Now()) })
	defer end()
	header := w.Header()
	clear(header)
	maps.Copy(header, page.header)
	header.Set("Content-Length", strconv.Itoa(len(page.body)))
	w.WriteHeader(cmp.Or(page.status, http.StatusOK))
	for rest := page.body; len(rest) > 0; {
		n, err := w.Write(rest[:min(len(rest), piece)])
		if err != nil {
			return
		}
		rest = rest[n:]
		if transfer != nil {
			transfer.Moved(n)
		}
	}
}

// renderedPage keeps a response instead of sending it.
type renderedPage struct {
	http.ResponseWriter
	header http.Header
	// status is the first final status, 0 before it and before the first byte of the body.
	status int
	body   []byte
}

// Header implements http.ResponseWriter.
func (p *renderedPage) Header() http.Header { return p.header }

// WriteHeader implements http.ResponseWriter.
func (p *renderedPage) WriteHeader(status int) {
	if p.status == 0 && status >= http.StatusOK {
		p.status = status
	}
}

// Write implements http.ResponseWriter.
func (p *renderedPage) Write(text []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	p.body = append(p.body, text...)
	return len(text), nil
}
