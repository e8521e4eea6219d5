// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

func TestListedAgentHasWhatTheListShows(t *testing.T) {
	const agent = `{"namespace":"team","name":"echo","displayName":"Echo","description":"Repeats.","ready":true,"reason":"Rollout","remote":true,` +
		`"updatedAt":"2026-11-23T10:00:00Z","version":"7"`
	for skills, want := range map[string]firstSkills{
		``:               {},
		`,"skills":null`: {},
		`,"skills":[]`:   {},
		`,"skills":[{"id":"a","name":"A","tags":["x"]},{"id":"b"}]`:                     {First: []skillName{{"a", "A"}, {"b", ""}}, Count: 2},
		`,"skills":[{"id":"a"},{"id":"b"},{"id":"c"},{"id":"d"},{"id":"e"},{"id":"f"}]`: {First: []skillName{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}, Count: 6},
	} {
		var got Listed
		if err := json.Unmarshal([]byte(agent+skills+"}"), &got); err != nil {
			t.Fatal(err)
		}
		wanted := Listed{
			Namespace: "team", Name: "echo", DisplayName: "Echo", Description: "Repeats.", Ready: true, Reason: "Rollout", Remote: true,
			UpdatedAt: time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC), Skills: want,
		}
		if diff := cmp.Diff(wanted, got, cmpopts.IgnoreUnexported(Listed{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", skills, diff)
		}
	}
	for _, text := range []string{`{"skills":[1]}`, `{"skills":["x"]}`} {
		if err := json.Unmarshal([]byte(text), &Listed{}); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

// A page of agents of many parts takes no more memory than its text when it is decoded.
func TestListedAgentsTakeLittleMemory(t *testing.T) {
	const skill = `{"id":"","name":"","description":"","tags":["","",""],"examples":["","",""]}`
	agent := `{"namespace":"team","name":"fat","skills":[` + strings.Repeat(skill+",", 500<<10/len(skill)) + skill + `]}`
	text := []byte(`{"items":[` + strings.Repeat(agent+",", 7) + agent + `]}`)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	page := registryapi.PageOf[Listed]{}
	if err := json.Unmarshal(text, &page); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(len(text)) {
		t.Errorf("%d KiB of agents allocate %d KiB", len(text)>>10, allocated>>10)
	}
	if got := page.Agents[7].Skills.Count; got != 500<<10/len(skill)+1 {
		t.Errorf("%d skills", got)
	}
}
