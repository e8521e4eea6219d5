// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prototest provides references for tests of the protobuf and ProtoJSON codecs. They
// use the official .proto definitions: a strict ProtoJSON decoder, which rejects unknown
// members, and a Client, which encodes protobuf requests. Only tests import it.
package prototest

import (
	"errors"
	"sync"

	a2av03 "github.com/a2aproject/a2a-go/a2apb"
	a2av10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// V03 returns an error if text is not the ProtoJSON of the message of a2a.v1 with this
// name.
func V03(message string, text []byte) error {
	_, err := MarshalV03(message, text)
	return err
}

// MarshalV03 returns the binary form of a message of a2a.v1, from its ProtoJSON.
func MarshalV03(message string, text []byte) ([]byte, error) {
	file, err := releasedV03()
	if err != nil {
		return nil, err
	}
	return read(file, message, text)
}

// V10 returns an error if text is not the ProtoJSON of the message of lf.a2a.v1 with this
// name.
func V10(message string, text []byte) error {
	_, err := read(a2av10.File_a2av1_proto, message, text)
	return err
}

func read(file protoreflect.FileDescriptor, message string, text []byte) ([]byte, error) {
	d := file.Messages().ByName(protoreflect.Name(message))
	if d == nil {
		return nil, errors.New("no message " + message)
	}
	m := dynamicpb.NewMessage(d)
	if err := (protojson.UnmarshalOptions{DiscardUnknown: false}).Unmarshal(text, m); err != nil {
		return nil, err
	}
	return proto.Marshal(m)
}

// releasedV03 returns the proto of 0.3 as it was released. The copy in the Go SDK differs:
// it calls the content of a message parts, and has a field that no release has. The SDK
// uses its copy for gRPC, where names do not matter.
var releasedV03 = sync.OnceValues(func() (protoreflect.FileDescriptor, error) {
	file := protodesc.ToFileDescriptorProto(a2av03.File_a2a_proto)
	for _, message := range file.GetMessageType() {
		if message.GetName() != "Message" {
			continue
		}
		kept := message.GetField()[:0]
		for _, field := range message.GetField() {
			switch field.GetName() {
			case "reference_task_ids":
				continue
			case "parts":
				*field.Name = "content"
				*field.JsonName = "content"
			}
			kept = append(kept, field)
		}
		message.Field = kept
	}
	return protodesc.NewFile(file, protoregistry.GlobalFiles)
})
