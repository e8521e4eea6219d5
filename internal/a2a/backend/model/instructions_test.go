// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
)

func TestInstructions(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 11, 29, 23, 30, 0, 0, time.FixedZone("", -3600)) }
	for text, want := range map[string]string{
		"Be brief.":                             "Be brief.",
		"{{agent.name}} on {{ date }}":          "oncall on 2026-11-30",
		"For {{caller}}, {{unknown}}, {{ }}, {": `For "{{date}}\n", {{unknown}}, {{ }}, {`,
	} {
		i := model.Instructions{Text: func() string { return text }, Name: "oncall", Now: now}
		if got := i.For(&backend.Turn{Owner: a2a.Owner("{{date}}\n")}); got != want {
			t.Errorf("For(%q) = %q, want %q", text, got, want)
		}
	}
}
