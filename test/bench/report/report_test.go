// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sampleReport() *Report {
	met := false
	return &Report{
		Subject: "sidecar",
		Machine: Machine{CPU: "Fast", Cores: 2, Kernel: "6", Go: "go1", Commit: "abc", Date: time.Date(2030, 1, 2, 3, 4, 0, 0, time.UTC), Others: 0.5},
		Rounds:  5, Window: "3s",
		Results: []Result{{
			Row: "S1", What: "a message", Unit: "us", Ours: 112.4, Peer: "peer", Theirs: 78.04, Ratio: 1.44, Least: 1.4, Most: 1.5, Goal: "<= 1.2 x", Met: &met,
		}},
	}
}

func TestPublishReplacesTheFigures(t *testing.T) {
	pageBegin := fmt.Sprintf(pageBegin, "bench")
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+pageBegin+"old\n"+pageEnd+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sampleReport().Publish(page, "bench"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n" + pageBegin + `2030-01-02 03:04 UTC, commit abc, 5 rounds of 3s. Fast, 2 cores, Linux 6, go1. Other programs used 50 % of the machine.

| | what | sidecar | peer | peer's | ratio | goal | met |
|---|---|---|---|---|---|---|---|
| S1 | a message | 112 us | peer | 78.0 | 1.44 (1.40 to 1.50) | <= 1.2 x | no |
` + pageEnd + "\nafter\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("Publish() (-want +got):\n%s", diff)
	}
	if err := os.WriteFile(page, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sampleReport().Publish(page, "bench"); err == nil {
		t.Error("Publish() returns no error for a page without the lines of figures")
	}
}

func TestDurationsOfABusyMachineDoNotCount(t *testing.T) {
	for _, test := range []struct {
		clock  bool
		others float64
		want   string
	}{{true, 0.04, "no"}, {true, 0.06, "too busy to tell"}, {false, 0.9, "no"}} {
		r := sampleReport().Results[0]
		r.Clock = test.clock
		judge(&r, test.others)
		if got := r.cells()[7]; got != test.want {
			t.Errorf("clock %t, others %v: met is %q, want %q", test.clock, test.others, got, test.want)
		}
	}
}

func TestFailedRowDoesNotStopOthers(t *testing.T) {
	r := &Report{}
	err := r.Measure(t.Context(), []string{"A", "B"}, func(i int) ([]Result, error) {
		if i == 0 {
			return nil, errors.New("no | \n" + strings.Repeat("luck ", 100))
		}
		return []Result{{What: "a message", Unit: "us", Ours: 1}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if failed := r.Failed(); failed == nil || failed.Error() != "not measured: A" {
		t.Errorf("Failed() = %v, want A", failed)
	}
	if len(r.Results) != 2 || r.Results[1].Row != "B" || r.Results[1].Ours != 1 {
		t.Errorf("results are %+v, want one of each row", r.Results)
	}
	if what := r.Results[0].cells()[1]; !strings.HasPrefix(what, "not measured: no / luck luck") || len(what) > 230 {
		t.Errorf("the line of a failed row is %q", what)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.Results = nil
	err = r.Measure(ctx, []string{"A", "B", "C"}, func(i int) ([]Result, error) {
		if i == 0 {
			return []Result{{Ours: 1}}, nil
		}
		cancel()
		return nil, errors.New("killed")
	})
	if !errors.Is(err, context.Canceled) || len(r.Results) != 1 || r.Results[0].Row != "A" {
		t.Errorf("Measure() after a cancellation = %v with %+v, want the cause, and the row before", err, r.Results)
	}
}

func TestReportSurvivesJSON(t *testing.T) {
	var out bytes.Buffer
	if err := sampleReport().Write(&out, "json"); err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleReport(), &got); diff != "" {
		t.Errorf("decoded report (-want +got):\n%s", diff)
	}
}
