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

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
)

// TestUnfinishedCalls checks what a task says when it fails while calls run, or before an approved call has run.
func TestUnfinishedCalls(t *testing.T) {
	for name, test := range map[string]struct {
		// entry begins the last entry of the journal.
		entry, says string
	}{
		"began":    {`{"turn":2,"started"`, "The outcome of these calls is not known, they may have happened: pay (call-"},
		"approved": {`{"turn":2,"decided"`, "These approved calls did not run: pay (call-"},
		"ended":    {`{"turn":2,"result"`, "The last call, pay (call-"},
		"answered": {`{"turn":2,"answer"`, ""},
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
