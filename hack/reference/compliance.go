// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

const (
	// compliancePage is the page with the requirements of the a2a-cli specification. complianceReport is the report
	// for programs, in the form that the specification defines.
	compliancePage, complianceReport = "docs/reference/cli-compliance.md", "docs/reference/cli-compliance.yaml"
	chartFile                        = "charts/a2a-operator/Chart.yaml"
)

// requirement is a row of the page.
type requirement struct {
	tier                                   int
	id, title, section, status, text, area string
	// tests are the names of the tests in the text of the row.
	tests []string
}

var (
	tierHeading    = regexp.MustCompile(`^## Tier (\d)$`)
	requirementRow = regexp.MustCompile("^\\| `(A2ACLI_([A-Z_]+)_\\d+)` ([^|]*) \\| ([^|]*) \\| ([^|]*) \\| ([^|]*) \\|$")
	testName       = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	pageLink       = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	revision       = regexp.MustCompile(`\) ([0-9.]+), revision (\d{4}-\d{2}-\d{2})`)
	reportDate     = regexp.MustCompile(`The results are from (\d{4}-\d{2}-\d{2})\.`)
	chartVersion   = regexp.MustCompile(`(?m)^version: (\S+)$`)
)

// statuses maps the statuses of the page to the statuses of the report.
var statuses = map[string]string{"pass": "pass", "partial": "partial", "fail": "fail", "not measured": "not_measured", "not applicable": "na"}

// readRequirements returns the rows of the page.
func readRequirements(page string) ([]requirement, error) {
	var all []requirement
	tier := 0
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if found := tierHeading.FindStringSubmatch(line); found != nil {
			tier = int(found[1][0] - '0')
		}
		found := requirementRow.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		r := requirement{tier: tier, id: found[1], area: found[2], title: found[3], section: found[4], status: statuses[found[5]], text: found[6]}
		for _, name := range testName.FindAllStringSubmatch(r.text, -1) {
			r.tests = append(r.tests, name[1])
		}
		if r.status == "" || tier == 0 {
			return nil, fmt.Errorf("%s: %s has the unknown status %q, or is in no tier", compliancePage, r.id, found[5])
		}
		all = append(all, r)
	}
	return all, nil
}

// note returns the text of a requirement without its tests and without Markdown.
func (r *requirement) note() string {
	text := pageLink.ReplaceAllString(testName.ReplaceAllString(r.text, ""), "$1")
	return strings.Trim(strings.ReplaceAll(text, "`", ""), " ,")
}

// writeCompliance writes the report of the page.
func writeCompliance() error {
	page, err := os.ReadFile(compliancePage)
	if err != nil {
		return err
	}
	chart, err := os.ReadFile(chartFile)
	if err != nil {
		return err
	}
	report, err := renderCompliance(string(page), string(chart))
	if err != nil {
		return err
	}
	return os.WriteFile(complianceReport, []byte(report), 0o644)
}

func renderCompliance(page, chart string) (string, error) {
	all, err := readRequirements(page)
	if err != nil {
		return "", err
	}
	specification, date, version := revision.FindStringSubmatch(page), reportDate.FindStringSubmatch(page), chartVersion.FindStringSubmatch(chart)
	if specification == nil || date == nil || version == nil {
		return "", errors.New(compliancePage + " names no version and revision of the specification or no date, or the chart has no version")
	}
	summaries, claimed := summarize(all)
	var out strings.Builder
	fmt.Fprintf(&out, `# The compliance report of the a2a-cli specification, made of cli-compliance.md by make generate.
report:
  tool: kubectl a2a
  tool_version: %s
  language: Go
  repository: https://github.com/a2a-operator/a2a-operator
  maintainer: The a2a-operator Authors
  report_date: %s
  spec_version: %q
  spec_revision: %s
  a2a_versions: ["0.1", "0.2", "0.3", "1.0"]
  agent_tested: the sidecar of a2a-operator, and fake agents for what it never does
  agent_tck_conformant: unknown
  transports_covered: [HTTP+JSON, JSON-RPC]
  tier_claimed: %s
summary:
%srequirements:
`, version[1], date[1], specification[1], specification[2], claimed, summaries)
	for i := range all {
		r := &all[i]
		fmt.Fprintf(&out, "  %s:\n    tier: %d\n    area: %s\n    spec: %q\n    requirement: %q\n    status: %s\n    note: %s\n    evidence: %s\n", r.id, r.tier, r.area, r.section,
			strings.ReplaceAll(r.title, "`", ""), r.status, quotedOrNull(r.note()), quotedOrNull(strings.Join(r.tests, ", ")))
	}
	fmt.Fprintf(&out, `default_001_breakdown:
  transport_server_preference_order: {shipped: yes, overridable: yes, note: "--transport"}
  task_completion_wait_by_default: {shipped: yes, overridable: yes, note: "--async, --wait=false"}
  output_human_readable_text: {shipped: yes, overridable: yes, note: "-o json"}
  detail_level_concise: {shipped: yes, overridable: yes, note: "--stream, --history, --debug"}
  protocol_version_highest_mutual: {shipped: yes, overridable: yes, note: "--a2a-version; versions before 1.0 only with the flag"}
  transport_security_tls_on: {shipped: yes, overridable: yes, note: "--insecure, with a warning"}
error_codes:
  A2ACLI_ERR_USAGE: {emitted: yes, note: null}
  A2ACLI_ERR_CARD_NOT_FOUND: {emitted: yes, note: null}
  A2ACLI_ERR_CARD_INVALID: {emitted: yes, note: null}
  A2ACLI_ERR_UNREACHABLE: {emitted: yes, note: null}
  A2ACLI_ERR_CREDENTIALS_MISSING: {emitted: yes, note: null}
  A2ACLI_ERR_AUTH_FAILED: {emitted: yes, note: null}
  A2ACLI_ERR_TIMEOUT: {emitted: yes, note: null}
  A2ACLI_ERR_INTERNAL: {emitted: yes, note: null}
attestation:
  reported_by: the maintainers of a2a-operator
  date: %s
  statement: The statuses are those of the tests that the evidence names.
`, date[1])
	return out.String(), nil
}

// summarize returns the counts of each tier as lines, and the highest tier that is satisfied together with all tiers below
// it, or "none". A tier is satisfied if each of its requirements passes or does not apply.
func summarize(all []requirement) (lines, claimed string) {
	var out strings.Builder
	claimed, satisfiedSoFar := "none", true
	for tier := 1; tier <= 3; tier++ {
		counts, total := map[string]int{}, 0
		for i := range all {
			if all[i].tier == tier {
				counts[all[i].status]++
				total++
			}
		}
		satisfied := total > 0 && counts["pass"]+counts["na"] == total
		satisfiedSoFar = satisfiedSoFar && satisfied
		if satisfiedSoFar {
			claimed = fmt.Sprint(tier)
		}
		fmt.Fprintf(&out, "  tier_%d: {total: %d, pass: %d, partial: %d, fail: %d, not_measured: %d, na: %d, satisfied: %t}\n",
			tier, total, counts["pass"], counts["partial"], counts["fail"], counts["not_measured"], counts["na"], satisfied)
	}
	return out.String(), claimed
}

func quotedOrNull(text string) string {
	if text == "" {
		return "null"
	}
	return fmt.Sprintf("%q", text)
}
