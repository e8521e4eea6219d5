// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/test/codectest"
	"github.com/a2a-operator/a2a-operator/test/prototest"
)

const (
	helloD = `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Hello"}]}}`
	helloC = `{"message":{"messageId":"m1","role":"ROLE_USER","content":[{"text":"Hello"}]},"configuration":{"blocking":true}}`
	helloS = `{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"Hello"}]}}`

	done   = `"timestamp":"2026-01-01T00:00:00.000Z"}`
	taskD  = `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED",` + done + `}`
	taskS  = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed",` + done + `}`
	pushD  = `{"url":"https://x/","id":"p1","taskId":"t1"}`
	pushC  = `{"name":"tasks/t1/pushNotificationConfigs/p1","pushNotificationConfig":{"url":"https://x/","id":"p1"}}`
	pushIn = `{"id":"p1","url":"https://x/"}`
)

// TestRequests checks, for each request, the request that the engine receives and the
// response that the client receives.
func TestRequests(t *testing.T) {
	hello := func(d a2a.Dialect) *a2a.SendRequest {
		return &a2a.SendRequest{
			Owner: "alice", Subject: &a2a.Subject{Principal: "alice", Owner: "alice"}, Dialect: d,
			Message: &a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}},
		}
	}
	inTenant := hello(a2a.DialectV10)
	inTenant.Owner, inTenant.Tenant = a2a.Owner("alice").In("acme"), "acme"
	config := a2a.PushConfig{Dialect: a2a.DialectV10, ID: "p1", TaskID: "t1", URL: "https://x/"}
	configC := config
	configC.Dialect = a2a.DialectV03Proto
	set := func(c a2a.PushConfig) *a2a.SetPushRequest { return &a2a.SetPushRequest{Owner: "alice", Config: c} }
	one := &a2a.PushRequest{Owner: "alice", TaskID: "t1", ID: "p1"}
	get := &a2a.GetRequest{Owner: "alice", TaskID: "t1"}
	cancel := &a2a.CancelRequest{Owner: "alice", TaskID: "t1"}
	tests := []struct {
		request, body string
		asked         any
		want          string
	}{
		{"POST /message:send", helloD, hello(a2a.DialectV10), `{"task":` + taskD + `}`},
		{"POST /acme/message:send", helloD, inTenant, `{"task":` + taskD + `}`},
		{"POST /acme/message:send", `{"tenant":"acme",` + helloD[1:], inTenant, `{"task":` + taskD + `}`},
		{"POST /message:send", `{"tenant":"acme",` + helloD[1:], inTenant, `{"task":` + taskD + `}`},
		{"POST /v1/message:send", helloC, hello(a2a.DialectV03Proto), `{"task":` + taskD + `}`},
		{"POST /v1//message:send", helloC, hello(a2a.DialectV03Proto), `{"task":` + taskD + `}`},
		{"POST /v1/message:send", helloD, hello(a2a.DialectV03Proto), `{"task":` + taskD + `}`},
		{"POST /v1/message:send", helloS, hello(a2a.DialectKindREST), taskS[:len(taskS)-1] + `,"task":` + taskS + `}`},

		{"GET /tasks/t1", "", get, taskD},
		{"GET /tasks/t1?historyLength=2&x=y", "", &a2a.GetRequest{Owner: "alice", TaskID: "t1", HistoryLength: new(2)}, taskD},
		{"GET /tasks/t1?history_length=0", "", &a2a.GetRequest{Owner: "alice", TaskID: "t1", HistoryLength: new(0)}, taskD},
		{"GET /tasks/a%2Fb%3Ac", "", &a2a.GetRequest{Owner: "alice", TaskID: "a/b:c"}, taskD},
		{"GET /acme/tasks/t1", "", &a2a.GetRequest{Owner: a2a.Owner("alice").In("acme"), Tenant: "acme", TaskID: "t1"}, taskD},
		{"GET /tasks/t1?tenant=acme", "", &a2a.GetRequest{Owner: a2a.Owner("alice").In("acme"), Tenant: "acme", TaskID: "t1"}, taskD},
		{"GET /v1/tasks/t1?historyLength=2", "", &a2a.GetRequest{Owner: "alice", TaskID: "t1", HistoryLength: new(2)}, taskD},
		{"GET /v1/tasks/t1?history_length=0", "", get, taskD},
		{"GET /v1/tasks/t1?tenant=acme", "", get, taskD},

		{"POST /tasks/t1:cancel", "", cancel, taskD},
		{"POST /tasks/t1:cancel", " \r\n", cancel, taskD},
		{"POST /tasks/t1:cancel", `{}`, cancel, taskD},
		{"POST /tasks/t1:cancel", `{"id":"t1","metadata":{"a":1}}`, &a2a.CancelRequest{Owner: "alice", TaskID: "t1", Metadata: a2a.Object(`{"a":1}`)}, taskD},
		{"POST /v1/tasks/t1:cancel", "", cancel, taskD},
		{"POST /v1/tasks/t1:cancel", `{"name":"tasks/t1"}`, cancel, taskD},

		{
			"GET /tasks?contextId=c1&status=TASK_STATE_WORKING&pageSize=3&pageToken=n&historyLength=1&statusTimestampAfter=2026-01-01T01:00:00%2B01:00&includeArtifacts=true",
			"",
			&a2a.ListRequest{
				Owner: "alice", ContextID: "c1", State: a2a.StateWorking, Since: newYear, PageSize: 3, PageToken: "n", HistoryLength: new(1), IncludeArtifacts: true,
			},
			`{"tasks":[` + taskD + `],"nextPageToken":"","pageSize":50,"totalSize":1}`,
		},
		{
			"GET /v1/tasks?context_id=c1&status=6&page_size=100&page_token=&include_artifacts=false&status_timestamp_after=2026-01-01T00:00:00",
			"",
			&a2a.ListRequest{Owner: "alice", ContextID: "c1", State: a2a.StateInputRequired, Since: newYear, PageSize: 100},
			`{"tasks":[` + taskD + `],"nextPageToken":"","pageSize":50,"totalSize":1}`,
		},
		{
			"GET /v1/tasks?lastUpdatedAfter=2026-01-01T00:00:00Z", "", &a2a.ListRequest{Owner: "alice", Since: newYear},
			`{"tasks":[` + taskD + `],"nextPageToken":"","pageSize":50,"totalSize":1}`,
		},

		{"POST /tasks/t1/pushNotificationConfigs", pushIn, set(config), pushD},
		{"POST /tasks/t1/pushNotificationConfigs", `{"taskId":"t1",` + pushIn[1:], set(config), pushD},
		{"GET /tasks/t1/pushNotificationConfigs/p1", "", one, pushD},
		{"GET /tasks/t1/pushNotificationConfigs?pageSize=2&pageToken=n", "", &a2a.ListPushRequest{Owner: "alice", TaskID: "t1", PageSize: 2, PageToken: "n"}, `{"configs":[` + pushD + `],"nextPageToken":"more"}`},
		{"DELETE /tasks/t1/pushNotificationConfigs/p1", "", one, `{}`},
		{"POST /v1/tasks/t1/pushNotificationConfigs", `{"parent":"tasks/t1","configId":"p1","config":{"name":"tasks/t1/pushNotificationConfigs/p1","pushNotificationConfig":` + pushIn + `}}`, set(configC), pushC},
		{"POST /v1/task/t1/pushNotificationConfigs", `{"name":"tasks/t1/pushNotificationConfigs/p1","pushNotificationConfig":` + pushIn + `}`, set(configC), pushC},
		{"POST /v1/tasks/t1/pushNotifications", pushIn, set(configC), pushC},
		{"GET /v1/task/t1/pushNotifications/p1", "", one, pushC},
		{"GET /v1/tasks/t1/pushNotificationConfigs", "", &a2a.ListPushRequest{Owner: "alice", TaskID: "t1"}, `{"configs":[` + pushC + `],"nextPageToken":"more"}`},
		{"DELETE /v1/tasks/t1/pushNotificationConfigs/p1", "", one, `{}`},

		{"GET /extendedAgentCard", "", card.FormV10, `{"name":"known"}`},
		{"GET /acme/extendedAgentCard", "", card.FormV10, `{"name":"known"}`},
		{"GET /v1/card", "", card.FormV03, `{"name":"known"}`},
	}
	for _, test := range tests {
		t.Run(test.request+" "+test.body, func(t *testing.T) {
			task := newTask(a2a.StateCompleted)
			x := newFixture(&fake{Task: task, Event: a2a.Event{Task: task}, Page: &a2a.TaskPage{Tasks: []*a2a.Task{task}, PageSize: 50, TotalSize: 1}})
			verb, url, _ := strings.Cut(test.request, " ")
			w := x.do(t, verb, url, test.body)
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("status = %d, %s", w.Code, w.Header().Get("Content-Type"))
			}
			if diff := cmp.Diff(test.want, w.Body.String()); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.asked, x.fake.Last()); diff != "" {
				t.Errorf("engine was asked (-want +got):\n%s", diff)
			}
			if len(x.observed) != 1 || x.observed[0].Code != 0 || x.observed[0].Binding != "rest" || x.observed[0].Method == "" {
				t.Errorf("observed = %+v", x.observed)
			}
		})
	}
}

