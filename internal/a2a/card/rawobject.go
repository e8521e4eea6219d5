// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"encoding/json"
	"errors"
)

// RawObject is the text of a JSON object that is passed on unread.
type RawObject []byte

// MarshalJSON returns the text as it stands, and null for an empty one.
func (o RawObject) MarshalJSON() ([]byte, error) {
	return json.RawMessage(o).MarshalJSON()
}

// UnmarshalJSON keeps a copy of the text and refuses anything but an object.
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
