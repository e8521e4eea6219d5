// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestWire05_Envelopes(t *testing.T) {
	const task = `"result":{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working","timestamp":"2026-01-01T00:00:00.000Z"}}`
	failed := func(id string, code int, message string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message)
	}
	tests := map[string]struct{ body, want string }{
		"number id":    {`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}}`, `{"jsonrpc":"2.0","id":1,` + task + `}`},
		"string id":    {`{"jsonrpc":"2.0","id":"1","method":"tasks/get","params":{"id":"t1"}}`, `{"jsonrpc":"2.0","id":"1",` + task + `}`},
		"large id":     {`{"jsonrpc":"2.0","id":9007199254740993,"method":"tasks/get","params":{"id":"t1"}}`, `{"jsonrpc":"2.0","id":9007199254740993,` + task + `}`},
		"float id":     {`{"jsonrpc":"2.0","id":1.0,"method":"tasks/get","params":{"id":"t1"}}`, `{"jsonrpc":"2.0","id":1.0,` + task + `}`},
		"escaped id":   {`{"jsonrpc":"2.0","id":"\u0041\/","method":"tasks/get","params":{"id":"t1"}}`, `{"jsonrpc":"2.0","id":"\u0041\/",` + task + `}`},
		"null id":      {`{"jsonrpc":"2.0","id":null,"method":"tasks/get","params":{"id":"t1"}}`, `{"jsonrpc":"2.0","id":null,` + task + `}`},
		"id last":      {`{"params":{"id":"t1"},"method":"tasks/get","jsonrpc":"2.0","id":7}`, `{"jsonrpc":"2.0","id":7,` + task + `}`},
		"more members": {`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"},"x":[1]}`, `{"jsonrpc":"2.0","id":1,` + task + `}`},

		"malformed":                     {`{"jsonrpc":`, failed("null", -32700, "Invalid JSON payload at byte 11")},
		"empty":                         {``, failed("null", -32700, "Invalid JSON payload at byte 0")},
		"trailing":                      {`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}} x`, failed("null", -32700, "data after the end of the JSON value")},
		"duplicate":                     {`{"jsonrpc":"2.0","id":1,"id":2,"method":"tasks/get"}`, failed("null", -32700, "Invalid JSON payload at byte 24")},
		"depth":                         {`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, failed("null", -32700, "JSON is nested deeper than 64 levels")},
		"batch":                         {`[{"jsonrpc":"2.0","id":1,"method":"tasks/get"}]`, failed("null", -32600, "Request must be one JSON-RPC object")},
		"empty batch":                   {`[]`, failed("null", -32600, "Request must be one JSON-RPC object")},
		"string":                        {`"x"`, failed("null", -32600, "Request must be one JSON-RPC object")},
		"null":                          {`null`, failed("null", -32600, "Request must be one JSON-RPC object")},
		"no version":                    {`{"id":1,"method":"tasks/get"}`, failed("1", -32600, `jsonrpc must be "2.0"`)},
		"wrong version":                 {`{"jsonrpc":"1.0","id":1,"method":"tasks/get"}`, failed("1", -32600, `jsonrpc must be "2.0"`)},
		"version 2":                     {`{"jsonrpc":2.0,"id":1,"method":"tasks/get"}`, failed("1", -32600, "jsonrpc must be a string")},
		"no method":                     {`{"jsonrpc":"2.0","id":1}`, failed("1", -32600, "method is required")},
		"method number":                 {`{"jsonrpc":"2.0","id":1,"method":1}`, failed("1", -32600, "method must be a string")},
		"id object":                     {`{"jsonrpc":"2.0","id":{},"method":"tasks/get"}`, failed("null", -32600, "id must be a string, a number or null")},
		"id list":                       {`{"jsonrpc":"2.0","id":[1],"method":"tasks/get"}`, failed("null", -32600, "id must be a string, a number or null")},
		"id true":                       {`{"jsonrpc":"2.0","id":true,"method":"tasks/get"}`, failed("null", -32600, "id must be a string, a number or null")},
		"params list":                   {`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":["t1"]}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params: must be an object","data":{"reason":"INVALID_PARAMS","field":"params"}}}`},
		"no params":                     {`{"jsonrpc":"2.0","id":1,"method":"tasks/get"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"id: is required","data":{"reason":"INVALID_PARAMS","field":"id"}}}`},
		"case of member":                {`{"jsonrpc":"2.0","id":1,"Method":"tasks/get"}`, failed("1", -32600, "member method must be spelled so")},
		"two cases":                     {`{"jsonrpc":"2.0","id":1,"method":"tasks/get","METHOD":"tasks/cancel","params":{"id":"t1"}}`, failed("1", -32600, "member method must be spelled so")},
		"two ids":                       {`{"jsonrpc":"2.0","id":1,"ID":2,"method":"tasks/get","params":{"id":"t1"}}`, failed("1", -32600, "member id must be spelled so")},
		"huge id":                       {`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 255) + `","method":"tasks/get","params":{"id":"t1"}}`, failed("null", -32600, "id is longer than 256 bytes")},
		"unknown method":                {`{"jsonrpc":"2.0","id":1,"method":"tasks/frobnicate"}`, failed("1", -32601, "Method not found")},
		"no version, otherwise valid":   {`{"method":"tasks/get","params":{"id":"t1"}}`, `{"jsonrpc":"2.0","id":null,` + task + `}`},
		"no version, params of 1.0":     {`{"id":1,"method":"GetTask","params":{"id":"t1"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\"","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org"}]}}`},
		"no version, empty params":      {`{"id":1,"method":"tasks/get","params":{}}`, failed("1", -32600, `jsonrpc must be "2.0"`)},
		"no version, params a list":     {`{"id":1,"method":"tasks/get","params":[]}`, failed("1", -32600, `jsonrpc must be "2.0"`)},
		"no version, unknown method":    {`{"id":1,"method":"x","params":{}}`, failed("1", -32600, `jsonrpc must be "2.0"`)},
		"no version, method not a name": {`{"id":1,"method":[],"params":{}}`, failed("1", -32600, "method must be a string")},
		"version null":                  {`{"jsonrpc":null,"id":1,"method":"tasks/get","params":{"id":"t1"}}`, failed("1", -32600, "jsonrpc must be a string")},
		"case of method":                {`{"jsonrpc":"2.0","id":1,"method":"sendMessage"}`, failed("1", -32601, "Method not found")},
		"no id, unknown":                {`{"jsonrpc":"2.0","method":"x"}`, failed("null", -32601, "Method not found")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newFixture(&fake{Task: newTask(a2a.StateWorking)}).post(t, test.body)
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("status %d, %s", w.Code, w.Header().Get("Content-Type"))
			}
			if diff := cmp.Diff(test.want, w.Body.String()); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWire05_Notifications checks that a request without an id has no response, unless it fails. The