// TestWire08_Detector checks that speaksKind distinguishes the dialects under /v1.
func TestWire08_Detector(t *testing.T) {
	const text = `"parts":[{"text":"x"}]`
	tests := map[string]struct {
		message string
		kind    bool
	}{
		"content":                     {`{"content":[{"text":"x"}]}`, false},
		"content, role of the other":  {`{"role":"user","content":[{"text":"x"}]}`, false},
		"role":                        {`{"role":"ROLE_USER",` + text + `}`, false},
		"role, kinds of the other":    {`{"role":"ROLE_USER","parts":[{"kind":"text","text":"x"}]}`, false},
		"role number":                 {`{"role":1,` + text + `}`, false},
		"names of proto":              {`{"message_id":"m",` + text + `}`, false},
		"names of proto, with a kind": {`{"kind":"message","context_id":"c",` + text + `}`, false},
		"nothing":                     {`{` + text + `}`, false},
		"kind":                        {`{"kind":"message",` + text + `}`, true},
		"kind of a part":              {`{"parts":[{"text":"x"},{"kind":"text","text":"x"}]}`, true},
		"type of a part":              {`{"parts":[{"type":"text","text":"x"}]}`, true},
		"small role":                  {`{"role":"user",` + text + `}`, true},
		"agent":                       {`{"role":"agent",` + text + `}`, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := speaksKind([]byte(`{"message":` + test.message + `}`)); got != test.kind {
				t.Errorf("speaksKind() = %t", got)
			}
			x := newFixture(&fake{Event: a2a.Event{Task: newTask(a2a.StateWorking)}})
			message := test.message
			if !strings.Contains(message, "message_id") {
				message = `{"messageId":"m",` + message[1:]
			}
			if test.kind && !strings.Contains(message, "role") {
				message = `{"role":"user",` + message[1:]
			}
			w := x.do(t, "POST", "/v1/message:send", `{"message":`+message+`}`)
			want := a2a.DialectV03Proto
			if test.kind {
				want = a2a.DialectKindREST
			}
			if asked, ok := x.fake.Last().(*a2a.SendRequest); !ok || asked.Dialect != want {
				t.Errorf("request = %+v: %s", x.fake.Last(), w.Body)
			}
			if strings.Contains(w.Body.String(), `"kind"`) != test.kind {
				t.Errorf("response = %s", w.Body)
			}
		})
	}
	for _, body := range []string{``, `[]`, `{"message":[]}`, `{"message":{"parts":{}}}`, `{"message":{"parts":[1]}}`, `{"message":{"kind"`} {
		if speaksKind([]byte(body)) {
			t.Errorf("speaksKind(%s)", body)
		}
	}
}

