// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registryapi"
	"github.com/a2a-operator/a2a-operator/internal/ui"
)

// maxResponse bounds a response of the registry, in bytes. A page of the registry has at
// most 4 MiB.
const maxResponse = 8 << 20

// Registry is the registry of this replica.
type Registry interface {
	// ServeCaller serves a request of the registry's API for a caller that is already
	// authenticated.
	ServeCaller(w http.ResponseWriter, r *http.Request, c access.Caller)
	// SeesNamespace reports whether a caller sees all Agents of a namespace.
	SeesNamespace(ctx context.Context, c access.Caller, namespace string) (bool, error)
}

type readerKey struct{}

// withReader returns a context that contains the person who sent the request.
func withReader(ctx context.Context, c access.Caller) context.Context {
	return context.WithValue(ctx, readerKey{}, c)
}

// readers calls the registry on behalf of the person in the context. The calls stay in
// the process, and are subject to the rules and limits of the registry's API.
type readers struct {
	registry Registry
	agents   client.Reader
}

var _ ui.Registry = (*readers)(nil)

// Search implements ui.Registry.
func (v *readers) Search(ctx context.Context, q registryapi.Query) (*registryapi.Page, error) {
	page := &registryapi.Page{}
	return page, v.read(ctx, page, "/v1/agents?"+q.PageParameters().Encode())
}

// Agent implements ui.Registry.
func (v *readers) Agent(ctx context.Context, namespace, name string) (*registryapi.Agent, error) {
	agent := &registryapi.Agent{}
	return agent, v.read(ctx, agent, agentPath(namespace, name))
}

// Card implements ui.Registry.
func (v *readers) Card(ctx context.Context, namespace, name, version string) ([]byte, error) {
	header := http.Header{}
	if version != "" {
		header.Set("A2A-Version", version)
	}
	return v.get(ctx, agentPath(namespace, name)+"/card", header)
}

func agentPath(namespace, name string) string {
	return "/v1/agents/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
}

// Conditions implements ui.Registry. A person who sees an agent only because of its
// visibility does not see its conditions.
func (v *readers) Conditions(ctx context.Context, namespace, name string) ([]metav1.Condition, error) {
	reader, _ := ctx.Value(readerKey{}).(access.Caller)
	sees, err := v.registry.SeesNamespace(ctx, reader, namespace)
	if err != nil {
		return nil, errUnavailable
	}
	if !sees {
		return nil, &ui.PageError{
			Status: http.StatusForbidden, Message: "You may not read the conditions of Agents in namespace " + namespace + ".",
			Hint: "The right to list agents.a2a-operator.dev in the namespace shows them.",
		}
	}
	agent := &a2av1alpha1.Agent{}
	if err := v.agents.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, agent); err != nil {
		return nil, errUnavailable
	}
	return agent.Status.Conditions, nil
}

// Watch implements ui.Registry.
func (v *readers) Watch(ctx context.Context, q registryapi.Query, lastID string, each func(registryapi.Event) error) error {
	header := http.Header{}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	events := &eventReader{each: each}
	if err := v.serve(ctx, events, "/v1/agents?"+q.WatchParameters().Encode(), header); err != nil {
		return err
	}
	if events.status != 0 && events.status != http.StatusOK {
		return refusal(events.status, nil)
	}
	return events.failed
}

func (v *readers) read(ctx context.Context, into any, path string) error {
	text, err := v.get(ctx, path, http.Header{})
	if err != nil {
		return err
	}
	if json.Unmarshal(text, into) != nil {
		return errUnavailable
	}
	return nil
}

func (v *readers) get(ctx context.Context, path string, header http.Header) ([]byte, error) {
	out := &bodyReader{}
	if err := v.serve(ctx, out, path, header); err != nil {
		return nil, err
	}
	if out.status != 0 && out.status != http.StatusOK {
		return nil, refusal(out.status, out.body.Bytes())
	}
	return out.body.Bytes(), nil
}

func (v *readers) serve(ctx context.Context, w http.ResponseWriter, path string, header http.Header) error {
	reader, ok := ctx.Value(readerKey{}).(access.Caller)
	if !ok {
		return errUnavailable
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		return errUnavailable
	}
	r.Header = header
	v.registry.ServeCaller(w, r, reader)
	return nil
}

var errUnavailable = &ui.PageError{Status: http.StatusServiceUnavailable, Message: "The registry cannot answer now.", Hint: "Try again in some seconds."}

// refusal returns the error for a response with a status other than 200.
func refusal(status int, body []byte) error {
	var text struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &text) // without a message in the body, the status is enough
	switch status {
	case http.StatusNotFound:
		return &ui.PageError{Status: status, Message: "There is no such agent, or you may not see it."}
	case http.StatusBadRequest, http.StatusForbidden:
		return &ui.PageError{Status: status, Message: "The registry refuses the request: " + text.Error.Message}
	case http.StatusTooManyRequests:
		return &ui.PageError{Status: status, Message: "You have sent too many requests.", Hint: "Try again in some seconds."}
	default:
		return errUnavailable
	}
}

// bodyReader is an http.ResponseWriter that stores the response.
type bodyReader struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (b *bodyReader) Header() http.Header {
	if b.header == nil {
		b.header = http.Header{}
	}
	return b.header
}

// WriteHeader implements http.ResponseWriter.
func (b *bodyReader) WriteHeader(status int) { b.status = status }

var errLongResponse = errors.New("response is too long")

// Write implements http.ResponseWriter.
func (b *bodyReader) Write(text []byte) (int, error) {
	if b.body.Len()+len(text) > maxResponse {
		return 0, errLongResponse
	}
	return b.body.Write(text)
}

// eventReader is an http.ResponseWriter that delivers each event while the registry
// writes the response.
type eventReader struct {
	bodyReader
	each   func(registryapi.Event) error
	lastID string
	failed error
}

// Flush implements http.Flusher.
func (e *eventReader) Flush() {}

// Write implements http.ResponseWriter. If it returns an error, the registry ends the
// watch.
func (e *eventReader) Write(text []byte) (int, error) {
	if _, err := e.bodyReader.Write(text); err != nil {
		return 0, err
	}
	if e.status != 0 && e.status != http.StatusOK {
		return len(text), nil
	}
	for {
		event, rest, whole := strings.Cut(e.body.String(), "\n\n")
		if !whole {
			return len(text), nil
		}
		e.body.Reset()
		e.body.WriteString(rest)
		if e.failed = e.deliver(event); e.failed != nil {
			return 0, e.failed
		}
	}
}

// deliver decodes the lines of one event (HTML, section 9.2.6) and passes the event to the function each.
func (e *eventReader) deliver(text string) error {
	var kind string
	var data []byte
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			kind = value
		case "id":
			e.lastID = value
		case "data":
			data = append(data, value...)
		}
	}
	if kind == "" {
		return nil // the event is a comment
	}
	event, err := registryapi.DecodeEvent(kind, e.lastID, data)
	if err != nil {
		return errUnavailable
	}
	return e.each(event)
}
