// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// family returns the version that defines a method, or "shared" if both 0.1 and 0.3 define
// it.
func family(method string) string {
	switch {
	case !strings.Contains(method, "/"):
		return "1.0"
	case method == "tasks/get", method == "tasks/cancel", method == "tasks/resubscribe":
		return "shared"
	case method == "tasks/send", method == "tasks/sendSubscribe", strings.HasPrefix(method, "tasks/pushNotification/"):
		return "0.1"
	default:
		return "0.3"
	}
}

// paramsOf returns the smallest valid params of a method.
func paramsOf(method string) string {
	const url = `{"url":"https://x.example/"}`
	switch method {
	case "tasks/send", "tasks/sendSubscribe":
		return hello01
	case "message/send", "message/stream":
		return hello03
	case "SendMessage", "SendStreamingMessage":
		return hello10
	case "tasks/pushNotification/set":
		return `{"id":"t1","pushNotificationConfig":` + url + `}`
	case "tasks/pushNotificationConfig/set":
		return `{"taskId":"t1","pushNotificationConfig":` + url + `}`
	case "tasks/pushNotificationConfig/delete":
		return `{"id":"t1","pushNotificationConfigId":"p1"}`
	case "CreateTaskPushNotificationConfig":
		return `{"taskId":"t1","url":"https://x.example/"}`
	case "GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig":
		return `{"taskId":"t1","id":"p1"}`
	case "ListTaskPushNotificationConfigs", "ListTaskPushNotificationConfig":
		return `{"taskId":"t1"}`
	default:
		return `{"id":"t1"}`
	}
}

// complete returns a handler that has a result for every operation.
func complete() *fake {
	return &fake{
		Task: newTask(a2a.StateWorking), Event: a2a.Event{Task: newTask(a2a.StateCompleted)},
		Records: []*a2a.Record{snapshot(1, a2a.StateWorking), status(2, a2a.StateCompleted)},
		Page:    &a2a.TaskPage{PageSize: 50}, Push: &a2a.PushConfig{TaskID: "t1", ID: "p1", URL: "https://x.example/"},
		Pushes: &a2a.PushPage{}, Card: []byte(`{}`),
	}
}

// TestWire06_MethodsAndVersions tests every combination of a method and a value of
// A2A-Version.
func TestWire06_MethodsAndVersions(t *testing.T) {
	const served, refused, unknown = 0, -32009, -32601
	codes := func(families string, code int) map[string]int {
		all := map[string]int{"0.1": refused, "0.3": refused, "shared": refused, "1.0": refused, "none": refused}
		for name := range strings.FieldsSeq(families) {
			all[name] = code
		}
		return all
	}
	none := func(all map[string]int) map[string]int { all["none"] = unknown; return all }
	headers := map[string]map[string]int{
		"":      none(codes("0.1 0.3 shared 1.0", served)),
		"0.1":   none(codes("0.1 shared", served)),
		"0.2":   none(codes("0.3 shared", served)),
		"0.2.6": none(codes("0.3 shared", served)),
		"0.3":   none(codes("0.3 shared", served)),
		"0.3.0": none(codes("0.3 shared", served)),
		"1":     none(codes("0.1 0.3 shared 1.0", served)),
		"1.0":   none(codes("0.1 0.3 shared 1.0", served)),
		"1.0.1": none(codes("0.1 0.3 shared 1.0", served)),
		"1.1":   codes("", 0), "2.0": codes("", 0), "0.5": codes("", 0), "99.0": codes("", 0), "garbage": codes("", 0), "1.0.": codes("", 0),
	}
	strict := map[string]map[string]int{"": {"1.0": refused}}
	for _, v := range []string{"1", "1.0", "1.0.1"} {
		strict[v] = map[string]int{"0.1": unknown, "0.3": unknown, "shared": unknown}
	}
	all := []string{"frobnicate", "tasks/frobnicate", "sendMessage"}
	for method := range methods {
		all = append(all, method)
	}
	for _, strictly := range []bool{false, true} {
		for header, families := range headers {
			for _, method := range all {
				of := family(method)
				if methods[method] == nil {
					of = "none"
				}
				want := families[of]
				if code, ok := strict[header][of]; ok && strictly {
					want = code
				}
				x := newFixture(complete())
				x.card.Capabilities.PushNotifications = true
				x.StrictVersion = func() bool { return strictly }
				w := x.post(t, call10(method, paramsOf(method)), "A2A-Version", header)
				if got := x.observed[0].Code; got != want {
					t.Errorf("strict %t: %s with version %q: code = %d, want %d: %s", strictly, method, header, got, want, w.Body)
				}
				if want != served && x.fake.Last() != nil {
					t.Errorf("%s with version %q reached the handler", method, header)
				}
			}
		}
	}
}

