// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package typedpart

import (
	"bytes"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonobject"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// kindName is the metadata member of a data part that contains the original kind of the
// part: see tools.
const kindName = "a2a.partKind"

// tools are kinds of parts of one project that implements 0.3. Its clients send them in
// answers to an agent that asks for input. In the domain they are data parts with the kind
// in the metadata, which every version can express. Clients of 0.2 and 0.3 receive the
// original part.
var tools = []string{"tool-result", "tool-use"}

// toolMark is the beginning of the metadata that fromTool returns.
var toolMark = []byte(`{"` + kindName + `":`)

// fromTool returns the data part for the members of a tool part.
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

// tool returns the kind of a part that fromTool returned, as JSON, and the metadata without
// the kind. For any other part, the kind is nil.
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
	// The members of the data become members of the part, so they must not have the names
	// of the part's own members.
	r := jsonread.New(p.Data)
	for name := range r.AllMembers() {
		if reserved(string(name)) || r.Kind() == 'n' {
			return nil, nil
		}
	}
	return kind, rest
}

// reserved reports whether a name is the name of a member of typed parts.
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
