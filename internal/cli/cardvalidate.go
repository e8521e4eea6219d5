// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

// maxProblems bounds the problems of a card that are reported.
const maxProblems = 20

// member is a required member of an object: a text, a list of texts, an object, or a list of objects with required
// members.
type member struct {
	name    string
	kind    memberKind
	members []member
}

type memberKind uint8

const (
	kindText memberKind = iota
	kindTexts
	kindObject
	kindObjects
)

// String returns a description of the type that the value of a member must have.
func (k memberKind) String() string {
	return []string{"a text", "a list of texts", "an object", "a list of objects"}[k]
}

var skillMembers = []member{{name: "id"}, {name: "name"}, {name: "description"}, {name: "tags", kind: kindTexts}}

// membersV10 are the required members of a card of 1.0 (section 4.4.1), membersV03 of a card of 0.2 or 0.3.
var (
	membersV10 = []member{
		{name: "name"},
		{name: "description"},
		{name: "version"},
		{name: "supportedInterfaces", kind: kindObjects, members: []member{{name: "url"}, {name: "protocolBinding"}, {name: "protocolVersion"}}},
		{name: "capabilities", kind: kindObject},
		{name: "defaultInputModes", kind: kindTexts},
		{name: "defaultOutputModes", kind: kindTexts},
		{name: "skills", kind: kindObjects, members: skillMembers},
	}
	membersV03 = []member{
		{name: "name"},
		{name: "description"},
		{name: "version"},
		{name: "url"},
		{name: "capabilities", kind: kindObject},
		{name: "defaultInputModes", kind: kindTexts},
		{name: "defaultOutputModes", kind: kindTexts},
		{name: "skills", kind: kindObjects, members: skillMembers},
	}
)

// cardProblems describes the required members of a card that are missing or have another type. It checks a card with
// supportedInterfaces as a card of 1.0, and any other card as a card of 0.2 or 0.3.
func cardProblems(text []byte) []string {
	var card map[string]json.RawMessage
	if err := json.Unmarshal(text, &card); err != nil {
		return []string{"it is not a JSON object"}
	}
	members := membersV03
	if _, ok := card["supportedInterfaces"]; ok {
		members = membersV10
	}
	problems := objectProblems("", card, members)
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("%d more", more))
	}
	return problems
}

func objectProblems(path string, object map[string]json.RawMessage, members []member) []string {
	var problems []string
	for _, m := range members {
		at := strings.TrimPrefix(path+"."+m.name, ".")
		value, ok := object[m.name]
		if !ok {
			problems = append(problems, at+" is missing")
			continue
		}
		problems = append(problems, m.problems(at, value)...)
	}
	return problems
}

// problems returns the problems with the value of a member at a path.
func (m *member) problems(at string, value json.RawMessage) []string {
	var err error
	switch m.kind {
	case kindText:
		var text *string
		if err = json.Unmarshal(value, &text); err == nil && text == nil {
			err = errNull
		}
	case kindTexts:
		var texts []string
		if err = json.Unmarshal(value, &texts); err == nil && texts == nil {
			err = errNull
		}
	case kindObject:
		var object map[string]json.RawMessage
		if err = json.Unmarshal(value, &object); err == nil && object == nil {
			err = errNull
		}
	case kindObjects:
		var objects []map[string]json.RawMessage
		if err = json.Unmarshal(value, &objects); err == nil && objects == nil {
			err = errNull
		}
		var problems []string
		for i, object := range objects {
			problems = append(problems, objectProblems(fmt.Sprintf("%s[%d]", at, i), object, m.members)...)
		}
		if err == nil {
			return problems
		}
	}
	if err != nil {
		return []string{fmt.Sprintf("%s is %s, must be %s", at, terminal.Clip(string(value), 60), m.kind)}
	}
	return nil
}

var errNull = errors.New("value is null")
