// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// operation is an operation on an existing task, in one version.
type operation struct {
	name string
	of   func(id string) request
}

func rpcOf(method, params string) operation {
	return operation{method, func(id string) request { return rpc(method, strings.ReplaceAll(params, "ID", id)) }}
}

func restOf(method, path, body string) operation {
	return operation{method + " " + path, func(id string) request {
		return request{method: method, path: strings.ReplaceAll(path, "ID", url.PathEscape(id)), body: strings.ReplaceAll(body, "ID", id)}
	}}
}

// rpcOperations are all operations that name a task, in all versions. tasks/send of 0.1 is missing: with an id that is
// unknown to the caller, it creates a task with this id.
var rpcOperations = []operation{
	rpcOf("tasks/pushNotification/set", `{"id":"ID","pushNotificationConfig":{"url":"https://hooks.example.com/"}}`),
	rpcOf("tasks/pushNotification/get", `{"id":"ID"}`),

	rpcOf("message/send", `{"message":{"kind":"message","messageId":"x","role":"user","taskId":"ID","parts":[{"kind":"text","text":"Hi"}]}}`),
	rpcOf("message/stream", `{"message":{"kind":"message","messageId":"x","role":"user","taskId":"ID","parts":[{"kind":"text","text":"Hi"}]}}`),
	rpcOf("tasks/get", `{"id":"ID"}`),
	rpcOf("tasks/cancel", `{"id":"ID"}`),
	rpcOf("tasks/resubscribe", `{"id":"ID"}`),
	rpcOf("tasks/pushNotificationConfig/set", `{"taskId":"ID","pushNotificationConfig":{"url":"https://hooks.example.com/"}}`),
	rpcOf("tasks/pushNotificationConfig/get", `{"id":"ID"}`),
	rpcOf("tasks/pushNotificationConfig/list", `{"id":"ID"}`),
	rpcOf("tasks/pushNotificationConfig/delete", `{"id":"ID","pushNotificationConfigId":"c"}`),

	rpcOf("SendMessage", `{"message":{"messageId":"x","role":"ROLE_USER","taskId":"ID","parts":[{"text":"Hi"}]}}`),
	rpcOf("SendStreamingMessage", `{"message":{"messageId":"x","role":"ROLE_USER","taskId":"ID","parts":[{"text":"Hi"}]}}`),
	rpcOf("GetTask", `{"id":"ID"}`),
	rpcOf("CancelTask", `{"id":"ID"}`),
	rpcOf("SubscribeToTask", `{"id":"ID"}`),
	rpcOf("CreateTaskPushNotificationConfig", `{"taskId":"ID","url":"https://hooks.example.com/"}`),
	rpcOf("GetTaskPushNotificationConfig", `{"taskId":"ID","id":"c"}`),
	rpcOf("ListTaskPushNotificationConfigs", `{"taskId":"ID"}`),
	rpcOf("DeleteTaskPushNotificationConfig", `{"taskId":"ID","id":"c"}`),
}

var restOperations = []operation{
	restOf(http.MethodPost, "/message:send", `{"message":{"messageId":"x","role":"ROLE_USER","taskId":"ID","parts":[{"text":"Hi"}]}}`),
	restOf(http.MethodPost, "/message:stream", `{"message":{"messageId":"x","role":"ROLE_USER","taskId":"ID","parts":[{"text":"Hi"}]}}`),
	restOf(http.MethodGet, "/tasks/ID", ""),
	restOf(http.MethodPost, "/tasks/ID:cancel", "{}"),
	restOf(http.MethodPost, "/tasks/ID:subscribe", "{}"),
	restOf(http.MethodGet, "/tasks/ID:subscribe", ""),
	restOf(http.MethodPost, "/tasks/ID/pushNotificationConfigs", `{"url":"https://hooks.example.com/"}`),
	restOf(http.MethodGet, "/tasks/ID/pushNotificationConfigs", ""),
	restOf(http.MethodGet, "/tasks/ID/pushNotificationConfigs/c", ""),
	restOf(http.MethodDelete, "/tasks/ID/pushNotificationConfigs/c", ""),

	restOf(http.MethodPost, "/v1/message:send", `{"message":{"messageId":"x","role":"ROLE_USER","taskId":"ID","content":[{"text":"Hi"}]}}`),
	restOf(http.MethodPost, "/v1/message:stream", `{"message":{"messageId":"x","role":"ROLE_USER","taskId":"ID","content":[{"text":"Hi"}]}}`),
	restOf(http.MethodGet, "/v1/tasks/ID", ""),
	restOf(http.MethodPost, "/v1/tasks/ID:cancel", "{}"),
	restOf(http.MethodPost, "/v1/tasks/ID:subscribe", "{}"),
	restOf(http.MethodGet, "/v1/tasks/ID:subscribe", ""),
	restOf(http.MethodPost, "/v1/tasks/ID/pushNotificationConfigs", `{"pushNotificationConfig":{"url":"https://hooks.example.com/"}}`),
	restOf(http.MethodGet, "/v1/tasks/ID/pushNotificationConfigs", ""),
	restOf(http.MethodGet, "/v1/tasks/ID/pushNotificationConfigs/c", ""),
	restOf(http.MethodDelete, "/v1/tasks/ID/pushNotificationConfigs/c", ""),
}

