// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxAnswer is the maximum number of bytes of a response that the agent reads.
const maxAnswer = 1 << 20

// agent holds the members of a registry entry that this agent needs.
type agent struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// find searches the registry, and returns an agent that has the skill and is ready.
func (a *researcher) find(ctx context.Context, turn http.Header, skill string) (agent, error) {
	query := url.Values{"skill": {skill}, "ready": {"true"}, "limit": {"1"}}
	var page struct{ Items []agent }
	if err := a.call(ctx, turn, http.MethodGet, "/registry/v1/agents?"+query.Encode(), nil, &page); err != nil {
		return agent{}, fmt.Errorf("search the registry: %w", err)
	}
	if len(page.Items) == 0 {
		return agent{}, fmt.Errorf("no agent that I may see has the skill %s and is ready", skill)
	}
	return page.Items[0], nil
}

// ask sends a message to an agent (A2A 0.3, message/send), and returns the text of its answer.
func (a *researcher) ask(ctx context.Context, turn http.Header, to agent, question string) (string, error) {
	request := map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "message/send",
		"params": map[string]any{
			"message": message{Kind: "message", Role: "user", ID: rand.Text(), Parts: []part{{Kind: "text", Text: question}}},
		},
	}
	body, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	var answer struct {
		Result struct {
			message
			Status    struct{ State string }
			Artifacts []message
		}
		Error *struct{ Message string }
	}
	if err := a.call(ctx, turn, http.MethodPost, "/agents/"+to.Namespace+"/"+to.Name+"/", body, &answer); err != nil {
		return "", err
	}
	switch result := answer.Result; {
	case answer.Error != nil:
		return "", errors.New(answer.Error.Message)
	case result.Kind == "message":
		return result.text(), nil
	case result.Status.State != "completed":
		return "", fmt.Errorf("its task is %s", result.Status.State)
	default:
		var texts []string
		for _, artifact := range result.Artifacts {
			texts = append(texts, artifact.text())
		}
		return strings.Join(texts, " "), nil
	}
}

// call sends a request through the gateway, which adds this agent's identity. The headers of the trace and the
// task connect the work of the other agent with this turn.
func (a *researcher) call(ctx context.Context, turn http.Header, method, path string, body []byte, answer any) error {
	if a.gateway == "" {
		return errors.New("A2A_GATEWAY_URL is not set: this sidecar has no gateway")
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(a.gateway, "/")+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for _, name := range []string{"traceparent", "tracestate", "baggage", "A2A-Task-Id"} {
		if value := turn.Get(name); value != "" {
			request.Header.Set(name, value)
		}
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, bytes.TrimSpace(text))
	}
	return json.Unmarshal(text, answer)
}
