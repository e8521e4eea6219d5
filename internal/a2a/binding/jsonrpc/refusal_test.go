// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// TestWire05_RefusedRequestsReachNoHandler sends requests that different JSON parsers read
// differently, such as requests with two methods. Each is refused before it reaches the
// handler.
func TestWire05_RefusedRequestsReachNoHandler(t *testing.T) {
	const head = `{"jsonrpc":"2.0","id":1,`
	deep := strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	bodies := map[string]string{
		"method in capitals":           head + `"METHOD":"tasks/get","params":{"id":"t1"}}`,
		"method and Method":            head + `"method":"tasks/get","Method":"tasks/cancel","params":{"id":"t1"}}`,
		"two methods":                  head + `"method":"tasks/get","method":"tasks/cancel","params":{"id":"t1"}}`,
		"two methods, one escaped":     head + `"method":"tasks/get","m\u0065thod":"tasks/cancel","params":{"id":"t1"}}`,
		"two params":                   head + `"method":"tasks/get","params":{"id":"t1"},"params":{"id":"t2"}}`,
		"params and Params":            head + `"method":"tasks/get","params":{"id":"t1"},"Params":{"id":"t2"}}`,
		"long s":                       head + `"method":"tasks/get","params":{"id":"t1"},"param` + "\u017f" + `":{"id":"t2"}}`,
		"long s, escaped":              head + `"method":"tasks/get","params":{"id":"t1"},"param\u017f":{"id":"t2"}}`,
		"two ids in params":            head + `"method":"tasks/get","params":{"id":"t1","id":"t2"}}`,
		"two ids in capitals":          head + `"method":"tasks/get","params":{"id":"t1","ID":"t2"}}`,
		"two versions":                 `{"jsonrpc":"2.0","jsonrpc":"1.0","id":1,"method":"tasks/get","params":{"id":"t1"}}`,
		"JSONRPC":                      `{"JSONRPC":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}}`,
		"jsonrpc with the Kelvin sign": `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"` + "\u212a" + `ind":"message","parts":[{"kind":"text","text":"x"}]}}}`,
		"trailing brace":               head + `"method":"tasks/get","params":{"id":"t1"}}}`,
		"trailing object":              head + `"method":"tasks/get","params":{"id":"t1"}}{"method":"tasks/cancel"}`,
		"trailing NUL":                 head + `"method":"tasks/get","params":{"id":"t1"}}` + "\x00",
		"trailing comma":               head + `"method":"tasks/get","params":{"id":"t1"},}`,
		"byte order mark":              "\ufeff" + head + `"method":"tasks/get","params":{"id":"t1"}}`,
		"UTF-16":                       "\xff\xfe{\x00",
		"NUL in a name":                head + "\"met\x00hod\":\"x\",\"method\":\"tasks/get\",\"params\":{\"id\":\"t1\"}}",
		"line feed in a string":        head + "\"method\":\"tasks/get\",\"params\":{\"id\":\"t\n1\"}}",
		"invalid UTF-8":                head + "\"method\":\"tasks/get\",\"params\":{\"id\":\"t\xff\"}}",
		"overlong UTF-8":               head + "\"method\":\"tasks/get\",\"params\":{\"id\":\"t\xc0\xaf\"}}",
		"lone surrogate":               head + `"method":"tasks/get","params":{"id":"\ud800"}}`,
		"surrogates in disorder":       head + `"method":"tasks/get","params":{"id":"\udc00\ud800"}}`,
		"half an escape":               head + `"method":"tasks/get","params":{"id":"\u12"}}`,
		"unknown escape":               head + `"method":"tasks/get","params":{"id":"\x41"}}`,
		"depth bomb":                   head + `"method":"message/send","params":{"message":{"parts":[{"kind":"data","data":` + deep + `}]}}}`,
		"depth bomb of arrays":         strings.Repeat("[", 100_000),
		"depth bomb in the id":         `{"jsonrpc":"2.0","id":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `,"method":"tasks/get","params":{"id":"t1"}}`,
		"batch of one":                 `[` + head + `"method":"tasks/get","params":{"id":"t1"}}]`,
		"batch of two":                 `[` + head + `"method":"tasks/get","params":{"id":"t1"}},` + head + `"method":"tasks/get","params":{"id":"t1"}}]`,
		"id an object":                 `{"jsonrpc":"2.0","id":{"a":1},"method":"tasks/get","params":{"id":"t1"}}`,
		"id true":                      `{"jsonrpc":"2.0","id":true,"method":"tasks/get","params":{"id":"t1"}}`,
		"hexadecimal id":               `{"jsonrpc":"2.0","id":0x1,"method":"tasks/get","params":{"id":"t1"}}`,
		"id with a zero in front":      `{"jsonrpc":"2.0","id":01,"method":"tasks/get","params":{"id":"t1"}}`,
		"id NaN":                       `{"jsonrpc":"2.0","id":NaN,"method":"tasks/get","params":{"id":"t1"}}`,
		"length 1e400":                 head + `"method":"tasks/get","params":{"id":"t1","historyLength":1e400}}`,
		"length 1.5":                   head + `"method":"tasks/get","params":{"id":"t1","historyLength":1.5}}`,
		"comment":                      head + `"method":"tasks/get"/**/,"params":{"id":"t1"}}`,
		"single quotes":                `{'jsonrpc':'2.0'}`,
		"form":                         `jsonrpc=2.0&method=tasks/get`,
		"method with a space":          head + `"method":"tasks/get ","params":{"id":"t1"}}`,
		"method with a slash too many": head + `"method":"tasks//get","params":{"id":"t1"}}`,
		"method that is a path":        head + `"method":"/tasks/get","params":{"id":"t1"}}`,
		"method with a dot":            head + `"method":"tasks/../tasks/get","params":{"id":"t1"}}`,
		"method escaped for a URL":     head + `"method":"tasks%2fget","params":{"id":"t1"}}`,
		"method with a line":           head + `"method":"tasks/get\r\nX-Evil: 1","params":{"id":"t1"}}`,
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			x := newFixture(complete())
			w := x.post(t, body)
			if x.fake.Last() != nil || x.observed[0].Code == 0 {
				t.Errorf("asked for %+v, answered %s", x.fake.Last(), w.Body)
			}
			if !strings.Contains(w.Body.String(), `"error":{"code":-32`) {
				t.Errorf("response = %s", w.Body)
			}
		})
	}
}

// TestWire05_InvalidMessagesAreRejected checks that the methods of all versions refuse
// invalid messages by the same rules.
func TestWire05_InvalidMessagesAreRejected(t *testing.T) {
	tests := map[string]map[string]string{
		"tasks/send": {
			"no message":         `{"id":"t1"}`,
			"null message":       `{"id":"t1","message":null}`,
			"a list of messages": `{"id":"t1","message":[]}`,
			"no parts":           `{"id":"t1","message":{"role":"user","parts":[]}}`,
			"parts an object":    `{"id":"t1","message":{"parts":{}}}`,
			"part null":          `{"id":"t1","message":{"parts":[null]}}`,
			"no type":            `{"id":"t1","message":{"parts":[{}]}}`,
			"types that differ":  `{"id":"t1","message":{"parts":[{"type":"text","kind":"file","text":"x"}]}}`,
			"base64":             `{"id":"t1","message":{"parts":[{"type":"file","file":{"bytes":"%%%"}}]}}`,
			"no id":              `{"message":{"parts":[{"type":"text","text":"x"}]}}`,
			"huge id":            `{"id":"` + strings.Repeat("x", 300) + `","message":{"parts":[{"type":"text","text":"x"}]}}`,
			"session a number":   `{"id":"t1","sessionId":7,"message":{"parts":[{"type":"text","text":"x"}]}}`,
			"metadata a list":    `{"id":"t1","metadata":[],"message":{"parts":[{"type":"text","text":"x"}]}}`,
			"SessionId":          `{"id":"t1","SessionId":"c","message":{"parts":[{"type":"text","text":"x"}]}}`,
		},
		"message/send": {
			"no message":          `{}`,
			"no parts":            `{"message":{"messageId":"m","role":"user","parts":[]}}`,
			"no kind":             `{"message":{"parts":[{}]}}`,
			"a tool without use":  `{"message":{"parts":[{"kind":"tool-result","result":1}]}}`,
			"use a number":        `{"message":{"parts":[{"kind":"tool-result","toolUseId":1}]}}`,
			"unknown kind":        `{"message":{"parts":[{"kind":"tool","toolUseId":"x"}]}}`,
			"data a string":       `{"message":{"parts":[{"kind":"data","data":"x"}]}}`,
			"role system":         `{"message":{"role":"system","parts":[{"kind":"text","text":"x"}]}}`,
			"blocking a string":   `{"message":{"parts":[{"kind":"text","text":"x"}]},"configuration":{"blocking":"no"}}`,
			"modes an object":     `{"message":{"parts":[{"kind":"text","text":"x"}]},"configuration":{"acceptedOutputModes":{}}}`,
			"references numbers":  `{"message":{"referenceTaskIds":[1],"parts":[{"kind":"text","text":"x"}]}}`,
			"ContextId":           `{"message":{"ContextId":"c","parts":[{"kind":"text","text":"x"}]}}`,
			"InputRequest":        `{"message":{"InputRequest":{},"parts":[{"kind":"text","text":"x"}]}}`,
			"metadata duplicated": `{"message":{"metadata":{"a":1,"a":2},"parts":[{"kind":"text","text":"x"}]}}`,
		},
		"SendMessage": {
			"no message":        `{}`,
			"no id":             `{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}`,
			"no role":           `{"message":{"messageId":"m","parts":[{"text":"x"}]}}`,
			"role system":       `{"message":{"messageId":"m","role":"ROLE_SYSTEM","parts":[{"text":"x"}]}}`,
			"role 3":            `{"message":{"messageId":"m","role":3,"parts":[{"text":"x"}]}}`,
			"two contents":      `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","data":null}]}}`,
			"no content":        `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{}]}}`,
			"two spellings":     `{"message":{"messageId":"m","message_id":"n","role":"ROLE_USER","parts":[{"text":"x"}]}}`,
			"MessageId":         `{"message":{"messageId":"m","MessageId":"n","role":"ROLE_USER","parts":[{"text":"x"}]}}`,
			"tenant with slash": `{"tenant":"../x","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`,
			"tenant backwards":  `{"tenant":"x\\y","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}`,
		},
	}
	for method, all := range tests {
		for name, params := range all {
			t.Run(method+" "+name, func(t *testing.T) {
				x := newFixture(complete())
				w := x.post(t, call10(method, params))
				code := x.observed[0].Code
				if x.fake.Last() != nil || code != -32602 && code != -32700 {
					t.Errorf("asked for %+v, answered %s", x.fake.Last(), w.Body)
				}
			})
		}
	}
}

