// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

// Labels of the text format. They are an interface: scripts read them.
const (
	labelTask     = "Task"
	labelContext  = "Context"
	labelState    = "State"
	labelMessage  = "Message"
	labelArtifact = "Artifact"
	labelData     = "Data"
	labelFile     = "File"
	labelHistory  = "History"
)

// renderer writes the events of one task as text: fields for ids and states, and a block for each
// message and artifact, which grows while the agent writes it. It shows each piece once, also
// if a resumed stream begins with a snapshot.
type renderer struct {
	w *terminal.Writer
	// everyEvent shows all states; otherwise the last one only.
	everyEvent bool
	// files saves file parts, nil for not.
	files *fileSaver

	task, context string
	state         a2a.State
	artifacts     map[string]*shownArtifact
	// statusMessage is the id of the last message of a status that was shown.
	statusMessage string
}

// shownArtifact is what was shown of an artifact: the number of bytes of its text, their hash
// (text), and the number of its other parts.
type shownArtifact struct {
	bytes  int
	others int
	text   interface {
		io.Writer
		Sum64() uint64
	}
}

func newRenderer(w io.Writer) *renderer {
	return &renderer{w: terminal.NewWriter(w), artifacts: map[string]*shownArtifact{}}
}

// event shows an event.
func (r *renderer) event(e *a2aclient.Event) error {
	switch {
	case e.Task != nil:
		r.begin(e.Task.ID, e.Task.ContextID)
		for i := range e.Task.Artifacts {
			if err := r.snapshot(&e.Task.Artifacts[i]); err != nil {
				return err
			}
		}
		r.status(&e.Task.Status)
	case e.Status != nil:
		r.begin(e.Status.TaskID, e.Status.ContextID)
		r.status(&e.Status.Status)
	case e.Artifact != nil:
		r.begin(e.Artifact.TaskID, e.Artifact.ContextID)
		if err := r.update(e.Artifact); err != nil {
			return err
		}
	case e.Message != nil:
		if err := r.parts(labelMessage, e.Message.Parts); err != nil {
			return err
		}
		r.w.Close()
		if e.Message.ContextID != "" {
			r.w.Field(labelContext, e.Message.ContextID)
		}
	}
	return r.w.Err() //nolint:wrapcheck // the caller does
}

// begin shows the ids of the task once.
func (r *renderer) begin(task, contextID string) {
	if r.task == "" && task != "" {
		r.task = task
		r.w.Field(labelTask, task)
	}
	if r.context == "" && contextID != "" {
		r.context = contextID
		r.w.Field(labelContext, contextID)
	}
}

// status shows a new state, and its message once.
func (r *renderer) status(s *a2a.Status) {
	changed := s.State != r.state
	r.state = s.State
	if m := s.Message; m != nil && (m.ID == "" || m.ID != r.statusMessage) {
		r.statusMessage = m.ID
		_ = r.parts(labelMessage, m.Parts)
		r.w.Close()
	}
	if changed && r.everyEvent && !s.State.Terminal() && !s.State.Interrupted() {
		r.w.Field(labelState, s.State.String())
	}
}

// end shows the ids and the state again: who reads only the end needs them.
func (r *renderer) end() error {
	r.w.Close()
	if r.task != "" {
		r.w.Field(labelTask, r.task)
		r.w.Field(labelContext, r.context)
		r.w.Field(labelState, r.state.String())
	}
	return r.w.Err() //nolint:wrapcheck // the caller does
}

func labelOf(artifact *a2a.Artifact) string {
	return labelArtifact + " " + terminal.Clip(cmp.Or(artifact.Name, artifact.ID), 100)
}

// update shows more of an artifact.
func (r *renderer) update(u *a2a.ArtifactUpdate) error {
	shown := r.artifacts[u.Artifact.ID]
	if shown != nil && !u.Append {
		return r.snapshot(&u.Artifact)
	}
	if shown == nil {
		shown = r.newArtifact(u.Artifact.ID)
	}
	return r.pieces(shown, &u.Artifact, u.Artifact.Parts)
}

func (r *renderer) newArtifact(id string) *shownArtifact {
	shown := &shownArtifact{text: fnv.New64a()}
	r.artifacts[id] = shown
	return shown
}

// pieces shows parts that were not shown before.
func (r *renderer) pieces(shown *shownArtifact, artifact *a2a.Artifact, parts []a2a.Part) error {
	for i := range parts {
		if p := &parts[i]; p.Content == a2a.ContentText {
			shown.bytes += len(p.Text)
			_, _ = io.WriteString(shown.text, p.Text)
		} else {
			shown.others++
		}
	}
	return r.parts(labelOf(artifact), parts)
}

// snapshot shows a whole artifact: the rest of it, if its beginning was shown.
func (r *renderer) snapshot(artifact *a2a.Artifact) error {
	shown := r.artifacts[artifact.ID]
	if shown == nil || !shown.begins(artifact.Parts) {
		shown = r.newArtifact(artifact.ID)
	}
	var rest []a2a.Part
	skip, others := shown.bytes, shown.others
	for _, p := range artifact.Parts {
		switch {
		case p.Content != a2a.ContentText && others > 0:
			others--
		case p.Content == a2a.ContentText && len(p.Text) <= skip && skip > 0:
			skip -= len(p.Text)
		case p.Content == a2a.ContentText:
			p.Text = p.Text[skip:]
			skip, rest = 0, append(rest, p)
		default:
			rest = append(rest, p)
		}
	}
	return r.pieces(shown, artifact, rest)
}

// begins reports whether the text of parts begins with the shown one.
func (s *shownArtifact) begins(parts []a2a.Part) bool {
	digest, left := fnv.New64a(), s.bytes
	for i := range parts {
		text := parts[i].Text[:min(left, len(parts[i].Text))]
		_, _ = io.WriteString(digest, text)
		left -= len(text)
	}
	return left == 0 && digest.Sum64() == s.text.Sum64()
}

// parts shows parts under a label: text as a block, other data as formatted JSON, and a file by its
// name, media type and size.
func (r *renderer) parts(label string, parts []a2a.Part) error {
	for i := range parts {
		p := &parts[i]
		switch p.Content {
		case a2a.ContentText:
			r.w.Block(label, p.Text)
		case a2a.ContentData:
			var out bytes.Buffer
			if json.Indent(&out, p.Data, "", "  ") != nil {
				out.Write(p.Data)
			}
			r.w.Block(label+" "+labelData, out.String())
			r.w.Close()
		case a2a.ContentURL, a2a.ContentRaw:
			r.w.Field(labelFile, describeFile(p))
			if err := r.files.save(p, r.w); err != nil {
				return err
			}
		}
	}
	return nil
}

func describeFile(p *a2a.Part) string {
	text := cmp.Or(terminal.Clip(p.Filename, 200), "(no name)") + ", " + cmp.Or(terminal.Clip(p.MediaType, 200), "unknown type")
	if p.Content == a2a.ContentURL {
		return text + ", at " + p.URL
	}
	return fmt.Sprintf("%s, %d bytes", text, len(p.Raw))
}

// history shows the messages of a task.
func (r *renderer) history(messages []*a2a.Message) {
	for _, m := range messages {
		role := "user"
		if m.Role == a2a.RoleAgent {
			role = "agent"
		}
		_ = r.parts(labelHistory+" "+role, m.Parts)
		r.w.Close()
	}
}
