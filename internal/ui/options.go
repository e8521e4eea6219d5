// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"errors"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/registryapi"
)

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
