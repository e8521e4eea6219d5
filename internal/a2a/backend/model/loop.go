// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// loop is the run of one turn.
type loop struct {
	options    *Options
	turn       *backend.Turn
	transcript *transcript
	output     output
	// held is the size of the transcript and of what the turn holds beside its message, in bytes.
	held int64
	// base is the usage of the turn in the journal when this run began: it is charged already.
	base usage
	// tools are those of this run, by name, and specs what the model gets. missing has the errors of toolsets that are not
	// available.
	tools map[string]*Tool
	specs []completions.Tool
	// specBytes is the size of specs.
	specBytes int
	missing   []string
}

// run runs the turn from where its journal ends.
func (l *loop) run(ctx context.Context) error {
	isPaused, err := l.begin(ctx)
	if err != nil || isPaused {
		return err
	}
	if err := l.output.replay(l.transcript.answers); err != nil {
		return err
	}
	if err := l.findTools(ctx); err != nil {
		return err
	}
	if err := l.repeatOutcome(); err != nil {
		return err
	}
	for {
		hasEnded, err := l.step(ctx)
		if err != nil || hasEnded {
			return err
		}
	}
}

// repeatOutcome tells the client the outcome of the call that ended last, if it is the last step of an earlier attempt: that attempt may have
// recorded the outcome and ended before it told the client.
func (l *loop) repeatOutcome() error {
	c := l.transcript.last
	if c == nil {
		return nil
	}
	return l.output.step(c, l.tools[c.Name], c.result.Outcome, 0)
}

// step takes the next step of the turn. hasEnded is true if the turn has ended, or the task waits for the client.
func (l *loop) step(ctx context.Context) (hasEnded bool, err error) {
	switch final := l.transcript.final(); {
	case final != nil:
		isRepaired, err := l.repair(ctx, final)
		if err != nil || isRepaired {
			return false, err
		}
		return true, l.output.end(final, l.transcript)
	case len(l.transcript.calls) > 0:
		return l.advanceCalls(ctx)
	case len(l.transcript.answers) >= l.options.Limits.Steps:
		return false, backend.Failed(fmt.Sprintf("The turn has not ended within %d steps of the model", l.options.Limits.Steps), nil)
	}
	if err := l.checkBudget(ctx); err != nil {
		return false, err
	}
	return false, l.askModel(ctx)
}

// record writes an entry to the journal, and applies it.
func (l *loop) record(ctx context.Context, e entry) error {
	e.Turn = l.turn.Number
	e.Attempt = l.turn.Attempt
	text, err := plainjson.Marshal(e)
	if err != nil {
		return backend.Failed("A step of this task cannot be stored", err)
	}
	if err := l.turn.Journal.Append(ctx, text); err != nil {
		return err
	}
	l.transcript.apply(&e)
	l.held += int64(len(text))
	return l.reserve(0)
}

// reserve reserves memory for the transcript and for a number of bytes more: the answers of models and the results of tools grow with
// each step.
func (l *loop) reserve(more int64) error {
	return reserve(l.turn, l.held+more)
}

// reserve reserves a total number of bytes for a turn.
func reserve(t *backend.Turn, bytes int64) error {
	if t.Reserve == nil {
		return nil
	}
	return t.Reserve(bytes)
}

// findTools reads the tools of all toolsets.
func (l *loop) findTools(ctx context.Context) error {
	l.tools = map[string]*Tool{}
	l.specs = nil
	l.specBytes = 0
	l.missing = nil
	sets := make([][]*Tool, len(l.options.Toolsets))
	problems := make([]error, len(sets))
	// A server that does not answer delays the turn by its own time only.
	var reading sync.WaitGroup
	for i, set := range l.options.Toolsets {
		reading.Go(func() { sets[i], problems[i] = set.Tools(ctx, l.turn) })
	}
	reading.Wait()
	for _, err := range problems {
		if _, isFailure := errors.AsType[*backend.TurnError](err); isFailure || ctx.Err() != nil {
			return err
		}
		if err != nil {
			l.miss(err.Error())
		}
	}
	l.fitTools(sets)
	for _, tools := range sets {
		for _, tool := range tools {
			if l.tools[tool.Name] != nil {
				l.miss(fmt.Sprintf("%s of %s: another tool has this name", tool.Name, tool.Source))
				continue
			}
			l.tools[tool.Name] = tool
			l.specs = append(l.specs, completions.Tool{Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters})
			l.specBytes += tool.size()
		}
	}
	return nil
}

// Limits of what the model learns about tools that it does not get.
const (
	maxMissing     = 32
	maxMissingText = 300
)

// miss records a text about tools that the model does not get.
func (l *loop) miss(text string) {
	if len(l.missing) < maxMissing {
		l.missing = append(l.missing, safetext.Line(strings.ToValidUTF8(text[:min(len(text), maxMissingText)], "")))
	}
}

