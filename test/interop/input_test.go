// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// agentAskingForKey asks for a key and waits on its stream for the answer.
func agentAskingForKey() http.HandlerFunc {
	answers := make(chan string, 1)
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("A2A-Turn") == "input" {
			body, _ := io.ReadAll(r.Body)
			answers <- string(body)
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"kind":"status-update","status":{"state":"input-required","message":{"role":"agent","parts":[{"kind":"text","text":"Key?"}],`+
			`"inputRequest":{"kind":"input-request","prompt":"Key:","sensitive":true,"requestId":"input-1"}}},"final":false}`+"\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case answer := <-answers:
			// Only the agent receives the secret.
			_, _ = fmt.Fprintf(w, `{"text":"got it: %t"}`+"\n", strings.Contains(answer, "secret-123"))
		case <-r.Context().Done():
		}
	}
}

// TestWire13_AnswerWithAReferenceToItsQuestion answers with a second stream while it reads
// the first one. The message of the second stream names the task in referenceTaskIds.
func TestWire13_AnswerWithAReferenceToItsQuestion(t *testing.T) {
	c := newClient01(t, agentAskingForKey())
	first := c.post("message/stream", `{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"Hi"}]}}`)
	lines := bufio.NewScanner(first.Body)
	next := func() (event struct {
		ID, TaskID, Kind string
		Final            bool
		Status           struct {
			State   string
			Message struct{ InputRequest struct{ RequestID string } }
		}
	},
	) {
		t.Helper()
		for lines.Scan() {
			if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
				var response struct{ Result json.RawMessage }
				if err := json.Unmarshal(data, &response); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(response.Result, &event); err != nil {
					t.Fatal(err)
				}
				return event
			}
		}
		t.Fatalf("stream ended: %v", lines.Err())
		return event
	}
	id := next().ID
	asked := next()
	for asked.Status.State != "input-required" {
		asked = next()
	}
	if asked.Final || asked.Status.Message.InputRequest.RequestID != "input-1" {
		t.Fatalf("the agent asks %+v", asked)
	}
	second := c.post("message/stream", fmt.Sprintf(`{"message":{"kind":"message","messageId":"m2","role":"user","referenceTaskIds":[%q],
		"parts":[{"kind":"tool-result","toolUseId":"input-1","result":{"value":"secret-123"}}]}}`, id))
	mirrored, err := io.ReadAll(second.Body)
	if err != nil || !bytes.Contains(mirrored, []byte(`"kind":"task","id":"`+id+`"`)) || !bytes.Contains(mirrored, []byte("got it: true")) {
		t.Errorf("the second stream = %s, %v", mirrored, err)
	}
	last := next()
	for !last.Final {
		last = next()
	}
	if last.Status.State != "completed" || last.TaskID != id {
		t.Errorf("the first stream ends with %+v", last)
	}
	task, err := io.ReadAll(c.post("tasks/get", fmt.Sprintf(`{"id":%q}`, id)).Body)
	if err != nil || !bytes.Contains(task, []byte(`"kind":"tool-result","toolUseId":"input-1"`)) || bytes.Contains(append(task, mirrored...), []byte("secret-123")) {
		t.Errorf("tasks/get = %s, %v", task, err)
	}
}

// TestWire13_GetMayStream sends tasks/get with a taskId instead of an id, as one client does to resume a stream. The
// response is a stream unless the client asks for JSON.
func TestWire13_GetMayStream(t *testing.T) {
	c := newClient01(t, sidecartest.TextAgent)
	done, _ := c.call("tasks/send", say("t", "Hi", ""))
	text, err := io.ReadAll(c.post("tasks/get", fmt.Sprintf(`{"taskId":%q}`, done.ID)).Body)
	if err != nil || !bytes.HasPrefix(text, []byte("id: ")) || !bytes.Contains(text, []byte(`"kind":"status-update","taskId":"t"`)) ||
		bytes.Count(text, []byte("data: ")) != 1 || !bytes.Contains(text, []byte(`"final":true`)) {
		t.Errorf("tasks/get with a taskId = %s, %v", text, err)
	}
	got, code := c.call("tasks/get", fmt.Sprintf(`{"taskId":%q}`, done.ID), "Accept", "application/json", "A2A-Version", "0.3")
	if code != 0 || got.ID != "t" {
		t.Errorf("tasks/get with a taskId, of JSON = %+v, %d", got, code)
	}
}
