// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

// document is a response or event in any JSON dialect. One type suffices, because no two dialects use the same name for
// members of different types.
type document struct {
	Result *document    `json:"result"`
	Error  *errorObject `json:"error"`

	Task           *document `json:"task"`
	StatusUpdate   *document `json:"statusUpdate"`
	ArtifactUpdate *document `json:"artifactUpdate"`

	Kind      string     `json:"kind"`
	ID        any        `json:"id"`
	TaskID    string     `json:"taskId"`
	Status    *statusOf  `json:"status"`
	Artifact  *artifact  `json:"artifact"`
	Artifacts []artifact `json:"artifacts"`
	Final     *bool      `json:"final"`
}

type statusOf struct {
	State   string   `json:"state"`
	Message artifact `json:"message"`
}

// artifact is an artifact or another object with parts.
type artifact struct {
	Parts []struct {
		Text string `json:"text"`
	} `json:"parts"`
}

type errorObject struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// read decodes a document of a response with status 200.
func read(text []byte) (Item, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return Item{}, &RefusedError{history.Refused, "not JSON: " + err.Error()}
	}
	if d.Error != nil {
		return Item{}, refusal(http.StatusOK, text)
	}
	item, ok := d.item()
	if !ok {
		return Item{}, &RefusedError{history.Refused, "not an event: " + string(text[:min(len(text), 200)])}
	}
	return item, nil
}

// item returns the event of a document.
func (d *document) item() (Item, bool) {
	for _, inner := range []*document{d.Result, d.Task, d.StatusUpdate, d.ArtifactUpdate} {
		if inner != nil {
			return inner.item()
		}
	}
	item := Item{TaskID: d.TaskID}
	if id, isText := d.ID.(string); isText && item.TaskID == "" {
		item.TaskID = id
	}
	switch {
	case d.Artifact != nil:
		item.Kind, item.Text = history.Chunk, text(*d.Artifact)
	case d.Status == nil:
		return item, false
	case d.TaskID != "" || d.Final != nil:
		item.Kind, item.State = history.Status, stateOf(d.Status.State)
	default:
		item.Kind, item.State, item.Text = history.Snapshot, stateOf(d.Status.State), text(d.Artifacts...)
		item.StatusMessage = text(d.Status.Message)
	}
	return item, true
}

func text(artifacts ...artifact) string {
	if len(artifacts) == 1 && len(artifacts[0].Parts) == 1 {
		return artifacts[0].Parts[0].Text
	}
	var b strings.Builder
	for _, a := range artifacts {
		for _, p := range a.Parts {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// stateOf returns the name of a state in 0.3.
func stateOf(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "TASK_STATE_")), "_", "-")
}

// refusal decodes an error response.
func refusal(code int, text []byte) *RefusedError {
	const taskNotFound, unsupported = -32001, -32004
	var d document
	_ = json.Unmarshal(text, &d)
	r := &RefusedError{history.Refused, http.StatusText(code) + " " + string(text)}
	over := strings.Contains(string(text), "terminal state")
	// In a stream, an error has no HTTP status, so only its reason, or its text, says that the store is not available.
	lost := strings.Contains(string(text), `"UNAVAILABLE"`) || strings.Contains(string(text), "The task store lost events")
	switch {
	case code == http.StatusNotFound, d.Error != nil && d.Error.Code == taskNotFound, d.Error != nil && d.Error.Code == http.StatusNotFound:
		r.Outcome = history.NotFound
	case over, d.Error != nil && d.Error.Code == unsupported:
		r.Outcome = history.AlreadyEnded
	case lost, code == http.StatusServiceUnavailable, code == http.StatusTooManyRequests, d.Error != nil && d.Error.Code == http.StatusServiceUnavailable:
		r.Outcome = history.Unavailable
	}
	return r
}
