// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// mergeObjects returns an object with the members of all objects. If several have a
// member with the same name, the result has the member of the last one. It merges the first
// level only and changes no object.
func mergeObjects(older a2a.Object, newer ...a2a.Object) a2a.Object {
	last := map[string]int{} // the last of newer with a member of this name
	size := len(older)
	for i, o := range newer {
		size += len(o)
		o.EachMember(func(quoted []byte, _ a2a.Value) { last[unquote(quoted)] = i })
	}
	merged := append(make(a2a.Object, 0, size), '{')
	older.EachMember(func(quoted []byte, value a2a.Value) {
		if _, isNewer := last[unquote(quoted)]; !isNewer {
			merged = appendMember(merged, quoted, value)
		}
	})
	for i, o := range newer {
		o.EachMember(func(quoted []byte, value a2a.Value) {
			if last[unquote(quoted)] == i {
				merged = appendMember(merged, quoted, value)
			}
		})
	}
	return append(merged, '}')
}

const (
	// mergedAtOnce is the size of metadata up to which each event is merged at once, in bytes.
	mergedAtOnce = 4 << 10
	// unmergedOverhead is the size of an object that is not merged yet, beside its text.
	unmergedOverhead = 24
)

// unmerged are objects that belong to metadata and are not merged yet: a merge reads all of the metadata, so the merge of each event would
// cost the square of their number. They are merged when they have as many bytes as the metadata, or when it is read.
type unmerged struct {
	objects []a2a.Object
	size    int
}

// add adds an object to metadata, and returns by how many bytes both have grown.
func (u *unmerged) add(to *a2a.Object, o a2a.Object) int {
	before := len(*to) + u.size
	u.objects = append(u.objects, o)
	u.size += len(o) + unmergedOverhead
	if len(*to)+len(o) <= mergedAtOnce || u.size > len(*to) {
		u.merge(to)
	}
	return len(*to) + u.size - before
}

// merge merges the objects into metadata, and returns by how many bytes both have grown.
func (u *unmerged) merge(to *a2a.Object) int {
	if len(u.objects) == 0 {
		return 0
	}
	before := len(*to) + u.size
	*to = mergeObjects(*to, u.objects...)
	*u = unmerged{}
	return len(*to) - before
}

// unquote returns the text of a quoted name, so that names with different escapes are equal.
func unquote(quoted []byte) string {
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return string(quoted) // the objects are valid, so this does not happen
	}
	return string(text)
}

// appendMember appends a member to an object without its closing brace.
func appendMember(o a2a.Object, name, value []byte) a2a.Object {
	if len(o) > 1 {
		o = append(o, ',')
	}
	return append(append(append(o, name...), ':'), value...)
}
