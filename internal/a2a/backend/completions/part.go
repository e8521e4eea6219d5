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
		return "has a URL that the model server would fetch, which backend.chat.fileHosts does not allow: send the bytes of the file"
	}
	if err := checkFile(p.URL); err != nil {
		return "has a URL that backend.chat.fileHosts does not allow, because it " + err.Error() + ": send the bytes of the file"
	}
	m.Images = append(m.Images, p.URL)
	return ""
}
