// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net/http"
	"strconv"
)

// member is one of a JSON object, or nothing without a value.
func member(name, value string) string {
	if value == "" {
		return ""
	}
	return `,"` + name + `":` + strconv.Quote(value)
}

func rpc(method, params string) (verb, path, body string) {
	return http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// call is a request about a task.
func call(method string) func(a *Ask) (verb, path, body string) {
	return func(a *Ask) (verb, path, body string) { return rpc(method, `{"id":`+strconv.Quote(a.TaskID)+`}`) }
}

func kindMessage(a *Ask) string {
	return `{"message":{"kind":"message","role":"user","parts":[{"kind":"text","text":` + strconv.Quote(a.Text) + `}]` +
		member("messageId", a.MessageID) + member("taskId", a.TaskID) + `}}`
}

func protoMessage(a *Ask, parts string) string {
	return `{"message":{"role":"ROLE_USER","` + parts + `":[{"text":` + strconv.Quote(a.Text) + `}]` +
		member("messageId", a.MessageID) + member("taskId", a.TaskID) + `}}`
}

// under is a request for a path about a task.
func under(prefix, suffix string) func(a *Ask) (verb, path, body string) {
	return func(a *Ask) (verb, path, body string) { return http.MethodGet, prefix + a.TaskID + suffix, "" }
}

var v01 = &overHTTP{
	version: "0.1", standing: true,
	message: func(a *Ask) (verb, path, body string) {
		id := a.TaskID
		if id == "" {
			id = a.NewID
		}
		return rpc("tasks/sendSubscribe", `{"id":`+strconv.Quote(id)+
			`,"message":{"role":"user","parts":[{"type":"text","text":`+strconv.Quote(a.Text)+`}]}}`)
	},
	subscribe: call("tasks/resubscribe"), read: call("tasks/get"),
}

var v03 = &overHTTP{
	version:   "0.3",
	message:   func(a *Ask) (verb, path, body string) { return rpc("message/stream", kindMessage(a)) },
	subscribe: call("tasks/resubscribe"), read: call("tasks/get"),
}

var v03Kinds = &overHTTP{
	message: func(a *Ask) (verb, path, body string) {
		return http.MethodPost, "/v1/message:stream", kindMessage(a)
	},
	subscribe: under("/v1/tasks/", ":subscribe"), read: under("/v1/tasks/", ""),
}

var v03Proto = &overHTTP{
	message: func(a *Ask) (verb, path, body string) {
		return http.MethodPost, "/v1/message:stream", protoMessage(a, "content")
	},
	subscribe: under("/v1/tasks/", ":subscribe"), read: under("/v1/tasks/", ""),
}

var v10 = &overHTTP{
	version:   "1.0",
	message:   func(a *Ask) (verb, path, body string) { return rpc("SendStreamingMessage", protoMessage(a, "parts")) },
	subscribe: call("SubscribeToTask"), read: call("GetTask"),
}

var v10Proto = &overHTTP{
	version: "1.0",
	message: func(a *Ask) (verb, path, body string) {
		return http.MethodPost, "/message:stream", protoMessage(a, "parts")
	},
	subscribe: under("/tasks/", ":subscribe"), read: under("/tasks/", ""),
}
