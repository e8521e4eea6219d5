// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"fmt"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

var _ backend.Unfinisher = (*Backend)(nil)

// Unfinished implements backend.Unfinisher: it names the calls that had begun and have no result, which it also logs, and those that a person
// has approved and that did not run.
func (b *Backend) Unfinished(ctx context.Context, task string, journal func() ([][]byte, error)) string {
	raw, err := journal()
	if err != nil {
		b.options.Log.ErrorContext(ctx, "steps of a failed task not read", "task", task, "error", err)
		return "It is not known which calls of tools have happened."
	}
	entries, err := decodeEntries(raw)
	if err != nil {
		return "" // no turn could begin with this journal
	}
	var unknown, unused []string
	transcript := newTranscript(entries, 0)
	for _, c := range transcript.calls {
		name := fmt.Sprintf("%s (%s)", safetext.Line(c.Name), c.ID)
		switch c.state { //nolint:exhaustive // calls in other states have done nothing, or have a result
		case callStarted:
			unknown = append(unknown, name)
			b.options.Log.WarnContext(ctx, "the outcome of a call is not known", "task", task, "call", c.ID, "tool", c.Name, "arguments_digest", digestOf(c.arguments()))
		case callApproved:
			unused = append(unused, name)
		}
	}
	var text []string
	if len(unknown) > 0 {
		text = append(text, "The outcome of these calls is not known, they may have happened: "+strings.Join(unknown, ", ")+".")
	}
	if len(unused) > 0 {
		text = append(text, "These approved calls did not run: "+strings.Join(unused, ", ")+".")
	}
	if c := transcript.last; c != nil {
		// The process may have ended before it told the client.
		text = append(text, fmt.Sprintf("The last call, %s (%s), is %s.", safetext.Line(c.Name), c.ID, c.result.Outcome))
	}
	return strings.Join(text, " ")
}
