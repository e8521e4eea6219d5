// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// The jobs that the ServiceMonitor and the PodMonitor of the chart set.
const (
	jobOfManagers = "a2a-operator"
	jobOfSidecars = "a2a-agents"
)

// query is an expression of an alert or a dashboard.
type query struct {
	name string
	expr string
}

// ofGrafana replaces the variables of Grafana as Grafana does: with allValue for All.
var ofGrafana = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$namespace", ".+", "$agent", ".+")

func queries(t *testing.T) []query {
	t.Helper()
	var all []query
	for _, a := range alerts(t) {
		all = append(all, query{a.Alert, a.Expr})
	}
	for file, d := range loadDashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				all = append(all, query{file + ": " + p.Title, ofGrafana.Replace(target.Expr)})
			}
		}
	}
	return all
}

// selectors returns the selectors of an expression.
func selectors(t *testing.T, expression string) []*parser.VectorSelector {
	t.Helper()
	expr, err := promQL.ParseExpr(expression)
	if err != nil {
		t.Fatal(err)
	}
	var all []*parser.VectorSelector
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			all = append(all, selector)
		}
		return nil
	})
	return all
}

// matcherOf returns the matcher of a label, nil for none.
func matcherOf(selector *parser.VectorSelector, label string) *labels.Matcher {
	i := slices.IndexFunc(selector.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == label })
	if i < 0 {
		return nil
	}
	return selector.LabelMatchers[i]
}

// TestSelectorsNameTheirJob checks that each selector names the job of its metric, so that series of other programs with
// the same names do not count.
func TestSelectorsNameTheirJob(t *testing.T) {
	ofManager := read(t, page)
	_, ofManager, found := strings.Cut(ofManager, "\n## The manager\n")
	if !found {
		t.Fatalf("%s has no section on the manager", page)
	}
	variables := 0
	check := func(where, expression string) {
		for _, selector := range selectors(t, expression) {
			want := jobOfSidecars
			base := selector.Name
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				base = strings.TrimSuffix(base, suffix)
			}
			if strings.Contains(ofManager, "| `"+selector.Name+"` |") || strings.Contains(ofManager, "| `"+base+"` |") {
				want = jobOfManagers
			}
			job := matcherOf(selector, "job")
			if job == nil || job.Type != labels.MatchEqual || job.Value != want {
				t.Errorf("%s: the selector %s does not name the job %q", where, selector, want)
			}
			for _, own := range []string{"controller", "name"} {
				m := matcherOf(selector, own)
				if (strings.HasPrefix(selector.Name, "controller_") && own == "controller" || strings.HasPrefix(selector.Name, "workqueue_") && own == "name") &&
					(m == nil || !m.Matches("a2a-agent") || m.Matches("agent")) {
					t.Errorf("%s: the selector %s does not name the controllers of the operator", where, selector)
				}
			}
		}
	}
	for _, q := range queries(t) {
		check(q.name, q.expr)
	}
	for file, d := range loadDashboards(t) {
		for _, v := range d.Templating.List {
			if v.Type == "datasource" {
				continue
			}
			variables++
			check(file+": variable "+v.Name, ofGrafana.Replace(labelValues.FindStringSubmatch(v.Definition)[1]))
			if v.AllValue != ".+" {
				t.Errorf("%s: the variable %s has the value %q for all; only .+ requires the label", file, v.Name, v.AllValue)
			}
		}
	}
	if variables < 6 {
		t.Errorf("%d variables", variables)
	}
}

// TestPanelsHaveNamespaceAndDescription checks that each query of a panel respects $namespace, and that each line for an
// agent or pod is one of a bounded number.
func TestPanelsHaveNamespaceAndDescription(t *testing.T) {
	for file, d := range loadDashboards(t) {
		for _, p := range d.Panels {
			if p.Description == "" {
				t.Errorf("%s: %s has no description", file, p.Title)
			}
			for _, target := range p.Targets {
				for _, selector := range selectors(t, ofGrafana.Replace(target.Expr)) {
					if matcherOf(selector, "namespace") == nil {
						t.Errorf("%s: %s: the selector %s ignores $namespace", file, p.Title, selector)
					}
				}
				many := strings.Contains(target.Legend, "{{pod}}") || strings.Contains(target.Legend, "{{namespace}}/{{name}}") ||
					strings.Contains(target.Legend, "{{a2a_operator_dev_agent}}") || strings.Contains(target.Legend, "{{peer}}")
				if many && !strings.HasPrefix(target.Expr, "topk(") {
					t.Errorf("%s: %s has one line for each of many objects: %s", file, p.Title, target.Expr)
				}
			}
		}
	}
}

