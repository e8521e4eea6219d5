// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/test/codectest"
	"github.com/a2a-operator/a2a-operator/test/prototest"
)

// TestWire01_V03EventsMatchTheProto checks that a strict decoder, which rejects unknown
// members, can decode each event by the official proto.
func TestWire01_V03EventsMatchTheProto(t *testing.T) {
	for name, event := range codectest.Events() {
		t.Run(name, func(t *testing.T) {
			text := V03.AppendEvent(nil, &event)
			checkStrictly(t, text, "StreamResponse")
			if event.Task != nil || event.Message != nil {
				checkStrictly(t, text, "SendMessageResponse")
			}
		})
	}
	checkStrictly(t, V03.AppendPush(nil, &a2a.PushConfig{ID: "c", TaskID: "t", URL: "u", Token: "x", Scheme: "Bearer", Credentials: "y"}),
		"TaskPushNotificationConfig")
	checkStrictly(t, V03.AppendPushPage(nil, &a2a.PushPage{Configs: []*a2a.PushConfig{{ID: "c"}, {ID: "d"}}, NextPageToken: "n"}),
		"ListTaskPushNotificationConfigResponse")
	checkStrictly(t, V03.AppendSend(nil, &a2a.SendRequest{
		Message: codectest.Message(), AcceptedOutputModes: []string{"text/plain"}, HistoryLength: new(3),
		Push: &a2a.PushConfig{URL: "u", Scheme: "Basic"}, Metadata: a2a.Object(`{"a":1}`),
	}), "SendMessageRequest")
}

func checkStrictly(t *testing.T, text []byte, message string) {
	t.Helper()
	if err := prototest.V03(message, text); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

func TestV03AppendEvent(t *testing.T) {
	tests := map[string]appendTest{
		"a task that was created": {
			event: a2a.Event{Task: &a2a.Task{
				ID: "t1", ContextID: "c1",
				Status: a2a.Status{State: a2a.StateSubmitted, Time: newYear},
				History: []*a2a.Message{{
					ID: "m1", Role: a2a.RoleUser, TaskID: "t1", ContextID: "c1",
					Parts: []a2a.Part{a2a.TextPart("Hello")}, ReferenceTasks: []string{"t0"},
				}},
			}},
			want: `{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-01-01T00:00:00.000Z"},` +
				`"history":[{"messageId":"m1","contextId":"c1","taskId":"t1","role":"ROLE_USER","content":[{"text":"Hello"}]}]}}`,
		},
		"an artifact chunk": {
			event: a2a.Event{Artifact: &a2a.ArtifactUpdate{
				TaskID: "t1", ContextID: "c1", LastChunk: true,
				Artifact: a2a.Artifact{ID: "a1", Parts: []a2a.Part{a2a.TextPart("Hi")}},
			}},
			want: `{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"text":"Hi"}]},"lastChunk":true}}`,
		},
		"done": {
			event: a2a.Event{Status: &a2a.StatusUpdate{
				TaskID: "t1", ContextID: "c1", Status: a2a.Status{State: a2a.StateCompleted, Time: newYear},
			}},
			want: `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-01T00:00:00.000Z"},"final":true}}`,
		},
		"canceled": {
			event: a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t", ContextID: "c", Status: a2a.Status{State: a2a.StateCanceled}}},
			want:  `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_CANCELLED"},"final":true}}`,
		},
		"input": {
			event: a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t", ContextID: "c", Status: a2a.Status{State: a2a.StateInputRequired}}},
			want:  `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"},"final":true}}`,
		},
		"input while the run waits": {
			event: a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t", ContextID: "c", Paused: true, Status: a2a.Status{State: a2a.StateInputRequired}}},
			want:  `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`,
		},
		"all parts": {
			event: a2a.Event{Message: &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{
				{Content: a2a.ContentRaw, Raw: []byte("hi"), Filename: "h.txt", MediaType: "text/plain"},
				{Content: a2a.ContentURL, URL: "https://a.example/x?a=1&b=<2>"},
				{Content: a2a.ContentData, Data: a2a.Value(`{"a":1}`), MediaType: "application/json", Metadata: a2a.Object(`{"m":1}`)},
				{Content: a2a.ContentData, Data: a2a.Value(`[1]`), Metadata: a2a.Object(`{"m":1,"data_part_compat":false}`)},
				{Content: a2a.ContentData},
				{Content: a2a.ContentText, MediaType: "text/plain"},
			}}},
			want: `{"message":{"messageId":"m","role":"ROLE_AGENT","content":[` +
				`{"file":{"fileWithBytes":"YUdrPQ==","mimeType":"text/plain","name":"h.txt"}},` +
				`{"file":{"fileWithUri":"https://a.example/x?a=1&b=<2>"}},` +
				`{"data":{"data":{"a":1}},"metadata":{"m":1}},` +
				`{"data":{"data":{"value":[1]}},"metadata":{"data_part_compat":true,"m":1}},` +
				`{"data":{"data":{"value":null}},"metadata":{"data_part_compat":true}},` +
				`{"text":""}]}}`,
		},
		"no parts": {
			event: a2a.Event{Message: &a2a.Message{ID: "m", Role: a2a.RoleAgent}},
			want:  `{"message":{"messageId":"m","role":"ROLE_AGENT"}}`,
		},
	}
	testAppendEvent(t, V03, tests)
}

