// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	oldsdk "github.com/a2aproject/a2a-go/a2a"
	newsdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

func TestErrorsKeepTheirTypes(t *testing.T) {
	is := func(err error, targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	each(t, sidecartest.TextAgent, func(t *testing.T, client sdk) {
		t.Helper()
		done, err := client.send(t.Context(), message{Text: "Hi"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.get(t.Context(), "nowhere", nil); !is(err, newsdk.ErrTaskNotFound, oldsdk.ErrTaskNotFound) {
			t.Errorf("get of an unknown task = %v", err)
		}
		if _, err := client.cancel(t.Context(), "nowhere"); !is(err, newsdk.ErrTaskNotFound, oldsdk.ErrTaskNotFound) {
			t.Errorf("cancel of an unknown task = %v", err)
		}
		if _, err := collect(client.subscribe(t.Context(), "nowhere")); !is(err, newsdk.ErrTaskNotFound, oldsdk.ErrTaskNotFound) {
			t.Errorf("subscribe to an unknown task = %v", err)
		}
		if _, err := client.cancel(t.Context(), done.TaskID); !is(err, newsdk.ErrTaskNotCancelable, oldsdk.ErrTaskNotCancelable) {
			t.Errorf("cancel of a finished task = %v", err)
		}
		if _, err := client.send(t.Context(), message{Text: "More", TaskID: "nowhere"}); !is(err, newsdk.ErrTaskNotFound, oldsdk.ErrTaskNotFound) {
			t.Errorf("message to an unknown task = %v", err)
		}
		if _, err := client.send(t.Context(), message{Text: "More", TaskID: done.TaskID}); !isTaskEnded(err) && !is(err, newsdk.ErrUnsupportedOperation, oldsdk.ErrUnsupportedOperation) {
			t.Errorf("message to a finished task = %v", err)
		}
		if _, err := collect(client.stream(t.Context(), message{Text: "More", TaskID: done.TaskID})); !isTaskEnded(err) && !is(err, newsdk.ErrUnsupportedOperation, oldsdk.ErrUnsupportedOperation) {
			t.Errorf("stream to a finished task = %v", err)
		}
	})
}

func TestFailureOfTheAgentEndsTheTask(t *testing.T) {
	tests := map[string]struct {
		agent http.HandlerFunc
		state string
	}{
		"error":   {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret", http.StatusInternalServerError) }, "failed"},
		"refusal": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnprocessableEntity) }, "rejected"},
		"not JSON": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			_, _ = io.WriteString(w, "oops\n")
		}, "failed"},
		"breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			_, _ = io.WriteString(w, `{"text":"half"}`+"\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "failed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			each(t, test.agent, func(t *testing.T, client sdk) {
				t.Helper()
				got, err := client.send(t.Context(), message{Text: "Hi"})
				if err != nil || got.State != test.state {
					t.Errorf("send = %+v, %v, want state %s", got, err, test.state)
				}
				events, err := collect(client.stream(t.Context(), message{Text: "Hi again"}))
				if err != nil || len(events) < 2 || events[len(events)-1].State != test.state {
					t.Errorf("stream = %+v, %v, want state %s", events, err, test.state)
				}
			})
		})
	}
}

// isTaskEnded reports whether an error means that a task has ended. Over gRPC, the
// client of 0.3 has no type for this error.
func isTaskEnded(err error) bool {
	return err != nil && strings.Contains(err.Error(), "terminal state")
}
