// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package typedpart

import (
	"bytes"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonobject"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// tools are the kinds of part by which one project of the 0.3 era answers an
// agent that asks for input. Inside they are data parts with the kind in the
// metadata, which every version can carry; clients of 0.2 and 0.3 get back
// what they said.
var tools = []string{"tool-result", "tool-use"}

// toolMark is how the metadata of such a part begins: fromTool puts it there.
var toolMark = []byte(`{"` + kindName + `":`)

// fromTool makes the data part of a tool's members, the text of an object.
func fromTool(kind string, members, metadata a2a.Object) a2a.Part {
	_, metadata = jsonobject.Cut(metadata, kindName)
	if members == nil {
		members = a2a.Object("{}")
	}
	return a2a.Part{
		Content: a2a.ContentData, Data: a2a.Value(members),
		Metadata: jsonobject.With(metadata, kindName, a2a.Value(`"`+kind+`"`)),
	}
}

// tool returns the kind of a part that was made by fromTool, as text of JSON,
// and the metadata without it; nil for any other part.
func tool(p *a2a.Part) (kind a2a.Value, rest a2a.Object) {
	if !bytes.HasPrefix(p.Metadata, toolMark) {
		return nil, nil
	}
	kind, rest = jsonobject.Cut(p.Metadata, kindName)
	known := false
	for _, name := range tools {
		known = known || string(kind) == `"`+name+`"`
	}
	if !known {
		return nil, nil
	}
	// Its members become those of the part, where they must not meet these.
	r := jsonread.New(p.Data)
	for name := range r.AllMembers() {
		if reserved(string(name)) || r.Kind() == 'n' {
			return nil, nil
		}
	}
	return kind, rest
}

// reserved are the members of every part.
func reserved(name string) bool {
	switch name {
	case "kind", "type", "text", "file", "data", "metadata":
		return true
	default:
		return false
	}
}

func appendTool(dst []byte, kind, members a2a.Value, metadata a2a.Object) []byte {
	dst = append(dst, `{"kind":`...)
	dst = append(dst, kind...)
	if len(members) > len("{}") {
		dst = append(dst, ',')
		dst = append(dst, members[1:len(members)-1]...)
	}
	if len(metadata) > 0 {
		dst = append(dst, `,"metadata":`...)
		dst = append(dst, metadata...)
	}
	return append(dst, '}')
}
