// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"net/http"
	"net/url"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

const acceptedMediaTypes = "text/event-stream, application/x-ndjson, application/json, text/plain"

func request(u *url.URL, t *backend.Turn) *stream.Request {
	header := stream.Header(t, acceptedMediaTypes)
	if t.Input {
		header["A2A-Turn"] = []string{"input"}
	}
	return &stream.Request{Method: http.MethodPost, URL: u, Header: header, Body: appendRequest(make([]byte, 0, estimateSize(t)), t)}
}

// estimateSize returns the estimated size of a request, in bytes, so that its buffer does
// not grow.
func estimateSize(t *backend.Turn) int {
	size := 512 + t.Message.Size() + len(t.Metadata)
	for _, m := range t.History {
		size += m.Size()
	}
	return size
}

// appendRequest appends the body of the request for a turn. It omits the member task for
// a new task; all other members are always present.
func appendRequest(dst []byte, t *backend.Turn) []byte {
	dst = jsonwrite.String(append(dst, `{"taskId":`...), t.TaskID)
	dst = jsonwrite.String(append(dst, `,"contextId":`...), t.ContextID)
	dst = v03.AppendMessage(append(dst, `,"message":`...), t.Message)
	if t.Task != nil {
		dst = v03.AppendTask(append(dst, `,"task":`...), t.Task)
	}
	dst = jsonwrite.Array(append(dst, `,"history":`...), backend.Newest(t.History), v03.AppendMessage)
	dst = jsonwrite.Array(append(dst, `,"referenceTasks":`...), t.References, v03.AppendTask)
	dst = jsonwrite.Array(append(dst, `,"acceptedOutputModes":`...), t.AcceptedOutputModes, jsonwrite.String)
	dst = appendObject(append(dst, `,"metadata":`...), t.Metadata)
	dst = jsonwrite.Array(append(dst, `,"extensions":`...), t.Extensions, jsonwrite.String)
	dst = jsonwrite.String(append(dst, `,"tenant":`...), t.Tenant)
	return append(dst, '}')
}

func appendObject(dst []byte, o a2a.Object) []byte {
	if len(o) == 0 {
		return append(dst, "{}"...)
	}
	return append(dst, o...)
}