// TestV03BytesAreBase64OfBase64 checks that bytes are encoded twice, as by the SDKs of 0.3,
// and that the decoder also accepts bytes that were encoded once, as by clients that follow
// the proto.
func TestV03BytesAreBase64OfBase64(t *testing.T) {
	long := strings.Repeat("long \x00\xff", 1000)
	for _, size := range []int{0, 1, 2, 3, 4, 575, 576, 577, 1152, 7000} {
		raw := []byte(long[:size])
		twice := base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString(raw)))
		if got := string(appendTwice(nil, raw)); got != twice {
			t.Errorf("appendTwice() of %d bytes = %.80s, want %.80s", size, got, twice)
		}
	}
	tests := map[string]struct{ text, want string }{
		"twice":                       {"YUdrPQ==", "hi"},
		"twice, for URLs":             {"LV84PQ", "-_8="},
		"once":                        {"aGk=", "hi"},
		"once, for URLs":              {"-_8", "\xfb\xff"},
		"once, of four bytes":         {base64.StdEncoding.EncodeToString([]byte("a b\n")), "a b\n"},
		"once, of lines of base64":    {base64.StdEncoding.EncodeToString([]byte("aGk=\n\n\n\n")), "aGk=\n\n\n\n"},
		"once, of sloppy base64":      {base64.StdEncoding.EncodeToString([]byte("aGl=")), "aGl="},
		"nothing":                     {"", ""},
		"twice, longer than a buffer": {base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(long)))), long},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := V03.DecodeSend([]byte(`{"message":{"messageId":"m","content":[{"file":{"fileWithBytes":"` + test.text + `"}}]}}`))
			if err != nil {
				t.Fatal(err)
			}
			if p := got.Message.Parts[0]; p.Content != a2a.ContentRaw || string(p.Raw) != test.want {
				t.Errorf("bytes = %q, want %q", p.Raw, test.want)
			}
		})
	}
}

