// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// SkillName is the member with the skill id in the metadata of a request or of its
// message. No version of the protocol defines a field for it.
const SkillName = "a2a-operator.dev/skill"

// Skill returns the id of the skill that a message names, "" for none. It returns an
// error for metadata that the agent's decoder could read differently than the checks of
// the sidecar do.
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
	// An escape can encode any letter of the name. A decoder that folds cases may map
	// letters outside of ASCII to letters of the name.
	plain := !bytes.ContainsFunc(metadata, func(r rune) bool { return r == '\\' || r >= utf8.RuneSelf })
	if plain && !bytes.Contains(bytes.ToLower(metadata), []byte(SkillName)) {
		return "", nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(metadata))
	if _, err := dec.ReadToken(); err != nil {
		return "", InvalidParams(field, "must be an object")
	}
	skill := ""
	for dec.PeekKind() == '"' {
		key, err := dec.ReadToken()
		if err != nil {
			return "", InvalidParams(field, "must be an object")
		}
		name := key.String()
		value, err := dec.ReadValue()
		if err != nil {
			return "", InvalidParams(field, "must be an object")
		}
		switch {
		case name == SkillName:
			if skill = text(value); skill == "" {
				return "", InvalidParams(field, `"`+SkillName+`" must be the id of a skill`)
			}
		case strings.EqualFold(name, SkillName):
			// Some decoders ignore the case of member names.
			return "", InvalidParams(field, `"`+SkillName+`" must be written in lower case`)
		}
	}
	return skill, nil
}