// TestWire08_NoBody checks that, under /v1, the dialect of the task determines the dialect
// of the response to a request without a body.
func TestWire08_NoBody(t *testing.T) {
	for _, request := range []string{"GET /v1/tasks/t1", "POST /v1/tasks/t1:cancel"} {
		verb, url, _ := strings.Cut(request, " ")
		for dialect, want := range map[a2a.Dialect]string{
			a2a.DialectKindREST: taskS, a2a.DialectV03Proto: taskD, a2a.DialectV10: taskD, a2a.DialectV03: taskD, a2a.DialectV01: taskD,
		} {
			task := newTask(a2a.StateCompleted)
			task.Dialect = dialect
			if got := newFixture(&fake{Task: task}).do(t, verb, url, "").Body.String(); got != want {
				t.Errorf("%s of a task of dialect %d = %s", request, dialect, got)
			}
		}
	}
	task := kindTask(a2a.StateCompleted)
	if got := newFixture(&fake{Task: task}).do(t, "GET", "/tasks/t1", "").Body.String(); got != taskD {
		t.Errorf("1.0 = %s", got)
	}
}

// TestBadRequests checks that bad requests never reach the engine.
func TestBadRequests(t *testing.T) {
	long := strings.Repeat("x", 257)
	tests := []struct {
		request, body string
		status, code  int
		want          string
	}{
		{"POST /message:send", "", 400, -32700, "Invalid JSON payload at byte 0"},
		{"POST /message:send", "{", 400, -32700, "Invalid JSON payload at byte 1"},
		{"POST /message:send", helloD + "x", 400, -32700, "data after the end of the JSON value"},
		{"POST /message:send", helloD + helloD, 400, -32700, "data after the end of the JSON value"},
		{"POST /message:send", "[" + helloD + "]", 400, -32602, "must be an object"},
		{"POST /message:send", "null", 400, -32602, "must be an object"},
		{"POST /message:send", strings.Repeat("[", 100), 400, -32700, "JSON is nested deeper than 64 levels"},
		{"POST /message:send", `{"x":1,"x":2}`, 400, -32700, "Invalid JSON payload at byte 7"},
		{"POST /message:send", `{"Message":{}}`, 400, -32602, "Message: must be spelled message"},
		{"POST /message:send", helloC, 400, -32602, "message.parts: must have at least one element"},
		{"POST /message:send", strings.Repeat(" ", 1<<20+1), 413, -32600, "Request body is too large"},
		{"POST /acme/message:send", `{"tenant":"other",` + helloD[1:], 400, -32602, "tenant: is not the one of the path"},
		{"POST /message:send", `{"tenant":"v1",` + helloD[1:], 400, -32602, "tenant: is a path of the API of agents, such as tasks; use another name"},
		{"POST /a%2Fb/message:send", helloD, 400, -32602, "tenant: must not contain a slash or a backslash"},
		{"POST /a%5Cb/message:send", helloD, 400, -32602, "tenant: must not contain a slash or a backslash"},
		{"POST /a%1Fb/message:send", helloD, 400, -32602, "tenant: must be UTF-8 without control characters"},
		{"POST /%FF/message:send", helloD, 400, -32602, "tenant: must be UTF-8 without control characters"},
		{"POST /" + long + "/message:send", helloD, 400, -32602, "tenant: is longer than 256 bytes"},
		{"POST /v1/message:send", `{"message":{"content":[]}}`, 400, -32602, "message.content: must have at least one element"},
		{"POST /v1/message:send", `{"message":{"kind":"message","role":"user","parts":[]}}`, 400, -32602, "message.parts: must have at least one element"},
		{"POST /v1/message:send", `{"message":{"role":"ROLE_USER","content":[{"text":"x"}]}}`, 400, -32602, "message.messageId: is required"},
		{"POST /v1/message:send", `{"message":{"kind":"message","role":"user","parts":[{"kind":"text","text":"x"}]}}`, 400, -32602, "message.messageId: is required"},
		{"POST /v1/message:stream", `{}`, 400, -32602, "message: is required"},

		{"GET /tasks/" + long, "", 400, -32602, "id: is longer than 256 bytes"},
		{"GET /tasks/t1/pushNotificationConfigs/" + long, "", 400, -32602, "configId: is longer than 256 bytes"},
		{"GET /tasks/t1?historyLength=-1", "", 400, -32602, "historyLength: must not be negative"},
		{"GET /tasks/t1?historyLength=x", "", 400, -32602, "historyLength: must be an integer of 32 bits"},
		{"GET /tasks/t1?historyLength=", "", 400, -32602, "historyLength: must be an integer of 32 bits"},
		{"GET /tasks/t1?historyLength=1.5", "", 400, -32602, "historyLength: must be an integer of 32 bits"},
		{"GET /tasks/t1?historyLength=99999999999", "", 400, -32602, "historyLength: must be an integer of 32 bits"},
		{"GET /tasks/t1?historyLength=1&historyLength=2", "", 400, -32602, "historyLength: must not be set twice"},
		{"GET /tasks/t1?historyLength=1&history_length=1", "", 400, -32602, "historyLength: must not be set twice"},
		{"GET /tasks/t1?HistoryLength=1", "", 400, -32602, "HistoryLength: must be spelled historyLength"},
		{"GET /tasks/t1?historyLength=%zz", "", 400, -32600, "Query has an invalid percent-encoding, or a semicolon that is not written as %3B"},
		{"GET /tasks/t1?a;b", "", 400, -32600, "Query has an invalid percent-encoding, or a semicolon that is not written as %3B"},
		{"GET /acme/tasks/t1?tenant=other", "", 400, -32602, "tenant: is not the one of the path"},
		{"GET /v1/tasks/t1?history_length=-1", "", 400, -32602, "historyLength: must not be negative"},
		{"GET /tasks?pageSize=0", "", 400, -32602, "pageSize: must be between 1 and 100"},
		{"GET /tasks?pageSize=101", "", 400, -32602, "pageSize: must be between 1 and 100"},
		{"GET /tasks?pageSize=ten", "", 400, -32602, "pageSize: must be an integer of 32 bits"},
		{"GET /tasks?status=TASK_STATE_LOST", "", 400, -32602, "status: is not a task state"},
		{"GET /tasks?status=9", "", 400, -32602, "status: is not a task state"},
		{"GET /tasks?status=-1", "", 400, -32602, "status: is not a task state"},
		{"GET /tasks?statusTimestampAfter=yesterday", "", 400, -32602, "statusTimestampAfter: must be a time of RFC 3339"},
		{"GET /tasks?includeArtifacts=yes", "", 400, -32602, "includeArtifacts: must be true or false"},
		{"GET /tasks?contextId=" + long, "", 400, -32602, "contextId: is longer than 256 bytes"},
		{"GET /tasks/t1/pushNotificationConfigs?pageSize=-1", "", 400, -32602, "pageSize: must not be negative"},

		{"POST /tasks/t1:cancel", `{"id":"t2"}`, 400, -32602, "id: is not the task of the path"},
		{"POST /tasks/t1:cancel", `{"id":1}`, 400, -32602, "id: must be a string"},
		{"POST /acme/tasks/t1:cancel", `{"tenant":"other"}`, 400, -32602, "tenant: is not the one of the path"},
		{"POST /tasks/t1:cancel", `x`, 400, -32700, "Invalid JSON payload at byte 0"},
		{"POST /v1/tasks/t1:cancel", `{"name":"tasks/t2"}`, 400, -32602, "id: is not the task of the path"},
		{"POST /tasks/t1:subscribe", `{"id":"t2"}`, 400, -32602, "id: is not the task of the path"},
		{"POST /acme/tasks/t1:subscribe", `{"tenant":"other"}`, 400, -32602, "tenant: is not the one of the path"},
		{"POST /tasks/t1:subscribe", `[]`, 400, -32602, "must be an object"},
		{"GET /tasks/t1:subscribe?historyLength=x", "", 400, -32602, "historyLength: must be an integer of 32 bits"},
		{"POST /v1/tasks/t1:subscribe", `{"name":"tasks/t2"}`, 400, -32602, "id: is not the task of the path"},
		{"POST /tasks/t1/pushNotificationConfigs", `{"taskId":"t2","url":"u"}`, 400, -32602, "taskId: is not the task of the path"},
		{"POST /tasks/t1/pushNotificationConfigs", `{}`, 400, -32602, "url: is required"},
		{"POST /tasks/t1/pushNotificationConfigs", ``, 400, -32700, "Invalid JSON payload at byte 0"},
		{"POST /v1/tasks/t1/pushNotificationConfigs", `{"parent":"tasks/t2","config":{"url":"u"}}`, 400, -32602, "taskId: is not the task of the path"},
		{"POST /v1/tasks/t1/pushNotificationConfigs", `{}`, 400, -32602, "url: is required"},

		{"GET /v1/frobnicate", "", 404, -32601, "Path not found"},
		{"GET /tasks/", "", 404, -32601, "Path not found"},
		{"POST /v1/", "{}", 404, -32601, "Path not found"},
	}
	for _, test := range tests {
		name := test.request + " " + test.body
		t.Run(name[:min(len(name), 80)], func(t *testing.T) {
			x := newFixture(&fake{Task: newTask(a2a.StateWorking)})
			verb, url, _ := strings.Cut(test.request, " ")
			w := x.do(t, verb, url, test.body)
			if w.Code != test.status || x.observed[0].Code != test.code || !strings.Contains(w.Body.String(), `"message":"`+test.want+`"`) {
				t.Errorf("response = %d %s (%d), want %d, %d, %s", w.Code, w.Body, x.observed[0].Code, test.status, test.code, test.want)
			}
			if x.fake.Last() != nil {
				t.Errorf("engine was asked %+v", x.fake.Last())
			}
		})
	}
}

