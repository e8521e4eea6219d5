// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

func TestCancelOfATaskThatHasEnded(t *testing.T) {
	proceed := make(chan struct{})
	defer close(proceed)
	held := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
	canceled := run(t, "send", "--url", held.URL, "Hello", "--async").field("Task")
	run(t, "task", "cancel", "--url", held.URL, canceled)
	if r := run(t, "task", "cancel", "--url", held.URL, canceled); r.status != 0 || r.field("State") != "canceled" || !strings.Contains(r.stderr, "The task was canceled before.") {
		t.Errorf("a task that was canceled before: %+v", r)
	}
	f := sidecartest.Start(t, sidecartest.TextAgent)
	completed := run(t, "send", "--url", f.URL, "Hello").field("Task")
	for _, flags := range [][]string{nil, {"--transport", "HTTP+JSON"}, {"--a2a-version", "0.3"}} {
		r := run(t, append([]string{"task", "cancel", "--url", f.URL, completed}, flags...)...)
		if r.status != 1 || r.stdout != "" || !strings.Contains(r.stderr, "the task has ended as completed and cannot be canceled") ||
			!strings.Contains(r.stderr, "Code: TaskNotCancelableError") || !strings.Contains(r.stderr, "kubectl a2a task get") {
			t.Errorf("a completed task %v: %+v", flags, r)
		}
	}
	r := run(t, "task", "cancel", "--url", f.URL, completed, "-o", "json")
	var envelope struct {
		Error struct {
			Code    string
			A2ACode int
		}
	}
	if err := json.Unmarshal([]byte(r.stderr+r.stdout), &envelope); err != nil || r.status != 1 || envelope.Error.Code != "TaskNotCancelableError" || envelope.Error.A2ACode != -32002 {
		t.Errorf("a completed task in JSON: %+v, %v", r, err)
	}
	if r := run(t, "task", "cancel", "--url", f.URL, "unknown"); r.status != 1 || !strings.Contains(r.stderr, "Code: TaskNotFoundError") {
		t.Errorf("an unknown task: %+v", r)
	}
}

// TestCancelReportsTheResultingState covers the different ways in which agents answer a cancel request that they do not
// fulfill: with an error, or with the task in another state.
func TestCancelReportsTheResultingState(t *testing.T) {
	const refused = `"error":{"code":-32002,"message":"Task cannot be canceled"}`
	task := func(state string) string {
		return `"result":{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_` + state + `"}}`
	}
	for name, test := range map[string]struct {
		cancel, get string
		status      int
		stderr      string
	}{
		"canceled before":                {refused, task("CANCELED"), 0, "The task was canceled before."},
		"failed before":                  {refused, task("FAILED"), 1, "the task has ended as failed and cannot be canceled"},
		"refused while it works":         {refused, task("WORKING"), 1, "the agent does not cancel the task, which is working"},
		"refused, and unreadable":        {refused, `"error":{"code":-32603,"message":"no"}`, 1, "Task cannot be canceled"},
		"ended, in place of an error":    {task("COMPLETED"), "", 1, "the task has ended as completed and cannot be canceled"},
		"not canceled yet":               {task("WORKING"), "", 0, "The agent has accepted the request, and the task is still working."},
		"a failure of the agent":         {`"error":{"code":-32603,"message":"out of order"}`, task("WORKING"), 1, "out of order"},
		"an agent that does not do that": {`"error":{"code":-32601,"message":"no method"}`, task("WORKING"), 1, "no method"},
	} {
		t.Run(name, func(t *testing.T) {
			u := fakeAgent(t, func(w http.ResponseWriter, _ *http.Request, method, _ string) {
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1",%s}`, map[string]string{"CancelTask": test.cancel, "GetTask": test.get}[method])
			})
			if r := run(t, "task", "cancel", "--url", u, "t-1"); r.status != test.status || !strings.Contains(r.stderr, test.stderr) {
				t.Errorf("%+v, want status %d and %q", r, test.status, test.stderr)
			}
		})
	}
}
