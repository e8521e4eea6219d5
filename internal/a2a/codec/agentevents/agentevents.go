// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentevents decodes the events of an agent's container: an event of 0.3
// or 1.0, or a part without an event. The members of an object determine its
// version. The package is pure and does not know what an event does to a task.
package agentevents

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

// Emission is one JSON value of an agent.
type Emission struct {
	// Kind is the value of the member kind, "" for none. It can be an unknown kind,
	// such as internal:usage.
	Kind string
	// Event is the event. It is zero if the value is not an event.
	Event a2a.Event
	// Part is set if the value is a part without an event.
	Part *a2a.Part
}

// Known reports whether the value is an event or a part.
func (e *Emission) Known() bool {
	return e.Part != nil || e.Event != a2a.Event{}
}

// Decode reads one JSON value. For a value that is neither an event nor a part it
// returns an Emission that is not Known and no error. The error is an *a2a.Error:
// the text is not JSON, or an event is malformed.
func Decode(text []byte) (Emission, error) {
	shape, err := shapeOf(text)
	if err != nil {
		return Emission{}, err
	}
	out := Emission{Kind: shape.kind}
	switch shape.form {
	case formEventV03:
		out.Event, err = v03.DecodeEvent(text)
	case formEventV10:
		out.Event, err = protojson.V10.DecodeEvent(text)
	case formPartV03:
		out.Part, err = part(v03.DecodePart(text))
	case formPartV10:
		out.Part, err = part(protojson.V10.DecodePart(text))
	case formOther:
	}
	if errors.Is(err, v03.ErrUnknownKind) || errors.Is(err, protojson.ErrUnknownKind) {
		return Emission{Kind: shape.kind}, nil
	}
	return out, err
}

func part(p a2a.Part, err error) (*a2a.Part, error) {
	if err != nil {
		return nil, err
	}
	return &p, nil
}

type form uint8

const (
	formOther form = iota
	formEventV03
	formEventV10
	formPartV03
	formPartV10
)

type shape struct {
	kind string
	form form
}

// shapeOf determines the form of a value from the members of the object. The kind
// decides if there is one, else a member of 1.0.
func shapeOf(text []byte) (shape, error) {
	r := jsonread.New(text)
	var s shape
	if r.Kind() != '{' {
		r.Skip()
		return s, r.End()
	}
	for name := range r.Members() {
		switch string(name) {
		case "kind":
			if r.Kind() == '"' {
				s.kind = r.String()
				s.form = formOfKind(s.kind)
			}
		case "task", "message", "statusUpdate", "status_update", "artifactUpdate", "artifact_update":
			if s.kind == "" && r.Kind() == '{' {
				s.form = formEventV10
			}
		case "text", "raw", "url":
			if s.kind == "" && s.form == formOther && r.Kind() == '"' {
				s.form = formPartV10
			}
		case "data":
			if s.kind == "" && s.form == formOther {
				s.form = formPartV10
			}
		}
	}
	return s, r.End()
}

func formOfKind(kind string) form {
	switch kind {
	case "task", "message", "status-update", "artifact-update":
		return formEventV03
	case "text", "file", "data":
		return formPartV03
	default:
		return formOther
	}
}
