// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
)

// loop is the run of one turn.
type loop struct {
	options    *Options
	turn       *backend.Turn
	transcript *transcript
	output     output
	// tools are those of this run, by name, and specs what the model gets. missing has the errors of toolsets that are not
	// available.
	tools   map[string]*Tool
	specs   []completions.Tool
	missing []string
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
	for {
		switch final := l.transcript.final(); {
		case final != nil:
			isRepaired, err := l.repair(ctx, final)
			if err != nil {
				return err
			}
			if !isRepaired {
				return l.output.end(final, l.transcript.answers)
			}
		case len(l.transcript.calls) > 0:
			if isPaused, err = l.advanceCalls(ctx); err != nil || isPaused {
				return err
			}
		case len(l.transcript.answers) >= l.options.Limits.Steps:
			return backend.Failed(fmt.Sprintf("The turn has not ended within %d steps of the model", l.options.Limits.Steps), nil)
		default:
			if err := l.askModel(ctx); err != nil {
				return err
			}
		}
	}
}

// record writes an entry to the journal, and applies it.
func (l *loop) record(ctx context.Context, e entry) error {
	e.Turn = l.turn.Number
	text, err := json.Marshal(e)
	if err != nil {
		return backend.Failed("A step of this task cannot be stored", err)
	}
	if err := l.turn.Journal.Append(ctx, text); err != nil {
		return err
	}
	l.transcript.apply(&e)
	return nil
}

// findTools reads the tools of all toolsets.
func (l *loop) findTools(ctx context.Context) error {
	l.tools = map[string]*Tool{}
	l.specs = nil
	l.missing = nil
	for _, set := range l.options.Toolsets {
		tools, err := set.Tools(ctx, l.turn)
		if _, isFailure := errors.AsType[*backend.TurnError](err); isFailure || ctx.Err() != nil {
			return err
		}
		if err != nil {
			l.missing = append(l.missing, err.Error())
			continue
		}
		for _, tool := range tools {
			if l.tools[tool.Name] != nil {
				l.missing = append(l.missing, fmt.Sprintf("tool %s of %s: another tool has this name", tool.Name, tool.Source))
				continue
			}
			l.tools[tool.Name] = tool
			l.specs = append(l.specs, completions.Tool{Name: tool.Name, Description: tool.Description, Parameters: tool.Parameters})
		}
	}
	return nil
}

// askModel requests the next answer and records it. If a server is overloaded or away and has sent nothing yet, it tries the next one.
func (l *loop) askModel(ctx context.Context) error {
	messages, err := l.messages()
	if err != nil {
		return err
	}
	request := &completions.Request{Messages: messages, Tools: l.specs, Schema: l.options.Schema.text()}
	for i, server := range l.options.Models {
		hadText := l.output.hasText
		var answer *completions.Answer
		err = l.during(ctx, func(ctx context.Context, do doer) (err error) {
			answer, err = server.Complete(ctx, l.counted(), request, completions.Output{
				Text:  l.output.addText,
				Flush: func() error { return l.output.flushBy(do) },
			})
			return err
		})
		isLast := i == len(l.options.Models)-1
		if failure, ok := errors.AsType[*backend.TurnError](err); ok && failure.Interrupted && !isLast && l.output.hasText == hadText {
			l.options.Log.WarnContext(ctx, "a model server failed; the next one is asked", "task", l.turn.TaskID, "model", i, "error", err)
			continue
		}
		if err != nil {
			return err
		}
		if answer.FinishReason == completions.FinishFiltered {
			return backend.Failed(reasonFiltered, nil)
		}
		l.output.endText()
		return l.record(ctx, entry{Answer: newAnswerEntry(answer, newID)})
	}
	return nil // unreachable: there is at least one model
}

// counted returns the turn for one more answer: the usage of the turn is that of all its answers.
func (l *loop) counted() *backend.Turn {
	t := *l.turn
	if t.ReportUsage == nil {
		return &t
	}
	prompt, completion := usageOf(l.transcript.answers)
	t.ReportUsage = func(u backend.Usage) {
		u.Input += int(prompt)
		u.Output += int(completion)
		l.turn.ReportUsage(u)
	}
	return &t
}

const reasonFiltered = "The answer was withheld by a content filter of the model"

// messages returns the messages of the next request: the instructions, the history of the conversation, and the transcript. If they
// exceed Limits.ContextBytes, the oldest results of tools are replaced by a line. The error is the failure of a turn whose conversation
// does not fit even so.
func (l *loop) messages() ([]completions.Message, error) {
	var all []completions.Message
	if instructions := l.options.Instructions(l.turn); instructions != "" {
		all = append(all, completions.Message{Role: completions.RoleSystem, Text: []string{instructions}})
	}
	all = append(all, completions.History(backend.Newest(l.turn.History), l.options.CheckFile)...)
	all = append(all, l.transcript.messages...)
	size := 0
	for i := range all {
		size += sizeOf(&all[i])
	}
	for i := range all {
		if size <= l.options.Limits.ContextBytes {
			break
		}
		m := &all[i]
		if was := sizeOf(m); m.Role == completions.RoleTool && was > len(removedResult) {
			m.Text = []string{removedResult}
			size += sizeOf(m) - was
		}
	}
	if limit := l.options.Limits.ContextBytes; size > limit {
		return nil, backend.Failed(fmt.Sprintf("The conversation has %d KiB, and the agent's model gets at most %d KiB", size>>10, limit>>10), nil)
	}
	return all, nil
}

const removedResult = "(This result was removed, because the conversation is long. Call the tool again if you need it.)"

func sizeOf(m *completions.Message) (size int) {
	for _, text := range m.Text {
		size += len(text)
	}
	for _, image := range m.Images {
		size += len(image)
	}
	for _, c := range m.ToolCalls {
		size += len(c.Name) + len(c.Arguments)
	}
	return size
}
