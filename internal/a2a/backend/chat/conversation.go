// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
)

// conversation returns the messages to the model: the prompt, the history, and the
// message of the turn. It merges consecutive messages of one role, because the templates
// of many models require alternating roles.
func (b *Backend) conversation(t *backend.Turn) ([]completions.Message, error) {
	var all []completions.Message
	if b.prompt != "" {
		all = append(all, completions.Message{Role: completions.RoleSystem, Text: []string{b.prompt}})
	}
	for _, m := range backend.Newest(t.History) {
		e := completions.Message{Role: completions.RoleUser}
		if m.Role == a2a.RoleAgent {
			e.Role = completions.RoleAssistant
		}
		for i := range m.Parts {
			// The conversation omits a part of the history that the model cannot read.
			_ = add(&e, &m.Parts[i], b.checkFile)
		}
		all = appendMessage(all, e)
	}
	now := completions.Message{Role: completions.RoleUser}
	for i := range t.Message.Parts {
		if problem := add(&now, &t.Message.Parts[i], b.checkFile); problem != "" {
			return nil, backend.Rejected(fmt.Sprintf("The agent rejected the message: message.parts[%d]: %s", i, problem))
		}
	}
	return appendMessage(all, now), nil
}

func appendMessage(all []completions.Message, e completions.Message) []completions.Message {
	switch last := len(all) - 1; {
	case len(e.Text) == 0 && len(e.Images) == 0:
		return all
	case last >= 0 && all[last].Role == e.Role:
		all[last].Text = append(all[last].Text, e.Text...)
		all[last].Images = append(all[last].Images, e.Images...)
		return all
	default:
		return append(all, e)
	}
}

// add adds a part, or returns the reason why the model cannot read it.
func add(e *completions.Message, p *a2a.Part, checkFile func(url string) error) (problem string) {
	switch p.Content {
	case a2a.ContentText:
		e.Text = append(e.Text, p.Text)
		return ""
	case a2a.ContentData:
		e.Text = append(e.Text, string(p.Data))
		return ""
	default:
		return addFile(e, p, checkFile)
	}
}

func addFile(e *completions.Message, p *a2a.Part, checkFile func(url string) error) (problem string) {
	mediaType := strings.ToLower(p.MediaType)
	switch {
	case !strings.HasPrefix(mediaType, "image/") || e.Role == completions.RoleAssistant:
		return "is a file; this agent reads text, data and images"
	case p.Content == a2a.ContentRaw:
		e.Images = append(e.Images, "data:"+mediaType+";base64,"+base64.StdEncoding.EncodeToString(p.Raw))
		return ""
	case len(p.URL) >= len(dataScheme) && strings.EqualFold(p.URL[:len(dataScheme)], dataScheme):
		e.Images = append(e.Images, p.URL)
		return ""
	case checkFile == nil:
		return "has a URL that the model server would fetch, which backend.chat.fileHosts does not allow: send the bytes of the file"
	default:
		if err := checkFile(p.URL); err != nil {
			return "has a URL that backend.chat.fileHosts does not allow, because it " + err.Error() + ": send the bytes of the file"
		}
		e.Images = append(e.Images, p.URL)
		return ""
	}
}

// dataScheme begins the URLs that contain the file.
const dataScheme = "data:"
