// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"bytes"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/agentevents"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

// maxReason bounds the reason of a failure that an agent sends, in bytes.
const maxReason = 1 << 10

// form is the form of a JSON object from an agent. The member kind marks events and parts of
// 0.3 (kindEvent, kindPart); events and parts of 1.0 have none (keyEvent, barePart).
type form uint8

const (
	notEvent form = iota
	kindEvent
	keyEvent
	kindPart
	barePart
	internalEvent
)

// decodeEvent decodes a JSON text and adds its event or part to the batch. It returns
// notEvent if the text is neither. If exact is true, the text may also be data of the agent.
// An object without a kind is then an event or part only if all its members are known.
func (r *response) decodeEvent(text []byte, exact bool) (form, error) {
	if chunk, ok := plainChunk(text); ok {
		r.addText(chunk)
		return barePart, nil
	}
	shape, kind, err := classify(text, exact)
	if err != nil {
		return notEvent, err
	}
	if shape == notEvent && exact {
		return shape, nil // it is data, which stays text
	}
	r.refused = r.Admit(text)
	if r.refused != nil {
		return notEvent, r.refused
	}
	var e a2a.Event
	var p a2a.Part
	switch shape {
	case kindEvent:
		e, err = v03.DecodeEvent(text)
	case keyEvent:
		e, err = protojson.V10.DecodeEvent(text)
	case kindPart:
		p, err = v03.DecodePart(text)
	case barePart:
		p, err = protojson.V10.DecodePart(text)
	case internalEvent:
		r.internal(kind)
		return shape, nil
	case notEvent:
		if kind != "" {
			return shape, nil
		}
		if e, err = agentevents.DecodeEvent(text, false); errors.Is(err, agentevents.ErrUnknownEvent) {
			return shape, nil
		}
		shape = kindEvent
	}
	if err == nil && p.Content == 0 {
		err = agentevents.Check(&e)
	}
	if jsonread.IsUnreadable(err) {
		return notEvent, err
	}
	if err != nil && (shape == kindEvent || shape == keyEvent && !exact) {
		e, err = mixed(e, err, text, shape)
	}
	switch {
	case err != nil && exact && shape != kindEvent:
		// The JSON is data of the agent. Its members have the names of members of an event by
		// chance.
		return notEvent, nil
	case err != nil:
		return notEvent, err
	case p.Content != 0:
		r.addPart(p, false)
	default:
		r.addEvent(e)
	}
	return shape, nil
}

// mixed returns an event with the forms of both 0.3 and 1.0, which servers mix, and otherwise e and err.
func mixed(e a2a.Event, err error, text []byte, shape form) (a2a.Event, error) {
	if both, bothErr := agentevents.DecodeEvent(text, shape == keyEvent); bothErr == nil {
		return both, nil
	}
	return e, err
}

func (r *response) addEvent(e a2a.Event) {
	if e == (a2a.Event{}) {
		return // it says nothing
	}
	if e.Message != nil {
		r.messages++
	} else {
		r.others++
	}
	addReason(&e)
	r.batch = append(r.batch, e)
}

// plainChunk returns the text of {"text":"..."} without escapes, and false for any other
// JSON. This is the most frequent line, so plainChunk avoids the cost of a decoder.
func plainChunk(text []byte) ([]byte, bool) {
	inner, ok := bytes.CutPrefix(text, []byte(`{"text":`))
	if !ok {
		return nil, false
	}
	inner = bytes.TrimPrefix(inner, []byte(" "))
	if len(inner) < len(`""}`) || inner[0] != '"' || !bytes.HasSuffix(inner, []byte(`"}`)) {
		return nil, false
	}
	inner = inner[1 : len(inner)-2]
	for _, c := range inner {
		if c == '"' || c == '\\' || c < ' ' {
			return nil, false
		}
	}
	if !utf8.Valid(inner) {
		return nil, false
	}
	return inner, true
}

// classify returns the form of a JSON text by the names of its members, and the value of its
// member kind. It returns notEvent for a text that is not an object, and for an object of an
// unknown kind.
func classify(text []byte, exact bool) (form, string, error) {
	if shape := classifyByPrefix(text); shape != notEvent {
		return shape, "", nil
	}
	r := jsonread.New(text)
	if r.Kind() != '{' {
		r.Skip()
		return notEvent, "", r.End()
	}
	kind := ""
	hasKind := false
	key := false
	part := false
	other := false
	for name := range r.Members() {
		switch string(name) {
		case "kind":
			hasKind = r.Kind() == '"'
			if hasKind {
				kind = r.String()
			}
		case "task", "message", "statusUpdate", "status_update", "artifactUpdate", "artifact_update":
			key = key || r.Kind() == '{'
		case "text", "raw", "url", "data":
			part = true
		case "filename", "mediaType", "media_type", "metadata":
		default:
			other = true
		}
	}
	if err := r.End(); err != nil {
		return notEvent, "", err
	}
	switch {
	case hasKind:
		return formOf(kind), kind, nil
	case exact && other:
		return notEvent, "", nil
	case key:
		return keyEvent, "", nil
	case part:
		return barePart, "", nil
	default:
		return notEvent, "", nil
	}
}

// classifyByPrefix classifies an object whose first member is its kind, as most encoders
// write it, and returns notEvent for any other text. It does not read the rest of the
// object, because the codec of the form validates the rest.
func classifyByPrefix(text []byte) form {
	rest, ok := bytes.CutPrefix(text, []byte(`{"kind":`))
	if !ok {
		return notEvent
	}
	rest, ok = bytes.CutPrefix(bytes.TrimPrefix(rest, []byte(" ")), []byte(`"`))
	kind, _, found := bytes.Cut(rest, []byte(`"`))
	if shape := formOf(string(kind)); ok && found && (shape == kindEvent || shape == kindPart) {
		return shape
	}
	return notEvent
}

func formOf(kind string) form {
	switch kind {
	case "task", "message", "status-update", "artifact-update":
		return kindEvent
	case "text", "file", "data":
		return kindPart
	}
	if strings.HasPrefix(kind, "internal:") {
		return internalEvent
	}
	return notEvent
}

func dataPart(text []byte) (a2a.Part, error) {
	r := jsonread.New(text)
	value := r.Value()
	return a2a.Part{Content: a2a.ContentData, Data: value}, r.End()
}

// addReason sets the message of a failed or rejected status that has none to the text in
// metadata.error, where some agents put the reason.
func addReason(e *a2a.Event) {
	u := e.Status
	if u == nil || u.Status.Message != nil || len(u.Metadata) == 0 ||
		u.Status.State != a2a.StateFailed && u.Status.State != a2a.StateRejected {
		return
	}
	reason := ""
	r := jsonread.New(u.Metadata)
	for name := range r.Members() {
		if string(name) == "error" && r.Kind() == '"' {
			reason = printable(r.String())
		}
	}
	if r.Err() == nil && reason != "" {
		u.Status.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(reason)}}
	}
}

func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return ' '
	}, text)
	if len(text) > maxReason {
		return strings.ToValidUTF8(text[:maxReason], "")
	}
	return text
}
