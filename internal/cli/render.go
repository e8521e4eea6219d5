// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/inputform"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// Labels of the text format. They must not change, because scripts parse them.
const (
	labelTask     = "Task"
	labelContext  = "Context"
	labelState    = "State"
	labelMessage  = "Message"
	labelArtifact = "Artifact"
	labelData     = "Data"
	labelFile     = "File"
	labelHistory  = "History"
	labelApproval = "Approval"
	labelQuestion = "Question"
	labelStep     = "Step"
)

// renderer writes the events of one task as text: fields for ids and states, and a block for each message and artifact.
// A block grows while the agent sends its content. The renderer writes each piece of content once.
type renderer struct {
	w *terminal.Writer
	// everyEvent is true to show every state, false to show only the last one.
	everyEvent bool
	// files saves file parts. If it is nil, they are not saved.
	files *fileSaver

	answer answer.Reader
}

// event writes the new content of an event.
func (r *renderer) event(e *client.Event) error {
	for _, p := range r.answer.Read(&e.Event) {
		if err := r.piece(&p); err != nil {
			return err
		}
	}
	return r.w.Err()
}

// skip writes only the ids of a task whose content the user has seen before.
func (r *renderer) skip(e *client.Event) error {
	for _, p := range r.answer.Read(&e.Event) {
		if p.Kind == answer.KindIDs {
			_ = r.piece(&p)
		}
	}
	return r.w.Err()
}

func (r *renderer) piece(p *answer.Piece) error {
	switch p.Kind {
	case answer.KindIDs:
		if p.TaskID != "" {
			r.w.Field(labelTask, p.TaskID)
		}
		if p.ContextID != "" {
			r.w.Field(labelContext, p.ContextID)
		}
	case answer.KindState:
		if r.everyEvent && !p.State.Terminal() && !p.State.Interrupted() {
			r.w.Field(labelState, p.State.String())
		}
	case answer.KindMessage:
		err := r.parts(labelMessage, p.Parts)
		r.w.Close()
		return err
	case answer.KindForm:
		r.form(p.Form)
	case answer.KindStep:
		r.w.Close()
		r.w.Field(labelStep, p.Step)
	case answer.KindArtifact:
		return r.parts(labelArtifact+" "+safetext.Clip(p.Name, 100), p.Parts)
	}
	return nil
}

// form shows the calls that need an approval, each under its id, and the questions.
func (r *renderer) form(f *inputform.Form) {
	for i := range f.Calls {
		r.w.Block(labelApproval+" "+f.Calls[i].ID, answer.DescribeCall(f, &f.Calls[i]))
		r.w.Close()
	}
	for i := range f.Questions {
		r.w.Block(labelQuestion+" "+strconv.Itoa(i+1), answer.DescribeQuestion(f, &f.Questions[i]))
		r.w.Close()
	}
}

// end writes the ids and the state again, for readers who see only the end of the output.
func (r *renderer) end() error {
	r.w.Close()
	if r.answer.TaskID() != "" {
		r.w.Field(labelTask, r.answer.TaskID())
		r.w.Field(labelContext, r.answer.ContextID())
		r.w.Field(labelState, r.answer.State().String())
	}
	return r.w.Err()
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
			r.w.Block(label+" "+labelData, answer.FormatData(p))
			r.w.Close()
		case a2a.ContentURL, a2a.ContentRaw:
			r.w.Field(labelFile, answer.DescribeFile(p))
			if err := r.files.save(p, r.w); err != nil {
				return err
			}
		}
	}
	return nil
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
