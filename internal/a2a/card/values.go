// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import "fmt"

// A JSON text has at most maxValues values, or one for each bytesPerValue bytes of a longer text.
const (
	maxValues     = 64 << 10
	bytesPerValue = 8
)

// CheckValues returns an error if a JSON text has too many values for its size. A card that is
// decoded from such a text needs far more memory than the text: a skill without members has 2
// bytes of text, and needs more than 200 bytes of memory. The configurations that the operator
// writes have fewer values, because they are indented.
func CheckValues[T ~string | ~[]byte](text T) error {
	if most := max(maxValues, len(text)/bytesPerValue); countValues(text) > most {
		return fmt.Errorf("it has more than %d values", most)
	}
	return nil
}

// countValues returns an upper bound of the number of values in a JSON text: the number of its
// objects, arrays and commas, and one.
func countValues[T ~string | ~[]byte](text T) int {
	count, quoted := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '{' || c == '['):
			count++
		}
	}
	return count
}
