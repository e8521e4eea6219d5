// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoimpl"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
)

var healthFields = pbwire.Message{1: pbwire.Bytes("service")}

// The numbers of HealthCheckResponse.ServingStatus.
const (
	healthServing    = 1
	healthNotServing = 2
)

// health serves the Check method of grpc.health.v1. Watch is not implemented; clients poll
// Check instead.
func (h *Handler) health(c *call) error {
	service, err := receive(h, c, func(text []byte) (service string, err error) {
		r := pbwire.New(text)
		for range r.Fields(healthFields) {
			service = r.String()
		}
		return service, r.Err()
	})
	if err != nil {
		return err
	}
	switch service {
	case "", service03, service10:
	default:
		return &a2a.Error{Reason: a2a.ReasonTaskNotFound, Message: "Unknown service; leave the service empty to ask about the whole agent"}
	}
	state := healthNotServing
	if h.Serving() {
		state = healthServing
	}
	return c.reply(pbwire.AppendInt(nil, 1, state))
}

// maxQuestion is the limit of a reflection request, in bytes.
const maxQuestion = 4 << 10

// reflect answers reflection requests one by one, until the client ends its stream or sends
// no request for httpcall.BodyTimeout.
func (h *Handler) reflect(c *call) error {
	known, err := files()
	if err != nil {
		return err
	}
	c.begin()
	control := http.NewResponseController(c.w)
	for {
		_ = control.SetReadDeadline(h.Limits.Now().Add(httpcall.BodyTimeout))
		var answer []byte
		err := c.receive(func(question []byte) (err error) {
			answer, err = answerOf(known, question)
			return err
		})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := h.answer(c, len(answer), func() []byte { return answer }); err != nil {
			return err
		}
		c.w.flush()
	}
}

// The fields of ServerReflectionRequest.
var questionFields = pbwire.Message{
	3: pbwire.Bytes("fileByFilename"),
	4: pbwire.Bytes("fileContainingSymbol"),
	5: pbwire.Bytes("fileContainingExtension"),
	6: pbwire.Bytes("allExtensionNumbersOfType"),
	7: pbwire.Bytes("listServices"),
}

// answerOf encodes the ServerReflectionResponse to a request. The protos define no protobuf
// extensions, so requests for extensions find none.
func answerOf(known *protos, question []byte) ([]byte, error) {
	r := pbwire.New(question)
	number := 0
	name := ""
	for number = range r.Fields(questionFields) {
		if number != 5 {
			name = r.String()
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	answer := pbwire.AppendBytes(nil, 2, question)
	switch number {
	case 3:
		if file, err := known.FindFileByPath(name); err == nil {
			return pbwire.AppendBytes(answer, 4, known.appendFile(nil, file, map[string]bool{})), nil
		}
	case 4:
		if d, err := known.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
			return pbwire.AppendBytes(answer, 4, known.appendFile(nil, d.ParentFile(), map[string]bool{})), nil
		}
	case 6:
		return pbwire.AppendBytes(answer, 5, pbwire.AppendString(nil, 1, name)), nil
	case 7:
		var list []byte
		for _, service := range []string{service03, healthService, reflection, alphaReflection, service10} {
			list = pbwire.AppendBytes(list, 1, pbwire.AppendString(nil, 1, service))
		}
		return pbwire.AppendBytes(answer, 6, list), nil
	}
	const notFound = 5
	problem := pbwire.AppendInt(nil, 1, notFound)
	return pbwire.AppendBytes(answer, 7, pbwire.AppendString(problem, 2, "not found")), nil
}

// appendFile appends a file and its imports to a FileDescriptorResponse.
func (p *protos) appendFile(dst []byte, file protoreflect.FileDescriptor, seen map[string]bool) []byte {
	if seen[file.Path()] {
		return dst
	}
	seen[file.Path()] = true
	dst = pbwire.AppendBytes(dst, 1, p.encoded[file.Path()])
	imports := file.Imports()
	for i := range imports.Len() {
		dst = p.appendFile(dst, imports.Get(i), seen)
	}
	return dst
}

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
// registry, which may have other copies of them. files parses them as generated code does,
// because linking protodesc and descriptorpb would make every process allocate 220 KB
// before main.
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

// encodeCard encodes text, a card in JSON in the form of the dialect, as a protobuf
// message. It uses protobuf reflection, which is slow, but clients rarely request the
// extended card.
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
