// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// encodeCard turns a card of the dialect's form into its message. Cards are
// asked for rarely, so this may take a while.
func (d *dialect) encodeCard(text []byte) ([]byte, error) {
	if d.form == card.FormV03 {
		var err error
		if text, err = protoCard(text); err != nil {
			return nil, err
		}
	}
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

// protoCard turns the JSON of a card of 0.3 into the ProtoJSON of one. They
// differ in what is about security: maps and unions have messages of their own.
func protoCard(text []byte) ([]byte, error) {
	var c map[string]any
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	wrapRequirements(c)
	skills, _ := c["skills"].([]any)
	for _, skill := range skills {
		if s, ok := skill.(map[string]any); ok {
			wrapRequirements(s)
		}
	}
	schemes, _ := c["securitySchemes"].(map[string]any)
	for name, scheme := range schemes {
		if s, ok := scheme.(map[string]any); ok {
			schemes[name] = protoScheme(s)
		}
	}
	return json.Marshal(c)
}

// wrapRequirements turns [{"name":["scope"]}] into
// [{"schemes":{"name":{"list":["scope"]}}}].
func wrapRequirements(object map[string]any) {
	all, _ := object["security"].([]any)
	for i, each := range all {
		schemes, _ := each.(map[string]any)
		for name, scopes := range schemes {
			schemes[name] = map[string]any{"list": scopes}
		}
		all[i] = map[string]any{"schemes": schemes}
	}
}

// protoScheme turns an object with a type into one with a member for the type.
func protoScheme(scheme map[string]any) map[string]any {
	members := map[any]string{
		"apiKey": "apiKeySecurityScheme", "http": "httpAuthSecurityScheme", "oauth2": "oauth2SecurityScheme",
		"openIdConnect": "openIdConnectSecurityScheme", "mutualTLS": "mtlsSecurityScheme",
	}
	member, ok := members[scheme["type"]]
	if !ok {
		return map[string]any{}
	}
	if location, ok := scheme["in"]; ok {
		scheme["location"] = location
	}
	for _, other := range members {
		delete(scheme, other)
	}
	return map[string]any{member: scheme}
}
