// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

// Registry is the source of the agents that the reader of a page sees. If the result depends on the reader, the server
// of the pages puts the reader into the context.
type Registry interface {
	// Search returns one page of the agents that match the query.
	Search(ctx context.Context, q registryapi.Query) (*registryapi.PageOf[Listed], error)
	// Agent returns an agent.
	Agent(ctx context.Context, namespace, name string) (*registryapi.Agent, error)
	// Card returns the text of a card: the card of A2A 1.0 for the version "1.0", or the union card for "".
	Card(ctx context.Context, namespace, name, version string) ([]byte, error)
	// Watch calls the function each for the changes of agents after the event lastID. If lastID is "", it first calls each
	// for all agents. Of an agent, an event has only the namespace and the name. Watch returns nil when the registry ends the watch.
	// An error of each ends the watch.
	Watch(ctx context.Context, q registryapi.Query, lastID string, each func(registryapi.Event) error) error
	// Conditions returns the conditions of an Agent object.
	Conditions(ctx context.Context, namespace, name string) ([]metav1.Condition, error)
}

// PageError is an error for the reader of a page.
type PageError struct {
	// Status is the HTTP status of the page, 502 if it is 0.
	Status int
	// Message says what failed. Hint says what the reader can do, "" for nothing.
	Message, Hint string
}

// Error returns the message.
func (p *PageError) Error() string { return p.Message }

// problemOf returns the PageError in err or, if err has none, the result of Explain. If Explain is nil, it returns a
// PageError that does not contain the text of err.
func (o *Options) problemOf(err error) *PageError {
	problem, ok := errors.AsType[*PageError](err)
	switch {
	case ok:
	case o.Explain != nil:
		problem = o.Explain(err)
	default:
		problem = &PageError{Message: "the server of this page failed", Hint: "its log has the reason"}
	}
	if problem.Status == 0 {
		problem.Status = http.StatusBadGateway
	}
	return problem
}

// Viewer is the reader of a page.
type Viewer struct {
	// Name is the name of the reader as the pages show it, such as "ServiceAccount team/default".
	Name string
	// Key is the same for readers that see the same agents. Readers with the same Key share one watch of the registry.
	Key string
	// Base is the path at which all links of the pages begin. It begins and ends with a slash.
	Base string
}

// Options configure Pages.
type Options struct {
	// Registry lists the agents. Required.
	Registry Registry
	// Explain returns the PageError for an error of Registry that is not a PageError. It may be nil
	// if Registry returns only PageErrors.
	Explain func(error) *PageError
	// Viewer returns the reader of a request. Required.
	Viewer func(r *http.Request) Viewer
	// Namespace is the namespace whose agents are listed; "" means all namespaces.
	Namespace string
	// Heading is the title of the site. Required.
	Heading string
	// Lost is the text that a page shows in the browser while the server does not respond.
	// Required.
	Lost string
	// CallsAs describes the identity with which the server calls agents, such as "ServiceAccount default". It is "" if the
	// server has no handlers that call agents.
	CallsAs string
	// SignOut is the path, relative to the base, that ends the session; "" for none.
	SignOut string
	// MaxViewers bounds the watches of the registry, which are one for each Viewer.Key. MaxStreams, which is no less, bounds all open
	// pages that receive changes, and MaxStreamsPerViewer those of one Key. Required.
	MaxViewers, MaxStreams, MaxStreamsPerViewer int
	// Now returns the time. Required.
	Now func() time.Time
}

//go:embed page/*.html static/*
var files embed.FS

// templates are the templates of the pages. The functions line and text clip the texts of agents,
// and replace characters that are unsafe to display. html/template then escapes the texts for HTML.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	// line returns a text on one line, and text may return several lines.
	"line":  func(limit int, text string) string { return safetext.Line(safetext.Clip(text, limit)) },
	"text":  func(limit int, text string) string { return safetext.Clean(safetext.Clip(text, limit)) },
	"join":  func(all []string) string { return strings.Join(all, ", ") },
	"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"first": first,
	"rest":  rest,
	"isHTTP": func(text string) bool {
		return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
	},
}).ParseFS(files, "page/*.html"))

// first returns the first n values, or all if there are fewer.
func first(n int, all reflect.Value) reflect.Value { return all.Slice(0, min(n, all.Len())) }

// rest returns the values after the first n.
func rest(n int, all reflect.Value) reflect.Value { return all.Slice(min(n, all.Len()), all.Len()) }

// Layout contains the values that all pages show.
type Layout struct {
	Title   string
	Heading string
	// Base is Viewer.Base.
	Base string
	// Scope describes which agents the pages list. Caller is the name of the reader, "" for a page
	// without a reader.
	Scope, Caller string
	// Lost and SignOut are the values of the Options.
	Lost, SignOut string
	// CallsAs is Options.CallsAs.
	CallsAs string
	// Problem is the reason why the page is incomplete, nil for none.
	Problem *PageError
	now     time.Time
}

// Age returns the time since t, such as 5m. The script of the page has the same function.
func (l *Layout) Age(t time.Time) string {
	age := max(0, l.now.Sub(t))
	switch {
	case age < 2*time.Minute:
		return fmt.Sprintf("%ds", age/time.Second)
	case age < 2*time.Hour:
		return fmt.Sprintf("%dm", age/time.Minute)
	case age < 48*time.Hour:
		return fmt.Sprintf("%dh", age/time.Hour)
	default:
		return fmt.Sprintf("%dd", age/(24*time.Hour))
	}
}

// site serves the list of agents, the pages of single agents and their cards. Pages embeds it.
type site struct{ options Options }

// Layout returns the layout of a page with a title.
func (s *site) Layout(r *http.Request, title string) Layout {
	scope := "namespace " + s.options.Namespace
	if s.options.Namespace == "" {
		scope = "all namespaces"
	}
	viewer := s.options.Viewer(r)
	return Layout{
		Title: title, Heading: s.options.Heading, Base: viewer.Base, Scope: scope, Caller: viewer.Name, Lost: s.options.Lost,
		SignOut: s.options.SignOut, CallsAs: s.options.CallsAs, now: s.options.Now(),
	}
}

// IsFragment reports whether the request is from a script of a page and asks for only a part of the
// page.
func IsFragment(r *http.Request) bool { return r.Header.Get("Fragment") != "" }

// Fail responds with a page that shows only an error.
func (s *site) Fail(w http.ResponseWriter, r *http.Request, page Layout, err error) {
	page.Problem = s.options.problemOf(err)
	name := "problem.html"
	if IsFragment(r) {
		name = "problem"
	}
	Render(w, page.Problem.Status, name, &page)
}

// Render writes a template of this package as the response. The data must embed a Layout.
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

// Message is a page with a text and a link. It can be shown to people who are not signed in.
type Message struct {
	Layout
	Text, Link, Label string
}

// RenderMessage writes a Message.
func RenderMessage(w http.ResponseWriter, status int, m Message) {
	Render(w, status, "message.html", &m)
}
