// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// request is a JSON-RPC 2.0 request. Its members are slices of the body.
type request struct {
	// id is the JSON token of the id as the client wrote it, null if it is missing. The
	// response repeats it byte for byte, because clients compare it.
	id     []byte
	method string
	// params is nil if the member is missing or null.
	params []byte
	// marked is true if the request has the member jsonrpc.
	marked bool
	// notification is true if the request has the member jsonrpc and no id.
	notification bool
}

var null = []byte("null")

// maxID is the limit of an id, in bytes. Ids are limited because every event of a stream
// repeats the id.
const maxID = 256

var names = jsonread.NewNames("jsonrpc", "id", "method", "params")

// parse decodes a request. With an error, it returns a request that has the id, if the id
// could be read.
func parse(body []byte) (request, error) {
	req := request{id: null}
	r := jsonread.New(body)
	if kind := r.Kind(); kind != '{' {
		// Invalid JSON is a parse error. JSON that is not an object, such as a batch, is an
		// invalid request.
		r.Skip()
		if err := r.End(); err != nil {
			return req, err
		}
		return req, invalid("Request must be one JSON-RPC object")
	}
	var version, problem string
	id := null
	hasID := false
	for name := range r.AllMembers() {
		switch string(name) {
		case "jsonrpc":
			version = readString(r, &problem, "jsonrpc must be a string")
			req.marked = true
		case "method":
			req.method = readString(r, &problem, "method must be a string")
		case "id":
			hasID = true
			id = readID(r, &problem)
		case "params":
			if r.Kind() != 'n' {
				req.params = r.Raw()
			}
		default:
			if meant := names.VariantOf(name); meant != "" {
				problem = "member " + meant + " must be spelled so"
			}
		}
	}
	if err := r.End(); err != nil {
		return req, err
	}
	req.id = id
	req.notification = req.marked && !hasID
	switch {
	case problem != "":
		return req, invalid(problem)
	case req.marked && version != "2.0":
		return req, errMarker
	case req.method == "":
		return req, invalid("method is required")
	case req.marked && req.params != nil && !req.hasObject():
		return req, a2a.InvalidParams("params", "must be an object")
	default:
		return req, nil
	}
}

// hasObject reports whether params is an object.
func (r *request) hasObject() bool { return r.params != nil && r.params[0] == '{' }

// readID reads an id. It returns null if the response cannot repeat the id.
func readID(r *jsonread.Reader, problem *string) []byte {
	kind := r.Kind()
	raw := r.Raw()
	switch {
	case kind != '"' && kind != '0' && kind != 'n':
		*problem = "id must be a string, a number or null"
		return null
	case len(raw) > maxID:
		*problem = "id is longer than " + strconv.Itoa(maxID) + " bytes"
		return null
	default:
		return raw
	}
}

// readString reads a string. A value of another kind is a problem of the request and not an
// error of the JSON, so readString stores it in problem and skips the value.
func readString(r *jsonread.Reader, problem *string, message string) string {
	if r.Kind() != '"' {
		*problem = message
		r.Skip()
		return ""
	}
	return r.String()
}

func invalid(message string) *a2a.Error {
	return &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: message}
}

var errMarker = invalid(`jsonrpc must be "2.0"`)
