// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// signs are what the message of a request says about its dialect.
type signs struct {
	// proto is true for what only ProtoJSON has, and kind for what it has not.
	proto, kind bool
}

// speaksKind reports whether the body of a message under /v1 holds objects with
// a kind, as one project of the 0.3 era sends them, and not ProtoJSON. A body
// that is broken is left to the codec to refuse.
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

// role has names in capitals, or numbers, in ProtoJSON.
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
