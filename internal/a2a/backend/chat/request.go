// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// chatMessage is one message to the model.
type chatMessage struct {
	role string
	// text has the texts of the message, and images the URLs of its images.
	text, images []string
}

const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
)

// conversation returns the messages to the model: the prompt, the history, and the
// message of the turn. It merges consecutive messages of one role, because the templates
// of many models require alternating roles.
func (b *Backend) conversation(t *backend.Turn) ([]chatMessage, error) {
	var all []chatMessage
	if b.prompt != "" {
		all = append(all, chatMessage{role: roleSystem, text: []string{b.prompt}})
	}
	for _, m := range backend.Newest(t.History) {
		e := chatMessage{role: roleUser}
		if m.Role == a2a.RoleAgent {
			e.role = roleAssistant
		}
		for i := range m.Parts {
			// The conversation omits a part of the history that the model cannot read.
			_ = e.add(&m.Parts[i], b.checkFile)
		}
		all = appendMessage(all, e)
	}
	now := chatMessage{role: roleUser}
	for i := range t.Message.Parts {
		if problem := now.add(&t.Message.Parts[i], b.checkFile); problem != "" {
			return nil, backend.Rejected(fmt.Sprintf("The agent rejected the message: message.parts[%d]: %s", i, problem))
		}
	}
	return appendMessage(all, now), nil
}

func appendMessage(all []chatMessage, e chatMessage) []chatMessage {
	switch last := len(all) - 1; {
	case len(e.text) == 0 && len(e.images) == 0:
		return all
	case last >= 0 && all[last].role == e.role:
		all[last].text = append(all[last].text, e.text...)
		all[last].images = append(all[last].images, e.images...)
		return all
	default:
		return append(all, e)
	}
}

// add adds a part, or returns the reason why the model cannot read it.
func (e *chatMessage) add(p *a2a.Part, checkFile func(url string) error) (problem string) {
	switch p.Content {
	case a2a.ContentText:
		e.text = append(e.text, p.Text)
		return ""
	case a2a.ContentData:
		e.text = append(e.text, string(p.Data))
		return ""
	default:
		return e.addFile(p, checkFile)
	}
}

func (e *chatMessage) addFile(p *a2a.Part, checkFile func(url string) error) (problem string) {
	mediaType := strings.ToLower(p.MediaType)
	switch {
	case !strings.HasPrefix(mediaType, "image/") || e.role == roleAssistant:
		return "is a file; this agent reads text, data and images"
	case p.Content == a2a.ContentRaw:
		e.images = append(e.images, "data:"+mediaType+";base64,"+base64.StdEncoding.EncodeToString(p.Raw))
		return ""
	case len(p.URL) >= len(dataScheme) && strings.EqualFold(p.URL[:len(dataScheme)], dataScheme):
		e.images = append(e.images, p.URL)
		return ""
	case checkFile == nil:
		return "has a URL that the model server would fetch, which backend.chat.fileHosts does not allow: send the bytes of the file"
	default:
		if err := checkFile(p.URL); err != nil {
			return "has a URL that backend.chat.fileHosts does not allow, because it " + err.Error() + ": send the bytes of the file"
		}
		e.images = append(e.images, p.URL)
		return ""
	}
}

// dataScheme begins the URLs that contain the file.
const dataScheme = "data:"

// estimateSize returns the estimated size of a request, in bytes, so that its buffer does not
// grow.
func estimateSize(conversation []chatMessage) int {
	size := 512
	for i := range conversation {
		for _, text := range slices.Concat(conversation[i].text, conversation[i].images) {
			part := a2a.TextPart(text)
			size += part.Size()
		}
	}
	return size
}

func appendRequest(dst []byte, model string, conversation []chatMessage) []byte {
	dst = jsonwrite.Member(dst, `{"model":`, model)
	dst = append(dst, `,"stream":true,"stream_options":{"include_usage":true},"messages":`...)
	return append(jsonwrite.ArrayOf(dst, conversation, appendChatMessage), '}')
}

// appendChatMessage encodes a message. Without images, its content is a string, which every server
// accepts. With images, its content is an array of parts.
func appendChatMessage(dst []byte, e *chatMessage) []byte {
	dst = jsonwrite.Member(dst, `{"role":`, e.role)
	dst = append(dst, `,"content":`...)
	text := strings.Join(e.text, "\n")
	if len(e.images) == 0 {
		return append(jsonwrite.String(dst, text), '}')
	}
	dst = append(dst, '[')
	if len(e.text) > 0 {
		dst = append(jsonwrite.Member(dst, `{"type":"text","text":`, text), "},"...)
	}
	for i, url := range e.images {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonwrite.Member(dst, `{"type":"image_url","image_url":{"url":`, url), "}}"...)
	}
	return append(dst, "]}"...)
}
