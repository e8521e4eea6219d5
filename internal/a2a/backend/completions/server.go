// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// request is one request to the server.
type request struct {
	// turn is nil for a request outside of a turn.
	turn   *backend.Turn
	method string
	url    *url.URL
	accept string
	body   []byte
}

// keyField names, for messages, the field of an Agent and the flag that configure the API
// key.
const keyField = "spec.model.apiKeySecretRef (--model-api-key-file)"

// Header is a header of requests to the server.
type Header struct{ Name, Value string }

// modelServer sends requests to the server of the model.
type modelServer struct {
	client *stream.Client
	// external is true for a server outside of the pod.
	external        bool
	key, refreshKey func() string
	headers         []Header
}

// call sends a request and returns the response with the API key of the request. If the
// server refuses the key, call reads the key again. If the key has changed, call sends the
// request once more. This is safe, because the server has not processed the refused
// request. An error is a failure of the turn and does not contain the key.
func (s *modelServer) call(ctx context.Context, c *request) (resp *http.Response, key string, err error) {
	key = s.key()
	for again := false; ; again = true {
		resp, err = s.client.Do(ctx, &stream.Request{Method: c.method, URL: c.url, Header: s.header(c, key), Body: c.body})
		if err != nil {
			return nil, key, err
		}
		if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, key, nil
		}
		fresh := s.refreshKey()
		if again || fresh == key {
			if resp.StatusCode != http.StatusUnauthorized && c.method == http.MethodGet {
				// A 403 does not show that the key is invalid: a server may forbid the list of models
				// to a key that is valid for completions.
				return resp, key, nil
			}
			stream.CloseResponse(resp)
			return nil, key, keyError(resp.StatusCode, key != "")
		}
		stream.CloseResponse(resp)
		key = fresh
	}
}

func keyError(status int, shown bool) error {
	code := strconv.Itoa(status) + " " + http.StatusText(status)
	if !shown {
		return backend.Failed("The model server requires an API key: "+code+"; set one in "+keyField, nil)
	}
	return backend.Failed("The model server refused the API key: "+code+"; correct the key in the Secret of "+keyField, nil)
}

// header returns the header of a request. An external server does not belong to the
// agent, so it does not receive the caller, the ids of the task and the context, and the
// baggage.
func (s *modelServer) header(c *request, key string) http.Header {
	h := http.Header{}
	if c.turn != nil {
		h = stream.Header(c.turn, c.accept)
	}
	if s.external {
		for name := range h {
			if len(name) > 4 && name[:4] == "A2A-" {
				delete(h, name)
			}
		}
		delete(h, "baggage")
	}
	h["Accept"] = []string{c.accept}
	if c.body == nil {
		delete(h, "Content-Type")
	}
	for _, own := range s.headers {
		h[own.Name] = []string{own.Value}
	}
	if key != "" {
		h["Authorization"] = []string{"Bearer " + key}
	}
	return h
}

// models finds the name of the model.
type models struct {
	server *modelServer
	// list is the URL of the server's list of models.
	list *url.URL
	// configured is the configured name, "" for none. first is the first model in the server's
	// list, nil until the list was read.
	configured string
	first      atomic.Pointer[string]
}

// name returns the configured model, or the first model that the server lists. It
// caches the first model after it has read the list once.
func (m *models) name(ctx context.Context, t *backend.Turn) (string, error) {
	if m.configured != "" {
		return m.configured, nil
	}
	if learned := m.first.Load(); learned != nil {
		return *learned, nil
	}
	resp, key, err := m.server.call(ctx, &request{turn: t, method: http.MethodGet, url: m.list, accept: "application/json"})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	const cure = "; name the model in spec.model.name"
	if !stream.IsSuccess(resp.StatusCode) {
		return "", backend.Failed("The agent does not list its models"+cure, stream.StatusError(resp.StatusCode))
	}
	body := m.server.client.NewBody(resp, nil)
	body.Reserve = t.Reserve
	text, err := body.ReadAll()
	if err != nil {
		return "", err
	}
	model, err := firstModel(text)
	if err != nil {
		return "", backend.Unrecognized("The agent's list of models "+stream.DecodeReason(err, "a list")+cure, text, err, key)
	}
	if model == "" {
		return "", backend.Failed("The agent has no model"+cure, nil)
	}
	m.first.Store(&model)
	return model, nil
}

func firstModel(text []byte) (string, error) {
	r := jsonread.New(text)
	first := ""
	for name := range r.Members() {
		if string(name) != "data" {
			continue
		}
		for range r.Elements() {
			for name := range r.Members() {
				if string(name) == "id" && first == "" {
					first = r.String()
				}
			}
		}
	}
	return first, r.End()
}
