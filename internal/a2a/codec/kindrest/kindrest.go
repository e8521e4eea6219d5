// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kindrest is the JSON of 0.3 as one project of that era speaks it over
// REST: objects with a kind, where the specification has ProtoJSON. Its server
// and its client differ, so that each frame and each answer holds its object
// twice, where either looks for it.
//
// The package is pure, like that of the objects inside.
package kindrest

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

// DecodeSend reads a request with a message.
func DecodeSend(body []byte) (*a2a.SendRequest, error) { return v03.DecodeSend(body) }

// AppendTask appends a task.
func AppendTask(dst []byte, t *a2a.Task) []byte { return v03.AppendTask(dst, t) }

// AppendEvent appends a frame of a stream: the event as the result of JSON-RPC,
// and as the member of a StreamResponse.
func AppendEvent(dst []byte, e *a2a.Event) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":null,"result":`...)
	start := len(dst)
	dst = v03.AppendEvent(dst, e)
	end := len(dst)
	dst = append(dst, member(e)...)
	dst = append(dst, dst[start:end]...)
	return append(dst, '}')
}

// AppendAnswer appends the answer to a message: a task or a message, which also
// is its own last member.
func AppendAnswer(dst []byte, e *a2a.Event) []byte {
	start := len(dst)
	dst = v03.AppendEvent(dst, e)
	end := len(dst)
	dst = append(dst[:end-1], member(e)...)
	// What the member replaced was the brace at the end.
	dst = append(dst, dst[start:end-1]...)
	return append(dst, "}}"...)
}

// member is the name under which a StreamResponse holds an event.
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
