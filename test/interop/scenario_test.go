// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	oldsdk "github.com/a2aproject/a2a-go/a2a"
	newsdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// operations are the columns of the matrix: the operations that each client
// performs, and the result that it must report. Drivers in other languages perform the
// same operations and report in the same words.
var operations = []struct{ name, want string }{
	{"card", "Interop"},
	{"send", "task completed Hello world"},
	{"stream", "task ... completed Hello world"},
	{"get", "completed Hello world, 1 in history"},
	{"list", "completed"},
	{"cancel", "canceled"},
	{"resubscribe", "task ... completed one two"},
	{"push set", "config " + sidecartest.Webhook},
	{"push get", "config " + sidecartest.Webhook},
	{"push list", "config " + sidecartest.Webhook},
	{"push delete", "none left"},
	{"extended card", "Interop 2"},
	{"error", "task not found"},
	{"input required", "input-required, then completed That one, 3 in history"},
}

// scenario is a sidecar in front of an agent whose behaviour the text of the message
// selects: ask, wait, hang, or any other for an answer.
type scenario struct {
	url, token string
	// release lets a waiting agent continue.
	release chan struct{}
	// control is the URL with which a client in another process releases the waiting agent.
	control string
}

func newScenario(t *testing.T) *scenario {
	t.Helper()
	return newScenarioWith(t)
}

// newScenarioWith is newScenario with changes of the sidecar configuration.
func newScenarioWith(t *testing.T, change ...func(*sidecartest.Fixture, *sidecarconfig.Config)) *scenario {
	t.Helper()
	s := &scenario{release: make(chan struct{})}
	waits := sidecartest.HeldAgent(s.release)
	r := sidecartest.Start(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var turn struct {
			Task    json.RawMessage `json:"task"`
			Message struct {
				Parts []struct {
					Text string `json:"text"`
				} `json:"parts"`
			} `json:"message"`
		}
		_ = json.Unmarshal(body, &turn)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		said := ""
		if len(turn.Message.Parts) > 0 {
			said = turn.Message.Parts[0].Text
		}
		switch {
		case turn.Task != nil || said == "ask":
			sidecartest.AskingAgent(w, r)
		case said == "wait":
			waits(w, r)
		case said == "hang":
			sidecartest.HeldAgent(nil)(w, r)
		default:
			sidecartest.TextAgent(w, r)
		}
	}, append([]func(*sidecartest.Fixture, *sidecarconfig.Config){sidecartest.WithEverything}, change...)...)
	s.url, s.token = r.URL, r.Token(t, "client")
	control := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case s.release <- struct{}{}:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(control.Close)
	s.control = control.URL
	return s
}

// play performs one operation with a client, and returns the result.
func (s *scenario) play(ctx context.Context, client sdk, operation string) (string, error) {
	switch operation {
	case "card":
		return "Interop", nil // the client was made from the card
	case "send":
		e, err := client.send(ctx, message{Text: "Hi"})
		return e.Kind + " " + e.State + " " + e.Text, err
	case "stream":
		events, err := collect(client.stream(ctx, message{Text: "Hi"}))
		return summary(events), err
	case "get":
		e, err := client.send(ctx, message{Text: "Hi"})
		if err != nil {
			return "", err
		}
		return s.get(ctx, client, e.TaskID)
	case "list":
		e, err := client.send(ctx, message{Text: "Hi", ContextID: "listed"})
		if err != nil {
			return "", err
		}
		all, err := client.list(ctx, "listed")
		if err != nil {
			return "", err
		}
		if len(all) != 1 || all[0].ID != e.TaskID {
			return fmt.Sprintf("%+v", all), nil
		}
		return all[0].State, nil
	case "cancel":
		e, err := client.send(ctx, message{Text: "hang", Immediately: true})
		if err != nil {
			return "", err
		}
		got, err := client.cancel(ctx, e.TaskID)
		return got.State, err
	case "resubscribe":
		return s.resubscribe(ctx, client)
	case "push set", "push get", "push list", "push delete":
		return s.push(ctx, client, operation)
	case "extended card":
		return client.extended(ctx)
	case "error":
		_, err := client.get(ctx, "nowhere", nil)
		if errors.Is(err, newsdk.ErrTaskNotFound) || errors.Is(err, oldsdk.ErrTaskNotFound) {
			return "task not found", nil
		}
		return "", err
	case "input required":
		return s.inputRequired(ctx, client)
	default:
		return "", fmt.Errorf("no operation %q", operation)
	}
}

func (s *scenario) get(ctx context.Context, client sdk, id string) (string, error) {
	got, err := client.get(ctx, id, nil)
	return fmt.Sprintf("%s %s, %d in history", got.State, got.Text, got.History), err
}

func (s *scenario) resubscribe(ctx context.Context, client sdk) (string, error) {
	id := ""
	for e, err := range client.stream(ctx, message{Text: "wait"}) {
		if err != nil {
			return "", err
		}
		if id = e.TaskID; e.Text == "one " {
			break
		}
	}
	var events []event
	for e, err := range client.subscribe(ctx, id) {
		if err != nil {
			return "", err
		}
		events = append(events, e)
		if len(events) > 1 {
			continue
		}
		select {
		case s.release <- struct{}{}:
		case <-ctx.Done():
			return "", fmt.Errorf("the agent does not wait after %s: %w", summary(events), ctx.Err())
		}
	}
	return summary(events), nil
}

func (s *scenario) push(ctx context.Context, client sdk, operation string) (string, error) {
	e, err := client.send(ctx, message{Text: "Hi"})
	if err != nil {
		return "", err
	}
	set, err := client.setPush(ctx, e.TaskID, "config", sidecartest.Webhook)
	if err != nil || operation == "push set" {
		return set, err
	}
	if operation == "push get" {
		return client.getPush(ctx, e.TaskID, "config")
	}
	if operation == "push delete" {
		if err := client.deletePush(ctx, e.TaskID, "config"); err != nil {
			return "", err
		}
	}
	all, err := client.listPush(ctx, e.TaskID)
	if err == nil && len(all) == 0 {
		return "none left", nil
	}
	return strings.Join(all, ", "), err
}

func (s *scenario) inputRequired(ctx context.Context, client sdk) (string, error) {
	asked, err := client.send(ctx, message{Text: "ask"})
	if err != nil {
		return "", err
	}
	if _, err := client.send(ctx, message{Text: "This", TaskID: asked.TaskID}); err != nil {
		return "", err
	}
	end, err := s.get(ctx, client, asked.TaskID)
	return asked.State + ", then " + end, err
}

// summary returns the first kind, the last state and the text of a stream.
func summary(events []event) string {
	if len(events) == 0 {
		return "no event"
	}
	text := ""
	for _, e := range events {
		text += e.Text
	}
	return events[0].Kind + " ... " + events[len(events)-1].State + " " + text
}