func TestContentTypes(t *testing.T) {
	tests := map[string]struct {
		headers []string
		status  int
	}{
		"JSON":                    {nil, 200},
		"with a charset":          {[]string{"Content-Type", "application/json; charset=utf-8"}, 200},
		"A2A":                     {[]string{"Content-Type", "application/a2a+json"}, 200},
		"none":                    {[]string{"Content-Type", ""}, 200},
		"none, from a web page":   {[]string{"Content-Type", "", "Origin", "https://evil.example"}, 415},
		"text":                    {[]string{"Content-Type", "text/plain"}, 415},
		"form":                    {[]string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		"of a stream":             {[]string{"Content-Type", "text/event-stream"}, 415},
		"more than one parameter": {[]string{"Content-Type", "application/json; ="}, 415},
	}
	for name, test := range tests {
		for path, body := range map[string]string{"/message:send": helloD, "/v1/message:send": helloC, "/tasks/t1:cancel": "", "/v1/tasks/t1:cancel": ""} {
			x := newFixture(&fake{Task: newTask(a2a.StateWorking), Event: a2a.Event{Task: newTask(a2a.StateWorking)}})
			w := x.do(t, "POST", path, body, test.headers...)
			if w.Code != test.status || (x.fake.Last() == nil) != (test.status != 200) {
				t.Errorf("%s %s = %d %s", name, path, w.Code, w.Body)
			}
			if test.status != 200 && (x.observed[0].Code != -32005 || !strings.Contains(w.Body.String(), `"reason":"CONTENT_TYPE_NOT_SUPPORTED"`)) {
				t.Errorf("%s %s = %s", name, path, w.Body)
			}
		}
	}
}

func TestNegotiation(t *testing.T) {
	const plain, of = "application/json", "application/a2a+json"
	tests := map[string]struct{ accept, success, failure string }{
		"nothing":                          {"", plain, plain},
		"anything":                         {"*/*", plain, plain},
		"plain":                            {"application/json", plain, plain},
		"A2A":                              {"application/a2a+json", of, of},
		"in capitals":                      {"Application/A2A+JSON;q=0.5", of, of},
		"both":                             {"application/a2a+json, application/json", of, plain},
		"or any type":                      {"application/a2a+json, */*;q=0.1", of, plain},
		"with quality zero":                {"application/a2a+json;q=0", plain, plain},
		"any other type with quality zero": {"application/a2a+json, */*;q=0.0", of, of},
		"garbage":                          {",;,=", plain, plain},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := newFixture(&fake{Task: newTask(a2a.StateWorking)})
			if got := x.do(t, "GET", "/tasks/t1", "", "Accept", test.accept).Header().Get("Content-Type"); got != test.success {
				t.Errorf("success in %s, want %s", got, test.success)
			}
			if got := x.do(t, "GET", "/v1/tasks/t1", "", "Accept", test.accept).Header().Get("Content-Type"); got != plain {
				t.Errorf("0.3 in %s", got)
			}
			x.fake.Err = a2a.TaskNotFound("t1")
			if got := x.do(t, "GET", "/tasks/t1", "", "Accept", test.accept).Header().Get("Content-Type"); got != test.failure {
				t.Errorf("failure in %s, want %s", got, test.failure)
			}
		})
	}
}

