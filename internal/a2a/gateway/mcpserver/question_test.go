// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
)

// TestOnlyADecisionForEachCallDecides reads the answers of users whose client does not check them against the form.
func TestOnlyADecisionForEachCallDecides(t *testing.T) {
	q := &question{TaskID: "t", Calls: []string{"x1", "x2"}}
	for name, content := range map[string]map[string]any{
		"a text":         {"answer": "approve all", "decision1": "yes", "decision2": "approve"},
		"one of two":     {"decision1": "approve"},
		"another type":   {"decision1": true, "decision2": "approve"},
		"no content":     nil,
		"another number": {"decision0": "approve", "decision1": "approve"},
	} {
		if m := q.reply(&mcp.ElicitResult{Action: "accept", Content: content}); m != nil {
			t.Errorf("%s: %s", name, m.Metadata)
		}
	}
	both := map[string]any{"decision1": "approve", "decision2": "reject"}
	if m := q.reply(&mcp.ElicitResult{Action: "decline", Content: both}); m != nil {
		t.Errorf("declined: %s", m.Metadata)
	}
	if m := q.reply(&mcp.ElicitResult{Action: "accept", Content: both}); m == nil || !approval.IsDecision(m) || !approval.IsDeclared(m) {
		t.Errorf("decided: %+v", m)
	}
}

// TestForgedStateIsSmall resumes calls with a question that a client has made up.
func TestForgedStateIsSmall(t *testing.T) {
	for calls, want := range map[int]string{1000: "inputResponses", 100_000: "requestState"} {
		state := `{"taskId":"t","calls":[` + strings.Repeat(`"",`, calls) + `""]}`
		c := &conversation{request: &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{RequestState: state}}}
		if _, err := c.resume(t.Context()); err == nil || a2a.ErrorOf(err).Field != want {
			t.Errorf("%d calls: %v, want an error of %s", calls, err, want)
		}
	}
}

// TestFormShowsEveryPart checks that a user who is asked sees every part of the question, or that the
// question is not asked by a form.
func TestFormShowsEveryPart(t *testing.T) {
	text := a2a.TextPart("Approve?")
	data := a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{"pay":{"amount":12.5,"to":"Ann"}}`)}
	const shown = "{\n  \"pay\": {\n    \"amount\": 12.5,\n    \"to\": \"Ann\"\n  }\n}"
	for name, tt := range map[string]struct {
		message *a2a.Message
		text    string
		whole   bool
	}{
		"no message":    {nil, "The agent asks for input.", true},
		"text":          {&a2a.Message{Parts: []a2a.Part{text}}, "Approve?", true},
		"text and data": {&a2a.Message{Parts: []a2a.Part{text, data}}, "Approve?\n" + shown, true},
		"data":          {&a2a.Message{Parts: []a2a.Part{data}}, shown, true},
		"a file":        {&a2a.Message{Parts: []a2a.Part{text, {Content: a2a.ContentRaw, Raw: []byte("x")}}}, "Approve?", false},
		"a link":        {&a2a.Message{Parts: []a2a.Part{text, {Content: a2a.ContentURL, URL: "https://example.com"}}}, "Approve?", false},
		"an extension":  {&a2a.Message{Parts: []a2a.Part{text}, Extensions: []string{"https://example.com/x"}}, "Approve?", false},
		"too long":      {&a2a.Message{Parts: []a2a.Part{a2a.TextPart(strings.Repeat("x", maxFormText+1))}}, strings.Repeat("x", maxFormText+1), false},
	} {
		t.Run(name, func(t *testing.T) {
			q := questionOf(&a2a.Task{Status: a2a.Status{State: a2a.StateInputRequired, Message: tt.message}})
			if q.text != tt.text || q.wholeText != tt.whole {
				t.Errorf("question = %q, whole: %t, want %q, whole: %t", q.text, q.wholeText, tt.text, tt.whole)
			}
		})
	}
}
