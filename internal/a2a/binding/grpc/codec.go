// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// codec passes the bytes of our own services through. Those of health and
// reflection are messages of the library.
type codec struct{}

var _ encoding.CodecV2 = codec{}

// encoded is a message that is written as it is. It may be shared.
type encoded []byte

// decodable reads a message, which it must not keep.
type decodable interface{ decode(text []byte) }

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case encoded:
		return mem.BufferSlice{mem.SliceBuffer(m)}, nil
	case proto.Message:
		text, err := proto.Marshal(m)
		return mem.BufferSlice{mem.SliceBuffer(text)}, err
	default:
		return nil, fmt.Errorf("marshal %T", v)
	}
}

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	text := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer text.Free()
	switch m := v.(type) {
	case decodable:
		m.decode(text.ReadOnlyData())
		return nil
	case proto.Message:
		return proto.Unmarshal(text.ReadOnlyData(), m)
	default:
		return fmt.Errorf("unmarshal %T", v)
	}
}

// Name implements encoding.CodecV2.
func (codec) Name() string { return "proto" }

// incoming is a request on its way through the codec.
type incoming[R any] struct {
	read  func([]byte) (R, error)
	value R
	err   error
}

func (in *incoming[R]) decode(text []byte) { in.value, in.err = in.read(text) }