// others are labels that scrapes of other operators add: kagent, whose controller of Agents has the default name
// "agent", cert-manager, knative, a program that no Prometheus operator scrapes, and another controller of this kind.
var others = []labels.Labels{
	labels.FromStrings("job", "kagent-controller", "namespace", "kagent"),
	labels.FromStrings("job", "cert-manager", "namespace", "cert-manager"),
	labels.FromStrings("job", "knative-serving/controller", "namespace", "knative-serving"),
	labels.FromStrings("namespace", "bare"),
	labels.FromStrings("job", "agents-of-others", "namespace", "team"),
}

// foreign returns series that match a selector in everything but the job.
func foreign(selector *parser.VectorSelector, of labels.Labels) string {
	b := labels.NewBuilder(of)
	b.Set(labels.MetricName, selector.Name)
	for _, m := range selector.LabelMatchers {
		if m.Name == "job" || m.Name == "namespace" || m.Name == labels.MetricName {
			continue
		}
		for _, value := range []string{m.Value, strings.Split(m.Value, "|")[0], "x", "False"} {
			if m.Matches(value) && value != "" {
				b.Set(m.Name, value)
				break
			}
		}
	}
	for _, name := range []string{"name", "controller"} {
		if b.Get(name) == "" {
			b.Set(name, "agent")
		}
	}
	if b.Get("a2a_operator_dev_agent") == "" {
		b.Set("a2a_operator_dev_agent", "echo")
	}
	if strings.HasSuffix(selector.Name, "_bucket") {
		b.Set("le", "+Inf")
	}
	return b.Labels().String()
}

// TestSeriesOfOthersCountNowhere evaluates all alerts and panels in a Prometheus with the series of other operators: no
// alert fires, and no panel shows anything. As a check of the test, the same series with our jobs fire alerts and fill panels.
func TestSeriesOfOthersCountNowhere(t *testing.T) {
	all := queries(t)
	load := func(jobs bool) string {
		series := map[string]bool{}
		for _, q := range all {
			for _, selector := range selectors(t, q.expr) {
				for _, of := range others {
					if jobs {
						of = labels.NewBuilder(of).Set("job", matcherOf(selector, "job").Value).Labels()
					}
					series[foreign(selector, of)] = true
				}
			}
		}
		var text strings.Builder
		text.WriteString("load 1m\n")
		for s := range series {
			fmt.Fprintf(&text, "  %s 1+200x60\n", s)
		}
		return text.String()
	}
	evaluate := func(jobs bool) map[string]promql.Vector {
		storage := promqltest.LoadedStorage(t, load(jobs))
		engine := promqltest.NewTestEngine(t, false, 0, 50_000_000)
		results := map[string]promql.Vector{}
		for _, q := range all {
			query, err := engine.NewInstantQuery(t.Context(), storage, nil, q.expr, time.Unix(0, 0).Add(30*time.Minute))
			if err != nil {
				t.Fatalf("%s: %v", q.name, err)
			}
			result := query.Exec(t.Context())
			vector, err := result.Vector()
			if err != nil {
				t.Fatalf("%s: %v", q.name, err)
			}
			for _, sample := range vector {
				if sample.F != 0 {
					results[q.name] = append(results[q.name], promql.Sample{T: sample.T, F: sample.F, Metric: sample.Metric.Copy()})
				}
			}
			query.Close()
		}
		return results
	}
	for name, result := range evaluate(false) {
		if name != "A2AOperatorAbsent" {
			t.Errorf("%s counts series of others: %v", name, result)
		}
	}
	if got := len(evaluate(true)); got < len(all)/2 {
		t.Errorf("with our jobs, %d of %d expressions have a result, so the test shows nothing", got, len(all))
	}
}
