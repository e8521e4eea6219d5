// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ui serves the pages of internal/ui for `kubectl a2a ui`, and calls agents for them: it sends
// messages, lists tasks and follows them. The browser gets no token.
//
// The server listens on the loopback interface, where all programs and users of the machine and all
// web pages in the browser reach it. So its paths begin with a secret, which the browser gets once
// for a code that is printed.
//
//	updates  events of an agent -> lines for the script
//	send     messages and cancellations
//	tasks    the tasks of an agent and their events
//	access   who may send requests
//	server   the listener
package ui

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/registryapi"
	"github.com/a2a-operator/a2a-operator/internal/ui"
)

const (
	// maxConnections bounds the connections of browsers.
	maxConnections = 64
	// maxStreams bounds the open pages that get changes.
	maxStreams = 32
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 32 << 10
	// readTimeout bounds the read of a request, and writeTimeout each write of a stream.
	readTimeout, writeTimeout = 30 * time.Second, 10 * time.Second
	// shutdownTimeout bounds the end of open requests.
	shutdownTimeout = 2 * time.Second
)

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
	pages   *ui.Pages
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
		options: options, calls: make(chan struct{}, maxCalls), code: rand.Text(), secret: rand.Text(),
		host: listener.Addr().String(), listener: netutil.LimitListener(listener, maxConnections),
	}, nil
}

// Address returns the URL that opens the page. It works once.
func (s *Server) Address() string { return "http://" + s.host + "/open/" + s.code }

// Serve serves the page until ctx ends, and then closes the listener and all connections. It
// returns nil when ctx ended it.
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

// explained is the registry of the pages, with failures for their reader.
type explained struct{ options *Options }

func (r *explained) Search(ctx context.Context, q registryapi.Query) (*registryapi.Page, error) {
	page, err := r.options.Registry.Search(ctx, q)
	return page, explain(err)
}

func (r *explained) Agent(ctx context.Context, namespace, name string) (*registryapi.Agent, error) {
	agent, err := r.options.Registry.Agent(ctx, namespace, name)
	return agent, explain(err)
}

func (r *explained) Card(ctx context.Context, namespace, name, version string) ([]byte, error) {
	card, err := r.options.Registry.Card(ctx, namespace, name, version)
	return card, explain(err)
}

func (r *explained) Watch(ctx context.Context, q registryapi.Query, lastID string, each func(registryapi.Event) error) error {
	return explain(r.options.Registry.Watch(ctx, q, lastID, each))
}

func (r *explained) Conditions(ctx context.Context, namespace, name string) ([]metav1.Condition, error) {
	object, err := r.options.Object(ctx, namespace, name)
	if err != nil {
		return nil, problemOf(err)
	}
	return object.Status.Conditions, nil
}

// explain returns an error for the reader of a page, and nil for nil.
func explain(err error) error {
	if err == nil {
		return nil
	}
	return problemOf(err)
}

// problemOf returns the failure in an error for the reader of a page.
func problemOf(err error) *ui.PageError {
	cause := failure.Of(err)
	problem := &ui.PageError{Status: http.StatusBadGateway, Message: cause.Message, Hint: cause.Hint}
	if cause.Code == failure.CardNotFound {
		problem.Status = http.StatusNotFound
	}
	if cause.Code == failure.Usage {
		problem.Status = http.StatusBadRequest
	}
	return problem
}
