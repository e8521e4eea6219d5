// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

// rich is an agent whose answer has every kind of content.
var rich = sidecartest.NDJSONAgent(
	`{"kind":"status-update","status":{"state":"working","message":{"role":"agent","parts":[{"kind":"text","text":"At it"}]}},"metadata":{"n":1}}`,
	`{"kind":"artifact-update","artifact":{"artifactId":"a","name":"N","description":"D","parts":[{"kind":"text","text":"Hi \u2028 <é>"},{"kind":"data","data":{"a":[1,2.50,null]}}],"metadata":{"k":"v"}}}`,
	`{"kind":"artifact-update","artifact":{"artifactId":"b","parts":[{"kind":"file","file":{"name":"h.txt","mimeType":"text/plain","bytes":"aGk="}}]},"lastChunk":true}`,
	`{"kind":"artifact-update","artifact":{"artifactId":"b","parts":[{"kind":"file","file":{"mimeType":"text/html","uri":"https://example.com/f"}}]},"append":true}`,
)

// TestWire01_EveryVersion performs the operations on a task with a client of each version. The client's
// transport validates the responses; the test checks that it has seen each form.
func TestWire01_EveryVersion(t *testing.T) {
	r := sidecartest.Start(t, rich, sidecartest.WithEverything)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	validator := spec.NewTransport(t, transport)
	client := &http.Client{Transport: validator}
	for _, request := range []request{
		rpc("tasks/send", `{"id":"one","sessionId":"s","message":{"role":"user","parts":[{"type":"text","text":"Hi"}]}}`),
		rpc("tasks/sendSubscribe", `{"id":"two","message":{"role":"user","parts":[{"type":"data","data":{"x":1}}]}}`),
		rpc("tasks/get", `{"id":"one"}`).with("A2A-Version", "0.1"),
		rpc("tasks/cancel", `{"id":"one"}`).with("A2A-Version", "0.1"),
		rpc("tasks/resubscribe", `{"id":"one"}`).with("A2A-Version", "0.1"),
		rpc("message/send", `{"message":{"kind":"message","messageId":"b1","role":"user","contextId":"s","parts":[{"kind":"text","text":"Hi"}]}}`),
		rpc("message/stream", `{"message":{"kind":"message","messageId":"b2","role":"user","parts":[{"kind":"file","file":{"bytes":"aGk="}}]}}`),
		rpc("tasks/get", `{"id":"one"}`).with("A2A-Version", "0.3"),
		rpc("tasks/get", `{"id":"nowhere"}`),
		rpc("tasks/list", `{}`),
		rpc("SendMessage", `{"message":{"messageId":"d1","role":"ROLE_USER","parts":[{"text":"Hi"}]}}`),
		rpc("SendStreamingMessage", `{"message":{"messageId":"d2","role":"ROLE_USER","parts":[{"raw":"aGk=","filename":"h"}]}}`),
		rpc("GetTask", `{"id":"one"}`),
		rpc("ListTasks", `{"includeArtifacts":true}`),
		rpc("SubscribeToTask", `{"id":"one"}`),
		rpc("GetExtendedAgentCard", `{}`),
		{method: http.MethodGet, path: "/.well-known/agent.json"},
		{method: http.MethodGet, path: "/.well-known/agent-card.json", header: map[string]string{"A2A-Version": "1.0"}},
	} {
		do(t, client, r.URL, request)
	}
	seen := validator.Seen()
	for _, form := range []string{
		"v0.1.0 SendTaskResponse", "v0.1.0 SendTaskStreamingResponse", "v0.1.0 GetTaskResponse",
		"v0.3.0 SendMessageResponse", "v0.3.0 SendStreamingMessageResponse", "v0.3.0 GetTaskResponse",
		"v0.3.0 JSONRPCErrorResponse", "v0.3.0 tasks/list",
		"JSON-RPC v1.0.1 SendMessageResponse", "JSON-RPC v1.0.1 StreamResponse", "JSON-RPC v1.0.1 Task", "JSON-RPC v1.0.1 ListTasksResponse",
		"error of 1.0", "v1.0.1 AgentCard", "card of all versions",
	} {
		if seen[form] == 0 {
			t.Errorf("no response of the form %q was validated; forms: %q", form, slices.Sorted(maps.Keys(seen)))
		}
	}
}

// TestWire02_OnlyMembersOfTheProto checks that responses of 1.0 have no members but those of lf.a2a.v1.
func TestWire02_OnlyMembersOfTheProto(t *testing.T) {
	// The tasks come from other versions, and from events with additional members.
	r := sidecartest.Start(t, rich)
	client := sidecartest.Client(t)
	do(t, client, r.URL, rpc("tasks/send", `{"id":"one","message":{"role":"user","parts":[{"type":"text","text":"Hi"}]}}`))
	do(t, client, r.URL, rpc("message/send", `{"message":{"kind":"message","messageId":"b1","role":"user","parts":[{"kind":"tool-result","toolUseId":"x","result":{}}]}}`))
	list := do(t, client, r.URL, rpc("ListTasks", `{"includeArtifacts":true}`))
	if got := find(t, list.body, "result", "totalSize"); got != "2" {
		t.Fatalf("list = %s", list.body)
	}
	for _, id := range []string{find(t, list.body, "result", "tasks", "0", "id"), find(t, list.body, "result", "tasks", "1", "id")} {
		got := do(t, client, r.URL, rpc("GetTask", `{"id":"`+id+`"}`))
		for _, member := range []string{`"kind":`, `"type":`, `"sessionId":`, `"final":`, `"index":`} {
			if strings.Contains(got.body, member) {
				t.Errorf("%s holds %s", got.body, member)
			}
		}
	}
}

