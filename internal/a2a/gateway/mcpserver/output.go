// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

const (
	// maxOutput bounds the output in the result of a tool, as JSON, in bytes. A result has its output twice, as content
	// and as structured content. Official clients refuse events above 1 MiB, and a model uses less.
	maxOutput = 256 << 10
	// partCost is the size that a part has in a result apart from its content and URI, at most, in bytes.
	partCost = 256
	// maxMissing bounds the parts that a result names as cut.
	maxMissing = 32
)

// outputPart is a part of the output in the structured content. A file without a URL of its own has the URI of a
// resource.
type outputPart struct {
	Text      string          `json:"text,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	URI       string          `json:"uri,omitempty" jsonschema:"The URL of the file, or the URI of the resource with its content."`
	Name      string          `json:"name,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
}

// outputArtifact is an artifact in the structured content.
type outputArtifact struct {
	ArtifactID  string       `json:"artifactId"`
	Name        string       `json:"name,omitempty"`
	Description string       `json:"description,omitempty"`
	Parts       []outputPart `json:"parts"`
}

// missingPart is a part that is not, or not wholly, in the result. A client reads the rest by resources/read of URI.
type missingPart struct {
	URI   string `json:"uri" jsonschema:"resources/read of this URI returns the content that the result lacks, a piece at a time."`
	Bytes int    `json:"bytes" jsonschema:"The size of the whole content."`
}

// output collects the content of a result up to maxOutput.
type output struct {
	content []mcp.Content
	used    int
	missing []missingPart
	// unnamed is the number of cut parts that missing does not name.
	unnamed int
}

// add appends the parts of a message or an artifact, and returns them for the structured content. uri identifies the message
// or artifact. name is the name of files that have none.
func (o *output) add(parts []a2a.Part, uri, name string) []outputPart {
	all := []outputPart{}
	for i := range parts {
		p := &parts[i]
		own := uri + "/" + strconv.Itoa(i)
		if p.Content == a2a.ContentRaw && cmp.Or(p.Filename, name) != "" { // clients show the end of the URI
			own += "/" + url.PathEscape(cmp.Or(p.Filename, name))
		}
		o.used += partCost + 2*len(own)
		out := outputPart{Name: cmp.Or(p.Filename, name), MediaType: p.MediaType}
		o.used += 2 * (jsonSize(out.Name) + jsonSize(out.MediaType))
		if !o.fits(0) {
			o.miss(own, len(p.Text)+len(p.Data)+len(p.URL)+len(p.Raw))
			continue
		}
		switch p.Content {
		case a2a.ContentText:
			text := o.cut(p.Text)
			if len(text) < len(p.Text) {
				o.miss(own+"?offset="+strconv.Itoa(len(text)), len(p.Text))
			}
			out.Text = text
			o.content = append(o.content, &mcp.TextContent{Text: text})
		case a2a.ContentData:
			// A part of a JSON value is none, so a value is here as a whole or not at all.
			if !o.fits(jsonSize(string(p.Data))) {
				o.miss(own, len(p.Data))
				continue
			}
			out.Data = json.RawMessage(p.Data)
			o.content = append(o.content, &mcp.TextContent{Text: string(p.Data)})
		case a2a.ContentURL:
			if !o.fits(jsonSize(p.URL)) {
				o.miss(own, len(p.URL))
				continue
			}
			out.URI = p.URL
			o.content = append(o.content, &mcp.ResourceLink{URI: p.URL, Name: cmp.Or(out.Name, "file"), MIMEType: p.MediaType})
		case a2a.ContentRaw:
			out.URI = own
			if !o.fits((len(p.Raw) + 2) / 3 * 4) {
				o.miss(own, len(p.Raw))
				size := int64(len(p.Raw))
				o.content = append(o.content, &mcp.ResourceLink{URI: own, Name: cmp.Or(out.Name, "file"), MIMEType: p.MediaType, Size: &size})
				break
			}
			o.content = append(o.content, fileContent(p, own))
		}
		all = append(all, out)
	}
	return all
}

// fits reports whether the output has space for n bytes of JSON, and uses this space.
func (o *output) fits(n int) bool {
	if o.used+n > maxOutput {
		return false
	}
	o.used += n
	return true
}

// cut returns the beginning of a text for which the output has space, and uses this space.
func (o *output) cut(text string) string {
	if o.fits(jsonSize(text)) {
		return text
	}
	for i, r := range text {
		n := runeSize(r)
		if !o.fits(n) {
			return text[:i]
		}
	}
	return text
}

func (o *output) miss(uri string, size int) {
	if len(o.missing) == maxMissing {
		o.unnamed++
		return
	}
	o.missing = append(o.missing, missingPart{URI: uri, Bytes: size})
}

// jsonSize returns an upper bound of the size of a text in JSON, without the quotes.
func jsonSize(text string) (size int) {
	for _, r := range text {
		size += runeSize(r)
	}
	return size
}

func runeSize(r rune) int {
	switch {
	case r < ' ', r == '<', r == '>', r == '&', r == utf8.RuneError, r == '\u2028', r == '\u2029':
		return len(`\u0000`)
	case r == '"', r == '\\':
		return len(`\"`)
	default:
		return utf8.RuneLen(r)
	}
}

// taskURI returns the URI of a task of an agent, as namespace/name.
func taskURI(agent, id string) string { return "a2a://" + agent + "/tasks/" + url.PathEscape(id) }

func artifactURI(agent, task, id string) string {
	return taskURI(agent, task) + "/artifacts/" + url.PathEscape(id)
}

func statusURI(agent, task string) string { return taskURI(agent, task) + "/status" }

// partAt returns the part of a task at a path below its URI, such as artifacts/a/0. The name of a file may follow.
func partAt(t *a2a.Task, path string) *a2a.Part {
	names := strings.Split(path, "/")
	for i := range names {
		name, err := url.PathUnescape(names[i])
		if err != nil {
			return nil
		}
		names[i] = name
	}
	var parts []a2a.Part
	switch {
	case len(names) > 2 && names[0] == "artifacts":
		for i := range t.Artifacts {
			if t.Artifacts[i].ID == names[1] {
				parts = t.Artifacts[i].Parts
			}
		}
		names = names[2:]
	case len(names) > 1 && names[0] == "status" && t.Status.Message != nil:
		parts = t.Status.Message.Parts
		names = names[1:]
	}
	if len(names) > 2 {
		return nil
	}
	i, err := strconv.Atoi(names[0])
	if err != nil || i < 0 || i >= len(parts) {
		return nil
	}
	return &parts[i]
}
