// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

// scan returns the deepest nesting of brackets outside of strings, at most MaxDepth+1, and
// the offset of a name that repeats an earlier name of its object, -1 for none. It stops at
// such a nesting or name. It does not validate the text: the decoder refuses invalid JSON
// later.
func (d *decoder) scan(text []byte) (deepest, duplicate int) {
	names, depth := d.names[:0], 0
	defer func() { d.names = names[:0] }()
	// nameNext is true if the next string is a name.
	nameNext := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			if nameNext {
				names = names.Add(text, i)
				nameNext = false
			}
			i += quoted(text[i+1:])
		case ',':
			nameNext = depth > 0 && d.levels[depth-1].isObject
		case '{', '[':
			if depth == MaxDepth {
				return MaxDepth + 1, -1
			}
			nameNext = c == '{'
			d.levels[depth] = level{firstName: len(names), isObject: nameNext}
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			nameNext = false
			if depth == 0 {
				continue
			}
			depth--
			own := names[d.levels[depth].firstName:]
			if len(own) > 1 {
				if at := own.Duplicate(text); at >= 0 {
					return deepest, at
				}
			}
			names = names[:d.levels[depth].firstName]
		}
	}
	return deepest, -1
}
