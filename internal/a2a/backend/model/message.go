// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// begin records the message of the turn, unless an earlier attempt has done so: decisions about calls, the answer to the question of a
// tool, or a message for the model. isPaused is true if the message decides nothing: the task then waits with the same request.
func (l *loop) begin(ctx context.Context) (isPaused bool, err error) {
	if l.transcript.hasMessage {
		return false, nil
	}
	if l.transcript.asked != nil {
		return l.beginDecided(ctx)
	}
	if paused := l.transcript.in(callPaused); len(paused) > 0 {
		return false, l.record(ctx, entry{Answered: paused[0].ID})
	}
	message := &messageEntry{}
	for i := range l.turn.Message.Parts {
		if problem := message.add(&l.turn.Message.Parts[i], l.options.CheckFile); problem != "" {
			return false, backend.Rejected(fmt.Sprintf("The agent rejected the message: message.parts[%d]: %s", i, problem))
		}
	}
	return false, l.record(ctx, entry{Message: message})
}

// add adds a part, or returns the reason why the model cannot read it.
func (m *messageEntry) add(p *a2a.Part, checkFile func(url string) error) (problem string) {
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

func (m *messageEntry) addFile(p *a2a.Part, checkFile func(url string) error) (problem string) {
	mediaType := strings.ToLower(p.MediaType)
	switch {
	case !strings.HasPrefix(mediaType, "image/"):
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