func TestV03DecodeSend(t *testing.T) {
	hello := &a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}}
	const message = `"message":{"messageId":"m1","role":"ROLE_USER","content":[{"text":"Hello"}]}`
	one := func(p a2a.Part) a2a.SendRequest {
		return a2a.SendRequest{Message: &a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{p}}}
	}
	tests := map[string]sendTest{
		"smallest":         {`{` + message + `}`, a2a.SendRequest{Message: hello}},
		"names of proto":   {`{"message":{"message_id":"m1","role":1,"content":[{"text":"Hello"}]}}`, a2a.SendRequest{Message: hello}},
		"parts of others":  {`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"Hello"}]}}`, a2a.SendRequest{Message: hello}},
		"request of 0.2":   {`{"request":{"messageId":"m1","role":"ROLE_USER","content":[{"text":"Hello"}]}}`, a2a.SendRequest{Message: hello}},
		"no role":          {`{"message":{"messageId":"m1","content":[{"text":"Hello"}]}}`, a2a.SendRequest{Message: hello}},
		"role unspecified": {`{"message":{"messageId":"m1","role":"ROLE_UNSPECIFIED","content":[{"text":"Hello"}]}}`, a2a.SendRequest{Message: hello}},
		"role 0":           {`{"message":{"messageId":"m1","role":0,"content":[{"text":"Hello"}]}}`, a2a.SendRequest{Message: hello}},
		"unknown members":  {`{"x":1,` + message + `,"messages":{}}`, a2a.SendRequest{Message: hello}},
		"nulls":            {`{` + message + `,"configuration":null,"metadata":null}`, a2a.SendRequest{Message: hello}},
		"blocking":         {`{` + message + `,"configuration":{"blocking":true}}`, a2a.SendRequest{Message: hello}},
		"not blocking":     {`{` + message + `,"configuration":{"blocking":false}}`, a2a.SendRequest{Message: hello, ReturnImmediately: true}},
		"says nothing of blocking": {
			`{` + message + `,"configuration":{}}`, a2a.SendRequest{Message: hello, ReturnImmediately: true},
		},
		"configuration": {
			`{` + message + `,"configuration":{"accepted_output_modes":["a"],"history_length":"2","blocking":true},"metadata":{"a":1}}`,
			a2a.SendRequest{Message: hello, AcceptedOutputModes: []string{"a"}, HistoryLength: new(2), Metadata: a2a.Object(`{"a":1}`)},
		},
		"all of the history": {
			`{` + message + `,"configuration":{"historyLength":0,"blocking":true}}`, a2a.SendRequest{Message: hello},
		},
		"push": {
			`{` + message + `,"configuration":{"blocking":true,"pushNotification":{"id":"p","url":"u","token":"x","authentication":{"schemes":["Digest","bearer"],"credentials":"c"}}}}`,
			a2a.SendRequest{Message: hello, Push: &a2a.PushConfig{
				Dialect: a2a.DialectV03Proto, ID: "p", URL: "u", Token: "x", Scheme: "bearer", Credentials: "c",
			}},
		},
		"file by address": {
			`{"message":{"messageId":"m1","content":[{"file":{"file_with_uri":"https://x/","mime_type":"text/plain","name":"n"}}]}}`,
			one(a2a.Part{Content: a2a.ContentURL, URL: "https://x/", MediaType: "text/plain", Filename: "n"}),
		},
		"file by both": {
			`{"message":{"messageId":"m1","content":[{"file":{"fileWithBytes":"aGk=","fileWithUri":"https://x/"}}]}}`,
			one(a2a.Part{Content: a2a.ContentRaw, Raw: []byte("hi")}),
		},
		"data": {
			`{"message":{"messageId":"m1","content":[{"data":{"data":{"a": [1]}},"metadata":{"m":1}}]}}`,
			one(a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{"a":[1]}`), Metadata: a2a.Object(`{"m":1}`)}),
		},
		"data unset": {`{"message":{"messageId":"m1","content":[{"data":{}}]}}`, one(a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`{}`)})},
		"data wrapped": {
			`{"message":{"messageId":"m1","content":[{"data":{"data":{"value":[1]}},"metadata":{"data_part_compat":true}}]}}`,
			one(a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`[1]`)}),
		},
		"references": {
			`{"message":{"messageId":"m1","content":[{"text":"x","file":null}],"referenceTaskIds":["t0"]}}`,
			a2a.SendRequest{Message: &a2a.Message{ID: "m1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("x")}, ReferenceTasks: []string{"t0"}}},
		},
	}
	testDecodeSend(t, V03, tests)
}

func TestV03DecodeSendRejectsInvalidRequests(t *testing.T) {
	const text = `"messageId":"m","content":[{"text":"x"}]`
	tests := map[string]rejectTest{
		"nothing":            {``, "Invalid JSON payload at byte 0"},
		"no object":          {`[]`, "must be an object"},
		"no message":         {`{}`, "message: is required"},
		"message null":       {`{"message":null}`, "message: is required"},
		"trailing":           {`{"message":{` + text + `}} {}`, "data after the end of the JSON value"},
		"duplicate":          {`{"message":{` + text + `},"message":{}}`, "Invalid JSON payload at byte 54"},
		"depth":              {`{"message":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, "JSON is nested deeper than 64 levels"},
		"two messages":       {`{"message":{` + text + `},"request":{}}`, "request: must not be set under two names"},
		"content twice":      {`{"message":{` + text + `,"parts":[]}}`, "message.parts: must not be set under two names"},
		"case of a name":     {`{"message":{"Role":"ROLE_AGENT",` + text + `}}`, "message.Role: must be spelled role"},
		"a role":             {`{"message":{"role":"ROLE_ROOT",` + text + `}}`, "message.role: must be ROLE_USER or ROLE_AGENT"},
		"role 7":             {`{"message":{"role":7,` + text + `}}`, "message.role: must be ROLE_USER or ROLE_AGENT"},
		"role true":          {`{"message":{"role":true,` + text + `}}`, "message.role: must be a string"},
		"no messageId":       {`{"message":{"content":[{"text":"x"}]}}`, "message.messageId: is required"},
		"empty messageId":    {`{"message":{"messageId":"","content":[{"text":"x"}]}}`, "message.messageId: is required"},
		"no parts":           {`{"message":{}}`, "message.content: must have at least one element"},
		"two contents":       {`{"message":{"content":[{"text":"x","data":{}}]}}`, "message.content[0]: must have exactly one of text, file, data"},
		"no content":         {`{"message":{"content":[{"raw":"aGk="}]}}`, "message.content[0]: must have exactly one of text, file, data"},
		"empty file":         {`{"message":{"content":[{"file":{"fileWithUri":""}}]}}`, "message.content[0].file.fileWithBytes: is required unless fileWithUri is set"},
		"not base64":         {`{"message":{"content":[{"file":{"fileWithBytes":"!"}}]}}`, "message.content[0].file.fileWithBytes: must be a base64 string"},
		"data of a list":     {`{"message":{"content":[{"data":{"data":[]}}]}}`, "message.content[0].data.data: must be an object"},
		"long id":            {`{"message":{"messageId":"` + strings.Repeat("x", 257) + `","content":[]}}`, "message.messageId: is longer than 256 bytes"},
		"history":            {`{"message":{` + text + `},"configuration":{"historyLength":-1}}`, "configuration.historyLength: must not be negative"},
		"huge history":       {`{"message":{` + text + `},"configuration":{"historyLength":99999999999}}`, "configuration.historyLength: must be an integer of 32 bits"},
		"blocking":           {`{"message":{` + text + `},"configuration":{"blocking":"yes"}}`, "configuration.blocking: must be true or false"},
		"push without a URL": {`{"message":{` + text + `},"configuration":{"pushNotification":{}}}`, "configuration.pushNotification.url: is required"},
		"metadata a list":    {`{"message":{` + text + `},"metadata":[]}`, "metadata: must be an object"},
		"too many parts":     {`{"message":{"content":[` + strings.Repeat(`{"text":""},`, 1024) + `{"text":""}]}}`, "message.content[1024]: exceeds the limit of 1024 elements"},
		"too many strings":   {`{"message":{"extensions":[` + strings.Repeat(`"",`, 256) + `""]}}`, "message.extensions[256]: exceeds the limit of 256 elements"},
	}
	testDecodeSendRejects(t, V03, tests)
}

// TestV03AppendSend checks that decoding an encoded request returns the same request,
// without the reference tasks, for which the proto has no field.
func TestV03AppendSend(t *testing.T) {
	for name, r := range map[string]*a2a.SendRequest{
		"smallest":  {Message: &a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("x")}}},
		"immediate": {Message: &a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("x")}}, ReturnImmediately: true},
		"all": {
			Message: codectest.Message(), AcceptedOutputModes: []string{"a", "b"}, HistoryLength: new(7), Metadata: a2a.Object(`{"a":1}`),
			Push: &a2a.PushConfig{Dialect: a2a.DialectV03Proto, ID: "i", URL: "u", Token: "t", Scheme: "Bearer", Credentials: "c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := V03.DecodeSend(V03.AppendSend(nil, r))
			if err != nil {
				t.Fatal(err)
			}
			r.Message.ReferenceTasks = nil
			if diff := cmp.Diff(r, got); diff != "" {
				t.Errorf("DecodeSend(V03.AppendSend()) (-want +got):\n%s", diff)
			}
		})
	}
}