// TestWire06_Paths tests every combination of a path and a value of A2A-Version.
func TestWire06_Paths(t *testing.T) {
	const served, refused, unknown = 0, -32009, -32601
	const unsupported = `"message":"Protocol version is not supported"`
	messages := map[string]string{
		"/tasks/t1 0.3": `"message":"This path is of A2A 1.0; in 0.3, it is /v1/tasks/t1"`, "/tasks/t1 0.2": `"message":"This path is of A2A 1.0; in 0.3, it is /v1/tasks/t1"`,
		"/tasks/t1 ": `"message":"This path is of A2A 1.0; in 0.3, it is /v1/tasks/t1"`, "/tasks/t1 0.1": `"message":"A2A 0.1 has JSON-RPC only`,
		"/v1/tasks/t1 0.1": `"message":"A2A 0.1 has JSON-RPC only`,
	}
	supported := map[string]string{"/tasks/t1": "1.0", "/v1/tasks/t1": "0.2,0.3"}
	type want struct{ lenient, strict int }
	tests := map[string]map[string]want{
		"/tasks/t1": {
			"": {served, refused}, "1": {served, served}, "1.0": {served, served}, "1.0.1": {served, served}, "1.1": {refused, refused},
			"0.3": {refused, refused}, "0.2": {refused, refused}, "0.1": {refused, refused}, "99.0": {refused, refused}, "x": {refused, refused},
		},
		"/v1/tasks/t1": {
			"": {served, served}, "0.3": {served, served}, "0.3.0": {served, served}, "0.2": {served, served}, "1.0": {served, unknown},
			"0.1": {refused, refused}, "0.5": {refused, refused}, "1.1": {refused, refused}, "99.0": {refused, refused}, "x": {refused, refused},
		},
	}
	for path, versions := range tests {
		for asked, want := range versions {
			for _, strict := range []bool{false, true} {
				x := newFixture(&fake{Task: newTask(a2a.StateWorking)})
				x.StrictVersion = func() bool { return strict }
				code := want.lenient
				if strict {
					code = want.strict
				}
				w := x.do(t, "GET", path, "", "A2A-Version", asked)
				if got := x.observed[0].Code; got != code || (x.fake.Last() == nil) != (code != served) {
					t.Errorf("%s as %q, strict %t = %d %s, want %d", path, asked, strict, got, w.Body, code)
				}
				message, all := messages[path+" "+asked], supported[path]
				if message == "" {
					message, all = unsupported, errormap.SupportedVersions
				}
				if code == refused && (w.Code != 400 || !strings.Contains(w.Body.String(), message) ||
					!strings.Contains(w.Body.String(), `"reason":"VERSION_NOT_SUPPORTED","domain":"a2a-protocol.org","metadata":{"supportedVersions":"`+all+`"}`)) {
					t.Errorf("%s as %q = %d %s", path, asked, w.Code, w.Body)
				}
			}
		}
	}
	x := newFixture(&fake{Task: newTask(a2a.StateWorking)})
	if w := x.do(t, "GET", "/tasks/t1?A2A-Version=0.3", ""); x.observed[0].Code != refused {
		t.Errorf("version in the query = %s", w.Body)
	}
}

