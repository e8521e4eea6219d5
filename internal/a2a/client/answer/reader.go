// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package answer finds the new content in the events of an agent's answer. A stream sends an artifact
// in chunks, and a resumed stream repeats earlier artifacts and messages. With a Reader, a caller shows
// each piece of content once.
package answer

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/inputform"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

const (
	// maxArtifacts bounds the artifacts that a Reader remembers. At this number, the Reader forgets all of them. If a
	// snapshot then repeats their content, the Reader returns it again.
	maxArtifacts = 10_000
	// maxKey bounds the id of an artifact that a Reader remembers, in bytes. Longer ids are cut.
	maxKey = 256
)

// Kind says which fields of a Piece are set.
type Kind uint8

// The kinds of pieces.
const (
	// KindIDs sets TaskID, ContextID or both.
	KindIDs Kind = iota
	// KindState sets State.
	KindState
	// KindMessage sets Parts to all parts of a message.
	KindMessage
	// KindForm sets Form to what the task that waits asks of the user.
	KindForm
	// KindArtifact sets Name, and Parts to the new parts of an artifact.
	KindArtifact
	// KindStep sets Step to a call of a tool that begins, goes on or has ended.
	KindStep
)

// Piece is new content of an answer.
type Piece struct {
	Kind              Kind
	TaskID, ContextID string
	State             a2a.State
	// Name is the name of the artifact, or its id if it has no name.
	Name  string
	Parts []a2a.Part
	Form  *inputform.Form
	Step  string
}

// Reader reads the events of one answer. It is not safe for concurrent use.
type Reader struct {
	taskID, contextID string
	state             a2a.State
	artifacts         map[string]*seenArtifact
	// statusMessage is the id of the last message of a status.
	statusMessage string
}

// seenArtifact describes the content of an artifact that was read: the number of bytes of its text, their hash (text),
// and the number of its other parts.
type seenArtifact struct {
	bytes  int
	others int
	text   interface {
		io.Writer
		Sum64() uint64
	}
}

// TaskID returns the id of the task, "" while it is unknown.
func (r *Reader) TaskID() string { return r.taskID }

// ContextID returns the id of the context, "" while it is unknown.
func (r *Reader) ContextID() string { return r.contextID }

// State returns the last state of the task.
func (r *Reader) State() a2a.State { return r.state }

// Read returns the new content of an event, in order. It leaves out content that an earlier event contained.
func (r *Reader) Read(e *a2a.Event) []Piece {
	switch {
	case e.Task != nil:
		all := r.begin(nil, e.Task.ID, e.Task.ContextID)
		for i := range e.Task.Artifacts {
			all = r.snapshot(all, &e.Task.Artifacts[i])
		}
		return r.status(all, &e.Task.Status)
	case e.Status != nil:
		all := r.begin(nil, e.Status.TaskID, e.Status.ContextID)
		if step := DescribeStep(e.Status.Metadata); step != "" {
			all = append(all, Piece{Kind: KindStep, Step: step})
		}
		return r.status(all, &e.Status.Status)
	case e.Artifact != nil:
		return r.update(r.begin(nil, e.Artifact.TaskID, e.Artifact.ContextID), e.Artifact)
	case e.Message != nil:
		all := []Piece{{Kind: KindMessage, Parts: e.Message.Parts}}
		if e.Message.ContextID != "" {
			r.contextID = e.Message.ContextID
			all = append(all, Piece{Kind: KindIDs, ContextID: e.Message.ContextID})
		}
		return all
	default:
		return nil
	}
}

// begin appends the ids of the task and the context that were unknown so far.
func (r *Reader) begin(all []Piece, taskID, contextID string) []Piece {
	ids := Piece{Kind: KindIDs}
	if r.taskID == "" {
		r.taskID = taskID
		ids.TaskID = taskID
	}
	if r.contextID == "" {
		r.contextID = contextID
		ids.ContextID = contextID
	}
	if ids.TaskID == "" && ids.ContextID == "" {
		return all
	}
	return append(all, ids)
}

// status appends the message of a status, and the state if it has changed. It skips a message with the same id as the
// message of the last status, which a resumed stream repeats, and a message of the client, which some agents repeat in their
// first status.
func (r *Reader) status(all []Piece, s *a2a.Status) []Piece {
	changed := s.State != r.state
	r.state = s.State
	if m := s.Message; m != nil && m.Role != a2a.RoleUser && (m.ID == "" || m.ID != r.statusMessage) {
		r.statusMessage = m.ID
		all = append(all, Piece{Kind: KindMessage, Parts: m.Parts})
		if form := FormOf(s); form != nil {
			all = append(all, Piece{Kind: KindForm, Form: form})
		}
	}
	if changed {
		all = append(all, Piece{Kind: KindState, State: s.State})
	}
	return all
}

