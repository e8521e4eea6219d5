// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"testing"
)

// A stream that rests after a burst, or after an event of megabytes, holds
// little of either.
func TestBufferFitsWhatArrives(t *testing.T) {
	tests := map[string]struct{ size, filled, held, want int }{
		"nothing much":                {little, 100, 10, little},
		"more is to come":             {little, little, 0, much},
		"a line that does not fit":    {little, little, little, much},
		"a burst that goes on":        {much, much, 20, much},
		"a burst that is less":        {much, little, 0, much},
		"a rest":                      {much, little / 2, 0, little},
		"a rest in a line":            {much, little / 2, little / 2, little},
		"a line of many":              {4 * much, 4 * much, 4 * much, 4 * much},
		"the end of a line of many":   {4 * much, 3 * much, 0, 4 * much},
		"a rest after a line of many": {4 * much, 1, 1, little},
		"little after a line of many": {4 * much, much / 2, little, much},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := Borrow()
			if test.size > little {
				b.Suit(little, 0)
			}
			for len(b.Bytes) < test.size {
				b.Double()
			}
			text := bytes.Repeat([]byte("x"), test.held)
			copy(b.Bytes, text)
			b.Suit(test.filled, test.held)
			if len(b.Bytes) != test.want {
				t.Errorf("%d bytes, want %d", len(b.Bytes), test.want)
			}
			if !bytes.Equal(b.Bytes[:test.held], text) {
				t.Errorf("holds %q, want %q", b.Bytes[:test.held], text)
			}
			b.GiveBack()
			for _, each := range []struct{ got, want int }{{len(*littles.Get().(*[]byte)), little}, {len(*muches.Get().(*[]byte)), much}} {
				if each.got != each.want {
					t.Errorf("%d bytes were given back as %d", each.got, each.want)
				}
			}
		})
	}
}
