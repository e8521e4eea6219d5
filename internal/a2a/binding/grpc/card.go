// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// encodeCard encodes a card in the dialect's form as a protobuf message. It uses
// reflection: this is slow, but clients rarely request the extended card.
func (d *dialect) encodeCard(text []byte) ([]byte, error) {
	known, err := files()
	if err != nil {
		return nil, err
	}
	descriptor, err := known.FindDescriptorByName(protoreflect.FullName(d.cardMessage))
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", d.cardMessage, err)
	}
	message := dynamicpb.NewMessage(descriptor.(protoreflect.MessageDescriptor))
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, message); err != nil {
		return nil, fmt.Errorf("read card as %s: %w", d.cardMessage, err)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(message)
}
