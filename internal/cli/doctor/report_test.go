// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// TestReportInJSON compares the JSON of a report, which programs read, with testdata/report.golden.
func TestReportInJSON(t *testing.T) {
	broken, fine := healthy(t), healthy(t)
	broken.unavailable(a2av1alpha1.ReasonImagePullFailed, `The image "example/echo:1" of container "agent" cannot be pulled`)
	broken.waits("ImagePullBackOff", "pull access denied for example/echo")
	broken.f.Unread = []Unread{{partPolicies, failure.New(failure.AuthFailed, "you may not list networkpolicies").WithHint("ask for a Role")}}
	text, err := json.MarshalIndent(NewReport(broken.shared, []*AgentFacts{broken.f, fine.f}), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "report.golden", string(text)+"\n")
}

func TestReportWithoutAgentsHasLists(t *testing.T) {
	text, err := json.Marshal(NewReport(&SharedFacts{Now: now}, nil))
	if err != nil {
		t.Fatal(err)
	}
	var report map[string]any
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agents", "shared"} {
		if _, ok := report[name].([]any); !ok {
			t.Errorf("%s is not a list: %s", name, text)
		}
	}
}

// TestClockOfTheFastestResponseCounts checks that doctor does not mistake a slow response for a wrong clock.
func TestClockOfTheFastestResponseCounts(t *testing.T) {
	c := &serverClock{}
	response := func(ahead time.Duration) *http.Response {
		return &http.Response{Header: http.Header{"Date": {now.Add(ahead).Format(http.TimeFormat)}}}
	}
	if _, server := c.times(); !server.IsZero() {
		t.Errorf("a time without a response: %s", server)
	}
	c.record(&http.Response{Header: http.Header{"Date": {"yesterday"}}}, now, time.Second)
	c.record(response(2*time.Minute), now, time.Second)
	c.record(response(time.Hour), now, 10*time.Second)
	local, server := c.times()
	if skew := server.Sub(local); skew.Round(time.Second) != 2*time.Minute {
		t.Errorf("the clocks differ by %s", skew)
	}
}
