// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prototest reads ProtoJSON as the strictest client would: with the
// official protos, and refusing what they do not name. It is imported by tests
// only.
package prototest

import (
	"errors"
	"sync"

	a2av03 "github.com/a2aproject/a2a-go/a2apb"
	a2av10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// V03 reads a message of a2a.v1.
func V03(message string, text []byte) error {
	file, err := deployed()
	if err != nil {
		return err
	}
	return read(file, message, text)
}

// V10 reads a message of lf.a2a.v1.
func V10(message string, text []byte) error { return read(a2av10.File_a2av1_proto, message, text) }

func read(file protoreflect.FileDescriptor, message string, text []byte) error {
	d := file.Messages().ByName(protoreflect.Name(message))
	if d == nil {
		return errors.New("no message " + message)
	}
	return protojson.UnmarshalOptions{DiscardUnknown: false}.Unmarshal(text, dynamicpb.NewMessage(d))
}

// deployed returns the proto of 0.3. The Go SDK's copy is that of gRPC, where
// names do not count: it calls the content of a message parts, and has a field
// that no release had.
var deployed = sync.OnceValues(func() (protoreflect.FileDescriptor, error) {
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
				*field.Name, *field.JsonName = "content", "content"
			}
			kept = append(kept, field)
		}
		message.Field = kept
	}
	return protodesc.NewFile(file, protoregistry.GlobalFiles)
})
