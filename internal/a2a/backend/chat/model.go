// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

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
	const cure = "; name the model in backend.chat.model"
	if !stream.IsSuccess(resp.StatusCode) {
		return "", backend.Failed("The agent does not list its models"+cure, stream.StatusError(resp.StatusCode))
	}
	text, err := m.server.client.NewBody(resp, nil).ReadAll()
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
