// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// Member returns the value of a member of an object, which is a part of the object, nil for none and for what is no object. Of several members
// with the name, it returns the last one, as encoding/json does.
func Member(object []byte, name string) json.RawMessage {
	if !jsonread.MayHave(object, name) {
		return nil
	}
	return json.RawMessage(a2a.Object(object).Member(name))
}

func hasMembers(object []byte) bool {
	return len(object) > 0 && object[0] == '{' && bytes.HasPrefix(bytes.TrimSpace(object[1:]), []byte{'"'})
}

var errElements = errors.New("not an array, or too many elements")

// Elements decodes an array of at most a number of elements; nil has none.
func Elements[T any](array []byte, most int) (all []T, err error) {
	if len(array) == 0 || string(array) == "null" {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(array))
	if begin, err := dec.Token(); err != nil || begin != json.Delim('[') {
		return nil, errElements
	}
	for dec.More() {
		var element T
		if len(all) == most {
			return nil, errElements
		}
		if err := dec.Decode(&element); err != nil {
			return nil, err
		}
		all = append(all, element)
	}
	if _, err := dec.Token(); err != nil {
		return nil, errElements
	}
	return all, nil
}
