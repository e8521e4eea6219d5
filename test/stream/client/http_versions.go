// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net/http"
	"strconv"
)

// member returns a member of a JSON object with a comma before it, or "" for an empty value.
func member(name, value string) string {
	if value == "" {
		return ""
	}
	return `,"` + name + `":` + strconv.Quote(value)
}

func rpc(method, params string) (verb, path, body string) {
	return http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// taskCall returns a writer of JSON-RPC requests about a task.
func taskCall(method string) func(a *Request) (verb, path, body string) {
	return func(a *Request) (verb, path, body string) { return rpc(method, `{"id":`+strconv.Quote(a.TaskID)+`}`) }
}

func kindMessage(a *Request) string {
	return `{"message":{"kind":"message","role":"user","parts":[{"kind":"text","text":` + strconv.Quote(a.Text) + `}]` +
		member("messageId", a.MessageID) + member("taskId", a.TaskID) + `}}`
}

func protoMessage(a *Request, parts string) string {
	return `{"message":{"role":"ROLE_USER","` + parts + `":[{"text":` + strconv.Quote(a.Text) + `}]` +
		member("messageId", a.MessageID) + member("taskId", a.TaskID) + `}}`
}

// restRequest returns a writer of REST requests about a task.
func restRequest(prefix, suffix string) func(a *Request) (verb, path, body string) {
	return func(a *Request) (verb, path, body string) { return http.MethodGet, prefix + a.TaskID + suffix, "" }
}

var v01 = &httpDialect{
	version: "0.1", statusFirst: true,
	message: func(a *Request) (verb, path, body string) {
		id := a.TaskID
		if id == "" {
			id = a.NewID
		}
		return rpc("tasks/sendSubscribe", `{"id":`+strconv.Quote(id)+
			`,"message":{"role":"user","parts":[{"type":"text","text":`+strconv.Quote(a.Text)+`}]}}`)
	},
	subscribe: taskCall("tasks/resubscribe"), read: taskCall("tasks/get"),
}

var v03 = &httpDialect{
	version:   "0.3",
	message:   func(a *Request) (verb, path, body string) { return rpc("message/stream", kindMessage(a)) },
	subscribe: taskCall("tasks/resubscribe"), read: taskCall("tasks/get"),
}

var v03Kinds = &httpDialect{
	message: func(a *Request) (verb, path, body string) {
		return http.MethodPost, "/v1/message:stream", kindMessage(a)
	},
	subscribe: restRequest("/v1/tasks/", ":subscribe"), read: restRequest("/v1/tasks/", ""),
}

var v03Proto = &httpDialect{
	message: func(a *Request) (verb, path, body string) {
		return http.MethodPost, "/v1/message:stream", protoMessage(a, "content")
	},
	subscribe: restRequest("/v1/tasks/", ":subscribe"), read: restRequest("/v1/tasks/", ""),
}

var v10 = &httpDialect{
	version: "1.0",
	message: func(a *Request) (verb, path, body string) {
		return rpc("SendStreamingMessage", protoMessage(a, "parts"))
	},
	subscribe: taskCall("SubscribeToTask"), read: taskCall("GetTask"),
}

var v10Proto = &httpDialect{
	version: "1.0",
	message: func(a *Request) (verb, path, body string) {
		return http.MethodPost, "/message:stream", protoMessage(a, "parts")
	},
	subscribe: restRequest("/tasks/", ":subscribe"), read: restRequest("/tasks/", ""),
}
