// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package legacyjson

import (
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// TaskParams has the members of TaskIdParams and TaskQueryParams.
type TaskParams struct {
	ID string
	// HistoryLength is the default of the protocol version if the member is absent.
	HistoryLength *int
	Metadata      a2a.Object
}

// TaskParams reads TaskIdParams or TaskQueryParams, which must have an id, to the end of
// the text. historyLength is the default of the protocol version.
func (d *Decoder) TaskParams(historyLength *int) (TaskParams, error) {
	p := TaskParams{HistoryLength: historyLength}
	for name := range d.Members() {
		switch string(name) {
		case "id":
			p.ID = d.ID()
		case "historyLength":
			p.HistoryLength = d.HistoryLength()
		case "metadata":
			p.Metadata = d.Object()
		}
	}
	if p.ID == "" {
		d.FailAt("id", "is required")
	}
	return p, d.End()
}

// Get returns the request to get the task.
func (p *TaskParams) Get() *a2a.GetRequest {
	return &a2a.GetRequest{TaskID: p.ID, HistoryLength: p.HistoryLength}
}

// Cancel returns the request to cancel the task.
func (p *TaskParams) Cancel() *a2a.CancelRequest {
	return &a2a.CancelRequest{TaskID: p.ID, Metadata: p.Metadata}
}

// Subscribe returns the request to subscribe to the task.
func (p *TaskParams) Subscribe() *a2a.SubscribeRequest {
	return &a2a.SubscribeRequest{TaskID: p.ID, HistoryLength: p.HistoryLength}
}

// AppendGet appends TaskQueryParams.
func AppendGet(dst []byte, r *a2a.GetRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = AppendHistoryLength(dst, r.HistoryLength)
	return append(dst, '}')
}

// AppendCancel appends TaskIdParams.
func AppendCancel(dst []byte, r *a2a.CancelRequest) []byte {
	dst = jsonwrite.Member(dst, `{"id":`, r.TaskID)
	dst = jsonwrite.Metadata(dst, r.Metadata)
	return append(dst, '}')
}

// AppendHistoryLength appends a comma and the member historyLength. It appends nothing if n
// is nil.
func AppendHistoryLength(dst []byte, n *int) []byte {
	if n == nil {
		return dst
	}
	return jsonwrite.Int(dst, `,"historyLength":`, *n)
}
