// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"encoding/json"
	"errors"
)

// RawObject is the text of a JSON object, which the package does not parse.
type RawObject []byte

// MarshalJSON returns the text, or null for an empty object.
func (o RawObject) MarshalJSON() ([]byte, error) {
	return json.RawMessage(o).MarshalJSON()
}

// UnmarshalJSON stores a copy of the text. It refuses a value that is not an object
// or null.
func (o *RawObject) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if len(data) == 0 || data[0] != '{' {
		return errors.New("must be a JSON object")
	}
	*o = append((*o)[:0], data...)
	return nil
}
