// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	_ "embed"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// descriptors are the protos of all services and what they import, compiled by
// hack/descriptors. That of 0.3 has the fields that later SDKs of 0.3 added.
//
//go:embed proto/descriptors.binpb
var descriptors []byte

// files are the protos. They are read when somebody asks, and kept out of the
// global registry, where other copies of them may stand.
var files = sync.OnceValues(func() (*protoregistry.Files, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(descriptors, &set); err != nil {
		return nil, fmt.Errorf("read descriptors: %w", err)
	}
	all, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, fmt.Errorf("read descriptors: %w", err)
	}
	return all, nil
})