func TestExtensions(t *testing.T) {
	tests := map[string]struct {
		header string
		code   int
		bodies map[string]string
	}{
		"/":    {"A2A-Extensions", -32008, map[string]string{"POST /message:send": helloD, "GET /tasks/t1": "", "GET /tasks/t1/pushNotificationConfigs": ""}},
		"/v1/": {"X-A2A-Extensions", -32600, map[string]string{"POST /v1/message:send": helloC, "GET /v1/tasks/t1": ""}},
	}
	for name, test := range tests {
		for request, body := range test.bodies {
			verb, url, _ := strings.Cut(request, " ")
			task := newTask(a2a.StateWorking)
			x := newFixture(&fake{Task: task, Event: a2a.Event{Task: task}})
			x.card.Capabilities.Extensions = []card.Extension{{URI: "urn:a", Required: true}, {URI: "urn:b"}}
			if w := x.do(t, verb, url, body); x.observed[0].Code != test.code || x.fake.Last() != nil {
				t.Errorf("%s without it = %s", request, w.Body)
			}
			w := x.do(t, verb, url, body, test.header, "urn:c, urn:b, urn:a", "Traceparent", "00-1-2-3", "Tracestate", "v=1", "Baggage", "k=1")
			if x.observed[1].Code != 0 || w.Header().Get(test.header) != "urn:a, urn:b" {
				t.Errorf("%s with it = %s, activated %q", request, w.Body, w.Header().Get(test.header))
			}
			if asked, ok := x.fake.Last().(*a2a.SendRequest); ok {
				if diff := cmp.Diff([]string{"urn:a", "urn:b"}, asked.Extensions); diff != "" || asked.Trace != (a2a.TraceContext{Parent: "00-1-2-3", State: "v=1", Baggage: "k=1"}) {
					t.Errorf("%s: extensions, trace %q (-want +got):\n%s", request, asked.Trace, diff)
				}
			}
		}
		x := newFixture(&fake{})
		x.card.Capabilities.Extensions = []card.Extension{{URI: "urn:a", Required: true}}
		path := map[string]string{"/": "/extendedAgentCard", "/v1/": "/v1/card"}[name]
		if w := x.do(t, "GET", path, ""); w.Code != http.StatusOK {
			t.Errorf("the card that declares it = %d %s", w.Code, w.Body)
		}
	}
}