func TestV03DecodeEvent(t *testing.T) {
	text := []a2a.Part{a2a.TextPart("x")}
	tests := map[string]struct {
		text string
		want a2a.Event
	}{
		"names of 0.2.2": {
			`{"status_update":{"task_id":"t","status":{"state":2,"update":{"content":[{"text":"x"}]}}}}`,
			a2a.Event{Status: &a2a.StatusUpdate{TaskID: "t", Status: a2a.Status{
				State: a2a.StateWorking, Message: &a2a.Message{Role: a2a.RoleAgent, Parts: text},
			}}},
		},
		"message of 0.2.2": {`{"msg":{"content":[{"text":"x"}]}}`, a2a.Event{Message: &a2a.Message{Role: a2a.RoleAgent, Parts: text}}},
		"canceled with one l": {
			`{"statusUpdate":{"status":{"state":"TASK_STATE_CANCELED","timestamp":"yesterday"},"final":true}}`,
			a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateCanceled}}},
		},
		"input, not final": {
			`{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`,
			a2a.Event{Status: &a2a.StatusUpdate{Paused: true, Status: a2a.Status{State: a2a.StateInputRequired}}},
		},
		"other members": {`{"Task":1,"task":{"id":"t","TASK":1}}`, a2a.Event{Task: &a2a.Task{ID: "t"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := V03.DecodeEvent([]byte(test.text))
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("DecodeEvent() error = %v (-want +got):\n%s", err, diff)
			}
		})
	}
	for _, text := range []string{``, `[]`, `{"x":{}}`, `{"task":{},"message":{}}`, `{"task":{"status":{"state":"TASK_STATE_LOST"}}}`, `{"task":{"status":{"state":99}}}`} {
		if got, err := V03.DecodeEvent([]byte(text)); err == nil {
			t.Errorf("DecodeEvent(%s) = %+v, want an error", text, got)
		}
	}
	task, err := V03.DecodeTask([]byte(`{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}`))
	if diff := cmp.Diff(&a2a.Task{ID: "t", ContextID: "c", Status: a2a.Status{State: a2a.StateWorking}}, task); diff != "" || err != nil {
		t.Errorf("DecodeTask() error = %v (-want +got):\n%s", err, diff)
	}
}

