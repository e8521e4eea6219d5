// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command descriptors compiles the official protos for gRPC server reflection. It writes a FileDescriptorSet of the
// protos, their imports and the protos of the other services. It leaves out comments, and the options of files,
// services, methods and fields, because only transcoders use the options of google.api. The option deprecated of
// fields stays.
//
//	go run ./hack/descriptors OUT PROTO...
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/genproto/googleapis/api/annotations"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	alphapb "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: descriptors OUT PROTO...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "descriptors:", err)
		os.Exit(1)
	}
}

func run(out string, protos []string) error {
	set := &descriptorpb.FileDescriptorSet{}
	for _, file := range []protoreflect.FileDescriptor{
		emptypb.File_google_protobuf_empty_proto, structpb.File_google_protobuf_struct_proto,
		timestamppb.File_google_protobuf_timestamp_proto, healthpb.File_grpc_health_v1_health_proto,
		reflectionpb.File_grpc_reflection_v1_reflection_proto, alphapb.File_grpc_reflection_v1alpha_reflection_proto,
	} {
		set.File = append(set.File, stripped(protodesc.ToFileDescriptorProto(file)))
	}
	for _, path := range protos {
		compiler := protocompile.Compiler{Resolver: protocompile.CompositeResolver{
			protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{filepath.Dir(path)}}),
			protocompile.ResolverFunc(googleAPI),
		}}
		files, err := compiler.Compile(context.Background(), filepath.Base(path))
		if err != nil {
			return fmt.Errorf("compile %s: %w", path, err)
		}
		set.File = append(set.File, stripped(protodesc.ToFileDescriptorProto(files[0])))
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return os.WriteFile(out, text, 0o644)
}

func googleAPI(path string) (protocompile.SearchResult, error) {
	for _, file := range []protoreflect.FileDescriptor{
		annotations.File_google_api_annotations_proto, annotations.File_google_api_client_proto,
		annotations.File_google_api_field_behavior_proto, annotations.File_google_api_http_proto,
	} {
		if file.Path() == path {
			return protocompile.SearchResult{Desc: file}, nil
		}
	}
	return protocompile.SearchResult{}, os.ErrNotExist
}

func stripped(file *descriptorpb.FileDescriptorProto) *descriptorpb.FileDescriptorProto {
	kept := file.GetDependency()[:0]
	for _, path := range file.GetDependency() {
		if !strings.HasPrefix(path, "google/api/") {
			kept = append(kept, path)
		}
	}
	file.Dependency = kept
	file.Options, file.SourceCodeInfo = nil, nil
	for _, service := range file.GetService() {
		service.Options = nil
		for _, method := range service.GetMethod() {
			method.Options = nil
		}
	}
	for _, message := range file.GetMessageType() {
		for _, field := range message.GetField() {
			if field.GetOptions().GetDeprecated() {
				field.Options = &descriptorpb.FieldOptions{Deprecated: new(true)}
			} else {
				field.Options = nil
			}
		}
	}
	return file
}
