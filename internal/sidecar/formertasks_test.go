// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestTaskOfAFormerReplica requests tasks that this process never had.
func TestTaskOfAFormerReplica(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Access.Authentication = []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}
	})
	// former is a task id whose time is a day ago.
	former := uuid.Must(uuid.NewV7())
	milliseconds := time.Now().Add(-24 * time.Hour).UnixMilli()
	for i := range 6 {
		former[i] = byte(milliseconds >> (8 * (5 - i)))
	}
	for id, explained := range map[string]bool{former.String(): true, uuid.NewString(): false, "mine": false} {
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/resubscribe"} {
			_, text := p.do("POST", p.agent(), `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"id":"`+id+`"}}`, "A2A-Version", "0.3")
			if !strings.Contains(text, "-32001") || strings.Contains(text, "tasks are kept in memory") != explained {
				t.Errorf("%s of task %s = %s", method, id, text)
			}
		}
	}
}

func TestExplainKeepsOtherErrors(t *testing.T) {
	f := &formerTasks{started: time.Now()}
	if err := f.explain(nil); err != nil {
		t.Errorf("explain(nil) = %v", err)
	}
	other := &a2a.Error{Reason: a2a.ReasonUnavailable, TaskID: uuid.Must(uuid.NewV7()).String()}
	if err := f.explain(other); !errors.Is(err, other) {
		t.Errorf("explain() = %v", err)
	}
	if f.started = time.Now().Add(-time.Minute); a2a.ErrorOf(f.explain(a2a.TaskNotFound(other.TaskID))).Message != "Task not found" {
		t.Error("a task that this process may have made is explained")
	}
}
