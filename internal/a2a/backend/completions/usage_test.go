// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// TestUsageIsReported checks that the usage is reported when it arrives, even if no status
// of the turn contains it.
func TestUsageIsReported(t *testing.T) {
	const usage = `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5}}` + "\n\n"
	tests := map[string]struct {
		model   http.HandlerFunc
		want    []backend.Usage
		outcome string
	}{
		"completed":         {respondsWith(sse, textChunk("x")+stop+usage+done), []backend.Usage{{Input: 3, Output: 5}}, "ended"},
		"only reasoning":    {respondsWith(sse, sseEvent(`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`)+finishChunk("length")+usage+done), []backend.Usage{{Input: 3, Output: 5}}, "failed"},
		"not finished":      {respondsWith(sse, textChunk("x")+usage), []backend.Usage{{Input: 3, Output: 5}}, "failed"},
		"in every chunk":    {respondsWith(sse, usage+strings.Replace(usage, "5", "6", 1)+stop+done), []backend.Usage{{Input: 3, Output: 5}, {Input: 3, Output: 6}}, "ended"},
		"no usage":          {respondsWith(sse, textChunk("x")+stop+done), nil, "ended"},
		"only the total":    {respondsWith(sse, textChunk("x")+stop+sseEvent(`{"choices":[],"usage":{"total_tokens":8}}`)+done), []backend.Usage{{Unreadable: true}}, "ended"},
		"a negative number": {respondsWith(sse, textChunk("x")+stop+strings.Replace(usage, "3", "-3", 1)+done), []backend.Usage{{Output: 5, Unreadable: true}}, "ended"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newModel(t, withModel(options{}), test.model)
			turn := newTurn()
			var got []backend.Usage
			turn.ReportUsage = func(u backend.Usage) { got = append(got, u) }
			_, outcome := run(t, b, turn)
			if !slices.Equal(got, test.want) || !strings.HasPrefix(outcome, test.outcome) {
				t.Errorf("usage %v, outcome %q, want %v and %q", got, outcome, test.want, test.outcome)
			}
		})
	}
}

// TestChunksAreReported checks that each chunk with text, reasoning or tool calls is
// reported before the usage, because the usage does not arrive if the turn is canceled.
func TestChunksAreReported(t *testing.T) {
	const toolCall = `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}`
	tests := map[string]struct {
		model http.HandlerFunc
		want  int
	}{
		"text":              {respondsWith(sse, strings.Repeat(textChunk("x"), 100)+stop+done), 100},
		"reasoning":         {respondsWith(sse, sseEvent(`{"choices":[{"delta":{"reasoning_content":"hm"}}]}`)+textChunk("x")+stop+done), 2},
		"tool call":         {respondsWith(sse, sseEvent(toolCall)+stop+done), 1},
		"without content":   {respondsWith(sse, sseEvent(`{"choices":[{"delta":{"role":"assistant","content":""}}]}`)+stop+done), 0},
		"not a stream":      {respondsWith("application/json", `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`), 0},
		"broken connection": {respondsWith(sse, textChunk("x")+textChunk("x")), 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			turn, got := newTurn(), 0
			turn.ReportChunk = func() { got++ }
			run(t, newModel(t, withModel(options{}), test.model), turn)
			if got != test.want {
				t.Errorf("%d chunks, want %d", got, test.want)
			}
		})
	}
}