// fitTools leaves out the last tools of the set with the largest tools, until a quarter of a limited context remains for messages: no
// server may stop the agent by the size of its tools.
func (l *loop) fitTools(sets [][]*Tool) {
	if l.options.Limits.ContextTokens == 0 {
		return
	}
	sizes := make([]int, len(sets))
	total := 0
	for i, tools := range sets {
		for _, tool := range tools {
			sizes[i] += tool.size()
		}
		total += sizes[i]
	}
	for most := l.contextBytes() / 4 * 3; total > most; {
		i := slices.Index(sizes, slices.Max(sizes))
		last := sets[i][len(sets[i])-1]
		l.miss(fmt.Sprintf("%s of %s: the context of the model has no room for it", last.Name, last.Source))
		sets[i] = sets[i][:len(sets[i])-1]
		sizes[i] -= last.size()
		total -= last.size()
	}
}

// checkBudget returns the failure of a turn whose task or caller has used its tokens.
func (l *loop) checkBudget(ctx context.Context) error {
	if limit, used := l.options.Limits.TaskTokens, l.transcript.taskUsage.total()+l.transcript.unreported; limit > 0 && used >= limit {
		return backend.Failed(fmt.Sprintf("TokenBudgetSpent: the task has used %d tokens, and a task may use %d (spec.model.limits.tokensPerTask)", used, limit), nil)
	}
	if l.turn.CheckBudget == nil || len(l.transcript.answers) == 0 {
		return nil // the engine has checked the budget of the caller at the beginning of the turn
	}
	err := l.turn.CheckBudget(ctx)
	if problem, ok := errors.AsType[*a2a.Error](err); ok {
		return backend.Failed("TokenBudgetSpent: "+problem.Error(), nil)
	}
	return err
}

// askModel requests the next answer and records it.
func (l *loop) askModel(ctx context.Context) error {
	messages, err := l.messages(ctx)
	if err != nil {
		return err
	}
	answer, err := l.complete(ctx, &completions.Request{Messages: messages, Tools: l.specs, Schema: l.options.Schema.text()}, l.output.addText)
	if err != nil {
		return err
	}
	if answer.FinishReason == completions.FinishFiltered {
		return backend.Failed(reasonFiltered, nil)
	}
	l.output.endText()
	return l.record(ctx, entry{Answer: newAnswerEntry(answer, sizeOf(messages)+l.specBytes)})
}

// complete requests an answer. If a server is overloaded or away and has sent nothing yet, it tries the next one.
func (l *loop) complete(ctx context.Context, request *completions.Request, addText func([]byte)) (answer *completions.Answer, err error) {
	sent := int64(sizeOf(request.Messages) + l.specBytes)
	if err := l.reserve(sent); err != nil {
		return nil, err
	}
	for i, server := range l.options.Models {
		hadText := l.output.hasText
		turn := l.forAnswer(sent)
		ctx, span := l.options.Tracer.StartChat(ctx, turn.Trace, server.Model(), turn.ContextID)
		turn.Trace = span.Of(turn.Trace)
		err = l.during(ctx, func(ctx context.Context, do doer) (err error) {
			answer, err = server.Complete(ctx, turn, request, completions.Output{
				Text:  addText,
				Flush: func() error { return l.output.flushBy(do) },
			})
			return err
		})
		endChat(ctx, span, answer, err)
		isLast := i == len(l.options.Models)-1
		failure, isFailure := errors.AsType[*backend.TurnError](err)
		isAway := isFailure && (failure.Interrupted || errors.Is(err, completions.ErrUnavailable))
		if isAway && !isLast && l.output.hasText == hadText {
			l.options.Log.WarnContext(ctx, "a model server failed; the next one is asked", "task", l.turn.TaskID, "model", i, "error", err)
			continue
		}
		break
	}
	return answer, err
}

// endChat ends the span of an answer.
func endChat(ctx context.Context, span *tracing.Span, answer *completions.Answer, err error) {
	if err != nil {
		span.End(failureOf(ctx, err))
		return
	}
	used := usageOf(answer.Usage)
	span.Chat(&tracing.Chat{Model: answer.Model, FinishReason: answer.FinishReason, InputTokens: used.prompt, OutputTokens: used.completion})
	span.End("")
}

// failureOf returns the outcome of a step that failed, for its span.
func failureOf(ctx context.Context, err error) string {
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	switch {
	case isFailure && failure.Interrupted:
		return "interrupted"
	case !isFailure && ctx.Err() != nil:
		return "canceled"
	default:
		return string(outcomeFailed)
	}
}

// forAnswer returns the turn for one more answer to a request of a size in bytes: the usage of the turn is that of all its answers in
// this run, and its memory that of the transcript, too.
func (l *loop) forAnswer(sent int64) *backend.Turn {
	t := *l.turn
	if t.Reserve != nil {
		t.Reserve = func(bytes int64) error { return l.reserve(sent + bytes) }
	}
	if t.ReportUsage == nil {
		return &t
	}
	before := l.transcript.turnUsage.minus(l.base)
	t.ReportUsage = func(u backend.Usage) {
		u.Input += int(before.prompt)
		u.Output += int(before.completion)
		l.turn.ReportUsage(u)
	}
	return &t
}

const reasonFiltered = "The answer was withheld by a content filter of the model"
