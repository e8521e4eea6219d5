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

	"github.com/a2a-operator/a2a-operator/internal/safetext"
)

// templates are the pages. The functions clean and clip texts of agents; html/template escapes
// them.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	// line and text are for one line and for several lines.
	"line":  func(limit int, text string) string { return safetext.Line(safetext.Clip(text, limit)) },
	"text":  func(limit int, text string) string { return safetext.Clean(safetext.Clip(text, limit)) },
	"join":  func(all []string) string { return strings.Join(all, ", ") },
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"first": first,
	"isHTTP": func(text string) bool {
		return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
	},
}).ParseFS(files, "page/*.html"))

// first returns at most n values.
func first(n int, all []string) []string { return all[:min(n, len(all))] }

// Layout has the values of all pages.
type Layout struct {
	Title   string
	Heading string
	// Base begins the links.
	Base string
	// Scope describes which agents are listed, and Caller who sees them, "" for a page without a reader.
	Scope, Caller string
	// Lost is the text for a server that does not respond, and SignOut the path of the form that ends the
	// session, "" for none.
	Lost, SignOut string
	// Calls is true if the page calls agents.
	Calls bool
	// Problem is why the page is not complete, nil for none.
	Problem *PageError
	now     time.Time
}

// Age returns the time since t, such as 5m.
func (l *Layout) Age(t time.Time) string { return duration.HumanDuration(l.now.Sub(t)) }

// Layout returns the values for a page with a title.
func (p *Pages) Layout(r *http.Request, title string) Layout {
	scope := "namespace " + p.options.Namespace
	if p.options.Namespace == "" {
		scope = "all namespaces"
	}
	viewer := p.options.Viewer(r)
	return Layout{
		Title: title, Heading: p.options.Heading, Base: viewer.Base, Scope: scope, Caller: viewer.Name, Lost: p.options.Lost,
		SignOut: p.options.SignOut, Calls: p.options.Calls, now: p.options.Now(),
	}
}

// IsFragment reports whether a script asks for a part of a page.
func IsFragment(r *http.Request) bool { return r.Header.Get("Fragment") != "" }

// Fail responds with a page that has only an error.
func (*Pages) Fail(w http.ResponseWriter, r *http.Request, page Layout, err error) {
	page.Problem = problemOf(err)
	name := "problem.html"
	if IsFragment(r) {
		name = "problem"
	}
	Render(w, page.Problem.Status, name, &page)
}

// Render writes a template of this package. Data has a Layout.
func Render(w http.ResponseWriter, status int, name string, data any) {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		http.Error(w, "the page cannot be rendered", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes())
}

// Message is a page without a reader: a text and a link.
type Message struct {
	Layout
	Text, Link, Label string
}

// RenderMessage writes a Message.
func RenderMessage(w http.ResponseWriter, status int, m Message) {
	Render(w, status, "message.html", &m)
}
