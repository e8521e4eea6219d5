// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	_ "embed"
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoimpl"
	"google.golang.org/protobuf/types/dynamicpb"
)

// descriptors contain the protos of all services and their imports, compiled by
// hack/descriptors. The proto of 0.3 includes the fields that later SDKs of 0.3 added.
//
//go:embed proto/descriptors.binpb
var descriptors []byte

// protos have the parsed protos, for lookups and for reflection.
type protos struct {
	*protoregistry.Files
	// encoded maps the path of each file to the encoded file.
	encoded map[string][]byte
}

// files returns the protos, and parses them at the first call. They are not in the global
// registry, which may have other copies of them. files parses them like generated code:
// linking protodesc and descriptorpb would make every process allocate 220 KB before main.
var files = sync.OnceValues(func() (*protos, error) {
	all := &protos{Files: new(protoregistry.Files), encoded: map[string][]byte{}}
	for rest := descriptors; len(rest) > 0; {
		// A FileDescriptorSet contains only files, and each file comes after its imports.
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 || number != 1 || kind != protowire.BytesType {
			return nil, fmt.Errorf("read descriptors: no file at byte %d", len(descriptors)-len(rest))
		}
		text, m := protowire.ConsumeBytes(rest[n:])
		if m < 0 {
			return nil, fmt.Errorf("read descriptors: %w", protowire.ParseError(m))
		}
		rest = rest[n+m:]
		made := protoimpl.DescBuilder{RawDescriptor: text, FileRegistry: all.Files}.Build()
		all.encoded[made.File.Path()] = text
	}
	return all, nil
})

// The services, by their full names in the protos.
const (
	service03 = "a2a.v1.A2AService"
	service10 = "lf.a2a.v1.A2AService"

	healthService = "grpc.health.v1.Health"
	healthCheck   = "/" + healthService + "/Check"

	reflection      = "grpc.reflection.v1.ServerReflection"
	alphaReflection = "grpc.reflection.v1alpha.ServerReflection"
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
