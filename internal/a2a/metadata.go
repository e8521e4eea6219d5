// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Metadata members for fields that no version of the protocol defines. The codec of 0.2
// and 0.3 translates other spellings of these members.
const (
	// inputRequestName is the member of a message's metadata with an InputRequest.
	inputRequestName = "inputRequest"
	// partKindName is the member of a part's metadata with the part's original kind.
	// toolResult is the kind of a data part that answers an InputRequest:
	// {"toolUseId":"...","result":...}.
	partKindName = "a2a.partKind"
	toolResult   = `"tool-result"`
)

// redacted replaces sensitive content.
const redacted = "[redacted]"

// InputRequest describes the input that an agent requests from its client.
type InputRequest struct {
	// ID is the request's id, to which the answer refers; "" if the agent set none.
	ID string
	// Sensitive is true if the answer must reach the agent only and must not be stored.
	Sensitive bool
	// Timeout is how long the agent waits for the answer; 0 if it set none.
	Timeout time.Duration
}

// InputRequest returns the input that the message requests. ok is false if it requests none.
// The message may be nil.
func (m *Message) InputRequest() (request InputRequest, ok bool) {
	if m == nil {
		return request, false
	}
	o := member(m.Metadata, inputRequestName)
	if len(o) == 0 || o[0] != '{' {
		return request, false
	}
	request.ID = text(member(o, "requestId"))
	switch string(member(o, "sensitive")) {
	case "", "false", "null":
	default:
		request.Sensitive = true
	}
	seconds, err := strconv.ParseFloat(string(member(o, "timeoutSeconds")), 64)
	if err == nil && seconds > 0 {
		request.Timeout = time.Duration(min(seconds*float64(time.Second), math.MaxInt64/2))
	}
	return request, true
}

// HasResult reports whether a part of the message answers an input request.
func (m *Message) HasResult() bool {
	return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.isToolResult() })
}

// Answers reports whether a part of the message answers the input request whose id is
// request. It returns false if request is "".
func (m *Message) Answers(request string) bool {
	for i := range m.Parts {
		if p := &m.Parts[i]; request != "" && p.isToolResult() && text(member(p.Data, "toolUseId")) == request {
			return true
		}
	}
	return false
}

// Redacted returns a copy of the message without content and metadata. It keeps the ids,
// the number of parts, and the ids of the answered input requests.
func (m *Message) Redacted() *Message {
	r := *m
	r.Metadata = nil
	r.Parts = make([]Part, len(m.Parts))
	for i := range m.Parts {
		r.Parts[i] = m.Parts[i].redacted()
	}
	return &r
}

func (p *Part) redacted() Part {
	if !p.isToolResult() {
		return TextPart(redacted)
	}
	id := member(p.Data, "toolUseId")
	data := make(Value, 0, len(id)+48)
	data = append(data, '{')
	if len(id) > 0 {
		data = append(append(append(data, `"toolUseId":`...), id...), ',')
	}
	data = append(data, `"result":"`+redacted+`"}`...)
	return Part{Content: ContentData, Data: data, Metadata: Object(`{"` + partKindName + `":` + toolResult + `}`)}
}

func (p *Part) isToolResult() bool {
	return p.Content == ContentData && string(member(p.Metadata, partKindName)) == toolResult
}

// member returns the value of a member of a JSON object, or nil.
func member(object []byte, name string) []byte {
	if !bytes.Contains(object, []byte(name)) {
		return nil
	}
	return Object(object).Member(name)
}

// text returns the value of a JSON string, and "" for any other JSON value.
func text(value []byte) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	s, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(s)
}

// SkillName is the member with the skill id in the metadata of a request or of its
// message. No version of the protocol defines a field for it.
const SkillName = "a2a-operator.dev/skill"

// Skill returns the id of the skill that a message names, "" for none. It returns an *Error
// with ReasonInvalidParams if the request and its message name different skills, or if the
// member is not the id of a skill. It also refuses a name of the member that is not in lower
// case, because the agent's decoder may ignore the case of letters.
func (r *SendRequest) Skill() (string, error) {
	of, err := skillIn(r.Metadata, "metadata")
	if err != nil {
		return "", err
	}
	in, err := skillIn(r.Message.Metadata, "message.metadata")
	if err != nil {
		return "", err
	}
	switch {
	case of == "":
		return in, nil
	case in != "" && in != of:
		return "", InvalidParams("message.metadata", "names another skill than the metadata of the request")
	default:
		return of, nil
	}
}

func skillIn(metadata Object, field string) (string, error) {
	// In plain metadata, a search for the name that ignores the case of letters finds every
	// skill. Metadata is not plain if it has an escape or a letter outside of ASCII. An escape can
	// encode any letter of the name. A decoder that ignores the case may map a letter outside of
	// ASCII to a letter of the name.
	plain := !bytes.ContainsFunc(metadata, func(r rune) bool { return r == '\\' || r >= utf8.RuneSelf })
	if plain && !bytes.Contains(bytes.ToLower(metadata), []byte(SkillName)) {
		return "", nil
	}
	skill := ""
	var problem error
	isWhole := metadata.EachMember(func(quoted []byte, value Value) {
		isSkill := IsName(quoted, SkillName)
		switch {
		case problem != nil:
		case isSkill && skill != "":
			problem = InvalidParams(field, `has "`+SkillName+`" twice`)
		case isSkill:
			skill = text(value)
			if skill == "" {
				problem = InvalidParams(field, `"`+SkillName+`" must be the id of a skill`)
			}
		case len(quoted) >= len(SkillName) && strings.EqualFold(text(quoted), SkillName):
			// Some decoders ignore the case of member names.
			problem = InvalidParams(field, `"`+SkillName+`" must be written in lower case`)
		}
	})
	switch {
	case problem != nil:
		return "", problem
	case !isWhole:
		return "", InvalidParams(field, "must be an object")
	default:
		return skill, nil
	}
}
