// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/clientdialect"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// httpJSON is the HTTP+JSON binding.
type httpJSON struct{}

func (httpJSON) request(d *dialect, base *url.URL, op clientdialect.Operation, c *callParams) (method string, u *url.URL, body []byte) {
	tenant := ""
	if c.tenant != "" {
		tenant = "/" + url.PathEscape(c.tenant)
	}
	task := "/tasks/" + url.PathEscape(c.taskID)
	at := func(path string) *url.URL {
		u := *base
		u.RawPath = base.EscapedPath() + d.Prefix + tenant + path
		if unescaped, err := url.PathUnescape(u.RawPath); err == nil {
			u.Path = unescaped
		}
		return &u
	}
	switch op {
	case clientdialect.Get:
		u = at(task)
		history := "historyLength=" + strconv.Itoa(c.history)
		if u.RawQuery != "" {
			history = u.RawQuery + "&" + history
		}
		u.RawQuery = history
		return http.MethodGet, u, nil
	case clientdialect.Cancel:
		return http.MethodPost, at(task + ":cancel"), []byte("{}")
	case clientdialect.Subscribe:
		return http.MethodPost, at(task + ":subscribe"), []byte("{}")
	case clientdialect.Stream:
		return http.MethodPost, at("/message:stream"), d.AppendSend(nil, c.send)
	default:
		return http.MethodPost, at("/message:send"), d.AppendSend(nil, c.send)
	}
}

// unwrap returns the text unchanged, or the result if the text is a response of JSON-RPC, which one
// project that implements 0.3 sends. If the text has a member error, which a stream may contain in place
// of an event, unwrap returns a *protocolError.
func (httpJSON) unwrap(text []byte) ([]byte, error) {
	r := jsonread.New(text)
	var result []byte
	failed := false
	isRPC := false
	for name := range r.Members() {
		switch string(name) {
		case "error":
			failed = true
		case "jsonrpc":
			isRPC = true
		case "result":
			result = r.Raw()
		}
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	switch {
	case failed:
		return nil, parseError(0, text)
	case isRPC && result != nil:
		return result, nil
	default:
		return text, nil
	}
}

func (httpJSON) decodeError(status int, text []byte) *protocolError {
	if f := parseError(status, text); f.reason != "" {
		return f
	}
	switch status {
	case http.StatusNotImplemented, http.StatusMethodNotAllowed:
		return &protocolError{reason: a2a.ReasonMethodNotFound, code: status}
	default:
		return nil
	}
}

// knownReasons are the reasons that error details may name.
var knownReasons = slices.Collect(maps.Values(scalar.ReasonsOfCodes))

// parseError decodes an error response. Its reason is in the details of the member error, as
// in 1.0, or is the reason of the JSON-RPC code that servers of 0.3 put into the body. The
// reason is "" if the text has neither.
func parseError(status int, text []byte) *protocolError {
	f := &protocolError{code: status}
	r := jsonread.New(text)
	if r.Kind() != '{' {
		return f
	}
	for name := range r.Members() {
		switch {
		case string(name) == "code" && r.Kind() == '0':
			f.reason = scalar.ReasonsOfCodes[r.Int()]
		case string(name) == "error" && r.Kind() == '{':
			for name := range r.Members() {
				if string(name) == "details" && r.Kind() == '[' {
					f.readDetails(r)
				}
			}
		}
	}
	if r.End() != nil {
		return &protocolError{code: status}
	}
	return f
}

func (f *protocolError) readDetails(r *jsonread.Reader) {
	for range r.Elements() {
		if r.Kind() != '{' {
			continue
		}
		for name := range r.Members() {
			if string(name) == "reason" && r.Kind() == '"' {
				if reason := a2a.Reason(r.String()); slices.Contains(knownReasons, reason) {
					f.reason = reason
				}
			}
		}
	}
}

// requestID is the id of every request. It need not be unique, because HTTP assigns each
// response to its request.
const requestID = "1"

var errOtherRequest = errors.New("answer has the id of another request")

// jsonRPC is the JSON-RPC 2.0 binding.
type jsonRPC struct{}

func (jsonRPC) request(d *dialect, base *url.URL, op clientdialect.Operation, c *callParams) (method string, u *url.URL, body []byte) {
	body = append(body, `{"jsonrpc":"2.0","id":"`+requestID+`"`...)
	body = jsonwrite.Member(body, `,"method":`, d.Methods[op])
	body = append(body, `,"params":`...)
	switch op {
	case clientdialect.Get:
		body = d.AppendGet(body, &a2a.GetRequest{TaskID: c.taskID, Tenant: c.tenant, HistoryLength: &c.history})
	case clientdialect.Cancel:
		body = d.AppendCancel(body, &a2a.CancelRequest{TaskID: c.taskID, Tenant: c.tenant})
	case clientdialect.Subscribe:
		body = d.AppendSubscribe(body, &a2a.SubscribeRequest{TaskID: c.taskID, Tenant: c.tenant})
	default:
		body = d.AppendSend(body, c.send)
	}
	return http.MethodPost, base, append(body, '}')
}

func (jsonRPC) unwrap(text []byte) ([]byte, error) {
	r := jsonread.New(text)
	var result []byte
	var problem *protocolError
	other := false
	for name := range r.Members() {
		switch string(name) {
		case "id":
			other = r.Kind() != '"' || r.String() != requestID
		case "result":
			result = r.Raw()
		case "error":
			problem = &protocolError{}
			for name := range r.Members() {
				if string(name) == "code" {
					problem.code = r.Int()
					problem.reason = scalar.ReasonsOfCodes[problem.code]
				}
			}
		}
	}
	switch err := r.End(); {
	case err != nil:
		return nil, err
	case other:
		return nil, errOtherRequest
	case problem != nil:
		return nil, problem
	case result == nil:
		return nil, a2a.InvalidParams("result", "is required")
	}
	return result, nil
}

// decodeError returns the JSON-RPC error in a response whose status is not 2xx. Some
// servers respond with such a status, although a JSON-RPC error should have the status 200.
func (b jsonRPC) decodeError(_ int, text []byte) *protocolError {
	_, err := b.unwrap(text)
	problem, _ := errors.AsType[*protocolError](err)
	return problem
}

var (
	rpcV10  = &dialect{clientdialect.RPCV10, jsonRPC{}, "A2A-Extensions"}
	restV10 = &dialect{clientdialect.RESTV10, httpJSON{}, "A2A-Extensions"}
	rpcV03  = &dialect{clientdialect.RPCV03, jsonRPC{}, "X-A2A-Extensions"}
	restV03 = &dialect{clientdialect.RESTV03, httpJSON{}, "X-A2A-Extensions"}
	rpcV01  = &dialect{clientdialect.RPCV01, jsonRPC{}, ""}
)

// preferred are the supported dialects in the order of preference.
var preferred = []*dialect{rpcV10, restV10, rpcV03, restV03, rpcV01}