// TestWire06_VersionInTheQuery tests the version in the query, for clients that cannot set
// headers.
func TestWire06_VersionInTheQuery(t *testing.T) {
	for query, want := range map[string]int{"?A2A-Version=1.0": 0, "?A2A-Version=0.3": -32009, "?A2A-Version=7.0": -32009, "?a2a-version=7.0": 0} {
		x := newFixture(complete())
		x.postTo(t, "/"+query, call10("GetTask", `{"id":"t1"}`))
		if got := x.observed[0].Code; got != want {
			t.Errorf("%s: code = %d, want %d", query, got, want)
		}
	}
}

// TestErrorsOfVersions checks that errors have the form that the version of the client
// reads.
func TestErrorsOfVersions(t *testing.T) {
	const (
		array  = `"data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"VERSION_NOT_SUPPORTED","domain":"a2a-protocol.org","metadata":{"supportedVersions":"0.1,0.2,0.3,1.0"}}]`
		object = `"data":{"reason":"VERSION_NOT_SUPPORTED","supportedVersions":"0.1,0.2,0.3,1.0"}`
	)
	const unsupported = "Protocol version is not supported"
	for10 := strings.Replace(array, "0.1,0.2,0.3,1.0", "1.0", 1)
	for03 := strings.Replace(object, "0.1,0.2,0.3,1.0", "0.2,0.3", 1)
	tests := map[string]struct{ method, version, message, want string }{
		"a method of 1.0":                       {"GetTask", "0.3", "GetTask is a method of A2A 1.0; in 0.3, it is tasks/get", for10},
		"a method of 1.0 in 0.1":                {"SubscribeToTask", "0.1", "SubscribeToTask is a method of A2A 1.0; in 0.1, it is tasks/resubscribe", for10},
		"a method that 0.1 lacks":               {"ListTasks", "0.1", "ListTasks is a method of A2A 1.0; 0.1 has no such method", for10},
		"0.3 in a version of the past":          {"message/send", "0.1", "message/send is a method of A2A 0.3; in 0.1, it is tasks/send", for03},
		"0.1 in a version that does not exist":  {"tasks/send", "0.7", unsupported, object},
		"0.3 in a version of the future":        {"message/send", "1.7", unsupported, array},
		"0.3 in a version that is not a number": {"message/send", "latest", unsupported, array},
		"nothing in the future":                 {"x", "2.0", unsupported, array},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newFixture(complete()).post(t, call10(test.method, paramsOf(test.method)), "A2A-Version", test.version)
			want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32009,"message":"` + test.message + `",` + test.want + `}}`
			if w.Body.String() != want {
				t.Errorf("response = %s\nwant %s", w.Body, want)
			}
		})
	}
	t.Run("invalid response of the agent", func(t *testing.T) {
		for method, code := range map[string]int{"tasks/send": -32603, "message/send": -32006, "SendMessage": -32006} {
			x := newFixture(&fake{Err: &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse}})
			w := x.post(t, call10(method, paramsOf(method)))
			if !strings.Contains(w.Body.String(), fmt.Sprintf(`"code":%d,`, code)) {
				t.Errorf("%s is answered with %s", method, w.Body)
			}
		}
	})
}
