// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// TestShutdownIsTheReasonOfRequestsThatItCutsOff checks the outcome of a request whose
// context ends: ClientLeft if its client disconnected, and an error with the reason
// unavailable if the shutdown ended the context.
func TestShutdownIsTheReasonOfRequestsThatItCutsOff(t *testing.T) {
	for name, test := range map[string]struct {
		cause error
		want  Outcome
	}{
		"the client left": {nil, Outcome{ClientLeft: true}},
		"the shutdown":    {a2a.ErrDraining, Outcome{Code: -32603, Reason: a2a.ReasonUnavailable}},
	} {
		ctx, end := context.WithCancelCause(t.Context())
		end(test.cause)
		var got Outcome
		var logged strings.Builder
		problem := Outcome{}.Conclude(ctx, slog.New(slog.NewTextHandler(&logged, nil)),
			func(_ context.Context, o Outcome) { got = o }, fmt.Errorf("read task: %w", ctx.Err()))
		if got != test.want || (problem == nil) != test.want.ClientLeft {
			t.Errorf("%s: outcome = %+v, problem = %v, want %+v", name, got, problem, test.want)
		}
		if logged.Len() > 0 {
			t.Errorf("%s: log = %s", name, logged.String())
		}
	}
}
