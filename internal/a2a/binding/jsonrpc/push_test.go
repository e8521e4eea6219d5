// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/test/bindingtest"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

const (
	pushURL  = `"url":"https://x.example/"`
	schemes  = `"authentication":{"schemes":["Bearer"],"credentials":"c"}`
	config01 = `{` + pushURL + `,"token":"t",` + schemes + `}`
	config03 = `{` + pushURL + `,"id":"p1","token":"t",` + schemes + `}`
	config10 = `{` + pushURL + `,"id":"p1","taskId":"t1","token":"t","authentication":{"scheme":"Bearer","credentials":"c"}}`
)

func pushConfig(d a2a.Dialect, id string) a2a.PushConfig {
	return a2a.PushConfig{
		Dialect: d, ID: id, TaskID: "t1", URL: "https://x.example/", Token: "t", Scheme: "Bearer", Credentials: "c",
	}
}

// TestWire17_PushOperations checks the push operations of 0.1, 0.3 and 1.0.
func TestWire17_PushOperations(t *testing.T) {
	config := pushConfig(a2a.DialectV03, "p1")
	tests := map[string]struct {
		method, params string
		asked          any
		want           string
		definition     [2]string
	}{
		"0.1 set": {
			"tasks/pushNotification/set", `{"id":"t1","pushNotificationConfig":` + config01 + `}`,
			&a2a.SetPushRequest{Owner: "alice", Config: pushConfig(a2a.DialectV01, "")},
			`{"id":"t1","pushNotificationConfig":` + config01 + `}`,
			[2]string{"v0.1.0", "TaskPushNotificationConfig"},
		},
		"0.1 get": {
			"tasks/pushNotification/get", `{"id":"t1","metadata":null}`,
			&a2a.PushRequest{Owner: "alice", TaskID: "t1"},
			`{"id":"t1","pushNotificationConfig":` + config01 + `}`,
			[2]string{"v0.1.0", "TaskPushNotificationConfig"},
		},
		"0.3 set": {
			"tasks/pushNotificationConfig/set", `{"taskId":"t1","pushNotificationConfig":` + config03 + `}`,
			&a2a.SetPushRequest{Owner: "alice", Config: pushConfig(a2a.DialectV03, "p1")},
			`{"taskId":"t1","pushNotificationConfig":` + config03 + `}`,
			[2]string{"v0.3.0", "TaskPushNotificationConfig"},
		},
		"0.3 set without an id": {
			"tasks/pushNotificationConfig/set", `{"taskId":"t1","pushNotificationConfig":` + config01 + `}`,
			&a2a.SetPushRequest{Owner: "alice", Config: pushConfig(a2a.DialectV03, "")},
			`{"taskId":"t1","pushNotificationConfig":` + config03 + `}`,
			[2]string{"v0.2.6", "TaskPushNotificationConfig"},
		},
		"0.3 get": {
			"tasks/pushNotificationConfig/get", `{"id":"t1","pushNotificationConfigId":"p1"}`,
			&a2a.PushRequest{Owner: "alice", TaskID: "t1", ID: "p1"},
			`{"taskId":"t1","pushNotificationConfig":` + config03 + `}`,
			[2]string{"v0.3.0", "TaskPushNotificationConfig"},
		},
		"0.3 get without an id": {
			"tasks/pushNotificationConfig/get", `{"id":"t1"}`,
			&a2a.PushRequest{Owner: "alice", TaskID: "t1"},
			`{"taskId":"t1","pushNotificationConfig":` + config03 + `}`,
			[2]string{"v0.3.0", "TaskPushNotificationConfig"},
		},
		"0.3 list": {
			"tasks/pushNotificationConfig/list", `{"id":"t1"}`,
			&a2a.ListPushRequest{Owner: "alice", TaskID: "t1"},
			`[{"taskId":"t1","pushNotificationConfig":` + config03 + `},{"taskId":"t1","pushNotificationConfig":{"url":"u"}}]`,
			[2]string{},
		},
		"0.3 delete": {
			"tasks/pushNotificationConfig/delete", `{"id":"t1","pushNotificationConfigId":"p1"}`,
			&a2a.PushRequest{Owner: "alice", TaskID: "t1", ID: "p1"}, `null`,
			[2]string{},
		},
		"1.0 create": {
			"CreateTaskPushNotificationConfig", `{"tenant":"acme","id":"p1","taskId":"t1",` + pushURL + `,"token":"t","authentication":{"scheme":"Bearer","credentials":"c"}}`,
			&a2a.SetPushRequest{Owner: a2a.Owner("alice").In("acme"), Tenant: "acme", Config: pushConfig(a2a.DialectV10, "p1")},
			config10,
			[2]string{"v1.0.1", "TaskPushNotificationConfig"},
		},
		"1.0 create as the candidate": {
			"CreateTaskPushNotificationConfig", `{"taskId":"t1","configId":"p1","config":{` + pushURL + `,"token":"t","authentication":{"schemes":["Bearer"],"credentials":"c"}}}`,
			&a2a.SetPushRequest{Owner: "alice", Config: pushConfig(a2a.DialectV10, "p1")},
			config10,
			[2]string{"v1.0.1", "TaskPushNotificationConfig"},
		},
		"1.0 create as the first SDK": {
			"CreateTaskPushNotificationConfig", `{"task_id":"t1","pushNotificationConfig":{"id":"p1",` + pushURL + `,"token":"t","authentication":{"scheme":"Bearer","credentials":"c"}}}`,
			&a2a.SetPushRequest{Owner: "alice", Config: pushConfig(a2a.DialectV10, "p1")},
			config10,
			[2]string{"v1.0.1", "TaskPushNotificationConfig"},
		},
		"1.0 get": {
			"GetTaskPushNotificationConfig", `{"tenant":"acme","taskId":"t1","id":"p1"}`,
			&a2a.PushRequest{Owner: a2a.Owner("alice").In("acme"), Tenant: "acme", TaskID: "t1", ID: "p1"},
			config10,
			[2]string{"v1.0.1", "TaskPushNotificationConfig"},
		},
		"1.0 list": {
			"ListTaskPushNotificationConfigs", `{"tenant":"acme","taskId":"t1","pageSize":"7","pageToken":"p"}`,
			&a2a.ListPushRequest{Owner: a2a.Owner("alice").In("acme"), Tenant: "acme", TaskID: "t1", PageSize: 7, PageToken: "p"},
			`{"configs":[` + config10 + `,{"url":"u","taskId":"t1"}],"nextPageToken":"n"}`,
			[2]string{"v1.0.1", "ListTaskPushNotificationConfigsResponse"},
		},
		"1.0 list as the candidate": {
			"ListTaskPushNotificationConfig", `{"taskId":"t1"}`,
			&a2a.ListPushRequest{Owner: "alice", TaskID: "t1"},
			`{"configs":[` + config10 + `,{"url":"u","taskId":"t1"}],"nextPageToken":"n"}`,
			[2]string{"v1.0.1", "ListTaskPushNotificationConfigsResponse"},
		},
		"1.0 delete": {
			"DeleteTaskPushNotificationConfig", `{"tenant":"acme","taskId":"t1","id":"p1"}`,
			&a2a.PushRequest{Owner: a2a.Owner("alice").In("acme"), Tenant: "acme", TaskID: "t1", ID: "p1"}, `{}`,
			[2]string{},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := newFixture(&fake{Push: &config, Pushes: &a2a.PushPage{
				Configs: []*a2a.PushConfig{&config, {TaskID: "t1", URL: "u"}}, NextPageToken: "n",
			}})
			x.card.Capabilities.PushNotifications = true
			w := x.post(t, call10(test.method, test.params))
			if diff := cmp.Diff(test.asked, x.fake.Last()); diff != "" {
				t.Errorf("request (-want +got):\n%s\n%s", diff, w.Body)
			}
			if diff := cmp.Diff(`{"jsonrpc":"2.0","id":1,"result":`+test.want+`}`, w.Body.String()); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			if test.definition[0] != "" {
				if err := spec.Validate(test.definition[0], test.definition[1], []byte(test.want)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestEmptyPushPages(t *testing.T) {
	for method, want := range map[string]string{"tasks/pushNotificationConfig/list": `[]`, "ListTaskPushNotificationConfigs": `{"configs":[]}`} {
		x := newFixture(complete())
		x.card.Capabilities.PushNotifications = true
		w := x.post(t, call10(method, paramsOf(method)))
		if !strings.HasSuffix(w.Body.String(), `"result":`+want+`}`) {
			t.Errorf("%s = %s", method, w.Body)
		}
	}
}

func TestInvalidPushParamsAreRejected(t *testing.T) {
	tests := map[string][]string{
		"tasks/pushNotification/set":          {`{}`, `{"id":"t1"}`, `{"id":"t1","pushNotificationConfig":{}}`, `{"id":"t1","pushNotificationConfig":{"URL":"u","url":"u"}}`, `{"id":"t1","pushNotificationConfig":{"url":1}}`},
		"tasks/pushNotification/get":          {`{}`, `{"id":""}`, `{"Id":"t1"}`},
		"tasks/pushNotificationConfig/set":    {`{}`, `{"id":"t1","pushNotificationConfig":{"url":"u"}}`, `{"taskId":"t1","pushNotificationConfig":null}`, `{"taskId":"t1","pushNotificationConfig":{"url":"u","authentication":{"schemes":"Bearer"}}}`},
		"tasks/pushNotificationConfig/get":    {`{}`, `{"taskId":"t1"}`, `{"id":"t1","pushNotificationConfigId":7}`},
		"tasks/pushNotificationConfig/list":   {`{}`, `{"id":[]}`},
		"tasks/pushNotificationConfig/delete": {`{}`, `{"id":"t1"}`, `{"id":"t1","pushNotificationConfigID":"p1"}`},
		"CreateTaskPushNotificationConfig":    {`{}`, `{"url":"u"}`, `{"taskId":"t1"}`, `{"taskId":"t1","task_id":"t2","url":"u"}`, `{"tenant":"a/b","taskId":"t1","url":"u"}`},
		"GetTaskPushNotificationConfig":       {`{}`, `{"taskId":"t1"}`, `{"id":"p1"}`, `{"TaskId":"t1","id":"p1"}`},
		"ListTaskPushNotificationConfigs":     {`{}`, `{"taskId":"t1","pageSize":-1}`, `{"taskId":"t1","pageSize":"x"}`},
		"DeleteTaskPushNotificationConfig":    {`{}`, `{"taskId":"t1"}`, `{"id":"p1"}`},
	}
	for method, all := range tests {
		for _, params := range all {
			x := newFixture(complete())
			x.card.Capabilities.PushNotifications = true
			w := x.post(t, call10(method, params))
			if x.fake.Last() != nil || x.observed[0].Code != -32602 {
				t.Errorf("%s(%s) = %s", method, params, w.Body)
			}
		}
	}
}

// TestPushAnswersAreChargedWhileTheyAreWritten checks that a response with push
// configurations is charged until its client has read it.
func TestPushAnswersAreChargedWhileTheyAreWritten(t *testing.T) {
	pushes := bindingtest.LargePushes()
	for method, test := range map[string]struct {
		params string
		want   int64
	}{
		"tasks/pushNotificationConfig/set":  {`{"taskId":"t1","pushNotificationConfig":` + config03 + `}`, bindingtest.LargePush},
		"tasks/pushNotificationConfig/get":  {`{"id":"t1"}`, bindingtest.LargePush},
		"tasks/pushNotificationConfig/list": {`{"id":"t1"}`, 16 * bindingtest.LargePush},
	} {
		t.Run(method, func(t *testing.T) {
			x := newFixture(&fake{Push: pushes.Configs[0], Pushes: pushes})
			x.card.Capabilities.PushNotifications = true
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+test.params+`}`))
			r.Header.Set("Content-Type", "application/json")
			stalled, done := bindingtest.NewStalled(), make(chan struct{})
			go func() {
				defer close(done)
				x.ServeHTTP(stalled, r.WithContext(auth.WithCaller(t.Context(), auth.Caller{Owner: "alice"})))
			}()
			<-stalled.Writing
			if held := x.Limits.Answers.Used(); held < test.want {
				t.Errorf("%d bytes are charged during the write, want at least %d", held, test.want)
			}
			stalled.Read()
			<-done
			if held := x.Limits.Answers.Used(); held != 0 || int64(stalled.Body.Len()) < test.want {
				t.Errorf("after a response of %d bytes, %d bytes are charged, want 0", stalled.Body.Len(), held)
			}
		})
	}
}
