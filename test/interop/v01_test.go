// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// client01 is a client like the client in the samples of 0.1: it chooses the ids of its
// tasks, splits streams at empty lines, and reads only blocks that begin with "data".
type client01 struct {
	t    *testing.T
	http *http.Client
	url  string
}

func newClient01(t *testing.T, agent http.HandlerFunc, change ...func(*sidecartest.Fixture, *sidecarconfig.Config)) *client01 {
	t.Helper()
	r := sidecartest.Start(t, agent, change...)
	return &client01{t: t, http: sidecartest.Client(t), url: r.URL + "/"}
}

// task01 holds the members of a task of 0.1 that the tests check.
type task01 struct {
	ID        string
	SessionID string
	Status    struct {
		State   string
		Message *struct{ Parts []part01 }
	}
	Artifacts []struct {
		Index int
		Parts []part01
	}
	History  []struct{ Role string }
	Final    *bool
	Artifact *struct {
		Index             int
		Parts             []part01
		Append, LastChunk bool
	}
}

type part01 struct{ Type, Text string }

func (c *client01) post(method, params string, headers ...string) *http.Response {
	c.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"q-1","method":%q,"params":%s}`, method, params)
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// call returns the task of a response, or the code of its error.
func (c *client01) call(method, params string, headers ...string) (task01, int) {
	c.t.Helper()
	text, err := io.ReadAll(c.post(method, params, headers...).Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.read(text)
}

func (c *client01) read(text []byte) (task01, int) {
	c.t.Helper()
	var response struct {
		Result task01
		Error  struct{ Code int }
	}
	if err := json.Unmarshal(text, &response); err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	return response.Result, response.Error.Code
}

// stream returns the events of a response, one line each.
func (c *client01) stream(method, params string) []string {
	c.t.Helper()
	text, err := io.ReadAll(c.post(method, params).Body)
	if err != nil {
		c.t.Fatal(err)
	}
	var lines []string
	for block := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte("\n\n")), []byte("\n\n")) {
		data, ok := bytes.CutPrefix(block, []byte("data: "))
		if !ok {
			c.t.Fatalf("a client of 0.1 cannot read %q", block)
		}
		event, code := c.read(data)
		switch {
		case code != 0:
			lines = append(lines, fmt.Sprint("error ", code))
		case event.Artifact != nil:
			a := event.Artifact
			lines = append(lines, fmt.Sprintf("%s artifact %d append %t last %t %s", event.ID, a.Index, a.Append, a.LastChunk, a.Parts[0].Text))
		default:
			lines = append(lines, fmt.Sprintf("%s %s final %t", event.ID, event.Status.State, *event.Final))
		}
	}
	return lines
}

func say(id, text, more string) string {
	return fmt.Sprintf(`{"id":%q,"message":{"role":"user","parts":[{"type":"text","text":%q}]}%s}`, id, text, more)
}

// TestWire21_Oldest is a conversation with a client of 0.1.
func TestWire21_Oldest(t *testing.T) {
	c := newClient01(t, sidecartest.TextAgent)
	done, code := c.call("tasks/send", say("mine", "Hi", `,"sessionId":"s1","historyLength":5`))
	if code != 0 || done.ID != "mine" || done.SessionID != "s1" || done.Status.State != "completed" || len(done.Artifacts) != 1 || len(done.History) != 1 {
		t.Fatalf("tasks/send = %+v, %d", done, code)
	}
	got, code := c.call("tasks/get", `{"id":"mine"}`)
	if code != 0 || got.ID != "mine" || got.SessionID != "s1" || len(got.Artifacts) != 1 || len(got.History) != 0 {
		t.Errorf("tasks/get = %+v, %d", got, code)
	}
	if got, _ := c.call("tasks/get", `{"id":"mine","historyLength":1}`); len(got.History) != 1 {
		t.Errorf("tasks/get with history = %+v", got)
	}
	for name, wrong := range map[string]struct {
		method, params string
		code           int
	}{
		"one more message":   {"tasks/send", say("mine", "More", ""), -32602},
		"an unknown task":    {"tasks/get", `{"id":"nowhere"}`, -32001},
		"cancel of the end":  {"tasks/cancel", `{"id":"mine"}`, -32002},
		"push":               {"tasks/pushNotification/get", `{"id":"mine"}`, -32003},
		"cancel of nothing":  {"tasks/cancel", `{"id":"nowhere"}`, -32001},
		"a message of parts": {"tasks/send", `{"id":"other","message":{"role":"user","parts":[]}}`, -32602},
	} {
		if _, code := c.call(wrong.method, wrong.params); code != wrong.code {
			t.Errorf("%s: code = %d, want %d", name, code, wrong.code)
		}
	}
	want := []string{
		"streamed submitted final false", "streamed working final false",
		"streamed artifact 0 append false last false Hello ", "streamed artifact 0 append true last false world",
		"streamed completed final true",
	}
	events := c.stream("tasks/sendSubscribe", say("streamed", "Hi", ""))
	if diff := cmp.Diff(want[0], events[0]); diff != "" {
		t.Errorf("first event (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[len(want)-1], events[len(events)-1]); diff != "" {
		t.Errorf("last event (-want +got):\n%s", diff)
	}
	for _, line := range want[2:4] {
		if text := line[strings.LastIndex(line, "last"):]; !strings.Contains(strings.Join(events, "\n"), strings.TrimPrefix(text, "last false ")) {
			t.Errorf("events lack %q: %q", line, events)
		}
	}
	if diff := cmp.Diff([]string{"streamed completed final true"}, c.stream("tasks/resubscribe", `{"id":"streamed"}`)); diff != "" {
		t.Errorf("subscribed to what has ended (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"error -32001"}, c.stream("tasks/resubscribe", `{"id":"nowhere"}`)); diff != "" {
		t.Errorf("subscribed to nothing (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"error -32602"}, c.stream("tasks/sendSubscribe", say("mine", "More", ""))); diff != "" {
		t.Errorf("streamed to what has ended (-want +got):\n%s", diff)
	}
}

// TestWire21_OldestContinuesAPausedTask continues a task that asked a question.
func TestWire21_OldestContinuesAPausedTask(t *testing.T) {
	c := newClient01(t, sidecartest.AskingAgent)
	asked, code := c.call("tasks/send", say("q", "Hi", ""))
	if code != 0 || asked.Status.State != "input-required" || asked.Status.Message.Parts[0].Text != "Which?" {
		t.Fatalf("tasks/send = %+v, %d", asked, code)
	}
	if _, code := c.call("tasks/send", say("q", "This", `,"sessionId":"another"`)); code != -32602 {
		t.Errorf("another session: code = %d", code)
	}
	done, code := c.call("tasks/send", say("q", "This", fmt.Sprintf(`,"sessionId":%q`, asked.SessionID)))
	if code != 0 || done.Status.State != "completed" || done.Artifacts[0].Parts[0] != (part01{"text", "That one"}) {
		t.Errorf("the answer = %+v, %d", done, code)
	}
	paused, _ := c.call("tasks/send", say("r", "Hi", ""))
	canceled, code := c.call("tasks/cancel", fmt.Sprintf(`{"id":%q}`, paused.ID))
	if code != 0 || canceled.Status.State != "canceled" || len(canceled.History) != 0 {
		t.Errorf("tasks/cancel = %+v, %d", canceled, code)
	}
}

// TestWire21_OldestRestarts sends messages to a task that has ended, with the option that restarts such a task.
func TestWire21_OldestRestarts(t *testing.T) {
	c := newClient01(t, sidecartest.TextAgent, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) { c.ProtocolOptions.RestartTasks = true })
	for range 2 {
		if done, code := c.call("tasks/send", say("again", "Hi", "")); code != 0 || done.Status.State != "completed" {
			t.Errorf("tasks/send = %+v, %d", done, code)
		}
	}
	if done, _ := c.call("tasks/get", `{"id":"again","historyLength":9}`); len(done.Artifacts) != 2 || len(done.History) != 2 {
		t.Errorf("tasks/get = %+v", done)
	}
}

// TestWire07_TasksOfOthers reads tasks of clients of other versions with a client
// that names no version. The response is in the dialect that made the task, or in
// one that all clients can read. The client's transport validates the responses.
func TestWire07_TasksOfOthers(t *testing.T) {
	c := newClient01(t, sidecartest.TextAgent)
	response := c.post("SendMessage", `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Hi"}]}}`, "A2A-Version", "1.0")
	var made struct {
		Result struct {
			Task struct{ ID, ContextID string }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&made); err != nil {
		t.Fatal(err)
	}
	params := fmt.Sprintf(`{"id":%q}`, made.Result.Task.ID)
	got, code := c.call("tasks/get", params)
	if code != 0 || got.SessionID != made.Result.Task.ContextID || got.Artifacts[0].Parts[0].Type != "text" {
		t.Errorf("tasks/get = %+v, %d", got, code)
	}
	text, err := io.ReadAll(c.post("tasks/get", params).Body)
	if err != nil || !bytes.Contains(text, []byte(`"kind":"task"`)) || !bytes.Contains(text, []byte(`"kind":"text"`)) {
		t.Errorf("tasks/get = %s, %v", text, err)
	}
	if _, code := c.call("tasks/get", params, "A2A-Version", "0.1"); code != 0 {
		t.Errorf("tasks/get of 0.1: code = %d", code)
	}
	mine, _ := c.call("tasks/send", say("mine", "Hi", ""))
	text, err = io.ReadAll(c.post("GetTask", fmt.Sprintf(`{"id":%q}`, mine.ID), "A2A-Version", "1.0").Body)
	if err != nil || !bytes.Contains(text, []byte(`"state":"TASK_STATE_COMPLETED"`)) {
		t.Errorf("GetTask = %s, %v", text, err)
	}
}
