// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package typedpart encodes and decodes the parts of 0.1 to 0.3: a text, a file or data. A
// member contains the type of the part; 0.1 calls it type, 0.2 and 0.3 call it kind. The
// codecs of these versions share the package. The package is pure.
package typedpart

import (
	"bytes"
	"encoding/base64"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// Form determines the member that contains the type of a part.
type Form uint8

// The forms.
const (
	// Kind is the form of 0.2 and 0.3.
	Kind Form = iota
	// Type is the form of 0.1.
	Type
	// Both is a form with both members, for clients of all three versions.
	Both
)

var discriminators = [...]struct{ text, file, data string }{
	Kind: {`{"kind":"text"`, `{"kind":"file"`, `{"kind":"data"`},
	Type: {`{"type":"text"`, `{"type":"file"`, `{"type":"data"`},
	Both: {`{"kind":"text","type":"text"`, `{"kind":"file","type":"file"`, `{"kind":"data","type":"data"`},
}

// compatName is the name of the metadata member that marks a data part with a wrapped value:
// {"value":...}. The official SDKs use the same name.
const compatName = "data_part_compat"

// AppendAll appends an array of parts.
func (f Form) AppendAll(dst []byte, parts []a2a.Part) []byte {
	return jsonwrite.ArrayOf(dst, parts, f.Append)
}

// Append appends a part.
func (f Form) Append(dst []byte, p *a2a.Part) []byte {
	switch p.Content {
	case a2a.ContentRaw, a2a.ContentURL:
		dst = append(dst, discriminators[f].file...)
		dst = appendFile(dst, p)
	case a2a.ContentData:
		return f.appendData(dst, p)
	default:
		// These versions have no media type for a text.
		dst = append(dst, discriminators[f].text...)
		dst = jsonwrite.Member(dst, `,"text":`, p.Text)
	}
	dst = jsonwrite.Metadata(dst, p.Metadata)
	return append(dst, '}')
}

func appendFile(dst []byte, p *a2a.Part) []byte {
	dst = append(dst, `,"file":{`...)
	if p.Filename != "" {
		dst = jsonwrite.Member(dst, `"name":`, p.Filename)
		dst = append(dst, ',')
	}
	if p.MediaType != "" {
		dst = jsonwrite.Member(dst, `"mimeType":`, p.MediaType)
		dst = append(dst, ',')
	}
	if p.Content == a2a.ContentURL {
		dst = jsonwrite.Member(dst, `"uri":`, p.URL)
		return append(dst, '}')
	}
	dst = append(dst, `"bytes":`...)
	dst = jsonwrite.Bytes(dst, p.Raw)
	return append(dst, '}')
}

func (f Form) appendData(dst []byte, p *a2a.Part) []byte {
	if len(p.Data) == 0 || p.Data[0] != '{' {
		return f.appendWrapped(dst, p)
	}
	if f == Kind {
		if kind, rest := tool(p); kind != nil {
			return appendTool(dst, kind, p.Data, rest)
		}
	}
	dst = append(dst, discriminators[f].data...)
	dst = append(dst, `,"data":`...)
	dst = append(dst, p.Data...)
	dst = jsonwrite.Metadata(dst, p.Metadata)
	return append(dst, '}')
}

// appendWrapped appends a data part whose value is not an object.
func (f Form) appendWrapped(dst []byte, p *a2a.Part) []byte {
	dst = append(dst, discriminators[f].data...)
	dst = append(dst, `,"data":`...)
	dst = AppendWrapped(dst, p.Data)
	dst = AppendWrappedMetadata(dst, p.Metadata)
	return append(dst, '}')
}

// AppendWrapped appends a value as the object {"value":...}. An absent value becomes null.
// Versions up to 0.3 allow only objects as data.
func AppendWrapped(dst []byte, v a2a.Value) []byte {
	dst = append(dst, `{"value":`...)
	if len(v) == 0 {
		dst = append(dst, "null"...)
	}
	dst = append(dst, v...)
	return append(dst, '}')
}

// AppendWrappedMetadata appends the member metadata of a part whose data is wrapped. It
// contains the mark of a wrapped value and the metadata of the part.
func AppendWrappedMetadata(dst []byte, metadata a2a.Object) []byte {
	dst = append(dst, `,"metadata":{"`+compatName+`":true`...)
	_, metadata = jsonread.Cut(metadata, compatName)
	// The members of a non-empty object follow its opening brace.
	if len(metadata) > len("{}") {
		dst = append(dst, ',')
		return append(dst, metadata[1:]...)
	}
	return append(dst, '}')
}

// WrappedMetadata returns the value of the member that AppendWrappedMetadata appends.
func WrappedMetadata(metadata a2a.Object) a2a.Object {
	_, metadata = jsonread.Cut(metadata, compatName)
	return jsonread.With(metadata, compatName, a2a.Value("true"))
}

// NoNull is the error of a data part whose data is null.
const NoNull = "must not be null, because some clients cannot read it"

// Unwrap replaces the data of a part by its wrapped value, if the metadata has the mark of
// AppendWrappedMetadata. It removes the mark. It unwraps no null, which 1.0 cannot express
// (NoNull).
func Unwrap(p *a2a.Part) {
	if p.Content != a2a.ContentData {
		return
	}
	mark, rest := jsonread.Cut(p.Metadata, compatName)
	if string(mark) != "true" {
		return
	}
	value, others := jsonread.Cut(a2a.Object(p.Data), "value")
	if value != nil && others == nil && string(value) != "null" {
		p.Data = value
		p.Metadata = rest
	}
}

// DecodeTwice removes the second layer of base64 that the SDKs of 0.3 add to the bytes of a
// file in ProtoJSON. No field says whether there is a second layer, so DecodeTwice decides
// by the form of the bytes: if raw is not strict base64, raw has no second layer, and ok is
// false.
func DecodeTwice(raw []byte) (decoded []byte, ok bool) {
	if len(raw)%4 != 0 {
		return nil, false
	}
	decoded = make([]byte, base64.StdEncoding.DecodedLen(len(raw)))
	n, err := base64.StdEncoding.Strict().Decode(decoded, raw)
	// The decoder accepts line ends, which no encoder writes.
	return decoded[:n], err == nil && !bytes.ContainsAny(raw, "\r\n")
}

// kindName is the name of the metadata member with the original kind of a data part: see
// tools.
const kindName = "a2a.partKind"

// tools are kinds of parts of one project that implements 0.3. Clients of the project send
// them in answers to an agent that asks for input. In the domain, such a part is a data
// part with the kind in its metadata, which every version can express. Clients of 0.2 and
// 0.3 receive the original part.
var tools = []string{"tool-result", "tool-use"}

// toolMark is the beginning of the metadata that fromTool returns.
var toolMark = []byte(`{"` + kindName + `":`)

// fromTool returns the data part for the members of a tool part.
func fromTool(kind string, members, metadata a2a.Object) a2a.Part {
	_, metadata = jsonread.Cut(metadata, kindName)
	if members == nil {
		members = a2a.Object("{}")
	}
	return a2a.Part{
		Content: a2a.ContentData, Data: a2a.Value(members),
		Metadata: jsonread.With(metadata, kindName, a2a.Value(`"`+kind+`"`)),
	}
}

// tool returns the kind of a part that fromTool returned, as JSON, and the metadata without
// the kind. For any other part, the kind is nil.
func tool(p *a2a.Part) (kind a2a.Value, rest a2a.Object) {
	if !bytes.HasPrefix(p.Metadata, toolMark) {
		return nil, nil
	}
	kind, rest = jsonread.Cut(p.Metadata, kindName)
	if !slices.ContainsFunc(tools, func(name string) bool { return string(kind) == `"`+name+`"` }) {
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
