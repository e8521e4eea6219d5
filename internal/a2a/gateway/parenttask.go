// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// headerTask is the header with the id of the task for which the agent makes the request.
const headerTask = "A2A-Task-Id"

// maxLinked bounds the requests to which the gateway adds a task, in bytes.
const maxLinked = 10 << 20

// addParentTask adds the agent's own task to the tasks to which a message refers, so that
// the task of the called agent refers to its parent. It changes nothing but the message of
// a JSON-RPC request.
func addParentTask(r *http.Request) error {
	task := r.Header.Get(headerTask)
	json := strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
	if task == "" || !json || r.Method != http.MethodPost || r.Body == nil {
		return nil
	}
	if len(task) > 256 || strings.ContainsFunc(task, func(c rune) bool { return c < ' ' || c > '~' }) {
		return errors.New(headerTask + " is not a task id")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxLinked+1))
	if err != nil {
		return errors.New("request body is incomplete")
	}
	if len(body) > maxLinked {
		return errors.New("request body is larger than 10 MiB")
	}
	if at, ok := messageAt(body); ok {
		member, _ := jsontext.AppendQuote([]byte(`"referenceTaskIds":[`), task)
		body = bytes.Join([][]byte{body[:at], append(member, "],"...), body[at:]}, nil)
	}
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return nil
}

// messageAt returns the offset of params.message, behind its brace. It returns false if
// there is none, or if it is empty or has references of its own.
func messageAt(body []byte) (at int64, ok bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if !enter(d, "params") || !enter(d, "message") {
		return 0, false
	}
	if d.PeekKind() != '{' {
		return 0, false
	}
	if _, err := d.ReadToken(); err != nil {
		return 0, false
	}
	at = d.InputOffset()
	members := 0
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil || name.String() == "referenceTaskIds" || name.String() == "reference_task_ids" {
			return 0, false
		}
		if d.SkipValue() != nil {
			return 0, false
		}
		members++
	}
	return at, members > 0
}

// enter reads an object up to the value of a member, and reports whether there is one.
func enter(d *jsontext.Decoder, member string) bool {
	if d.PeekKind() != '{' {
		return false
	}
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return false
		}
		if name.String() == member {
			return true
		}
		if d.SkipValue() != nil {
			return false
		}
	}
	return false
}
