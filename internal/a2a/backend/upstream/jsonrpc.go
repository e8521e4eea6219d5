// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// requestID is the id of every request. It need not be unique, because HTTP assigns each
// response to its request.
const requestID = "1"

var errOtherRequest = errors.New("answer has the id of another request")

// jsonRPC is the JSON-RPC 2.0 binding.
type jsonRPC struct{}

func (jsonRPC) request(d *dialect, base *url.URL, op operation, c *callParams) (method string, u *url.URL, body []byte) {
	body = append(body, `{"jsonrpc":"2.0","id":"`+requestID+`"`...)
	body = jsonwrite.Member(body, `,"method":`, d.methods[op])
	body = append(body, `,"params":`...)
	switch op {
	case opGet:
		body = d.appendGet(body, &a2a.GetRequest{TaskID: c.taskID, Tenant: c.tenant, HistoryLength: &c.history})
	case opCancel:
		body = d.appendCancel(body, &a2a.CancelRequest{TaskID: c.taskID, Tenant: c.tenant})
	case opSubscribe:
		body = d.appendSubscribe(body, &a2a.SubscribeRequest{TaskID: c.taskID, Tenant: c.tenant})
	default:
		body = d.appendSend(body, c.send)
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

// decodeError returns the JSON-RPC error in a response whose status should have been 200.
func (b jsonRPC) decodeError(_ int, text []byte) *protocolError {
	_, err := b.unwrap(text)
	problem, _ := errors.AsType[*protocolError](err)
	return problem
}