func TestExtendedCard(t *testing.T) {
	for path, statuses := range map[string]map[a2a.Reason]int{
		"/extendedAgentCard": {a2a.ReasonUnsupportedOperation: 400, a2a.ReasonExtendedCardNotConfigured: 400, a2a.ReasonUnauthenticated: 401},
		"/v1/card":           {a2a.ReasonUnauthenticated: 401},
	} {
		x := newFixture(&fake{})
		if w := x.do(t, "GET", path, ""); w.Header().Get("Cache-Control") != "private, no-store" || w.Header().Get("Vary") != "Authorization" {
			t.Errorf("%s may be kept by others: %v", path, w.Header())
		}
		for reason, status := range statuses {
			x.fake.Err = &a2a.Error{Reason: reason}
			if w := x.do(t, "GET", path, ""); w.Code != status || w.Header().Get("Cache-Control") != "" {
				t.Errorf("%s, %s = %d %s", path, reason, w.Code, w.Body)
			}
		}
	}
}

// TestPublicCardOf03 checks that the card operation of 0.3 returns the public card if the
// agent has no extended card.
func TestPublicCardOf03(t *testing.T) {
	for _, reason := range []a2a.Reason{a2a.ReasonUnsupportedOperation, a2a.ReasonExtendedCardNotConfigured} {
		w := newFixture(&fake{Err: &a2a.Error{Reason: reason}}).do(t, "GET", "/v1/card", "")
		if w.Code != http.StatusOK || w.Body.String() != `{"name":"public"}` {
			t.Errorf("%s = %d %s", reason, w.Code, w.Body)
		}
	}
}

func TestPushIsOff(t *testing.T) {
	for _, request := range []string{
		"POST /tasks/t1/pushNotificationConfigs", "GET /tasks/t1/pushNotificationConfigs", "GET /tasks/t1/pushNotificationConfigs/p1",
		"DELETE /tasks/t1/pushNotificationConfigs/p1", "POST /v1/tasks/t1/pushNotificationConfigs", "DELETE /v1/tasks/t1/pushNotificationConfigs/p1",
	} {
		verb, url, _ := strings.Cut(request, " ")
		x := newFixture(&fake{})
		x.card.Capabilities.PushNotifications = false
		if w := x.do(t, verb, url, "{"); w.Code != http.StatusBadRequest || x.observed[0].Code != -32003 || x.fake.Last() != nil {
			t.Errorf("%s = %d %s", request, w.Code, w.Body)
		}
	}
	x := newFixture(&fake{})
	x.card.Capabilities.PushNotifications = false
	body := strings.TrimSuffix(helloC, "}}") + `,"pushNotification":{"url":"https://x/"}}}`
	if w := x.do(t, "POST", "/v1/message:send", body); x.observed[0].Code != -32003 || x.fake.Last() != nil {
		t.Errorf("with a message = %d %s", w.Code, w.Body)
	}
}

