// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions

import (
	"encoding/base64"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Add adds a part of a message of A2A, or returns the reason why the model cannot read it. checkFile returns an error, whose text says
// what is wrong, for the URL of a file that the model server may not fetch. Without checkFile, it may fetch none.
func (m *Message) Add(p *a2a.Part, checkFile func(url string) error) (problem string) {
	switch p.Content {
	case a2a.ContentText:
		m.Text = append(m.Text, p.Text)
		return ""
	case a2a.ContentData:
		m.Text = append(m.Text, string(p.Data))
		return ""
	default:
		return m.addFile(p, checkFile)
	}
}

// dataScheme begins the URLs that contain the file.
const dataScheme = "data:"

func (m *Message) addFile(p *a2a.Part, checkFile func(url string) error) (problem string) {
	mediaType := strings.ToLower(p.MediaType)
	switch {
	case !strings.HasPrefix(mediaType, "image/") || m.Role == RoleAssistant:
		return "is a file; this agent reads text, data and images"
	case p.Content == a2a.ContentRaw:
		m.Images = append(m.Images, dataScheme+mediaType+";base64,"+base64.StdEncoding.EncodeToString(p.Raw))
		return ""
	case len(p.URL) >= len(dataScheme) && strings.EqualFold(p.URL[:len(dataScheme)], dataScheme):
		m.Images = append(m.Images, p.URL)
		return ""
	case checkFile == nil:
		return "has a URL that the model server would fetch, which spec.model.fileHosts does not allow: send the bytes of the file"
	}
	if err := checkFile(p.URL); err != nil {
		return "has a URL that spec.model.fileHosts does not allow, because it " + err.Error() + ": send the bytes of the file"
	}
	m.Images = append(m.Images, p.URL)
	return ""
}

// History returns the messages of a conversation, without the parts that the model cannot read.
func History(history []*a2a.Message, checkFile func(url string) error) (all []Message) {
	for _, m := range history {
		next := Message{Role: RoleUser}
		if m.Role == a2a.RoleAgent {
			next.Role = RoleAssistant
		}
		for i := range m.Parts {
			_ = next.Add(&m.Parts[i], checkFile)
		}
		all = Append(all, next)
	}
	return all
}

// Append appends a message that is not empty. It joins it with the last one if both have the same role, because the templates of many
// models require alternating roles.
func Append(all []Message, next Message) []Message {
	switch last := len(all) - 1; {
	case len(next.Text) == 0 && len(next.Images) == 0:
		return all
	case last >= 0 && all[last].Role == next.Role:
		all[last].Text = append(all[last].Text, next.Text...)
		all[last].Images = append(all[last].Images, next.Images...)
		return all
	default:
		return append(all, next)
	}
}
