// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kindrest encodes the responses and events of the HTTP+JSON of one project that
// implements 0.3. Instead of ProtoJSON, the project uses the objects of JSON-RPC, which have a
// kind. The server and the client of the project expect the object in different members, so
// each response and each event of a stream contains the object in both members. Package
// jsondecode decodes the requests.
//
// The package is pure.
package kindrest

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

// AppendEvent appends an event of a stream, both as the result of a JSON-RPC
// response and as the member of a StreamResponse.
func AppendEvent(dst []byte, e *a2a.Event) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":null,"result":`...)
	start := len(dst)
	dst = v03.AppendEvent(dst, e)
	end := len(dst)
	dst = append(dst, member(e)...)
	dst = append(dst, dst[start:end]...)
	return append(dst, '}')
}

// AppendAnswer appends the response to a message: a task or a message. Its last member
// contains the same task or message again.
func AppendAnswer(dst []byte, e *a2a.Event) []byte {
	start := len(dst)
	dst = v03.AppendEvent(dst, e)
	end := len(dst)
	dst = append(dst[:end-1], member(e)...)
	// The text of member has replaced the closing brace of the object, so the copy has none
	// either. The last line closes both objects.
	dst = append(dst, dst[start:end-1]...)
	return append(dst, "}}"...)
}

// member returns the text before an event in a StreamResponse.
func member(e *a2a.Event) string {
	switch {
	case e.Task != nil:
		return `,"task":`
	case e.Message != nil:
		return `,"message":`
	case e.Status != nil:
		return `,"statusUpdate":`
	default:
		return `,"artifactUpdate":`
	}
}