// TestWire01_REST and TestWire02_REST decode responses by the official protos and reject
// unknown members, as the strictest clients do.
func TestWire01_REST(t *testing.T) { strictAnswers(t, "/v1", prototest.V03) }
func TestWire02_REST(t *testing.T) { strictAnswers(t, "", prototest.V10) }

func strictAnswers(t *testing.T, prefix string, read func(string, []byte) error) {
	t.Helper()
	task := codectest.Task()
	for request, message := range map[string]string{
		"POST /message:send": "SendMessageResponse", "GET /tasks/t1": "Task", "POST /tasks/t1:cancel": "Task",
		"POST /tasks/t1/pushNotificationConfigs": "TaskPushNotificationConfig", "GET /tasks/t1/pushNotificationConfigs/p1": "TaskPushNotificationConfig",
	} {
		verb, path, _ := strings.Cut(request, " ")
		body := ""
		switch {
		case strings.HasSuffix(path, ":send"):
			body = helloD
		case verb == "POST" && !strings.HasSuffix(path, ":cancel"):
			body = pushIn
		}
		w := newFixture(&fake{Task: task, Event: a2a.Event{Task: task}}).do(t, verb, prefix+path, body)
		if err := read(message, w.Body.Bytes()); err != nil || w.Code != http.StatusOK {
			t.Errorf("%s = %d %s: %v", request, w.Code, w.Body, err)
		}
	}
	for name, event := range codectest.Events() {
		w := newFixture(&fake{Records: []*a2a.Record{{Seq: 1, Event: event}}}).do(t, "POST", prefix+"/message:stream", helloD)
		_, data, ok := strings.Cut(w.Body.String(), "data: ")
		if err := read("StreamResponse", []byte(strings.TrimSpace(data))); err != nil || !ok {
			t.Errorf("%s = %s: %v", name, w.Body, err)
		}
	}
}

func TestNoCaller(t *testing.T) {
	x := newFixture(&fake{})
	for _, path := range []string{"/tasks/t1", "/v1/tasks/t1"} {
		w := httptest.NewRecorder()
		x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusUnauthorized || x.fake.Last() != nil {
			t.Errorf("%s = %d: a handler without a gate must refuse", path, w.Code)
		}
	}
}

// FuzzBody checks that any body gets a JSON response, and none a server error, from each
// operation that reads a body.
func FuzzBody(f *testing.F) {
	for _, body := range []string{helloD, helloC, helloS, pushIn, `{"id":"t1"}`, `{"name":"tasks/t1"}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{
			"/message:send", "/v1/message:send", "/tasks/t1:cancel", "/v1/tasks/t1:cancel",
			"/tasks/t1/pushNotificationConfigs", "/v1/tasks/t1/pushNotificationConfigs",
		} {
			task := newTask(a2a.StateWorking)
			x := newFixture(&fake{Task: task, Event: a2a.Event{Task: task}})
			w := x.do(t, "POST", path, string(body))
			if w.Code >= 500 || !json.Valid(w.Body.Bytes()) || (w.Code == http.StatusOK) != (x.fake.Last() != nil) {
				t.Fatalf("%s %q = %d %s", path, body, w.Code, w.Body)
			}
		}
	})
}

func FuzzQuery(f *testing.F) {
	f.Add("contextId=c1&status=TASK_STATE_WORKING&pageSize=3&historyLength=1&statusTimestampAfter=2026-01-01T01:00:00%2B01:00&includeArtifacts=true&tenant=a")
	f.Fuzz(func(t *testing.T, raw string) {
		x := newFixture(&fake{Page: &a2a.TaskPage{}})
		r := httptest.NewRequest(http.MethodGet, "/tasks", nil)
		r.URL.RawQuery = raw
		w := httptest.NewRecorder()
		x.ServeHTTP(w, r.WithContext(auth.WithCaller(t.Context(), auth.Caller{Owner: "alice"})))
		if w.Code >= 500 || !json.Valid(w.Body.Bytes()) || (w.Code == http.StatusOK) != (x.fake.Last() != nil) {
			t.Fatalf("%q = %d %s", raw, w.Code, w.Body)
		}
	})
}
