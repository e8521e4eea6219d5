// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ui serves the pages of internal/web/ui for `kubectl a2a ui`, and calls agents for them: it sends
// messages, lists tasks and follows them. The browser gets no token.
//
// The server listens on the loopback interface, which all programs and users of the machine and all web pages in the
// browser can reach. Therefore its paths begin with a secret. The browser receives the secret once, in exchange for a
// code that the command prints.
//
//	markdown texts of an agent -> HTML without effects
//	question questions of an agent -> forms, and their answers
//	updates  events of an agent -> lines for the script
//	send     messages and cancellations
//	tasks    the tasks of an agent and their events
//	serve    the listener, and who may send requests
//	server   the state of the server
package ui

import (
	"context"
	"net"
	"sync"
	"time"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/cli/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/web/ui"
)

const (
	// connectionMemory bounds the memory of the connections of browsers, in bytes.
	connectionMemory = 16 << 20
	// maxStreams bounds the open pages that receive changes.
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
	// Caller describes the identity with which the registry is read, such as a ServiceAccount. Required.
	Caller string
	// CallsAs describes the identity with which Connect calls agents. Required.
	CallsAs string
	// Object reads an Agent from the API server. Required.
	Object func(ctx context.Context, namespace, name string) (*a2av1alpha1.Agent, error)
	// Connect returns a client for an agent, and a function that ends its connections. Required.
	Connect func(ctx context.Context, namespace, name string) (*client.Client, func(), error)
	// Now returns the time. Required.
	Now func() time.Time
}

// Server serves the page. It is safe for concurrent use.
type Server struct {
	options Options
	pages   *ui.Pages
	// calls is a semaphore that contains a value for each call to an agent that runs.
	calls chan struct{}
	// code is in the path that opens the page once. All other paths begin with secret.
	code, secret string
	opening      sync.Mutex
	opened       bool
	// host is the address of the listener. Requests must name it as their host.
	host     string
	listener net.Listener
}

// Address returns the URL that opens the page. It works once.
func (s *Server) Address() string { return "http://" + s.host + "/open/" + s.code }
