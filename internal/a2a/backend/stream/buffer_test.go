// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"testing"
)

// TestBufferAdaptsToWhatArrives checks that an idle stream has a small buffer, even after a
// burst or an event of megabytes.
func TestBufferAdaptsToWhatArrives(t *testing.T) {
	tests := map[string]struct{ size, filled, held, want int }{
		"a small event":                                       {smallSize, 100, 10, smallSize},
		"a full small buffer":                                 {smallSize, smallSize, 0, largeSize},
		"a line that does not fit":                            {smallSize, smallSize, smallSize, largeSize},
		"a burst that continues":                              {largeSize, largeSize, 20, largeSize},
		"a burst that becomes smaller":                        {largeSize, smallSize, 0, largeSize},
		"the end of a burst":                                  {largeSize, smallSize / 2, 0, smallSize},
		"the end of a burst within a line":                    {largeSize, smallSize / 2, smallSize / 2, smallSize},
		"a line of several large buffers":                     {4 * largeSize, 4 * largeSize, 4 * largeSize, 4 * largeSize},
		"the end of a line of several large buffers":          {4 * largeSize, 3 * largeSize, 0, 4 * largeSize},
		"a small event after a line of several large buffers": {4 * largeSize, 1, 1, smallSize},
		"half a buffer after a line of several large buffers": {4 * largeSize, largeSize / 2, smallSize, largeSize},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := NewBuffer()
			if test.size > smallSize {
				b.Resize(smallSize, 0)
			}
			for len(b.Bytes) < test.size {
				b.Grow(2 * len(b.Bytes))
			}
			text := bytes.Repeat([]byte("x"), test.held)
			copy(b.Bytes, text)
			b.Resize(test.filled, test.held)
			if len(b.Bytes) != test.want {
				t.Errorf("%d bytes, want %d", len(b.Bytes), test.want)
			}
			if !bytes.Equal(b.Bytes[:test.held], text) {
				t.Errorf("holds %q, want %q", b.Bytes[:test.held], text)
			}
			b.Release()
			for _, each := range []struct{ got, want int }{{len(*smallBuffers.Get().(*[]byte)), smallSize}, {len(*largeBuffers.Get().(*[]byte)), largeSize}} {
				if each.got != each.want {
					t.Errorf("%d bytes were given back as %d", each.got, each.want)
				}
			}
		})
	}
}
