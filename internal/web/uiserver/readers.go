// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/inprocess"
	"github.com/a2a-operator/a2a-operator/internal/kit/sse"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
	"github.com/a2a-operator/a2a-operator/internal/web/ui"
)

// maxResponse bounds a response of the registry, in bytes. The largest responses, pages of agents,
// have at most 4 MiB.
const maxResponse = 8 << 20

// Registry is the registry in the same replica of the manager.
type Registry interface {
	// ServeCaller serves a request of the registry's API for a caller that is already
	// authenticated.
	ServeCaller(w http.ResponseWriter, r *http.Request, c access.Caller)
	// SeesNamespace reports whether a caller sees all Agents of a namespace, whatever their
	// visibility.
	SeesNamespace(ctx context.Context, c access.Caller, namespace string) (bool, error)
}

type readerKey struct{}

// withReader returns a context that contains the person who sent the request.
func withReader(ctx context.Context, c access.Caller) context.Context {
	return context.WithValue(ctx, readerKey{}, c)
}

// readers implements ui.Registry: it calls the registry on behalf of the person in the context. The
// calls stay in the process. The access rules and limits of the registry's API apply to the person.
type readers struct {
	registry Registry
	agents   client.Reader
}

var _ ui.Registry = (*readers)(nil)

// Search implements ui.Registry.
func (v *readers) Search(ctx context.Context, q registryapi.Query) (*registryapi.PageOf[ui.Listed], error) {
	page := &registryapi.PageOf[ui.Listed]{}
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

// Conditions implements ui.Registry. It returns an error with the status 403 for a person who does
// not see the namespace of the agent, and sees the agent only because of its visibility.
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

// Watch implements ui.Registry. All readers have watches of their own, so it reads only the first bytes of an agent, whose
// size its owner chooses.
func (v *readers) Watch(ctx context.Context, q registryapi.Query, lastID string, each func(registryapi.Event) error) error {
	header := http.Header{}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	response, err := v.call(ctx, "/v1/agents?"+q.WatchParameters().Encode(), header)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return sse.ReadHeads(response.Body, registryapi.EventHead, func(sent sse.Event) error {
		event, err := registryapi.DecodeEventHead(sent.Type, sent.ID, sent.Data)
		if err != nil {
			return errUnavailable
		}
		return each(event)
	})
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

// get returns the response to a request. The request takes its turn, but does not wait in it for reviews of the API server, which the
// registry remembers.
func (v *readers) get(ctx context.Context, path string, header http.Header) ([]byte, error) {
	reader, _ := ctx.Value(readerKey{}).(access.Caller)
	_, _ = v.registry.SeesNamespace(ctx, reader, "") // the request has the error, too
	if err := takeTurn(ctx); err != nil {
		return nil, err
	}
	response, err := v.call(ctx, path, header)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var text bytes.Buffer
	text.Grow(int(min(max(response.ContentLength, 0), maxResponse)) + bytes.MinRead)
	if _, err := text.ReadFrom(io.LimitReader(response.Body, maxResponse+1)); err != nil || text.Len() > maxResponse {
		return nil, errUnavailable
	}
	return text.Bytes(), nil
}

// call sends a request to the registry as the person in ctx, and returns the response if its status is
// 200. The caller must close the body of the response.
func (v *readers) call(ctx context.Context, path string, header http.Header) (*http.Response, error) {
	reader, ok := ctx.Value(readerKey{}).(access.Caller)
	if !ok {
		return nil, errUnavailable
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		return nil, errUnavailable
	}
	r.Header = header
	registry := &inprocess.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { v.registry.ServeCaller(w, r, reader) })}
	response, err := registry.RoundTrip(r)
	if err != nil { // ctx has ended
		return nil, errUnavailable
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, refusal(response)
	}
	return response, nil
}

var errUnavailable = &ui.PageError{Status: http.StatusServiceUnavailable, Message: "The registry cannot answer now.", Hint: "Try again in some seconds."}

// refusal returns the error for a response with a status other than 200.
func refusal(response *http.Response) error {
	var text struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.NewDecoder(io.LimitReader(response.Body, maxResponse)).Decode(&text) // if the body has no message, the status suffices
	switch status := response.StatusCode; status {
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
