// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// ownCard is the card of the agent whose responses the client reads. Its parameter is the URL.
const ownCard = `{"name":"x","description":"d","version":"1","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"skills":[]}`

// read lets the client of kubectl a2a read a response, and compares what it has decoded with the expectations of the step.
func (r *run) read(ctx context.Context, s *step) error {
	payload, err := json.Marshal(s.ClientResponse.WirePayload)
	if err != nil {
		return err
	}
	isCard := s.ClientResponse.Operation == "get_agent_card" || s.ClientResponse.Operation == "get_extended_agent_card"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if request.Method == http.MethodGet && !isCard {
			_, _ = fmt.Fprintf(w, ownCard, "http://"+request.Host+"/")
			return
		}
		_, _ = w.Write(payload)
	}))
	defer server.Close()
	card, err := a2aclient.ReadCard(ctx, server.Client(), server.URL)
	if err != nil {
		return err
	}
	if isCard {
		return r.matches("card", s.ExpectParsed, cardJSON(card))
	}
	agent, err := a2aclient.New(card, a2aclient.Options{HTTP: server.Client()})
	if err != nil {
		return err
	}
	var event *client.Event
	switch s.ClientResponse.Operation {
	case "send_message":
		event, err = agent.Send(ctx, &a2a.SendRequest{Message: &a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hi")}}})
	case "get_task":
		event, err = agent.Get(ctx, &a2a.GetRequest{TaskID: "t"})
	default:
		err = errors.New("unknown operation " + s.ClientResponse.Operation)
	}
	parsed, err := parsedJSON(s.ClientResponse.Operation, event, err)
	if err != nil {
		return err
	}
	return r.matches("decoded", s.ExpectParsed, parsed)
}

// parsedJSON encodes what the client has decoded: a task, an event, or the error of the agent.
func parsedJSON(operation string, event *client.Event, err error) (any, error) {
	if problem, ok := errors.AsType[*failure.Error](err); ok {
		return map[string]any{"error": map[string]any{"code": float64(problem.A2ACode), "message": problem.Message}}, nil
	}
	if err != nil {
		return nil, err
	}
	var text []byte
	if operation == "get_task" {
		text = protojson.V10.AppendTask(nil, event.Task)
	} else {
		text = protojson.V10.AppendEvent(nil, &event.Event)
	}
	var value any
	err = json.Unmarshal(text, &value)
	return value, err
}

// cardJSON returns the members of a decoded card that the suite compares.
func cardJSON(c *a2aclient.Card) any {
	skills := []any{}
	for _, skill := range c.Skills {
		skills = append(skills, map[string]any{"id": skill.ID})
	}
	return map[string]any{
		"skills": skills,
		"capabilities": map[string]any{
			"streaming": c.Capabilities.Streaming, "pushNotifications": c.Capabilities.PushNotifications,
			"extendedAgentCard": c.Capabilities.ExtendedCard,
		},
	}
}
