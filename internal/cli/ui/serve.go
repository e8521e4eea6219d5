// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"

	"golang.org/x/net/netutil"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/ui"
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
		host: listener.Addr().String(), listener: netutil.LimitListener(listener, maxConnections),
	}, nil
}

// Serve serves the page until ctx ends, and then closes the listener and all connections. It
// returns nil if ctx ended.
func (s *Server) Serve(ctx context.Context) error {
	s.pages = ui.New(ctx, ui.Options{
		Registry: &explained{options: &s.options}, Namespace: s.options.Namespace, Heading: "kubectl a2a", Calls: true,
		Lost:       "kubectl a2a ui does not respond. It may have ended.",
		Viewer:     func(*http.Request) ui.Viewer { return ui.Viewer{Name: s.options.Caller, Base: "/" + s.secret + "/"} },
		MaxViewers: 1, MaxStreams: maxStreams, MaxStreamsPerViewer: maxStreams, Now: s.options.Now,
	})
	defer s.pages.Wait()
	s.pages.Handle("POST /agents/{namespace}/{name}/send", s.send)
	s.pages.Handle("GET /agents/{namespace}/{name}/tasks", s.tasks)
	s.pages.Handle("GET /agents/{namespace}/{name}/tasks/{task}/events", s.taskEvents)
	s.pages.Handle("POST /agents/{namespace}/{name}/tasks/{task}/cancel", s.cancel)
	// The requests end with ctx, so that a shutdown does not wait for streams.
	server := &http.Server{
		Handler: s.guard(), ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stopped := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		defer close(stopped)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if server.Shutdown(end) != nil {
			_ = server.Close()
		}
	})()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return failure.Wrap(failure.Internal, err, "serve the page")
	}
	<-stopped
	return nil
}
