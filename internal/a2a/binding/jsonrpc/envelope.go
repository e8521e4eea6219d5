// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// request is a JSON-RPC 2.0 request. Its members are parts of the body.
type request struct {
	// id is the token as the client wrote it, and null when there is none: it
	// goes back byte for byte, since clients compare it.
	id     []byte
	method string
	params []byte
	// unmarked is true when the request does not say that it is JSON-RPC.
	unmarked bool
}

var null = []byte("null")

// maxID bounds an id, since it is repeated in every event of a stream.
const maxID = 256

var names = jsonread.NewNames("jsonrpc", "id", "method", "params")

// parse reads an envelope. On error the request holds the id as far as it is
// known to be one.
func parse(body []byte) (request, error) {
	req := request{id: null}
	r := jsonread.New(body)
	if kind := r.Kind(); kind != '{' {
		// Text that is no JSON is a parse error; JSON that is no object, such
		// as a batch, is an invalid request.
		r.Skip()
		if err := r.End(); err != nil {
			return req, err
		}
		return req, invalid("Request must be one JSON-RPC object")
	}
	var version, problem string
	req.unmarked = true
	id := null
	for name := range r.AllMembers() {
		switch string(name) {
		case "jsonrpc":
			version = member(r, &problem, "jsonrpc must be a string")
			req.unmarked = false
		case "method":
			req.method = member(r, &problem, "method must be a string")
		case "id":
			id = identifier(r, &problem)
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
	if problem != "" {
		return req, invalid(problem)
	}
	return req, req.check(version)
}

// check judges what the members say together.
func (r *request) check(version string) error {
	object := r.params != nil && r.params[0] == '{'
	switch {
	case version != "2.0" && (!r.unmarked || !object):
		return errUnmarked()
	case r.method == "":
		return invalid("method is required")
	case r.params != nil && !object:
		return a2a.InvalidParams("params", "must be an object")
	default:
		return nil
	}
}

// identifier reads an id, and returns null for one that cannot go back.
func identifier(r *jsonread.Reader, problem *string) []byte {
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

// member reads a string; another kind is a problem of the envelope and not of
// the JSON.
func member(r *jsonread.Reader, problem *string, message string) string {
	if r.Kind() != '"' {
		*problem = message
		r.Skip()
		return ""
	}
	return r.String()
}

// errUnmarked refuses a request that is not one of JSON-RPC 2.0. Documents of
// 0.2 leave the member out, so that its absence is forgiven to requests of that
// time which are right in all else; a test of conformance is not.
func errUnmarked() *a2a.Error { return invalid(`jsonrpc must be "2.0"`) }

func invalid(message string) *a2a.Error {
	return &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: message}
}
