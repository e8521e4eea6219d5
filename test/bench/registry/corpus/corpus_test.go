// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus_test

import (
	"testing"

	"github.com/a2a-operator/a2a-operator/test/bench/registry/corpus"
)

func TestAgentsDiffer(t *testing.T) {
	agents, err := corpus.Agents()
	if err != nil {
		t.Fatal(err)
	}
	names, questions, languages := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, a := range agents {
		names[a.Name], questions[a.Question] = true, true
		languages[a.Language]++
	}
	if len(agents) != 1000 || len(names) != 1000 || len(questions) != 1000 || languages["zh"] != 250 {
		t.Errorf("%d agents with %d names and %d questions, by language %v, want 1,000 that differ, 250 of each",
			len(agents), len(names), len(questions), languages)
	}
}
