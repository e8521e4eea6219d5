// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// The outcomes of a call: the sidecar is away or refuses the call for now, and the task has ended before it was canceled.
var (
	errAway          = errors.New("away")
	errNotCancelable = errors.New("not cancelable")
)

// callTimeout is the time after which a sidecar that was paused is left.
const callTimeout = 5 * time.Second

// caller calls the methods without streams over one binding. It has a connection for each call, because sidecars die.
type caller interface {
	// send sends a message and returns the task at once. The events of the task go to the webhook.
	send(ctx context.Context, address, text, id, conversation, webhook string) (taskState, error)
	get(ctx context.Context, address, id string) (taskState, error)
	cancel(ctx context.Context, address, id string) error
	// list returns a page of the tasks of a conversation.
	list(ctx context.Context, address, conversation, page string) (tasks []taskState, next string, err error)
	pushCaller
}

// pushCaller calls the methods of push configurations.
type pushCaller interface {
	// webhooks returns the URLs of the push configurations of a task.
	webhooks(ctx context.Context, address, id string) ([]string, error)
	// addWebhook adds a push configuration to a task, or replaces that with the same id. removeWebhook deletes it.
	addWebhook(ctx context.Context, address, id, config, webhook string) error
	removeWebhook(ctx context.Context, address, id, config string) error
}

// callers have all bindings with all methods. Half of the calls are over gRPC.
var callers = []caller{jsonCaller{}, jsonCaller{}, grpcCaller{}, grpcCallerV03{}}

func anyCaller(rng *rand.Rand) caller { return callers[rng.IntN(len(callers))] }

// pageSize is the number of tasks on a page of a list.
const pageSize = 7

// jsonCaller is a client of JSON-RPC 1.0.
type jsonCaller struct{}

var oneConnectionEach = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: callTimeout}

// taskState is a task as a sidecar answers it.
type taskState struct {
	ID        string         `json:"id"`
	Status    taskStatus     `json:"status"`
	Artifacts []taskArtifact `json:"artifacts"`
}

type taskStatus struct {
	State   string       `json:"state"`
	Message taskArtifact `json:"message"`
}

type taskArtifact struct {
	Parts []taskPart `json:"parts"`
}

type taskPart struct {
	Text string `json:"text"`
}

func (a *taskArtifact) add(text string) { a.Parts = append(a.Parts, taskPart{text}) }

func (a *taskArtifact) text() (text string) {
	for _, part := range a.Parts {
		text += part.Text
	}
	return text
}

func (s *taskStatus) text() string { return s.Message.text() }

func (t *taskState) text() (text string) {
	for i := range t.Artifacts {
		text += t.Artifacts[i].text()
	}
	return text
}

func (t *taskState) hasEnded() bool {
	switch strings.TrimPrefix(strings.ToUpper(t.Status.State), "TASK_STATE_") { // 0.3 has "completed" and 1.0 "TASK_STATE_COMPLETED"
	case "COMPLETED", "FAILED", "CANCELED", "REJECTED":
		return true
	}
	return false
}

func (c jsonCaller) send(ctx context.Context, address, text, id, conversation, webhook string) (taskState, error) {
	var result struct {
		Task taskState `json:"task"`
	}
	err := c.call(ctx, address, "SendMessage", map[string]any{
		"message": map[string]any{
			"role": "ROLE_USER", "messageId": id, "contextId": conversation, "parts": []any{map[string]string{"text": text}},
		},
		"configuration": map[string]any{"returnImmediately": true, "taskPushNotificationConfig": map[string]string{"url": webhook}},
	}, &result)
	return result.Task, err
}

func (c jsonCaller) get(ctx context.Context, address, id string) (t taskState, err error) {
	err = c.call(ctx, address, "GetTask", map[string]string{"id": id}, &t)
	return t, err
}

func (c jsonCaller) cancel(ctx context.Context, address, id string) error {
	return c.call(ctx, address, "CancelTask", map[string]string{"id": id}, &taskState{})
}

func (c jsonCaller) list(ctx context.Context, address, conversation, page string) (tasks []taskState, next string, err error) {
	var result struct {
		Tasks []taskState `json:"tasks"`
		Next  string      `json:"nextPageToken"`
	}
	err = c.call(ctx, address, "ListTasks", map[string]any{"contextId": conversation, "pageSize": pageSize, "pageToken": page}, &result)
	return result.Tasks, result.Next, err
}

func (c jsonCaller) webhooks(ctx context.Context, address, id string) (urls []string, err error) {
	var result struct {
		Configs []struct {
			URL string `json:"url"`
		} `json:"configs"`
	}
	err = c.call(ctx, address, "ListTaskPushNotificationConfigs", map[string]string{"taskId": id}, &result)
	for _, each := range result.Configs {
		urls = append(urls, each.URL)
	}
	return urls, err
}

func (c jsonCaller) addWebhook(ctx context.Context, address, id, config, webhook string) error {
	return c.call(ctx, address, "CreateTaskPushNotificationConfig", map[string]string{"taskId": id, "id": config, "url": webhook}, &struct{}{})
}

func (c jsonCaller) removeWebhook(ctx context.Context, address, id, config string) error {
	return c.call(ctx, address, "DeleteTaskPushNotificationConfig", map[string]string{"taskId": id, "id": config}, &struct{}{})
}

func (jsonCaller) call(ctx context.Context, address, method string, params, result any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("A2A-Version", "1.0")
	response, err := oneConnectionEach.Do(request)
	if err != nil {
		return errAway
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return errAway
	}
	const notCancelable = -32002
	switch problem := answer.Error; {
	case problem == nil:
		return json.Unmarshal(answer.Result, result)
	case problem.Code == notCancelable:
		return errNotCancelable
	case bytes.Contains(problem.Data, []byte("UNAVAILABLE")):
		return errAway
	default:
		return fmt.Errorf("%s: %d %s", method, problem.Code, problem.Message)
	}
}
