// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// metric is a row of a table of metrics.
type metric struct {
	name, kind, help string
	labels           []string
}

func (m metric) row() []string {
	labels := make([]string, len(m.labels))
	for i, label := range m.labels {
		labels[i] = "`" + label + "`"
	}
	return []string{"`" + m.name + "`", m.kind, strings.Join(labels, ", "), cell(linked(m.help))}
}

// pageURL matches the URL of a page of this project.
var pageURL = regexp.MustCompile(`https://github\.com/a2a-operator/a2a-operator/blob/main/docs/([a-z-]+)/([a-z-]+\.md)`)

// linked returns a help text for the page with the metrics, in which URLs of other pages are relative links.
func linked(help string) string {
	return pageURL.ReplaceAllStringFunc(help, func(url string) string {
		found := pageURL.FindStringSubmatch(url)
		if found[1] == "reference" {
			return "[" + found[2] + "](" + found[2] + ")"
		}
		return "[" + found[2] + "](../" + found[1] + "/" + found[2] + ")"
	})
}

// readMetrics returns a table for each package that declares metrics.
func readMetrics(roots ...string) ([]table, error) {
	declared := map[string][]metric{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			found, err := metricsOf(path, nil)
			dir := filepath.Dir(path)
			declared[dir] = append(declared[dir], found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var tables []table
	for dir, metrics := range declared {
		t := table{place: dir, header: []string{"metric", "type", "labels", "meaning"}}
		slices.SortStableFunc(metrics, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
		for i, m := range metrics {
			if i > 0 && m.name == metrics[i-1].name {
				if m.help != metrics[i-1].help {
					return nil, fmt.Errorf("%s: %s is declared twice, with different texts", dir, m.name)
				}
				continue
			}
			t.rows = append(t.rows, m.row())
		}
		if len(t.rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// byName is the name, in any case, of the functions whose calls declare a metric by its name and help text.
const byName = "gauge"

// metricsOf returns the metrics that a file declares by options of the Prometheus
// library, by descriptions (prometheus.NewDesc), which are gauges, and by calls of the
// function gauge or Gauge. It returns an error for a declaration
// that it cannot read.
func metricsOf(path string, source any) ([]metric, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var metrics []metric
	var failed error
	fail := func(at ast.Node, what string) bool {
		failed = cmp.Or(failed, fmt.Errorf("%s: %s", files.Position(at.Pos()), what))
		return false
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncDecl:
			return !strings.EqualFold(n.Name.Name, byName)
		case *ast.CallExpr:
			m, is := declaration(n)
			switch {
			case !is:
				return true
			case m.name == "" || m.help == "":
				return fail(n, "name and help of a metric must be literals")
			}
			metrics = append(metrics, m)
			return false
		case *ast.CompositeLit:
			if optionsOf(n) != "" {
				return fail(n, "options of a metric must be a literal in the call that creates it")
			}
		}
		return failed == nil
	})
	return metrics, failed
}

// declaration returns the metric that a call creates. is reports whether the call creates a metric.
func declaration(call *ast.CallExpr) (m metric, is bool) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return metric{}, false
	}
	if strings.EqualFold(selector.Sel.Name, byName) && len(call.Args) == 3 {
		return metric{name: literal(call.Args[0]), kind: "gauge", help: literal(call.Args[1])}, true
	}
	if selector.Sel.Name == "NewDesc" && len(call.Args) == 4 {
		return metric{name: literal(call.Args[0]), kind: "gauge", help: literal(call.Args[1]), labels: literals(call.Args[2])}, true
	}
	options, ok := call.Args[0].(*ast.CompositeLit)
	if !ok || optionsOf(options) == "" {
		return metric{}, false
	}
	m = configured(options)
	if len(call.Args) > 1 {
		m.labels = append(m.labels, literals(call.Args[1])...)
	}
	return m, true
}

// configured returns the metric that options describe.
func configured(options *ast.CompositeLit) metric {
	m := metric{kind: optionsOf(options)}
	for _, element := range options.Elts {
		pair := element.(*ast.KeyValueExpr)
		switch pair.Key.(*ast.Ident).Name {
		case "Name":
			m.name = literal(pair.Value)
		case "Help":
			m.help = literal(pair.Value)
		case "ConstLabels":
			for _, label := range pair.Value.(*ast.CompositeLit).Elts {
				m.labels = append(m.labels, literal(label.(*ast.KeyValueExpr).Key))
			}
		}
	}
	return m
}

// optionsOf returns the kind of metric that options configure, such as gauge for
// prometheus.GaugeOpts, and "" for other literals.
func optionsOf(options *ast.CompositeLit) string {
	selector, ok := options.Type.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if library, ok := selector.X.(*ast.Ident); !ok || library.Name != "prometheus" {
		return ""
	}
	kind, ok := strings.CutSuffix(selector.Sel.Name, "Opts")
	if !ok {
		return ""
	}
	return strings.ToLower(kind)
}

// literals returns the texts of a list, nil for other expressions.
func literals(e ast.Expr) (texts []string) {
	if list, ok := e.(*ast.CompositeLit); ok {
		for _, element := range list.Elts {
			texts = append(texts, literal(element))
		}
	}
	return texts
}

func literal(e ast.Expr) string {
	basic, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	text, err := strconv.Unquote(basic.Value)
	if err != nil {
		return ""
	}
	return text
}
