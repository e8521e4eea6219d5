// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
)

// TestTextBeforeAStep checks that the client has the text of an answer before a step that the answer begins, also if the task then
// waits.
func TestTextBeforeAStep(t *testing.T) {
	script := func(r *request) string {
		if r.results() == 0 {
			return says("I change it.", "change {}")
		}
		return says("Done.")
	}
	question := &model.Result{Pause: &model.Pause{State: a2a.StateInputRequired, Message: text("Which?")}}
	for name, tool := range map[string]*model.Tool{"approval": {Name: "change", NeedsApproval: true}, "question": {Name: "change"}, "call": {Name: "change"}} {
		t.Run(name, func(t *testing.T) {
			set := newTools(func(c *model.Call) (*model.Result, error) {
				if name == "question" {
					return question, nil
				}
				return echo(c)
			}, tool)
			k := newTask(t, script, model.Options{Toolsets: []model.Toolset{set}, HidesSteps: name == "question"})
			first := ""
			k.onStatus = func() {
				if k.statuses == 1 {
					first = k.text
				}
			}
			if err := k.send(text("Change it.")); err != nil {
				t.Fatal(err)
			}
			if first != "I change it." {
				t.Errorf("before the first status, the client has the text %q", first)
			}
		})
	}
}
