// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// signs are the features of a message that show its dialect.
type signs struct {
	// proto is true if the message has a feature that only ProtoJSON has, and kind if it
	// has a feature that ProtoJSON cannot have.
	proto, kind bool
}

// speaksKind reports whether the body of a request under /v1 is in JSON with kinds, which
// one project of 0.3 sends, and not in ProtoJSON. It returns false for invalid JSON, which
// the codec refuses.
func speaksKind(body []byte) bool {
	var s signs
	r := jsonread.New(body)
	for name := range r.Members() {
		if n := string(name); (n == "message" || n == "request") && r.Kind() == '{' {
			s.message(r)
		}
	}
	return r.End() == nil && s.kind && !s.proto
}

func (s *signs) message(r *jsonread.Reader) {
	for name := range r.Members() {
		switch string(name) {
		case "content", "message_id", "context_id", "task_id":
			s.proto = true
		case "kind":
			s.kind = true
		case "role":
			s.role(r)
		case "parts":
			if r.Kind() == '[' {
				s.parts(r)
			}
		}
	}
}

// role evaluates a role. In ProtoJSON, a role begins with ROLE_ or is a number.
func (s *signs) role(r *jsonread.Reader) {
	switch r.Kind() {
	case '0':
		s.proto = true
	case '"':
		if strings.HasPrefix(r.String(), "ROLE_") {
			s.proto = true
		} else {
			s.kind = true
		}
	}
}

func (s *signs) parts(r *jsonread.Reader) {
	for range r.Elements() {
		if r.Kind() != '{' {
			continue
		}
		for name := range r.Members() {
			if n := string(name); n == "kind" || n == "type" {
				s.kind = true
			}
		}
	}
}
