// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// call sends a request and returns the response. The caller closes its body.
func call(ctx context.Context, method, url, token string, body any) (*http.Response, error) {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, url, &content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Timeout: 2 * time.Minute}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	return response, nil
}

// fetch reads a document.
func fetch(ctx context.Context, url, token string) (status int, body []byte, err error) {
	response, err := call(ctx, http.MethodGet, url, token, nil)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// rpc returns a request of A2A 0.3. task is the id of the task to continue, or "".
func rpc(method, task, text string) map[string]any {
	message := map[string]any{
		"kind": "message", "role": "user", "messageId": rand.Text(),
		"parts": []any{map[string]any{"kind": "text", "text": text}},
	}
	if task != "" {
		message["taskId"] = task
	}
	return map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": map[string]any{"message": message}}
}

// event holds the members of a task, a status-update or an artifact-update that the demo shows.
type event struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	TaskID string `json:"taskId"`
	Status struct {
		State   string `json:"state"`
		Message struct {
			Parts []part `json:"parts"`
		} `json:"message"`
	} `json:"status"`
	Artifact struct {
		Parts []part `json:"parts"`
	} `json:"artifact"`
}

type part struct {
	Text string `json:"text"`
}

// conversation is the result of one streamed call.
type conversation struct {
	task, state, text string
	chunks            int
}

// converse sends a message and prints every event when it arrives.
func converse(ctx context.Context, url, token, task, text string) (conversation, error) {
	fmt.Printf("\n  message/stream %q\n\n", text)
	begin := time.Now()
	response, err := call(ctx, http.MethodPost, url+"/", token, rpc("message/stream", task, text))
	if err != nil {
		return conversation{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body)
		return conversation{}, fmt.Errorf("message/stream: %s: %s", response.Status, body)
	}
	c := conversation{task: task}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data:")
		if !found {
			continue
		}
		var frame struct {
			Result event            `json:"result"`
			Error  *json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal([]byte(data), &frame); err != nil {
			return c, fmt.Errorf("read event: %w", err)
		}
		if frame.Error != nil {
			return c, fmt.Errorf("message/stream: %s", *frame.Error)
		}
		if line := c.add(&frame.Result); line != "" {
			fmt.Printf("    %5.2f s  %s\n", time.Since(begin).Seconds(), line)
		}
	}
	return c, lines.Err()
}

// add applies an event, and returns a line that describes it, or "".
func (c *conversation) add(e *event) string {
	if c.task == "" {
		c.task = e.ID + e.TaskID // a task sets ID, an update sets TaskID
	}
	if e.Kind == "artifact-update" {
		text := textOf(e.Artifact.Parts)
		if text == "" {
			return "" // an update without text ends an artifact
		}
		c.text += text
		c.chunks++
		return fmt.Sprintf("%-16s %q", "artifact", text)
	}
	c.state = e.Status.State
	return strings.TrimSpace(fmt.Sprintf("%-16s %s", c.state, textOf(e.Status.Message.Parts)))
}

func textOf(parts []part) string {
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
	}
	return text.String()
}
