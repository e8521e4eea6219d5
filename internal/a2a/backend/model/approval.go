// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// Extension is the URI of the message extension with approvals and questions.
const Extension = "https://kagent.dev/extensions/hitl/v1"

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
		return false, l.record(ctx, entry{Decided: l.lapsed(asked)})
	}
	decisions, problem := decisionsIn(l.turn.Message, asked)
	if problem == "" {
		for i := range decisions {
			decisions[i].By = l.turn.Owner.Principal()
		}
		return false, l.record(ctx, entry{Decided: decisions})
	}
	if err := l.findTools(ctx); err != nil {
		return false, err
	}
	return true, l.emitRequest(l.transcript.in(callAsked), problem)
}

func (l *loop) lapsed(asked *askedEntry) (all []decision) {
	for _, c := range asked.Calls {
		all = append(all, decision{Call: c.ID, Reason: "the request for approval ended at " + asked.Until.UTC().Format(time.RFC3339)})
	}
	return all
}

// decisionsIn returns the decisions in a message: one for each call of the request. problem says what is wrong, "" for nothing.
func decisionsIn(m *a2a.Message, asked *askedEntry) (all []decision, problem string) {
	var metadata map[string]json.RawMessage
	if len(m.Metadata) > 0 && json.Unmarshal(m.Metadata, &metadata) != nil || metadata[Extension] == nil {
		return nil, "The message decides nothing."
	}
	var response struct {
		Type      string `json:"type"`
		Approvals []struct {
			ID       string `json:"id"`
			Approved *bool  `json:"approved"`
			Reason   string `json:"rejection_reason"`
		} `json:"approvals"`
	}
	if json.Unmarshal(metadata[Extension], &response) != nil || response.Type != "tool_approval_response" {
		return nil, "The message has no tool_approval_response."
	}
	for _, each := range response.Approvals {
		isAsked := slices.ContainsFunc(asked.Calls, func(c askedCall) bool { return c.ID == each.ID })
		isAgain := slices.ContainsFunc(all, func(d decision) bool { return d.Call == each.ID })
		if !isAsked || isAgain || each.Approved == nil {
			return nil, "The message decides on another call than those of the request, on one call twice, or without a value for approved."
		}
		all = append(all, decision{Call: each.ID, Approved: *each.Approved, Reason: backend.Excerpt([]byte(each.Reason))})
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
	fmt.Fprintf(&text, "The agent waits for your approval of %s. It ends at %s. A text is no decision.\n",
		counted(len(calls)), l.transcript.asked.Until.UTC().Format(time.RFC3339))
	var requested []requestedCall
	for _, c := range calls {
		requested = append(requested, requestedCall{ID: c.ID, CallID: c.ID, Name: c.Name, Arguments: c.arguments()})
		source := "a tool that is not available now"
		if tool := l.tools[c.Name]; tool != nil {
			source = tool.Source
		}
		fmt.Fprintf(&text, "\n%s (%s)\n%s\nid: %s\n", safetext.Line(c.Name), safetext.Line(source), indented(c.arguments()), c.ID)
	}
	fmt.Fprintf(&text, "\nTo decide: kubectl a2a send --task-id %s --approve ID (or --reject ID) for each id, or answer with the extension %s.", l.turn.TaskID, Extension)
	object, err := json.Marshal(map[string]any{Extension: map[string]any{"type": "tool_approval_request", "hint": "Approve " + counted(len(calls)), "tools": requested}})
	if err != nil {
		return backend.Failed("A request for approval cannot be written", err)
	}
	message := &a2a.Message{
		Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(text.String())}, Extensions: []string{Extension}, Metadata: object,
	}
	return l.output.emit([]a2a.Event{{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateInputRequired, Message: message}, Note: noNote}}})
}

func counted(n int) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", n)
}

// indented returns JSON for people, whole, with characters that could hide or reorder text as escapes.
func indented(text json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, text, "  ", "  ") != nil {
		return "  " + safetext.Clean(string(text))
	}
	return "  " + safetext.Clean(out.String())
}
