// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// Extension is the URI of the message extension with approvals and questions.
const Extension = approval.Extension

// ask asks the client for the approval of calls, and records the request before. After a message that decided nothing, it asks for the
// same calls again.
func (l *loop) ask(ctx context.Context, calls []*call) error {
	if l.transcript.asked == nil {
		asked := &askedEntry{Until: l.options.Now().Add(l.options.Limits.Approval)}
		for _, c := range calls {
			asked.Calls = append(asked.Calls, askedCall{ID: c.ID, Digest: l.tools[c.Name].digest()})
		}
		if err := l.record(ctx, entry{Asked: asked}); err != nil {
			return err
		}
	}
	return l.emitRequest(calls, "")
}

// beginDecided records the decisions in the message of the turn. A message without them decides nothing, whatever its text: the
// task waits with the same request.
func (l *loop) beginDecided(ctx context.Context) (isPaused bool, err error) {
	asked := l.transcript.asked
	if l.transcript.hasLapsed(l.options.Now()) {
		return false, l.recordDecided(ctx, l.lapsed(asked))
	}
	decisions, problem := decisionsIn(l.turn.Message, asked)
	if problem == "" {
		return false, l.recordDecided(ctx, decisions)
	}
	if err := l.findTools(ctx); err != nil {
		return false, err
	}
	return true, l.emitRequest(l.transcript.in(callAsked), problem)
}

// recordDecided records decisions, and logs each of them for an audit.
func (l *loop) recordDecided(ctx context.Context, all []decision) error {
	calls := map[string]*call{}
	for _, d := range all {
		calls[d.Call] = l.transcript.call(d.Call)
	}
	if err := l.record(ctx, entry{Decided: all}); err != nil {
		return err
	}
	for _, d := range all {
		if c := calls[d.Call]; c != nil {
			l.decisionLog(d.IsProven).InfoContext(ctx, "a call was decided", "task", l.turn.TaskID, "owner", string(l.turn.Owner), "by", d.By, "approved", d.Approved,
				"call", d.Call, "tool", c.Name, "arguments_digest", digestOf(c.arguments()), "tool_digest", c.digest, "reason", d.Reason)
		}
	}
	return nil
}

func (l *loop) lapsed(asked *askedEntry) (all []decision) {
	for _, c := range asked.Calls {
		all = append(all, decision{Call: c.ID, Reason: "the request for approval ended at " + asked.Until.UTC().Format(time.RFC3339)})
	}
	return all
}

// textMayNot answers decisions of a caller who may not decide.
const textMayNot = "You may not decide about calls of this agent."

// decisionsIn returns the decisions in a message: one for each call of the request. problem says what is wrong, "" for nothing.
func decisionsIn(m *a2a.Message, asked *askedEntry) (all []decision, problem string) {
	switch {
	case !approval.IsDecision(m):
		return nil, "The message decides nothing."
	case !approval.IsDeclared(m):
		return nil, "The message decides nothing, because it does not list the extension " + Extension + "."
	}
	by := approval.DecidedBy(m)
	if by.Principal == "" {
		return nil, textMayNot
	}
	type answer struct {
		ID       string `json:"id"`
		Approved *bool  `json:"approved"`
		Reason   string `json:"rejection_reason"`
	}
	approvals, err := approval.Elements[answer](approval.Member(approval.Object(m), "approvals"), len(asked.Calls))
	if err != nil {
		return nil, "The message has no approvals that can be read, or more than the request has calls."
	}
	for _, each := range approvals {
		isAsked := slices.ContainsFunc(asked.Calls, func(c askedCall) bool { return c.ID == each.ID })
		isAgain := slices.ContainsFunc(all, func(d decision) bool { return d.Call == each.ID })
		if !isAsked || isAgain || each.Approved == nil {
			return nil, "The message decides on another call than those of the request, on one call twice, or without a value for approved."
		}
		all = append(all, decision{Call: each.ID, Approved: *each.Approved, Reason: backend.Excerpt([]byte(each.Reason)), By: by.Principal, IsProven: by.IsProven})
	}
	if len(all) < len(asked.Calls) {
		return nil, "The message does not decide on all calls."
	}
	return all, ""
}

// emitRequest emits a request for approval, in the form of Extension and as text with everything that a person must know.
func (l *loop) emitRequest(calls []*call, problem string) error {
	type requestedCall struct {
		ID        string          `json:"id"`
		CallID    string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"args"`
	}
	var text strings.Builder
	if problem != "" {
		text.WriteString(problem + " ")
	}
	ways := l.output.waysToDecide()
	until := l.transcript.asked.Until.UTC().Format(time.RFC3339)
	fmt.Fprintf(&text, "%s waits for your approval of %s. It ends at %s. A text is no decision.\n",
		strings.TrimSpace("The agent "+ways.Name), counted(len(calls)), until)
	var requested []requestedCall
	sources := map[string]string{}
	for _, c := range calls {
		requested = append(requested, requestedCall{ID: c.ID, CallID: c.ID, Name: c.Name, Arguments: c.arguments()})
		source := "a tool that is not available now"
		if tool := l.tools[c.Name]; tool != nil {
			source = tool.Source
		}
		sources[c.ID] = source
		fmt.Fprintf(&text, "\n%s (%s)\n%s\nid: %s\n", safetext.Line(c.Name), safetext.Line(source), indented(c.arguments()), c.ID)
	}
	object, err := plainjson.Marshal(map[string]any{
		Extension:             map[string]any{"type": approval.TypeRequest, "hint": "Approve " + counted(len(calls)), "tools": requested},
		approval.MetadataMore: map[string]any{"agent": ways.Name, "sources": sources, "until": until},
	})
	if err != nil {
		return backend.Failed("A request for approval cannot be written", err)
	}
	message := &a2a.Message{
		Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(text.String()), ways.Part(l.turn.TaskID, l.turn.Owner)}, Extensions: []string{Extension}, Metadata: object,
	}
	return l.output.status(&a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateInputRequired, Message: message}, Note: noNote})
}

// beginAnswered records the answer to the question of a tool, unless the message decides about something that the tool has not
// asked, or its sender may not decide. The task then waits with the same question.
func (l *loop) beginAnswered(ctx context.Context, paused *call) (isPaused bool, err error) {
	question, err := paused.paused.message()
	if err != nil {
		return false, err
	}
	isAsked := approval.IsRequest(question) || approval.IsConfirmation(question)
	if m := l.turn.Message; approval.IsDecision(m) && (!isAsked || approval.DecidedBy(m).Principal == "") {
		if err := l.findTools(ctx); err != nil {
			return false, err
		}
		return true, l.output.pause(paused, l.tools[paused.Name])
	}
	if approval.IsDecision(l.turn.Message) {
		by := approval.DecidedBy(l.turn.Message)
		l.decisionLog(by.IsProven).InfoContext(ctx, "decisions are passed on", "task", l.turn.TaskID, "owner", string(l.turn.Owner), "by", by.Principal,
			"call", paused.ID, "tool", paused.Name)
	}
	return false, l.record(ctx, entry{Answered: paused.ID})
}

// decisionLog returns the log for a decision, with approval.By.IsProven.
func (l *loop) decisionLog(isProven *bool) *slog.Logger {
	if isProven == nil {
		return l.options.Log
	}
	return l.options.Log.With("proven", *isProven)
}

func counted(n int) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", n)
}

// indented returns JSON for people, whole, with characters that could hide or reorder text as escapes.
func indented(text json.RawMessage) string {
	out, ok := safetext.Indent(text, "  ")
	if !ok {
		out = text
	}
	return "  " + safetext.Clean(string(out))
}
