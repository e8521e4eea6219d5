// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	v03 "github.com/a2aproject/a2a-go/a2apb"
	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"
)

// In every version and binding, a client that resumes after the last event of a finished
// task receives the final task, and the stream ends. A stream that ended without the
// final task would make the client subscribe again. Over GET, the client may be an EventSource,
// which would subscribe again in any case, and gets 204.
func TestResumptionBehindTheLastEventYieldsTheFinalTask(t *testing.T) {
	p := newPod(t, respondHi, nil)
	headers := p.tokenHeaders("team")
	_, body := p.do("POST", p.agent(), hello, headers...)
	var sent struct{ Result struct{ ID string } }
	if err := json.Unmarshal([]byte(body), &sent); err != nil || sent.Result.ID == "" {
		t.Fatalf("message/send = %s", body)
	}
	id := sent.Result.ID
	_, log := p.do("GET", p.agent()+"tasks/"+id+":subscribe", "", append(headers, "Last-Event-ID", "0")...)
	numbers := regexp.MustCompile(`(?m)^id: (\d+)$`).FindAllStringSubmatch(log, -1)
	if len(numbers) < 2 {
		t.Fatalf("the log of the task is %s", log)
	}
	last := numbers[len(numbers)-1][1]
	_, body = p.do("POST", p.agent()+"v1/message:send", `{"message":{"kind":"message","messageId":"k","role":"user","parts":[{"kind":"text","text":"Hello"}]}}`, headers...)
	var ofKind struct{ ID string }
	if err := json.Unmarshal([]byte(body), &ofKind); err != nil || ofKind.ID == "" {
		t.Fatalf("message:send = %s", body)
	}
	rpc := func(method string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"id":"` + id + `"}}`
	}
	for name, test := range map[string]struct {
		verb, path, body, version string
		// task is a part of the first event, and ends is a part of the last event.
		task, ends string
		events     int
	}{
		"0.1 JSON-RPC":        {"POST", "", rpc("tasks/resubscribe"), "0.1", `"result":{"id":"` + id, `"final":true`, 1},
		"0.3 JSON-RPC":        {"POST", "", rpc("tasks/resubscribe"), "0.3", `"kind":"task"`, `"final":true`, 2},
		"1.0 JSON-RPC":        {"POST", "", rpc("SubscribeToTask"), "1.0", `"result":{"task":{`, `"TASK_STATE_COMPLETED"`, 1},
		"0.3 REST":            {"POST", "v1/tasks/" + id + ":subscribe", "{}", "0.3", `data: {"task":{`, `"TASK_STATE_COMPLETED"`, 1},
		"0.3 REST with kinds": {"POST", "v1/tasks/" + ofKind.ID + ":subscribe", "{}", "0.3", `"kind":"task"`, `"final":true`, 2},
		"1.0 REST":            {"POST", "tasks/" + id + ":subscribe", "{}", "1.0", `data: {"task":{`, `"TASK_STATE_COMPLETED"`, 1},
		"0.3 EventSource":     {"GET", "v1/tasks/" + id + ":subscribe", "", "0.3", "", "", 0},
		"1.0 EventSource":     {"GET", "tasks/" + id + ":subscribe", "", "1.0", "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := p.do(test.verb, p.agent()+test.path, test.body, append(headers, "A2A-Version", test.version, "Last-Event-ID", last)...)
			if test.verb == "GET" {
				if response.StatusCode != http.StatusNoContent || body != "" {
					t.Errorf("response = %d %s", response.StatusCode, body)
				}
				return
			}
			events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
			if len(events) != test.events || !strings.Contains(events[0], test.task) || !strings.Contains(events[0], "id: "+last+"\n") ||
				!strings.Contains(events[len(events)-1], test.ends) || strings.Contains(body, `"error"`) {
				t.Errorf("stream = %s, want %d events, the first with %s, the last with %s", body, test.events, test.task, test.ends)
			}
		})
	}
	resumed := metadata.AppendToOutgoingContext(p.caller(), "last-event-id", last)
	old, err := v03.NewA2AServiceClient(p.dial()).TaskSubscription(resumed, &v03.TaskSubscriptionRequest{Name: "tasks/" + id})
	if err != nil {
		t.Fatal(err)
	}
	if event, err := old.Recv(); err != nil || event.GetTask().GetStatus().GetState() != v03.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("0.3 gRPC = %v, %v", event, err)
	}
	recent, err := v10.NewA2AServiceClient(p.dial()).SubscribeToTask(resumed, &v10.SubscribeToTaskRequest{Id: id})
	if err != nil {
		t.Fatal(err)
	}
	if event, err := recent.Recv(); err != nil || event.GetTask().GetStatus().GetState() != v10.TaskState_TASK_STATE_COMPLETED {
		t.Errorf("1.0 gRPC = %v, %v", event, err)
	}
}
