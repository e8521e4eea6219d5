// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ui contains the web pages that list agents with their health, show changes as they happen, and
// describe each agent. `kubectl a2a ui` serves the pages on the loopback interface. The manager serves them
// to people who have signed in. The pages are HTML from templates, with scripts and a stylesheet of this
// package. They load nothing from another host.
//
// The package authenticates no caller. Instead, the server of the pages authenticates the reader of each
// request, and describes the reader as a Viewer. The Registry of the Options decides which agents a reader
// sees.
//
//	site     options of a server of the pages, the templates, and what all pages share
//	code     lines that call an agent from a shell and from programs
//	agents   the list of agents, the page of an agent, and its cards
//	listed   an agent of the list
//	rows     the rows of the list that the browser does not have yet
//	changes  streams of changes
//	pages    routes, security headers
package ui

import (
	"context"
	"net/http"
)

// policy is the Content-Security-Policy of each response. A page runs only its own scripts, and loads
// nothing from another host. Images of agents are data URLs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types page"

// SetSecurityHeaders sets the security headers of a response: the browser runs only scripts of the pages,
// shows the response in no frame, and does not store it.
func SetSecurityHeaders(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
}

// Pages is the HTTP handler of the pages. It is safe for concurrent use.
type Pages struct {
	site

	mux     *http.ServeMux
	changes *changes
}

// New returns Pages that watch the registry until ctx ends. Wait waits for the end of the watches.
func New(ctx context.Context, options Options) *Pages {
	p := &Pages{site: site{options}, mux: http.NewServeMux(), changes: newChanges(ctx, options)}
	p.mux.HandleFunc("GET /{$}", p.list)
	p.mux.HandleFunc("GET /agents/{namespace}/{name}", p.agent)
	p.mux.HandleFunc("GET /agents/{namespace}/{name}/card", p.card)
	p.mux.HandleFunc("GET /changes", p.changes.stream)
	p.mux.Handle("GET /static/", http.FileServerFS(files))
	return p
}

// Handle adds a handler for a pattern of http.ServeMux. Call it before the first request.
func (p *Pages) Handle(pattern string, handler http.HandlerFunc) { p.mux.HandleFunc(pattern, handler) }

// ServeHTTP serves a request. The server must have removed Viewer.Base from the path of the request.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Static returns the handler of the scripts, the stylesheet and the icon, at the paths below /static/.
// These files contain no data of the cluster.
func Static() http.Handler { return http.FileServerFS(files) }

// Wait waits until the watches of the registry have ended.
func (p *Pages) Wait() { p.changes.running.Wait() }
