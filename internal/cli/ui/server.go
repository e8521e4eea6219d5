// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ui is the web page of `kubectl a2a ui`: it lists agents with their health, shows changes
// as they happen, describes each agent, and sends it messages. The page is HTML from templates, with a script and a
// stylesheet of its own; the browser gets no token and sends no request to another host.
//
// The server listens on the loopback interface, where all programs and users of the machine and all
// web pages in the browser reach it. So its paths begin with a secret, which the browser gets once
// for a code that is printed (access.go).
package ui

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/registryclient"
)

const (
	// maxConnections bounds the connections of browsers.
	maxConnections = 64
	// maxWatchers bounds the open pages that get changes.
	maxWatchers = 32
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 32 << 10
	// readTimeout bounds the read of a request, and writeTimeout each write of a stream.
	readTimeout, writeTimeout = 30 * time.Second, 10 * time.Second
	// shutdownTimeout bounds the end of open requests.
	shutdownTimeout = 2 * time.Second
)

//go:embed page/*.html static/*
var files embed.FS

// Options configure a Server.
type Options struct {
	// Registry lists the agents. Required.
	Registry *registryclient.Client
	// Namespace is the namespace whose agents are listed, "" for all.
	Namespace string
	// Caller names the ServiceAccount whose agents are listed. Required.
	Caller string
	// Object reads an Agent from the API server. Required.
	Object func(ctx context.Context, namespace, name string) (*a2av1alpha1.Agent, error)
	// Connect returns a client for an agent, and a function that ends its connections. Required.
	Connect func(ctx context.Context, namespace, name string) (*a2aclient.Client, func(), error)
	// Now returns the time. Required.
	Now func() time.Time
}

// Server serves the page. It is safe for concurrent use.
type Server struct {
	options Options
	changes *changes
	// calls has a value for each call to an agent.
	calls chan struct{}
	// code opens the page once, and secret begins all other paths.
	code, secret string
	opening      sync.Mutex
	opened       bool
	// host is the address of the listener, which requests name.
	host     string
	listener net.Listener
}

// Listen returns a server on a port of the loopback interface, 0 for any free port. Serve serves
// the page.
func Listen(ctx context.Context, port string, options Options) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, failure.Wrap(failure.Usage, err, "listen on --port %s", port).WithHint("--port 0 takes a free port")
	}
	return &Server{
		options: options, changes: newChanges(), calls: make(chan struct{}, maxCalls), code: rand.Text(), secret: rand.Text(),
		host: listener.Addr().String(), listener: netutil.LimitListener(listener, maxConnections),
	}, nil
}

// Address returns the URL that opens the page. It works once.
func (s *Server) Address() string { return "http://" + s.host + "/open/" + s.code }

// Serve serves the page until ctx ends, and then closes the listener and all connections. It
// returns nil when ctx ended it.
func (s *Server) Serve(ctx context.Context) error {
	// The requests end with ctx, so that a shutdown does not wait for streams.
	server := &http.Server{
		Handler: s.guard(), ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	watching := sync.WaitGroup{}
	watching.Go(func() { s.changes.follow(ctx, s.options.Registry, s.options.Namespace) })
	defer watching.Wait()
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

// pages returns the handler of the paths behind the secret.
func (s *Server) pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /agents/{namespace}/{name}", s.agent)
	mux.HandleFunc("GET /agents/{namespace}/{name}/card", s.card)
	mux.HandleFunc("POST /agents/{namespace}/{name}/send", s.send)
	mux.HandleFunc("POST /agents/{namespace}/{name}/tasks/{task}/cancel", s.cancel)
	mux.HandleFunc("GET /changes", s.streamChanges)
	mux.Handle("GET /static/", http.FileServerFS(files))
	return mux
}
