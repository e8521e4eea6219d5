// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/test/bench/script"
)

// client is a client of A2A 1.0 over JSON-RPC with little overhead. The benchmark does not count its CPU time, but the
// client takes CPU time from the servers on the same machine.
type client struct {
	http  *http.Client
	url   string
	token string
	// task is the task of the turn to which the requests belong, "" for none.
	task string
	// last is the number of the last message id. A sidecar deduplicates messages with equal ids.
	last atomic.Int64
}

func newClient(url, token string) *client {
	return &client{
		url: url, token: token,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 12, DisableCompression: true}},
	}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// requestSize is the size of the message text in bytes, for a request of about 1 KB.
const requestSize = 850

// nextID returns the id of a new message.
func (c *client) nextID() string { return "m-" + strconv.FormatInt(c.last.Add(1), 10) }

func (c *client) request(method string, s script.Script) []byte {
	text := s.String()
	text += strings.Repeat("y", max(0, requestSize-len(text)))
	return []byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"message":{"messageId":"` + c.nextID() + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]}}}`)
}

func (c *client) post(ctx context.Context, url string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("A2A-Version", "1.0")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.task != "" {
		request.Header.Set("A2A-Task-Id", c.task)
	}
	return c.http.Do(request)
}

// send sends a message and checks that the response contains want.
func (c *client) send(ctx context.Context, s script.Script, want []byte) error {
	return c.answered(ctx, c.request("SendMessage", s), want)
}

func (c *client) answered(ctx context.Context, request, want []byte) error {
	response, err := c.post(ctx, c.url, request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || !bytes.Contains(body, want) {
		return fmt.Errorf("%s without %q: %.300s", response.Status, want, body)
	}
	return nil
}

// stream sends a request and reads the events of its response. If the function each is not nil, stream calls it for
// every event before it reads the next one. It returns the number of chunks of the script.
func (c *client) stream(ctx context.Context, body []byte, each func(event []byte)) (chunks int, err error) {
	response, err := c.post(ctx, c.url, body)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if t := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || !strings.HasPrefix(t, "text/event-stream") {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 300))
		return 0, fmt.Errorf("%s, %q: %s", response.Status, t, text)
	}
	lines := bufio.NewReaderSize(response.Body, 8<<10)
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return chunks, nil
		case err != nil:
			return chunks, err
		}
		if event, isEvent := bytes.CutPrefix(line, []byte("data:")); isEvent {
			if bytes.Contains(event[:min(len(event), 200)], []byte(`"artifactUpdate"`)) {
				chunks++
			}
			if each != nil {
				each(event)
			}
		}
		line = line[:0]
	}
}

// inSnapshot returns the number of chunks of size bytes in an event that is a snapshot, and 0 for any other event.
func inSnapshot(event []byte, size int) int {
	head := event[:min(len(event), 200)]
	if !bytes.Contains(head, []byte(`"task":`)) {
		return 0
	}
	_, artifacts, _ := bytes.Cut(event, []byte(`"artifacts":`))
	return bytes.Count(artifacts, bytes.Repeat([]byte("x"), size))
}

// taskOf returns the id of the task of an event.
func taskOf(event []byte) string {
	var e struct {
		Result struct {
			Task struct {
				ID string `json:"id"`
			} `json:"task"`
			ArtifactUpdate struct {
				TaskID string `json:"taskId"`
			} `json:"artifactUpdate"`
		} `json:"result"`
	}
	if json.Unmarshal(event, &e) != nil {
		return ""
	}
	if e.Result.Task.ID != "" {
		return e.Result.Task.ID
	}
	return e.Result.ArtifactUpdate.TaskID
}

// subscribe returns the request for the stream of an existing task.
func subscribe(task string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"` + task + `"}}`)
}
