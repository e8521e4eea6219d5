// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReasons(t *testing.T) {
	tests := map[string]struct {
		source string
		want   []table
		fails  string
	}{
		"blocks": {
			source: `
// ConditionA is none.
const ConditionA = "A"

// Reasons of A, beside ReasonLost. They
// are two.
const (
	// ReasonFound (True): it was
	// found, unlike ReasonLost.
	ReasonFound = "Found"
)

// Reasons of B of something.
const (
	// ReasonLost: it is a|b.
	//
	// Action: look for
	// it.
	ReasonLost = "Lost"
)
`,
			want: []table{
				{"A", []string{"reason", "status", "what it means", "what to do"}, [][]string{
					{"`Found`", "True", "It was found, unlike `Lost`.", ""}, {"`Lost`", "False", `It is a\|b.`, "Look for it."},
				}},
				{"B of something", []string{"reason", "status", "what it means", "what to do"}, [][]string{
					{"`Lost`", "False", `It is a\|b.`, "Look for it."},
				}},
			},
		},
		"no block":     {source: "const (\n\t// ReasonA (True): b.\n\tReasonA = \"A\"\n)", fails: "does not begin with"},
		"no comment":   {source: "// Reasons of A.\nconst (\n\tReasonA = \"A\"\n)", fails: "its comment is not"},
		"no action":    {source: "// Reasons of A.\nconst (\n\t// ReasonA: b.\n\tReasonA = \"A\"\n)", fails: "lacks \"Action: ...\""},
		"unknown name": {source: "// Reasons of A, beside ReasonB.\nconst (\n\t// ReasonA (True): b.\n\tReasonA = \"A\"\n)", fails: "ReasonB does not exist"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "reasons.go")
			if err := os.WriteFile(file, []byte("package a\n"+test.source), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readReasons(file)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(table{})); diff != "" {
				t.Errorf("readReasons() (-want +got):\n%s", diff)
			}
			checkError(t, err, test.fails)
		})
	}
}

func TestMetrics(t *testing.T) {
	tests := map[string]struct {
		source string
		want   []metric
		fails  string
	}{
		"all forms": {
			source: `
func f() {
	r.MustRegister(prometheus.NewCounterVec(prometheus.CounterOpts{Name: "a_total", Help: "A."}, []string{"x", "y"}))
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "b", Help: "B.", Buckets: []float64{1}})
	prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "c", Help: "C.", ConstLabels: prometheus.Labels{"z": v()}}, func() float64 { return 1 })
	m.gauge("d", "D.", read)
}

func (m *metrics) gauge(name, help string) { prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}) }
`,
			want: []metric{
				{"a_total", "counter", "A.", []string{"x", "y"}},
				{"b", "histogram", "B.", nil},
				{"c", "gauge", "C.", []string{"z"}},
				{"d", "gauge", "D.", nil},
			},
		},
		"computed name":               {source: `var a = prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "A."})`, fails: "must be literals"},
		"metric without help":         {source: `var a = prometheus.NewGauge(prometheus.GaugeOpts{Name: "a"})`, fails: "must be literals"},
		"options outside of the call": {source: `var a = prometheus.GaugeOpts{Name: "a", Help: "A."}`, fails: "must be a literal in the call"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := metricsOf("a.go", "package a\n"+test.source)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(metric{})); diff != "" {
				t.Errorf("metricsOf() (-want +got):\n%s", diff)
			}
			checkError(t, err, test.fails)
		})
	}
}

func TestFill(t *testing.T) {
	a := table{"a", []string{"one", "two"}, [][]string{{"1", "2"}}}
	const page = "before\n<!-- kind: a -->\nold\n<!-- end -->\nafter\n"
	got, err := fill(page, "kind", []table{a})
	want := "before\n<!-- kind: a -->\n| one | two |\n|---|---|\n| 1 | 2 |\n<!-- end -->\nafter\n"
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("fill() (-want +got):\n%s%v", diff, err)
	}
	_, err = fill(page, "kind", []table{a, {place: "b"}})
	checkError(t, err, `there is no place "<!-- kind: b -->"`)
	_, err = fill(page, "kind", nil)
	checkError(t, err, `there are no kind of "a"`)
}

// TestPagesAreCurrent fails, like make verify, for a reason without an action and for a
// metric that is not on the page.
func TestPagesAreCurrent(t *testing.T) {
	t.Chdir("../..")
	reasons, err := readReasons(reasonFiles...)
	checkError(t, err, "")
	metrics, err := readMetrics("cmd", "controllers", "internal")
	checkError(t, err, "")
	for _, each := range []struct {
		file, kind string
		tables     []table
	}{{"docs/reference/conditions.md", "reasons", reasons}, {"docs/reference/metrics.md", "metrics", metrics}} {
		page, err := os.ReadFile(each.file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := fill(string(page), each.kind, each.tables)
		checkError(t, err, "")
		if diff := cmp.Diff(want, string(page)); diff != "" {
			t.Errorf("%s is not what make generate writes (-want +got):\n%s", each.file, diff)
		}
	}
}

func TestAdviceIsCurrent(t *testing.T) {
	t.Chdir("../..")
	want, err := renderAdvice(reasonFiles...)
	checkError(t, err, "")
	got, err := os.ReadFile(adviceFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what make generate writes (-want +got):\n%s", adviceFile, diff)
	}
}

// checkError fails the test unless the text of the error contains says or, if says is "",
// unless the error is nil.
func checkError(t *testing.T, err error, says string) {
	t.Helper()
	if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want %q", err, says)
	}
}

func TestPageOfTheCLIIsCurrent(t *testing.T) {
	t.Chdir("../..")
	got, err := os.ReadFile(cliFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(renderCLI(), string(got)); diff != "" {
		t.Errorf("%s is not what make generate writes (-want +got):\n%s", cliFile, diff)
	}
}
