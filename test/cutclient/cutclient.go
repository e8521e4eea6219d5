// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cutclient is a client that follows turns over connections that break, such as those of test/cutproxy. It
// repeats a message until it knows the task, and then subscribes to the task until the task has ended. Only tests
// import it.
package cutclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/sse"
)

// Client follows turns by JSON-RPC of 1.0. It is safe for concurrent use.
type Client struct {
	// URL is the A2A endpoint, through which connections break.
	URL string
	// HTTP sends the requests. It must not use a connection for more than one request.
	HTTP *http.Client
	// Snapshots makes the client subscribe without Last-Event-ID, so that each subscription begins with the task.
	Snapshots bool
}

// Turn is what a client has received of a turn.
type Turn struct {
	// TaskID is "" for a direct answer.
	TaskID string
	// State is the last state, such as TASK_STATE_COMPLETED; "" for a direct answer.
	State string
	// Message is the text of the direct answer, or of the message of the last status.
	Message string
	// Broken is the number of requests that broke off.
	Broken int

	// ids has the artifacts in the order in which they began, artifacts their texts.
	ids       []string
	artifacts map[string]string
	// last is the last event id.
	last string
	done bool
}

// Text returns the texts of all artifacts.
func (t *Turn) Text() string {
	var text strings.Builder
	for _, id := range t.ids {
		text.WriteString(t.artifacts[id])
	}
	return text.String()
}

type (
	part struct {
		Text string `json:"text"`
	}
	message struct {
		Parts []part `json:"parts"`
	}
	status struct {
		State   string   `json:"state"`
		Message *message `json:"message"`
	}
	artifact struct {
		ArtifactID string `json:"artifactId"`
		Parts      []part `json:"parts"`
	}
	task struct {
		ID        string     `json:"id"`
		Status    status     `json:"status"`
		Artifacts []artifact `json:"artifacts"`
	}
	statusUpdate struct {
		TaskID string `json:"taskId"`
		Status status `json:"status"`
	}
	artifactUpdate struct {
		TaskID   string   `json:"taskId"`
		Artifact artifact `json:"artifact"`
		Append   bool     `json:"append"`
	}
	event struct {
		Task           *task           `json:"task"`
		Message        *message        `json:"message"`
		StatusUpdate   *statusUpdate   `json:"statusUpdate"`
		ArtifactUpdate *artifactUpdate `json:"artifactUpdate"`
	}
)

func join(parts []part) string {
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
	}
	return text.String()
}

// retryAfter is the pause after a request that exceeds the rate limit of the sidecar.
const retryAfter = 200 * time.Millisecond

// errBroken is returned if a connection breaks before the end of a response.
var errBroken = errors.New("the connection broke")

// Follow sends a text as a message, and returns when the turn has ended and nothing of it is missing, or with the error of
// the sidecar or of ctx.
func (c *Client) Follow(ctx context.Context, messageID, text string) (*Turn, error) {
	t := &Turn{artifacts: map[string]string{}}
	for !t.done {
		err := c.next(ctx, t, messageID, text)
		if ctx.Err() != nil {
			return t, fmt.Errorf("after %d broken requests, in state %q: %w", t.Broken, t.State, ctx.Err())
		}
		if errors.Is(err, errBroken) {
			t.Broken++
			continue
		}
		if failure, ok := errors.AsType[*Error](err); ok && strings.HasPrefix(failure.Message, "Too many requests") {
			time.Sleep(retryAfter)
			continue
		}
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// next sends one request for the part of the turn that is missing.
func (c *Client) next(ctx context.Context, t *Turn, messageID, text string) error {
	if t.TaskID == "" {
		return c.stream(ctx, t, "SendStreamingMessage", map[string]any{
			"message": map[string]any{"messageId": messageID, "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}},
		})
	}
	err := c.stream(ctx, t, "SubscribeToTask", map[string]any{"id": t.TaskID})
	if failure, ok := errors.AsType[*Error](err); !ok || failure.Code != unsupported {
		return err
	}
	// The sidecar refuses subscriptions to a task that has ended.
	got, err := c.Task(ctx, t.TaskID)
	if err != nil {
		return err
	}
	broken := t.Broken
	*t = *got
	t.Broken = broken
	return nil
}

// Task returns a task as GetTask returns it.
func (c *Client) Task(ctx context.Context, id string) (*Turn, error) {
	t := &Turn{}
	response, err := c.post(ctx, "", "GetTask", map[string]any{"id": id})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Result *task  `json:"result"`
		Error  *Error `json:"error"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, errBroken
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	t.take(&event{Task: answer.Result})
	return t, nil
}

// unsupported is the code of UnsupportedOperationError.
const unsupported = -32004

// Error is an error of JSON-RPC.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

func (c *Client) post(ctx context.Context, last, method string, params any) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.GetBody = nil // otherwise, net/http repeats the request of a broken connection
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		return nil, errBroken
	}
	return response, nil
}

// stream performs an operation and takes the events of its response.
func (c *Client) stream(ctx context.Context, t *Turn, method string, params any) error {
	last := t.last
	if c.Snapshots {
		last = ""
	}
	response, err := c.post(ctx, last, method, params)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	take := func(text []byte) error {
		var answer struct {
			Result *event `json:"result"`
			Error  *Error `json:"error"`
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			return fmt.Errorf("%w: %q", errBroken, text)
		}
		if answer.Error != nil {
			return answer.Error
		}
		if answer.Result == nil {
			return fmt.Errorf("neither a result nor an error: %s", text)
		}
		t.take(answer.Result)
		return nil
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		var text json.RawMessage
		if err := json.NewDecoder(response.Body).Decode(&text); err != nil {
			return errBroken
		}
		return take(text)
	}
	err = sse.Read(response.Body, func(e sse.Event) error {
		if err := take(e.Data); err != nil {
			return err
		}
		t.last = e.ID
		return nil
	})
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused
	}
	if !t.done {
		return errBroken
	}
	return nil
}

// take adds an event.
func (t *Turn) take(e *event) {
	switch {
	case e.Task != nil:
		t.TaskID = e.Task.ID
		t.ids = nil
		t.artifacts = map[string]string{}
		for i := range e.Task.Artifacts {
			t.add(&e.Task.Artifacts[i], false)
		}
		t.enter(&e.Task.Status)
	case e.Message != nil:
		t.Message = join(e.Message.Parts)
		t.done = true
	case e.StatusUpdate != nil:
		t.TaskID = e.StatusUpdate.TaskID
		t.enter(&e.StatusUpdate.Status)
	case e.ArtifactUpdate != nil:
		t.TaskID = e.ArtifactUpdate.TaskID
		t.add(&e.ArtifactUpdate.Artifact, e.ArtifactUpdate.Append)
	}
}

func (t *Turn) add(a *artifact, appended bool) {
	if _, ok := t.artifacts[a.ArtifactID]; !ok {
		t.ids = append(t.ids, a.ArtifactID)
	}
	if !appended {
		t.artifacts[a.ArtifactID] = ""
	}
	t.artifacts[a.ArtifactID] += join(a.Parts)
}

// enter sets the state.
func (t *Turn) enter(s *status) {
	t.State = s.State
	t.Message = ""
	if s.Message != nil {
		t.Message = join(s.Message.Parts)
	}
	switch s.State {
	case "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED", "TASK_STATE_INPUT_REQUIRED":
		t.done = true
	}
}
