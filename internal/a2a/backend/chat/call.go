// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
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
const keyField = "spec.workload.backend.chat.apiKeySecretRef (--chat-api-key-file)"

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
// server refuses the key, call reads the key again and sends the request once more with a
// new key, because the server has not worked on a refused request. An error is a failure
// of the turn and does not contain the key.
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
				// A server may forbid the list of models to a key that is valid for
				// completions.
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
