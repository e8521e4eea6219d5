// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ui contains the web pages that list agents with their health, show changes as they happen, and
// describe each agent. `kubectl a2a ui` serves the pages on the loopback interface. The manager serves them
// to people who have signed in. The pages are HTML from templates, with their own scripts and stylesheet.
// They load nothing from another host.
//
// The package authenticates no caller. The server of the pages authenticates callers, and describes the
// reader of a request as a Viewer. The Registry of the Options decides which agents a reader sees.
//
//	pages    options, routes, security headers
//	render   templates, and what all pages have
//	list     the list of agents
//	code     lines that call an agent from a shell and from programs
//	agent    the page of an agent, and its cards
//	changes  streams of changes
package ui

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/registryapi"
)

//go:embed page/*.html static/*
var files embed.FS

// policy is the Content-Security-Policy of each response. A page runs only its own scripts, and loads
// nothing from another host. Images of agents are data URLs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types page"

// SetSecurityHeaders sets the security headers of a response: pages run only their own scripts, must not be
// shown in a frame, and are not stored.
func SetSecurityHeaders(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// Registry lists the agents that the reader of a page sees. If the result depends on the reader, the server
// puts the reader into the context.
type Registry interface {
	// Search returns one page of the agents that match the query.
	Search(ctx context.Context, q registryapi.Query) (*registryapi.Page, error)
	// Agent returns an agent.
	Agent(ctx context.Context, namespace, name string) (*registryapi.Agent, error)
	// Card returns the text of a card: the card of A2A 1.0 for the version "1.0", or the union card for "".
	Card(ctx context.Context, namespace, name, version string) ([]byte, error)
	// Watch calls each for the changes of agents after the event lastID. If lastID is "", it first calls
	// each for all agents. It returns nil when the registry ends the watch.
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

// problemOf returns the PageError in an error. For any other error, it returns a general PageError and
// hides the text of the error.
func problemOf(err error) *PageError {
	problem, ok := errors.AsType[*PageError](err)
	if !ok {
		problem = &PageError{Message: "the server of this page failed", Hint: "its log has the reason"}
	}
	if problem.Status == 0 {
		problem.Status = http.StatusBadGateway
	}
	return problem
}

// Viewer is the reader of a page.
type Viewer struct {
	// Name is the name of the reader that the pages show, such as "ServiceAccount team/default".
	Name string
	// Key is equal for readers that see the same agents. Readers with the same Key share a watch of the
	// registry.
	Key string
	// Base is the path with which all links begin. It begins and ends with a slash.
	Base string
}

// Options configure Pages.
type Options struct {
	// Registry lists the agents. It returns PageErrors. Required.
	Registry Registry
	// Viewer returns the reader of a request. Required.
	Viewer func(r *http.Request) Viewer
	// Namespace is the namespace whose agents are listed; "" means all namespaces.
	Namespace string
	// Heading is the title of the site. Required.
	Heading string
	// Lost is the text that a page shows when its server does not respond. Required.
	Lost string
	// Calls is true if the server has handlers that call agents.
	Calls bool
	// SignOut is the path, relative to the base, of the form that ends the session; "" for none.
	SignOut string
	// MaxViewers bounds the watches of the registry, MaxStreams the open pages that receive changes, and
	// MaxStreamsPerViewer the open pages of the readers with one Key. Required.
	MaxViewers, MaxStreams, MaxStreamsPerViewer int
	// Now returns the time. Required.
	Now func() time.Time
}

// Pages serves the pages. It is safe for concurrent use.
type Pages struct {
	options Options
	mux     *http.ServeMux
	changes *changes
}

// New returns Pages. When ctx ends, their watches of the registry end; Wait waits for this.
func New(ctx context.Context, options Options) *Pages {
	p := &Pages{options: options, mux: http.NewServeMux(), changes: newChanges(ctx, options)}
	p.mux.HandleFunc("GET /{$}", p.list)
	p.mux.HandleFunc("GET /agents/{namespace}/{name}", p.agent)
	p.mux.HandleFunc("GET /agents/{namespace}/{name}/card", p.card)
	p.mux.HandleFunc("GET /changes", p.streamChanges)
	p.mux.Handle("GET /static/", http.FileServerFS(files))
	return p
}

// Handle adds a handler for a pattern of http.ServeMux. Call it before the first request.
func (p *Pages) Handle(pattern string, handler http.HandlerFunc) { p.mux.HandleFunc(pattern, handler) }

// ServeHTTP serves a request whose path does not contain the base of the Viewer.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Static returns the handler of the scripts, the stylesheet and the icon, below /static/. They contain no
// data of the cluster.
func Static() http.Handler { return http.FileServerFS(files) }

// Wait waits until the watches of the registry have ended.
func (p *Pages) Wait() { p.changes.running.Wait() }
