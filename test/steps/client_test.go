// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

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
	"time"
)

// extension is the message extension with approvals.
const extension = "https://kagent.dev/extensions/hitl/v1"

// event is an event of a stream, or the task of a response.
type event struct {
	Seq            uint64
	Task           *task   `json:"task"`
	StatusUpdate   *update `json:"statusUpdate"`
	ArtifactUpdate *update `json:"artifactUpdate"`
}

type update struct {
	TaskID   string `json:"taskId"`
	Status   status `json:"status"`
	Metadata struct {
		Step struct {
			Digest  string `json:"argumentsDigest"`
			Outcome string `json:"outcome"`
		} `json:"a2a-operator.dev/step"`
	} `json:"metadata"`
}

type task struct {
	ID        string `json:"id"`
	Status    status `json:"status"`
	Artifacts []struct {
		Parts []part `json:"parts"`
	} `json:"artifacts"`
}

type part struct {
	Text string `json:"text"`
}

type status struct {
	State   string `json:"state"`
	Message struct {
		Parts    []part `json:"parts"`
		Metadata map[string]json.RawMessage
	} `json:"message"`
}

// asks returns the calls that wait for a decision.
func (s *status) asks() (calls []asked) {
	var request struct {
		Tools []asked `json:"tools"`
	}
	_ = json.Unmarshal(s.Message.Metadata[extension], &request)
	return request.Tools
}

type asked struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args struct {
		Key string `json:"key"`
	} `json:"args"`
}

func (s *status) hasEnded() bool {
	switch s.State {
	case "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED":
		return true
	}
	return false
}

func (s *status) text() (text string) {
	for _, each := range s.Message.Parts {
		text += each.Text
	}
	return text
}

// The errors of a request: the sidecar is away, and it does not know the task. Other errors are refusals.
var (
	errAway     = errors.New("away")
	errNotFound = errors.New("not found")
	errEnded    = errors.New("the task has ended")
	errRefused  = errors.New("refused for now")
)

// client has a connection for each request, because sidecars die.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// call sends a request of JSON-RPC, and passes the events of the response to handle until it returns false.
func call(ctx context.Context, address, method string, params any, after uint64, handle func(*event) bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
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
	if method == "SubscribeToTask" {
		request.Header.Set("Last-Event-ID", strconv.FormatUint(after, 10))
	}
	response, err := client.Do(request)
	if err != nil {
		return errAway
	}
	defer func() { _ = response.Body.Close() }()
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		all, err := io.ReadAll(response.Body)
		if err != nil {
			return errAway
		}
		_, err = decode(all, handle, 0)
		return err
	}
	var seq uint64
	for lines := bufio.NewReader(response.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return errAway
		}
		line = strings.TrimSpace(line)
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			seq, err = strconv.ParseUint(id, 10, 64)
			if err != nil {
				return err
			}
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			isMore, err := decode([]byte(data), handle, seq)
			if err != nil || !isMore {
				return err
			}
			seq = 0
		}
	}
}

func decode(text []byte, handle func(*event) bool, seq uint64) (isMore bool, err error) {
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return false, fmt.Errorf("answer %s: %w", text, err)
	}
	if problem := answer.Error; problem != nil {
		switch {
		case problem.Code == -32001:
			return false, errNotFound
		case problem.Code == -32004:
			return false, errEnded
		case bytes.Contains(problem.Data, []byte("UNAVAILABLE")):
			return false, errRefused
		}
		return false, fmt.Errorf("refused: %s", text)
	}
	e := &event{Seq: seq}
	if err := json.Unmarshal(answer.Result, e); err != nil {
		return false, err
	}
	if e.Task == nil && e.StatusUpdate == nil && e.ArtifactUpdate == nil {
		e.Task = &task{}
		if err := json.Unmarshal(answer.Result, e.Task); err != nil {
			return false, err
		}
	}
	return handle(e), nil
}
