// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring checks that the page of metrics, the alerts, the dashboards and the runbooks
// are consistent. It has its own module because of the PromQL parser. make test-monitoring runs
// it and the unit tests of the alerts.
package monitoring

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

const (
	root       = "../.."
	page       = root + "/docs/reference/metrics.md"
	alertsFile = root + "/charts/a2a-operator/monitoring/alerts.yaml"
	testsFile  = "alerts_test.yaml"
	dashboards = root + "/charts/a2a-operator/monitoring/dashboards/*.json"
	runbooks   = root + "/docs/runbooks"
	runbookURL = "https://github.com/a2a-operator/a2a-operator/blob/main/docs/runbooks/"
)

// metrics maps the names of metrics to their labels. For a histogram, it contains the names of its three series.
type metrics map[string][]string

// targetLabels are the labels that Prometheus adds because of the PodMonitor and the ServiceMonitor.
var targetLabels = []string{"namespace", "pod", "container", "job", "instance", "endpoint", "service", "a2a_operator_dev_agent"}

// foreignLabels are the labels of metrics that libraries define. The page lists these metrics without labels.
var foreignLabels = metrics{
	"controller_runtime_reconcile_errors_total": {"controller"},
	"controller_runtime_reconcile_total":        {"controller", "result"},
	"controller_runtime_reconcile_time_seconds": {"controller", "le"},
	"workqueue_depth":                           {"name", "controller"},
	"workqueue_queue_duration_seconds":          {"name", "controller", "le"},
	"rest_client_requests_total":                {"code", "host", "method"},
	"leader_election_master_status":             {"name"},
}

// ofProcess are the metrics that the Prometheus library adds to every Go program.
var ofProcess = metrics{"process_resident_memory_bytes": nil, "process_cpu_seconds_total": nil}

var (
	ownRow     = regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| (gauge|counter|histogram) \\| ([^|]*) \\|")
	foreignRow = regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| [A-Z0-9]")
	quoted     = regexp.MustCompile("`([^`]+)`")
)

// documented reads the metrics of the page, which hack/reference generates from the code.
func documented(t *testing.T) metrics {
	t.Helper()
	text := read(t, page)
	all := maps.Clone(ofProcess)
	for _, row := range ownRow.FindAllStringSubmatch(text, -1) {
		var names []string
		for _, label := range quoted.FindAllStringSubmatch(row[3], -1) {
			names = append(names, label[1])
		}
		all.add(row[1], row[2] == "histogram", names)
	}
	for _, row := range foreignRow.FindAllStringSubmatch(text, -1) {
		if names, ok := foreignLabels[row[1]]; ok {
			all.add(row[1], slices.Contains(names, "le"), names)
		}
	}
	if len(all) < 80 {
		t.Fatalf("%s has %d metrics", page, len(all))
	}
	return all
}

func (m metrics) add(name string, histogram bool, names []string) {
	if !histogram {
		m[name] = names
		return
	}
	m[name+"_bucket"] = append(slices.Clone(names), "le")
	m[name+"_sum"], m[name+"_count"] = names, names
}

// promQL is the parser of Prometheus without experimental syntax.
var promQL = parser.NewParser(parser.Options{})

// check parses an expression and returns an error for each metric and label that does not
// exist.
func (m metrics) check(expression string) error {
	expr, err := promQL.ParseExpr(ofGrafana.Replace(expression))
	if err != nil {
		return fmt.Errorf("%s: %w", expression, err)
	}
	var problems []error
	known := slices.Clone(targetLabels)
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		own, exists := m[selector.Name]
		if !exists {
			problems = append(problems, fmt.Errorf("%s: no metric %q is on %s", expression, selector.Name, page))
		}
		known = append(known, own...)
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name != labels.MetricName && !slices.Contains(own, matcher.Name) && !slices.Contains(targetLabels, matcher.Name) {
				problems = append(problems, fmt.Errorf("%s: %s has no label %q", expression, selector.Name, matcher.Name))
			}
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		var used []string
		switch n := node.(type) {
		case *parser.AggregateExpr:
			used = n.Grouping
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				used = n.VectorMatching.MatchingLabels
			}
		}
		for _, label := range used {
			if !slices.Contains(known, label) {
				problems = append(problems, fmt.Errorf("%s: no metric has the label %q", expression, label))
			}
		}
		return nil
	})
	return errors.Join(problems...)
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, alertsFile)), &file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// ofNoObject are the alerts about the whole cluster. Their summaries name no object.
var ofNoObject = []string{"A2AOperatorAbsent"}

