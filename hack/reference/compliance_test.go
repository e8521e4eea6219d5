// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestComplianceReportIsCurrent checks the compliance report of kubectl a2a. It also checks that a tier is not satisfied
// if one of its requirements does not pass.
func TestComplianceReportIsCurrent(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	got, err := renderCompliance(read(compliancePage), read(chartFile))
	if err != nil {
		t.Fatal(err)
	}
	if got != read(complianceReport) {
		t.Errorf("%s is not current: run make generate", complianceReport)
	}
	var report struct {
		Report  struct{ TierClaimed string }
		Summary map[string]struct {
			Total     int
			Satisfied bool
		}
		Requirements map[string]struct {
			Tier                   int
			Status, Note, Evidence string
		}
	}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(got, "tier_claimed", "tierClaimed")), &report); err != nil {
		t.Fatal(err)
	}
	totals := map[int]int{}
	blocked := map[int]bool{}
	for id, r := range report.Requirements {
		totals[r.Tier]++
		blocked[r.Tier] = blocked[r.Tier] || r.Status != "pass" && r.Status != "na"
		if r.Status != "pass" && r.Note == "" || r.Status == "pass" && r.Evidence == "" {
			t.Errorf("%s is %s, with the note %q and the evidence %q", id, r.Status, r.Note, r.Evidence)
		}
	}
	for tier, want := range map[int]int{1: 39, 2: 15, 3: 12} {
		summary := report.Summary[fmt.Sprint("tier_", tier)]
		if totals[tier] != want || summary.Total != want || summary.Satisfied == blocked[tier] {
			t.Errorf("tier %d has %d requirements, and its summary is %+v", tier, totals[tier], summary)
		}
	}
	if blocked[1] && report.Report.TierClaimed != "none" {
		t.Errorf("the report claims tier %s", report.Report.TierClaimed)
	}
}
