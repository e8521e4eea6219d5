// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	_ "embed"
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoimpl"
)

// descriptors are the protos of all services and what they import, compiled by
// hack/descriptors. That of 0.3 has the fields that later SDKs of 0.3 added.
//
//go:embed proto/descriptors.binpb
var descriptors []byte

// protos are descriptors as they are looked up, and as they are sent.
type protos struct {
	*protoregistry.Files
	// encoded are the files by their paths.
	encoded map[string][]byte
}

// files are the protos. They are read when somebody asks, and kept out of the
// global registry, where other copies of them may stand. They are read as
// generated code does it: protodesc, which takes messages of descriptorpb, has
// every process allocate 220 KB for both before main.
var files = sync.OnceValues(func() (*protos, error) {
	all := &protos{Files: new(protoregistry.Files), encoded: map[string][]byte{}}
	for rest := descriptors; len(rest) > 0; {
		// A FileDescriptorSet has nothing but files, those that are imported first.
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