// FormOf returns the form of a status, nil for none.
func FormOf(s *a2a.Status) *inputform.Form {
	if s.State != a2a.StateInputRequired {
		return nil
	}
	return inputform.Of(s.Message)
}

// update appends the new parts in an artifact update.
func (r *Reader) update(all []Piece, u *a2a.ArtifactUpdate) []Piece {
	seen := r.artifacts[key(&u.Artifact)]
	if seen != nil && !u.Append {
		return r.snapshot(all, &u.Artifact)
	}
	if seen == nil {
		seen = r.newArtifact(&u.Artifact)
	}
	return seen.take(all, &u.Artifact, u.Artifact.Parts)
}

func key(artifact *a2a.Artifact) string { return safetext.Clip(artifact.ID, maxKey) }

func (r *Reader) newArtifact(artifact *a2a.Artifact) *seenArtifact {
	if r.artifacts == nil || len(r.artifacts) >= maxArtifacts {
		r.artifacts = map[string]*seenArtifact{}
	}
	seen := &seenArtifact{text: fnv.New64a()}
	r.artifacts[key(artifact)] = seen
	return seen
}

// snapshot appends the parts of a whole artifact. If the artifact continues what was read, it appends only the rest.
func (r *Reader) snapshot(all []Piece, artifact *a2a.Artifact) []Piece {
	seen := r.artifacts[key(artifact)]
	if seen == nil || !seen.begins(artifact.Parts) {
		seen = r.newArtifact(artifact)
	}
	var rest []a2a.Part
	skip := seen.bytes
	others := seen.others
	for _, p := range artifact.Parts {
		switch {
		case p.Content != a2a.ContentText && others > 0:
			others--
		case p.Content == a2a.ContentText && len(p.Text) <= skip && skip > 0:
			skip -= len(p.Text)
		case p.Content == a2a.ContentText:
			p.Text = p.Text[skip:]
			skip = 0
			rest = append(rest, p)
		default:
			rest = append(rest, p)
		}
	}
	return seen.take(all, artifact, rest)
}

// take appends new parts of the artifact, and records them as read.
func (s *seenArtifact) take(all []Piece, artifact *a2a.Artifact, parts []a2a.Part) []Piece {
	for i := range parts {
		if p := &parts[i]; p.Content == a2a.ContentText {
			s.bytes += len(p.Text)
			_, _ = io.WriteString(s.text, p.Text)
		} else {
			s.others++
		}
	}
	if len(parts) == 0 {
		return all
	}
	return append(all, Piece{Kind: KindArtifact, Name: cmp.Or(artifact.Name, artifact.ID), Parts: parts})
}

// begins reports whether the text of parts begins with the text that was read.
func (s *seenArtifact) begins(parts []a2a.Part) bool {
	digest := fnv.New64a()
	left := s.bytes
	for i := range parts {
		text := parts[i].Text[:min(left, len(parts[i].Text))]
		_, _ = io.WriteString(digest, text)
		left -= len(text)
	}
	return left == 0 && digest.Sum64() == s.text.Sum64()
}

// FormatData returns the structured data of a part as formatted JSON.
func FormatData(p *a2a.Part) string { return formatJSON(p.Data) }

func formatJSON(value []byte) string {
	if out, ok := safetext.Indent(value, ""); ok {
		return string(out)
	}
	return string(value)
}

// DescribeCall returns the tool and all arguments of a call that needs an approval, with the agent that asks and with what runs the
// tool, as far as the form says it.
func DescribeCall(f *inputform.Form, c *inputform.Call) string {
	asker := ""
	if f.Agent != "" {
		asker = "Agent " + safetext.Line(f.Agent) + " asks to call "
	}
	source := ""
	if c.Source != "" {
		source = " (" + safetext.Line(c.Source) + ")"
	}
	return asker + safetext.Line(c.Tool) + source + " " + formatJSON(c.Arguments)
}

// DescribeQuestion returns a question with its choices, and their numbers if these stand for them.
func DescribeQuestion(f *inputform.Form, q *inputform.Question) string {
	var out strings.Builder
	if f.Agent != "" {
		out.WriteString("Agent " + safetext.Line(f.Agent) + " asks: ")
	}
	out.WriteString(q.Text)
	for i, choice := range q.Choices {
		mark := "-"
		if q.IsNumbered() {
			mark = strconv.Itoa(i+1) + "."
		}
		out.WriteString("\n" + mark + " " + safetext.Line(choice))
	}
	return out.String()
}

// DescribeFile returns the name, the media type, and the size or the URL of a file. The caller must clean the text for a
// terminal, because it contains texts of the agent.
func DescribeFile(p *a2a.Part) string {
	text := cmp.Or(safetext.Clip(p.Filename, 200), "(no name)") + ", " + cmp.Or(safetext.Clip(p.MediaType, 200), "unknown type")
	if p.Content == a2a.ContentURL {
		return text + ", at " + p.URL
	}
	return fmt.Sprintf("%s, %d bytes", text, len(p.Raw))
}
