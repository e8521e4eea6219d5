// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

// templates are the pages. The functions clean and clip texts of agents; html/template escapes
// them.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	// line and text are for one line and for several lines.
	"line":  func(limit int, text string) string { return terminal.Line(terminal.Clip(text, limit)) },
	"text":  func(limit int, text string) string { return terminal.Clean(terminal.Clip(text, limit)) },
	"join":  func(all []string) string { return strings.Join(all, ", ") },
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"first": first,
	"isHTTP": func(text string) bool {
		return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
	},
}).ParseFS(files, "page/*.html"))

// first returns at most n values.
func first(n int, all []string) []string { return all[:min(n, len(all))] }

// common are the values of all pages.
type common struct {
	Title string
	// Base begins the links.
	Base string
	// Scope describes which agents are listed, and Caller who sees them.
	Scope, Caller string
	// Problem is why the page is not complete, nil for none.
	Problem *failure.Error
	now     time.Time
}

// Age returns the time since t, such as 5m.
func (c common) Age(t time.Time) string { return duration.HumanDuration(c.now.Sub(t)) }

func (s *Server) common(title string) common {
	scope := "namespace " + s.options.Namespace
	if s.options.Namespace == "" {
		scope = "all namespaces"
	}
	return common{Title: title, Base: "/" + s.secret + "/", Scope: scope, Caller: s.options.Caller, now: s.options.Now()}
}

// render writes a page.
func render(w http.ResponseWriter, status int, name string, data any) {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		http.Error(w, "the page cannot be rendered", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes())
}

// statusOf returns the HTTP status for a failure.
func statusOf(problem *failure.Error) int {
	switch problem.Code {
	case failure.CardNotFound:
		return http.StatusNotFound
	case failure.Usage:
		return http.StatusBadRequest
	default:
		return http.StatusBadGateway
	}
}