// everyOperation returns the operations of both bindings that the sidecar offers.
func everyOperation(t *testing.T, r *sidecartest.Fixture) []operation {
	t.Helper()
	all := rpcOperations
	if offers(t, r, "HTTP+JSON") {
		all = slices.Concat(all, restOperations)
	}
	return all
}

// TestWire10_ForeignTaskEqualsMissingTask checks that the responses for a task of another owner and for a missing
// task have the same bytes.
func TestWire10_ForeignTaskEqualsMissingTask(t *testing.T) {
	r := sidecartest.Start(t, sidecartest.HeldAgent(nil), sidecartest.WithTokens, sidecartest.WithEverything)
	client := sidecartest.Client(t)
	alice, bob := "Bearer "+r.Token(t, "alice"), "Bearer "+r.Token(t, "bob")
	id := send(t, client, r, "Authorization", alice)
	nowhere := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '8' {
			return c + 1
		}
		return c
	}, id)
	r.AwaitCall(t) // the sidecar has answered before the agent is called
	calls, pushes := r.Calls(), offersPush(t, r)
	for _, o := range everyOperation(t, r) {
		t.Run(o.name, func(t *testing.T) {
			foreign := do(t, client, r.URL, o.of(id).with("Authorization", bob))
			missing := do(t, client, r.URL, o.of(nowhere).with("Authorization", bob))
			got, want := strings.ReplaceAll(foreign.body, id, "ID"), strings.ReplaceAll(missing.body, nowhere, "ID")
			if got != want || foreign.status != missing.status || foreign.header.Get("Content-Type") != missing.header.Get("Content-Type") {
				t.Errorf("response for a foreign task:\n%d %s\nand for a missing one:\n%d %s", foreign.status, got, missing.status, want)
			}
			off := !pushes && strings.Contains(o.name, "ushNotification")
			if !off && !strings.Contains(want, "-32001") && !strings.Contains(want, "TASK_NOT_FOUND") {
				t.Errorf("answer = %s, want task not found", want)
			}
		})
	}
	if now := r.Calls(); now != calls {
		t.Errorf("the agent was called %d more times", now-calls)
	}
	mine := do(t, client, r.URL, rpc("GetTask", `{"id":"`+id+`"}`).with("Authorization", alice))
	if state := find(t, mine.body, "result", "status", "state"); state != "TASK_STATE_WORKING" {
		t.Errorf("the owner finds %s", mine.body)
	}
	do(t, client, r.URL, rpc("CancelTask", `{"id":"`+id+`"}`).with("Authorization", alice))
}

// TestWire10_OperationsRequireAToken checks that a caller without a token gets no information.
func TestWire10_OperationsRequireAToken(t *testing.T) {
	r := sidecartest.Start(t, sidecartest.TextAgent, sidecartest.WithTokens, sidecartest.WithEverything)
	client := sidecartest.Client(t)
	for _, o := range everyOperation(t, r) {
		got := do(t, client, r.URL, o.of("nowhere"))
		if got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s = %d %s", o.name, got.status, got.body)
		}
	}
	if r.Calls() != 0 {
		t.Error("the agent was called")
	}
}