func TestV03DecodeSetPush(t *testing.T) {
	full := a2a.PushConfig{
		Dialect: a2a.DialectV03Proto, ID: "c1", TaskID: "t1", URL: "https://x/", Token: "t", Scheme: "Bearer", Credentials: "s",
	}
	const inner = `{"id":"c1","url":"https://x/","token":"t","authentication":{"schemes":["Bearer"],"credentials":"s"}}`
	bare := full
	bare.TaskID = ""
	tests := map[string]struct {
		body string
		want a2a.PushConfig
	}{
		"whole request":  {`{"parent":"tasks/t1","configId":"c1","config":{"name":"tasks/t1/pushNotificationConfigs/c1","pushNotificationConfig":` + inner + `}}`, full},
		"names of proto": {`{"parent":"tasks/t1/pushNotificationConfigs","config_id":"c1","config":{"push_notification_config":` + inner + `}}`, full},
		"its config":     {`{"name":"tasks/t1/pushNotificationConfigs/c1","pushNotificationConfig":` + inner + `}`, full},
		"a bare id":      {`{"name":"t1","pushNotificationConfig":` + inner + `}`, full},
		"bare":           {inner, bare},
		"address only":   {`{"url":"u"}`, a2a.PushConfig{Dialect: a2a.DialectV03Proto, URL: "u"}},
		"an id with a slash": {
			`{"name":"tasks/a/pushNotificationConfigs/b/pushNotificationConfigs/c","pushNotificationConfig":{"url":"u"}}`,
			a2a.PushConfig{Dialect: a2a.DialectV03Proto, TaskID: "a/pushNotificationConfigs/b", ID: "c", URL: "u"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := V03.DecodeSetPushBody([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&a2a.SetPushRequest{Config: test.want}, got); diff != "" {
				t.Errorf("DecodeSetPush() (-want +got):\n%s", diff)
			}
		})
	}
	refused := map[string]string{
		`{}`:                                   "url: is required",
		`{"parent":"tasks/t1","configId":"c"}`: "url: is required",
		`{"configId":"a","config":{"pushNotificationConfig":{"id":"b","url":"u"}}}`: "config.pushNotificationConfig.id: differs from the configuration elsewhere in the request",
		`{"parent":"tasks/a","config":{"name":"tasks/b","url":"u"}}`:                "config.name: differs from the task elsewhere in the request",
		`{"url":"u","config":{"url":"v"}}`:                                          "config.url: differs from the URL elsewhere in the request",
		`{"parent":"tasks/` + strings.Repeat("x", 257) + `","url":"u"}`:             "parent: has an id of more than 256 bytes",
		`{"url":1}`: "url: must be a string",
		`"x"`:       "must be an object",
	}
	for body, want := range refused {
		if _, err := V03.DecodeSetPushBody([]byte(body)); err == nil || err.Error() != want {
			t.Errorf("DecodeSetPush(%.60s) error = %v, want %s", body, err, want)
		}
	}
}

func TestV03Push(t *testing.T) {
	got := V03.AppendPushPage(nil, &a2a.PushPage{Configs: []*a2a.PushConfig{
		{ID: "c1", TaskID: "t1", URL: "https://x/", Token: "t", Scheme: "Bearer", Credentials: "s"},
		{ID: "c2", TaskID: "t1", URL: "https://y/"},
	}})
	const want = `{"configs":[{"name":"tasks/t1/pushNotificationConfigs/c1","pushNotificationConfig":` +
		`{"url":"https://x/","id":"c1","token":"t","authentication":{"schemes":["Bearer"],"credentials":"s"}}},` +
		`{"name":"tasks/t1/pushNotificationConfigs/c2","pushNotificationConfig":{"url":"https://y/","id":"c2"}}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("AppendPushPage() (-want +got):\n%s", diff)
	}
}

func TestV03AppendTaskPage(t *testing.T) {
	for want, page := range map[string]*a2a.TaskPage{
		`{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}`: {PageSize: 50},
		`{"tasks":[{"id":"t","status":{"state":"TASK_STATE_WORKING"}}],"nextPageToken":"n","pageSize":1,"totalSize":2}`: {
			Tasks: []*a2a.Task{{ID: "t", Status: a2a.Status{State: a2a.StateWorking}}}, NextPageToken: "n", PageSize: 1, TotalSize: 2,
		},
	} {
		if diff := cmp.Diff(want, string(V03.AppendTaskPage(nil, page))); diff != "" {
			t.Errorf("AppendTaskPage() (-want +got):\n%s", diff)
		}
	}
}

func FuzzV03DecodeEvent(f *testing.F) {
	f.Add([]byte(`{"status_update":{"status":{"state":6,"update":{"parts":[]}}}}`))
	fuzzDecodeEvent(f, V03)
}

func FuzzV03DecodeRequest(f *testing.F) {
	f.Add([]byte(`{"message":{"messageId":"m1","role":"ROLE_USER","content":[{"text":"Hello"},{"file":{"fileWithBytes":"YUdrPQ=="}}]},"configuration":{"blocking":true}}`))
	f.Add([]byte(`{"parent":"tasks/t1","configId":"c1","config":{"name":"tasks/t1/pushNotificationConfigs/c1","pushNotificationConfig":{"url":"u"}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, sendErr := V03.DecodeSend(body)
		_, pushErr := V03.DecodeSetPushBody(body)
		_, cancelErr := V03.DecodeCancelBody(body)
		if (sendErr == nil || pushErr == nil || cancelErr == nil) && !json.Valid(body) {
			t.Fatalf("accepted what is not JSON: %q", body)
		}
	})
}
