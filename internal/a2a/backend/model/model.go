// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model is the backend of agents without code: it calls a language model with tools, runs the calls of tools that the
// model asks for, and repeats this until the model answers without a call.
//
// Each answer of the model, each beginning and each result of a call is an entry in the journal of the task before the next
// step begins. A run continues from the last entry, in this process or in another one. A call that had begun and has no result is
// repeated only if its tool is repeatable. Otherwise the model, the client and the log learn that its outcome is unknown.
//
// The results of tools are data: they never change instructions, tools or approvals. The package keeps no state between runs, so one
// process can have any number of backends.
package model

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
)

// Options configure a backend.
type Options struct {
	// Models are the model servers, in the order in which they are tried. At least one is required.
	Models []*completions.Client
	// Instructions returns the first message of every conversation, "" for none.
	Instructions func(t *backend.Turn) string
	Toolsets     []Toolset
	// Schema is what the answer must be; nil for a text.
	Schema *Schema
	Limits Limits
	// Ways returns how people decide about calls. Nil means that only programs decide.
	Ways func() approval.Ways
	// HidesSteps is true if clients get no status for each call of a tool.
	HidesSteps bool
	// CheckFile returns an error, whose text says what is wrong, for the URL of a file that the
	// model server may not fetch. Without CheckFile, the model server may fetch none: it can reach
	// addresses that the caller cannot.
	CheckFile func(url string) error
	// Tracer makes the spans of steps; nil for none.
	Tracer *tracing.Tracer
	Log    *slog.Logger
	// Now returns the time, time.Now by default.
	Now func() time.Time
}

// Limits bound a turn. A zero field has its default.
type Limits struct {
	// Steps is the number of answers of the model in a turn, 25 by default.
	Steps int
	// Parallel is how many calls of a turn run at a time, 8 by default.
	Parallel int
	// ResultBytes is how much of a result the model gets, 256 KiB by default.
	ResultBytes int
	// ContextTokens is how many tokens the model gets in all. Above it, the oldest results of tools are replaced by a line, and then the
	// oldest messages by a summary. The default is 1 MiB of text.
	ContextTokens int
	// TaskTokens is how many tokens a task may use. 0 means any number.
	TaskTokens int64
	// Approval is how long a request for approval is open, 1 h by default.
	Approval time.Duration
	// Turn is how long a turn may take, 1 h by default.
	Turn time.Duration
	// Silence is the longest time without an event, 15 s by default.
	Silence time.Duration
}

func (l *Limits) setDefaults() {
	setDefault(&l.Steps, 25)
	setDefault(&l.Parallel, 8)
	setDefault(&l.ResultBytes, 256<<10)
	setDefault(&l.Approval, time.Hour)
	setDefault(&l.Turn, time.Hour)
	setDefault(&l.Silence, 15*time.Second)
}

func setDefault[T int | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// Backend runs turns with a model and tools. It is safe for concurrent use.
type Backend struct {
	options Options
}

var _ backend.Backend = (*Backend)(nil)

// New returns a backend. It calls nothing.
func New(options Options) (*Backend, error) {
	if len(options.Models) == 0 {
		return nil, errors.New("no model")
	}
	if options.Now == nil {
		options.Now = time.Now //nolint:forbidigo // the default clock
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Instructions == nil {
		options.Instructions = func(*backend.Turn) string { return "" }
	}
	if options.Ways == nil {
		options.Ways = func() approval.Ways { return approval.Ways{} }
	}
	options.Limits.setDefaults()
	return &Backend{options: options}, nil
}

// Run implements backend.Backend.
func (b *Backend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	beside := t.SizeBesideMessage()
	journal, err := t.Journal.Entries(ctx, func(bytes int64) error { return reserve(t, beside+bytes) })
	if err != nil {
		return err
	}
	entries, err := decodeEntries(journal)
	if err != nil {
		return backend.Failed("The steps of this task cannot be read", err)
	}
	limit := b.options.Limits.Turn
	ctx, cancel := context.WithTimeoutCause(ctx, limit, backend.Failed("The turn did not end within "+limit.String(), nil))
	defer cancel()
	l := &loop{
		options: &b.options, turn: t, transcript: newTranscript(entries, t.Number),
		output: output{turn: t, emit: emit, ways: b.options.Ways, hidesSteps: b.options.HidesSteps, isData: b.options.Schema != nil},
	}
	l.base = l.transcript.turnUsage
	l.held = beside
	for _, text := range journal {
		l.held += int64(len(text))
	}
	if err := l.reserve(0); err != nil {
		return err
	}
	return l.run(ctx)
}

// newID returns the id of a call. It cannot be guessed, so that no answer to another request names it.
func newID() string { return "call-" + rand.Text()[:20] }