// TestWire03_OneTaskInEveryVersion checks that all versions read the same content of a task.
func TestWire03_OneTaskInEveryVersion(t *testing.T) {
	r := sidecartest.Start(t, rich)
	client := sidecartest.Client(t)
	id := find(t, do(t, client, r.URL, rpc("SendMessage",
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"Hi"}]}}`)).body, "result", "task", "id")
	type view struct{ state, text, data, file, url, context, said string }
	read := func(request request, at func(path ...string) string, body *string, paths [7][]string) view {
		*body = do(t, client, r.URL, request).body
		return view{at(paths[0]...), at(paths[1]...), at(paths[2]...), at(paths[3]...), at(paths[4]...), at(paths[5]...), at(paths[6]...)}
	}
	var body string
	at := func(path ...string) string { return find(t, body, append([]string{"result"}, path...)...) }
	artifact := func(n, part string, rest ...string) []string {
		return append([]string{"artifacts", n, "parts", part}, rest...)
	}
	views := map[string]view{
		"0.1": read(rpc("tasks/get", `{"id":"`+id+`","historyLength":9}`).with("A2A-Version", "0.1"), at, &body, [7][]string{
			{"status", "state"},
			artifact("0", "0", "text"), artifact("0", "1", "data"), artifact("1", "0", "file", "bytes"), artifact("1", "1", "file", "uri"),
			{"sessionId"},
			{"history", "0", "parts", "0", "text"},
		}),
		"0.3": read(rpc("tasks/get", `{"id":"`+id+`"}`).with("A2A-Version", "0.3"), at, &body, [7][]string{
			{"status", "state"},
			artifact("0", "0", "text"), artifact("0", "1", "data"), artifact("1", "0", "file", "bytes"), artifact("1", "1", "file", "uri"),
			{"contextId"},
			{"history", "0", "parts", "0", "text"},
		}),
		"1.0": read(rpc("GetTask", `{"id":"`+id+`"}`), at, &body, [7][]string{
			{"status", "state"},
			artifact("0", "0", "text"), artifact("0", "1", "data"), artifact("1", "0", "raw"), artifact("1", "1", "url"),
			{"contextId"},
			{"history", "0", "parts", "0", "text"},
		}),
	}
	want := view{"completed", "Hi \u2028 <é>", "map[a:[1 2.5 <nil>]]", "aGk=", "https://example.com/f", views["1.0"].context, "Hi"}
	for version, got := range views {
		got.state = strings.ToLower(strings.TrimPrefix(got.state, "TASK_STATE_"))
		if got != want || got.context == "" {
			t.Errorf("%s reads %+v, want %+v", version, got, want)
		}
	}
}

// TestWire04_Splitter checks the streams of 0.1, whose clients split at blank lines and read blocks that start
// with "data: ".
func TestWire04_Splitter(t *testing.T) {
	r := sidecartest.Start(t, rich)
	got := do(t, sidecartest.Client(t), r.URL, rpc("tasks/sendSubscribe", `{"id":"t","message":{"role":"user","parts":[{"type":"text","text":"Hi"}]}}`))
	blocks := strings.Split(strings.TrimSuffix(got.body, "\n\n"), "\n\n")
	for _, block := range blocks {
		if !strings.HasPrefix(block, "data: ") || strings.ContainsAny(block, "\n\r") {
			t.Errorf("block %q", block)
		}
	}
	if last := find(t, got.frames()[len(blocks)-1], "result", "final"); len(blocks) < 5 || last != "true" {
		t.Errorf("stream = %s", got.body)
	}
}

// TestWire12_NoGapUnderLoad checks that the snapshot of a late subscriber and the events after it contain the
// whole text.
func TestWire12_NoGapUnderLoad(t *testing.T) {
	// The agent writes a hundred chunks each time a subscriber has joined.
	const chunks, subscribers = 2000, 20
	joined := make(chan struct{})
	r := sidecartest.Start(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		for i := range chunks {
			if i%(chunks/subscribers) == 1 {
				select {
				case <-joined:
				case <-req.Context().Done():
					return
				}
			}
			_, _ = fmt.Fprintf(w, `{"text":"%d,"}`+"\n", i)
			_ = http.NewResponseController(w).Flush()
		}
	})
	client := sidecartest.Client(t)
	id := send(t, client, r)
	want := ""
	for i := range chunks {
		want += strconv.Itoa(i) + ","
	}
	var all sync.WaitGroup
	for range subscribers {
		response := open(t, client, r.URL, rpc("SubscribeToTask", `{"id":"`+id+`"}`))
		joined <- struct{}{}
		all.Go(func() {
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Error(err)
			}
			text := ""
			for i, frame := range (answer{body: string(body)}).frames() {
				if i == 0 {
					for n := 0; find(t, frame, "result", "task", "artifacts", "0", "parts", strconv.Itoa(n)) != ""; n++ {
						text += find(t, frame, "result", "task", "artifacts", "0", "parts", strconv.Itoa(n), "text")
					}
				}
				text += find(t, frame, "result", "artifactUpdate", "artifact", "parts", "0", "text")
			}
			if text != want {
				t.Errorf("a subscriber received %d of %d bytes", len(text), len(want))
			}
		})
	}
	all.Wait()
}

// TestWire22_InternalDataIsNeverSent checks that no stream has events that are for the sidecar only, or that come after
// the end.
func TestWire22_InternalDataIsNeverSent(t *testing.T) {
	r := sidecartest.Start(t, sidecartest.NDJSONAgent(
		`{"kind":"internal:usage","secret":"canary-1"}`,
		`{"text":"Hi"}`, "", "[DONE]",
		`{"kind":"status-update","status":{"state":"completed"},"final":true}`,
		`{"text":"canary-3"}`,
		`{"kind":"status-update","status":{"state":"failed","message":{"role":"agent","parts":[{"kind":"text","text":"canary-4"}]}}}`,
	))
	client := sidecartest.Client(t)
	all := ""
	for _, request := range []request{
		rpc("tasks/sendSubscribe", `{"id":"t","message":{"role":"user","parts":[{"type":"text","text":"Hi"}]}}`),
		rpc("message/stream", `{"message":{"kind":"message","messageId":"1","role":"user","parts":[{"kind":"text","text":"Hi"}]}}`),
		rpc("SendStreamingMessage", `{"message":{"messageId":"2","role":"ROLE_USER","parts":[{"text":"Hi"}]}}`),
		rpc("ListTasks", `{"includeArtifacts":true}`),
	} {
		all += do(t, client, r.URL, request).body
	}
	if strings.Contains(all, "canary") || strings.Contains(all, "internal:") {
		t.Errorf("clients received:\n%s", all)
	}
	if got := strings.Count(all, `"text":"Hi"`); got < 6 {
		t.Errorf("the answer is incomplete:\n%s", all)
	}
}

// TestWire22_UnknownEventsFailTheTurn checks that an event of an unknown kind fails the task in every version with an
// excerpt of the event, and that earlier content stays.
func TestWire22_UnknownEventsFailTheTurn(t *testing.T) {
	r := sidecartest.Start(t, sidecartest.NDJSONAgent(`{"text":"Hi"}`, `{"kind":"telepathy","text":"x"}`, `{"kind":"status-update","status":{"state":"completed"},"final":true}`))
	client := sidecartest.Client(t)
	for _, request := range []request{
		rpc("tasks/sendSubscribe", `{"id":"t","message":{"role":"user","parts":[{"type":"text","text":"1"}]}}`),
		rpc("message/stream", `{"message":{"kind":"message","messageId":"1","role":"user","parts":[{"kind":"text","text":"2"}]}}`),
		rpc("SendStreamingMessage", `{"message":{"messageId":"2","role":"ROLE_USER","parts":[{"text":"3"}]}}`),
	} {
		body := strings.ToLower(do(t, client, r.URL, request).body)
		for _, want := range []string{`"text":"hi"`, `failed"`, `the agent's event in line 2 is not an event`, `received: {\"kind\":\"telepathy\",\"text\":\"x\"}`} {
			if !strings.Contains(body, want) {
				t.Errorf("clients do not receive %s in\n%s", want, body)
			}
		}
		if strings.Contains(body, `completed"`) {
			t.Errorf("the task completes:\n%s", body)
		}
	}
}

// TestWire14_AuthRequiredOverTheWire checks that a stream stays open while the agent waits for an authorization,
// and that a blocking call returns.
func TestWire14_AuthRequiredOverTheWire(t *testing.T) {
	proceed := make(chan struct{})
	r := sidecartest.Start(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"kind":"status-update","status":{"state":"auth-required"}}`+"\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-proceed:
			_, _ = io.WriteString(w, `{"kind":"status-update","status":{"state":"working"}}`+"\n"+`{"text":"done"}`+"\n")
		case <-req.Context().Done():
		}
	})
	client := sidecartest.Client(t)
	call := do(t, client, r.URL, rpc("SendMessage", `{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Hi"}]}}`))
	if state := find(t, call.body, "result", "task", "status", "state"); state != "TASK_STATE_AUTH_REQUIRED" {
		t.Errorf("call = %s", call.body)
	}
	id := find(t, call.body, "result", "task", "id")
	response := open(t, client, r.URL, rpc("SubscribeToTask", `{"id":"`+id+`"}`))
	defer response.Body.Close()
	close(proceed)
	text, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(text), "TASK_STATE_COMPLETED") {
		t.Errorf("stream = %s, %v", text, err)
	}
}
