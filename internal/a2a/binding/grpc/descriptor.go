// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	v1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	// Files that the protos of A2A import.
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
)

// descriptors are the official protos, compiled by hack/descriptors. That of
// 0.3 has the fields that later SDKs of 0.3 added.
//
//go:embed proto/descriptors.binpb
var descriptors []byte

// files are the protos of A2A. They are read when somebody asks, and kept out
// of the global registry, where other copies of them may stand.
var files = sync.OnceValues(func() (*protoregistry.Files, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(descriptors, &set); err != nil {
		return nil, fmt.Errorf("read descriptors: %w", err)
	}
	all := &protoregistry.Files{}
	for _, each := range set.GetFile() {
		file, err := protodesc.NewFile(each, protoregistry.GlobalFiles)
		if err == nil {
			err = all.RegisterFile(file)
		}
		if err != nil {
			return nil, fmt.Errorf("read descriptor of %s: %w", each.GetName(), err)
		}
	}
	return all, nil
})

// resolver finds our files first, and those of the library.
type resolver struct{}

var _ protodesc.Resolver = resolver{}

// FindFileByPath implements protodesc.Resolver.
func (resolver) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	return found(path, (*protoregistry.Files).FindFileByPath)
}

// FindDescriptorByName implements protodesc.Resolver.
func (resolver) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	return found(name, (*protoregistry.Files).FindDescriptorByName)
}

func found[K, D any](key K, find func(*protoregistry.Files, K) (D, error)) (D, error) {
	ours, err := files()
	if err != nil {
		var none D
		return none, err
	}
	d, err := find(ours, key)
	if errors.Is(err, protoregistry.NotFound) {
		return find(protoregistry.GlobalFiles, key)
	}
	return d, err
}

// registerReflection answers both versions of server reflection: few clients
// know the newer one alone.
func registerReflection(s *grpc.Server) {
	options := reflection.ServerOptions{Services: s, DescriptorResolver: resolver{}}
	v1.RegisterServerReflectionServer(s, reflection.NewServerV1(options))
	grpc_reflection_v1alpha.RegisterServerReflectionServer(s, reflection.NewServer(options))
}
