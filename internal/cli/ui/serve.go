// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/httpserver"
	"github.com/a2a-operator/a2a-operator/internal/web/ui"
)

// Listen returns a server on a port of the loopback interface, 0 for any free port. Serve serves
// the page.
func Listen(ctx context.Context, port string, options Options) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, failure.Wrap(failure.Usage, err, "listen on --port %s", port).WithHint("--port 0 selects a free port")
	}
	return &Server{
		options: options, calls: make(chan struct{}, maxCalls), code: rand.Text(), secret: rand.Text(),
		host: listener.Addr().String(), listener: listener,
	}, nil
}

// Serve serves the page until ctx ends, and then closes the listener and all connections. It
// returns nil if ctx ended.
func (s *Server) Serve(ctx context.Context) error {
	s.pages = ui.New(ctx, ui.Options{
		Registry: &reader{s.options.Registry, &s.options}, Explain: problemOf, Namespace: s.options.Namespace, Heading: "kubectl a2a", CallsAs: s.options.CallsAs,
		Lost:       "kubectl a2a ui does not respond. It may have ended.",
		Viewer:     func(*http.Request) ui.Viewer { return ui.Viewer{Name: s.options.Caller, Base: "/" + s.secret + "/"} },
		MaxViewers: 1, MaxStreams: maxStreams, MaxStreamsPerViewer: maxStreams, Now: s.options.Now,
	})
	defer s.pages.Wait()
	s.pages.Handle("POST /agents/{namespace}/{name}/send", s.send)
	s.pages.Handle("GET /agents/{namespace}/{name}/tasks", s.tasks)
	s.pages.Handle("GET /agents/{namespace}/{name}/tasks/{task}/events", s.taskEvents)
	s.pages.Handle("POST /agents/{namespace}/{name}/tasks/{task}/cancel", s.cancel)
	server := httpserver.New(httpserver.Options{Name: "page", Handler: s.guard(), Memory: connectionMemory, HeaderBytes: maxHeader, ReadTimeout: readTimeout})
	// The requests end with ctx, so that a shutdown does not wait for streams.
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	if err := server.Run(ctx, s.listener, shutdownTimeout); err != nil {
		return failure.Wrap(failure.Internal, err, "serve the page")
	}
	return nil
}

// guard returns the handler of all requests. It refuses requests with another host (DNS rebinding), cross-origin
// requests that change state, and paths without the secret.
func (s *Server) guard() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /open/{code}", s.open)
	mux.Handle("/{secret}/", s.authorize(s.pages))
	protected := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ui.SetSecurityHeaders(w.Header())
		if r.Host != s.host && r.Host != strings.Replace(s.host, "127.0.0.1", "localhost", 1) {
			http.Error(w, "the Host header does not name this server: open the address that kubectl a2a ui printed", http.StatusMisdirectedRequest)
			return
		}
		protected.ServeHTTP(w, r)
	})
}

// authorize passes requests whose path begins with the secret to next, without the secret in the path.
func (s *Server) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret := r.PathValue("secret")
		if subtle.ConstantTimeCompare([]byte(secret), []byte(s.secret)) != 1 {
			http.NotFound(w, r)
			return
		}
		http.StripPrefix("/"+secret, next).ServeHTTP(w, r)
	})
}

// open redirects the first request with the code to the page, and refuses all later ones. Other users of the machine
// may see the code in the command line of the browser. They do not see the secret.
func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	s.opening.Lock()
	defer s.opening.Unlock()
	switch {
	case subtle.ConstantTimeCompare([]byte(r.PathValue("code")), []byte(s.code)) != 1:
		http.NotFound(w, r)
	case s.opened:
		http.Error(w, "This address works once, and was opened already. If that was not you, end kubectl a2a ui with Ctrl-C. Start it again for a new address.", http.StatusGone)
	default:
		s.opened = true
		http.Redirect(w, r, "/"+s.secret+"/", http.StatusSeeOther)
	}
}
