// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"compress/gzip"
	"fmt"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// codec passes the bytes of messages from clients to a message function. It encodes only
// the status of a call, because connect sends no other message.
type codec struct{}

// Name implements connect.Codec.
func (codec) Name() string { return "proto" }

// Marshal implements connect.Codec.
func (codec) Marshal(m any) ([]byte, error) {
	status, ok := m.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("encode %T: not a protobuf message", m)
	}
	return proto.Marshal(status)
}

// Unmarshal implements connect.Codec.
func (codec) Unmarshal(text []byte, m any) error { return (*m.(*message))(text) }

// decompressor reads gzip, and fails once a message exceeds the limit of a request. Without
// it, connect would read the rest of the message.
type decompressor struct {
	gzip.Reader
	max  func() int64
	left int64
}

func (h *Handler) newDecompressor() connect.Decompressor {
	return &decompressor{max: h.Limits.MaxBody}
}

// Reset implements connect.Decompressor.
func (d *decompressor) Reset(r io.Reader) error {
	d.left = d.max()
	return d.Reader.Reset(r)
}

// Read implements io.Reader.
func (d *decompressor) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if d.left -= int64(n); d.left < 0 {
		return 0, &a2a.Error{Reason: a2a.ReasonTooLarge}
	}
	return n, err
}
