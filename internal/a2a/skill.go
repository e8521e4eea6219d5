// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// SkillName is the member of metadata, of a request or of its message, with the
// id of the skill that a message is for: no version has a place for it.
const SkillName = "a2a-operator.dev/skill"

// Skill returns the id of the skill that a message names, "" for none. What the
// agent could read otherwise than its guard does is an error.
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
	// An escape can stand for any letter of the name, and so can what is no
	// ASCII for a decoder that folds cases.
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
			// There are decoders that do not tell them apart.
			return "", InvalidParams(field, `"`+SkillName+`" is written otherwise`)
		}
	}
	return skill, nil
}