func TestAlertsUseExistingMetrics(t *testing.T) {
	known := documented(t)
	all := alerts(t)
	if len(all) < 12 {
		t.Errorf("%d alerts, want at least 12", len(all))
	}
	for _, a := range all {
		if err := known.check(a.Expr); err != nil {
			t.Errorf("%s: %v", a.Alert, err)
		}
		if s := a.Labels["severity"]; s != "warning" && s != "critical" || len(a.Labels) != 1 {
			t.Errorf("%s has the labels %v, want a severity of warning or critical", a.Alert, a.Labels)
		}
		if a.Annotations["runbook_url"] != runbookURL+a.Alert+".md" {
			t.Errorf("%s has the runbook %s", a.Alert, a.Annotations["runbook_url"])
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
			t.Errorf("%s has no summary or no description", a.Alert)
		}
		if !strings.Contains(a.Annotations["summary"], "$labels.") && !slices.Contains(ofNoObject, a.Alert) {
			t.Errorf("the summary of %s names no object: %s", a.Alert, a.Annotations["summary"])
		}
	}
}

// Each alert has a unit test in which it fires with the labels that its texts use.
func TestAlertsHaveUnitTests(t *testing.T) {
	var file struct {
		Tests []struct {
			Rules []struct {
				Alert    string `json:"alertname"`
				Expected []struct {
					Labels      map[string]string `json:"exp_labels"`
					Annotations map[string]string `json:"exp_annotations"`
				} `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	if err := yaml.Unmarshal([]byte(read(t, testsFile)), &file); err != nil {
		t.Fatal(err)
	}
	fires := map[string]bool{}
	for _, test := range file.Tests {
		for _, r := range test.Rules {
			for _, expected := range r.Expected {
				fires[r.Alert] = len(expected.Annotations) == 3
				for name, text := range expected.Annotations {
					if strings.Contains(text, "<no value>") || strings.Contains(text, "  ") {
						t.Errorf("the %s of %s lacks a value: %s", name, r.Alert, text)
					}
				}
			}
		}
	}
	for _, a := range alerts(t) {
		if !fires[a.Alert] {
			t.Errorf("%s fires in no unit test of %s", a.Alert, testsFile)
		}
		delete(fires, a.Alert)
	}
	for name := range fires {
		t.Errorf("%s tests %s, which is no alert", testsFile, name)
	}
}

// Each alert has a runbook with the expression of the alert, and each runbook an alert.
func TestAlertsHaveRunbooks(t *testing.T) {
	index := read(t, runbooks+"/README.md")
	files, err := filepath.Glob(runbooks + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, file := range files {
		left[strings.TrimSuffix(filepath.Base(file), ".md")] = true
	}
	delete(left, "README")
	for _, a := range alerts(t) {
		text := read(t, runbooks+"/"+a.Alert+".md")
		for _, want := range []string{"# " + a.Alert + "\n", "    " + a.Expr + "\n", "Severity: " + a.Labels["severity"], "## Meaning", "## Impact", "## Diagnosis", "## Cure"} {
			if !strings.Contains(text, want) {
				t.Errorf("the runbook of %s lacks %q", a.Alert, want)
			}
		}
		if !strings.Contains(index, "| ["+a.Alert+"]("+a.Alert+".md) | "+a.Labels["severity"]+" |") {
			t.Errorf("%s/README.md lacks %s", runbooks, a.Alert)
		}
		delete(left, a.Alert)
	}
	for name := range left {
		t.Errorf("%s/%s.md is the runbook of no alert", runbooks, name)
	}
}

var metricName = regexp.MustCompile(`\b(?:a2a_[a-z0-9_]+|gen_ai_[a-z0-9_]+)\b`)

// Pages about monitoring name only metrics that exist.
func TestRunbooksNameExistingMetrics(t *testing.T) {
	known := documented(t)
	files, err := filepath.Glob(runbooks + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, root+"/docs/how-to/monitor.md") {
		for _, name := range metricName.FindAllString(read(t, file), -1) {
			_, exists := known[name]
			_, histogram := known[name+"_count"]
			if !exists && !histogram && name != "a2a_operator_dev_agent" {
				t.Errorf("%s names %s, which is not on %s", file, name, page)
			}
		}
	}
}

type dashboard struct {
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name       string `json:"name"`
			Type       string `json:"type"`
			Definition string `json:"definition"`
			AllValue   string `json:"allValue"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int                        `json:"id"`
	Title       string                     `json:"title"`
	Description string                     `json:"description"`
	Datasource  struct{ Type, UID string } `json:"datasource"`
	GridPos     struct{ X, Y, W, H int }   `json:"gridPos"`
	Targets     []struct {
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
		RefID  string `json:"refId"`
	} `json:"targets"`
}

func loadDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(dashboards)
	if err != nil || len(files) != 4 {
		t.Fatalf("%d dashboards, %v, want 4", len(files), err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		var d dashboard
		if err := json.Unmarshal([]byte(read(t, file)), &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = d
	}
	return all
}

var labelValues = regexp.MustCompile(`^label_values\((.+), ([a-z0-9_]+)\)$`)

func TestDashboardsUseExistingMetrics(t *testing.T) {
	known := documented(t)
	uids := map[string]bool{}
	for file, d := range loadDashboards(t) {
		if d.UID == "" || d.Title == "" || uids[d.UID] {
			t.Errorf("%s has the uid %q and the title %q", file, d.UID, d.Title)
		}
		uids[d.UID] = true
		for _, v := range d.Templating.List {
			if v.Type == "datasource" {
				continue
			}
			query := labelValues.FindStringSubmatch(v.Definition)
			if query == nil {
				t.Errorf("%s: the query of the variable %s is %q", file, v.Name, v.Definition)
				continue
			}
			if err := known.check("group by (" + query[2] + ") (" + query[1] + ")"); err != nil {
				t.Errorf("%s: variable %s: %v", file, v.Name, err)
			}
		}
		if len(d.Panels) < 8 {
			t.Errorf("%s has %d panels", file, len(d.Panels))
		}
		taken := map[[2]int]string{}
		for _, p := range d.Panels {
			if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
				t.Errorf("%s: %s has the data source %q and %d queries", file, p.Title, p.Datasource.UID, len(p.Targets))
			}
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: %s covers %s or leaves the grid", file, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			for _, target := range p.Targets {
				if err := known.check(target.Expr); err != nil {
					t.Errorf("%s: %s: %v", file, p.Title, err)
				}
			}
		}
	}
}

// If a metric is renamed, the page no longer lists the old name, so the checks of all alerts and
// dashboards that use the old name fail.
func TestARenamedMetricFailsTheChecks(t *testing.T) {
	var expressions []string
	for _, a := range alerts(t) {
		expressions = append(expressions, a.Expr)
	}
	for _, d := range loadDashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				expressions = append(expressions, target.Expr)
			}
		}
	}
	known, used := documented(t), 0
	for name := range known {
		without := maps.Clone(known)
		delete(without, name)
		for _, expression := range expressions {
			if regexp.MustCompile(`\b` + name + `\b`).MatchString(expression) {
				used++
				if err := without.check(expression); err == nil {
					t.Errorf("without %s, %s passes", name, expression)
				}
			}
		}
	}
	if used < len(expressions) {
		t.Errorf("%d uses of metrics in %d expressions", used, len(expressions))
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