// TestWire10_UnknownTasks checks that all operations of a version return the same error for
// an unknown task. The binding adds nothing to the error of the handler, so that the error
// does not tell whether the task of another owner exists.
func TestWire10_UnknownTasks(t *testing.T) {
	const plain = `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Task not found"}}`
	const detailed = `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"Task not found",` +
		`"data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"t1"}}]}}`
	for method := range methods {
		if strings.Contains(method, "Card") || strings.Contains(method, "List") || method == "tasks/list" {
			if !strings.Contains(method, "PushNotification") {
				continue // the method names no task
			}
		}
		x := newFixture(&fake{Err: a2a.TaskNotFound("t1")})
		x.card.Capabilities.PushNotifications = true
		w := x.post(t, call10(method, paramsOf(method)))
		want := plain
		if family(method) == "1.0" {
			want = detailed
		}
		switch method {
		case "tasks/sendSubscribe", "message/stream", "tasks/resubscribe":
			want = fmt.Sprintf("data: %s\n\n", want)
		}
		if got := w.Body.String(); got != want {
			t.Errorf("%s = %s\nwant %s", method, got, want)
		}
	}
}

// TestTenants checks that every request of 1.0 can name a tenant.
func TestTenants(t *testing.T) {
	for method := range methods {
		if family(method) != "1.0" || method == "GetExtendedAgentCard" {
			continue
		}
		x := newFixture(complete())
		x.card.Capabilities.PushNotifications = true
		x.post(t, call10(method, strings.Replace(paramsOf(method), "{", `{"tenant":"acme",`, 1)))
		var owner a2a.Owner
		switch r := x.fake.Last().(type) {
		case *a2a.SendRequest:
			owner = r.Owner
		case *a2a.GetRequest:
			owner = r.Owner
		case *a2a.ListRequest:
			owner = r.Owner
		case *a2a.CancelRequest:
			owner = r.Owner
		case *a2a.SubscribeRequest:
			owner = r.Owner
		case *a2a.SetPushRequest:
			owner = r.Owner
		case *a2a.PushRequest:
			owner = r.Owner
		case *a2a.ListPushRequest:
			owner = r.Owner
		}
		if owner != a2a.Owner("alice").In("acme") {
			t.Errorf("%s is asked as %q", method, owner)
		}
	}
}