// test suite for 0.3 expects a response to unknown methods and to invalid params.
func TestWire05_Notifications(t *testing.T) {
	const message = `{"message":{"messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}}`
	for body, want := range map[string]string{
		`"method":"message/send","params":` + message:              "*a2a.SendRequest",
		`"method":"message/stream","params":` + message:            "*a2a.SendRequest",
		`"method":"tasks/cancel","params":{"id":"t1"}`:             "*a2a.CancelRequest",
		`"method":"tasks/get","params":{"id":"t1"}`:                "<nil>",
		`"method":"SubscribeToTask","params":{"id":"t1"}`:          "<nil>",
		`"method":"message/send","params":{"":"not a dictionary"}`: `"code":-32602`,
		`"method":"message/ssend","params":{}`:                     `"code":-32601`,
		`"method":"message/send","params":"not an object"`:         `"code":-32602`,
		`"params":{}`: `"code":-32600`,
	} {
		f := &fake{Task: newTask(a2a.StateWorking), Event: a2a.Event{Task: newTask(a2a.StateWorking)}}
		w := newFixture(f).post(t, `{"jsonrpc":"2.0",`+body+`}`)
		if strings.HasPrefix(want, `"code"`) {
			if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), `{"jsonrpc":"2.0","id":null,"error":{`+want) {
				t.Errorf("%s: %d %s, want %s", body, w.Code, w.Body, want)
			}
			continue
		}
		if got := fmt.Sprintf("%T", f.Last()); got != want || w.Code != http.StatusNoContent || w.Body.Len() > 0 || w.Header().Get("Content-Type") != "" {
			t.Errorf("%s: %d %v %s asks %s, want 204 and %s", body, w.Code, w.Header(), w.Body, got, want)
		}
		if sent, ok := f.Last().(*a2a.SendRequest); ok && !sent.ReturnImmediately {
			t.Errorf("%s waits for the turn", body)
		}
	}
}

func TestTransport(t *testing.T) {
	const get = `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}}`
	tests := map[string]struct {
		body    string
		headers []string
		status  int
	}{
		"JSON":                        {get, nil, 200},
		"JSON with a charset":         {get, []string{"Content-Type", "application/json; charset=utf-8"}, 200},
		"A2A JSON":                    {get, []string{"Content-Type", "application/a2a+json"}, 200},
		"no type":                     {get, []string{"Content-Type", ""}, 200},
		"no type from a web page":     {get, []string{"Content-Type", "", "Origin", "https://evil.example"}, 415},
		"text":                        {get, []string{"Content-Type", "text/plain"}, 415},
		"form":                        {get, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		"garbage":                     {get, []string{"Content-Type", "application/json; ="}, 415},
		"body of 1 MiB":               {get + strings.Repeat(" ", 1<<20-len(get)), nil, 200},
		"body of 1 MiB and one byte":  {get + strings.Repeat(" ", 1<<20-len(get)+1), nil, 413},
		"body of many, not announced": {get + strings.Repeat(" ", 2<<20), []string{"Transfer-Encoding", "chunked"}, 413},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newFixture(&fake{Task: newTask(a2a.StateWorking)}).post(t, test.body, test.headers...)
			if w.Code != test.status {
				t.Errorf("status = %d, want %d: %s", w.Code, test.status, w.Body)
			}
			if !strings.HasPrefix(w.Body.String(), `{"jsonrpc":"2.0",`) {
				t.Errorf("body is no JSON-RPC: %s", w.Body)
			}
			if w.Code == http.StatusUnsupportedMediaType && !strings.Contains(w.Body.String(), `"code":-32005,`) {
				t.Errorf("a type that is not taken is told as %s", w.Body)
			}
		})
	}
	t.Run("GET", func(t *testing.T) {
		w := httptest.NewRecorder()
		newFixture(&fake{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodPost {
			t.Errorf("status = %d, Allow = %q", w.Code, w.Header().Get("Allow"))
		}
	})
	t.Run("no caller", func(t *testing.T) {
		w := httptest.NewRecorder()
		newFixture(&fake{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(get)))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("status = %d: a handler without a gate must refuse", w.Code)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parse(body)
		if len(r.id) == 0 || err == nil && r.method == "" {
			t.Errorf("parse(%q) = %+v, %v", body, r, err)
		}
	})
}
