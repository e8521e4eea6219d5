// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"mime"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// addParentTask adds the id of the agent's own task to the tasks to which a message refers,
// so that the task of the called agent refers to its parent. It changes only the message in a
// request of JSON-RPC or HTTP+JSON. It reads such a request into memory, and charges the
// budget for it until the body is closed. Its errors are *a2a.Error, or wrap the cause of a
// canceled request.
func (h *Handler) addParentTask(w http.ResponseWriter, r *http.Request, to *destination) error {
	task := r.Header.Get(headerTask)
	if task == "" || !isJSON(r.Header.Get("Content-Type")) || r.Method != http.MethodPost || r.Body == nil {
		return nil
	}
	if len(task) > 256 || strings.ContainsFunc(task, func(c rune) bool { return c < ' ' || c > '~' }) {
		return &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: headerTask + " is not a task id"}
	}
	path := messagePath
	if isRESTMessage(to.rest) {
		path = messagePathREST
	}
	body, release, err := h.readBody(w, r)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		release() // the proxy closes no empty body
		return nil
	}
	if at, ok := messageAt(body, path); ok {
		member, _ := jsontext.AppendQuote([]byte(`"referenceTaskIds":[`), task)
		body = bytes.Join([][]byte{body[:at], append(member, "],"...), body[at:]}, nil)
	}
	_ = r.Body.Close()
	r.Body = &chargedBody{rest: body, release: release}
	r.ContentLength = int64(len(body))
	return nil
}

// isJSON reports whether a content type is one of JSON in the bindings.
func isJSON(contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && (mediaType == "application/json" || mediaType == "application/a2a+json")
}

// isRESTMessage reports whether an escaped path is a path of HTTP+JSON that accepts a
// message.
func isRESTMessage(path string) bool {
	return strings.HasSuffix(path, "/message:send") || strings.HasSuffix(path, "/message:stream")
}

// The paths of the members that lead to the message in a request of JSON-RPC and of
// HTTP+JSON. In 0.2, the member of HTTP+JSON is named request.
var (
	messagePath     = [][]string{{"params"}, {"message"}}
	messagePathREST = [][]string{{"message", "request"}}
)

// messageAt returns the offset after the opening brace of the message. It returns false if
// there is no message, or if the message is empty or already refers to tasks.
func messageAt(body []byte, path [][]string) (at int64, ok bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	for _, names := range path {
		if !enter(d, names...) {
			return 0, false
		}
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
