// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
)

// TestUnfinishedCalls checks what a task says when it fails while calls run, or before an approved call has run.
func TestUnfinishedCalls(t *testing.T) {
	for name, test := range map[string]struct {
		// entry begins the last entry of the journal.
		entry, says string
	}{
		"began":    {`{"turn":2,"attempt":1,"started"`, "The outcome of these calls is not known, they may have happened: pay (call-"},
		"approved": {`{"turn":2,"attempt":1,"decided"`, "These approved calls did not run: pay (call-"},
		"ended":    {`{"turn":2,"attempt":1,"result"`, "The last call, pay (call-"},
		"answered": {`{"turn":2,"attempt":1,"answer"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := newTools(echo, &model.Tool{Name: "pay", NeedsApproval: true})
			k := newTask(t, func(r *request) string {
				if r.results() == 0 {
					return says("", "pay {}")
				}
				return says("Paid.")
			}, model.Options{Toolsets: []model.Toolset{set}})
			if err := k.send(text("Pay.")); err != nil {
				t.Fatal(err)
			}
			if err := k.send(k.decide(true)); err != nil {
				t.Fatal(err)
			}
			end := slices.IndexFunc(k.journal.entries, func(e []byte) bool { return bytes.HasPrefix(e, []byte(test.entry)) })
			got := k.backend.Unfinished(t.Context(), "t", func() ([][]byte, error) { return k.journal.entries[:end+1], nil })
			if !strings.HasPrefix(got, test.says) || (test.says == "") != (got == "") {
				t.Errorf("it says %q, want %q", got, test.says)
			}
		})
	}
	k := newTask(t, func(*request) string { return "" }, model.Options{})
	if got := k.backend.Unfinished(t.Context(), "t", func() ([][]byte, error) { return nil, errors.New("away") }); got == "" {
		t.Error("it says nothing about a journal that cannot be read")
	}
}

// TestOutcomeIsToldAfterAKill kills the process after each record of an outcome, before the client learns it. The log and the client learn it
// in the next attempt.
func TestOutcomeIsToldAfterAKill(t *testing.T) {
	for kill := range 12 {
		var log bytes.Buffer
		set := newTools(echo, &model.Tool{Name: "pay"})
		k := newTask(t, func(r *request) string {
			if r.results() == 0 {
				return says("", "pay {}")
			}
			return says("Paid.")
		}, model.Options{Toolsets: []model.Toolset{set}, Log: slog.New(slog.NewTextHandler(&log, nil))})
		steps := 0
		k.kill = func() bool {
			steps++
			return steps == kill
		}
		if err := k.send(text("Pay.")); err != nil {
			t.Fatal(err)
		}
		outcome := `"outcome":"done"`
		if isUnknown := bytes.Contains(slices.Concat(k.journal.entries...), []byte(`"outcome":"unknown"`)); isUnknown {
			outcome = `"outcome":"unknown"`
			if !strings.Contains(log.String(), "the outcome of a call is not known") {
				t.Errorf("kill %d: the log is %s", kill, log.String())
			}
		}
		if !strings.Contains(strings.Join(k.metadata, ""), outcome) {
			t.Errorf("kill %d: the client does not learn %s: %s", kill, outcome, k.metadata)
		}
	}
}

// TestRepetitionInTime interrupts a call of a tool that recognizes a repeated call for a minute.
func TestRepetitionInTime(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		after   time.Duration
		attempt int
		runs    int
	}{
		"soon":                      {30 * time.Second, 2, 1},
		"late":                      {61 * time.Second, 2, 0},
		"interrupted again":         {time.Second, 3, 0},
		"handed over by a shutdown": {time.Second, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			set := newTools(echo, &model.Tool{Name: "ask", IsRepeatable: true, RepeatableFor: time.Minute})
			k := newTask(t, func(r *request) string {
				if r.results() == 0 {
					return says("", "ask {}")
				}
				return says(r.last())
			}, model.Options{Toolsets: []model.Toolset{set}, Now: func() time.Time { return now }})
			k.journal.kill = func() bool { return len(k.journal.entries) == 3 } // before the result
			run := func(attempt int, interrupted time.Time) error {
				turn := &backend.Turn{TaskID: "t", ContextID: "c", Number: 1, Attempt: attempt, Interrupted: interrupted, Message: text("Ask."), Journal: k.journal}
				return k.backend.Run(t.Context(), turn, func([]a2a.Event) error { return nil })
			}
			if err := run(1, time.Time{}); !errors.Is(err, errKilled) || len(set.made()) != 1 {
				t.Fatalf("Run() = %v, calls %v", err, set.made())
			}
			k.journal.kill = nil
			if err := run(test.attempt, now.Add(-test.after)); err != nil {
				t.Fatal(err)
			}
			if n := len(set.made()) - 1; n != test.runs {
				t.Errorf("the call ran %d times again, want %d", n, test.runs)
			}
		})
	}
}
