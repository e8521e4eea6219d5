// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// update is one line of a response: a change of a task, which the script of the page shows.
type update struct {
	// Task and Context are the ids of the task, "" if they are unknown.
	Task    string `json:"task,omitempty"`
	Context string `json:"context,omitempty"`
	// State is the new state of the task, "" if it is unchanged. Time is the start of the state in RFC 3339, "" if it is
	// unknown. Waits is true if the agent waits for an answer, and Ended if no update follows.
	State string `json:"state,omitempty"`
	Time  string `json:"time,omitempty"`
	Waits bool   `json:"waits,omitempty"`
	Ended bool   `json:"ended,omitempty"`
	// Artifact is the id of the artifact that has Parts, "" if a message has them. Name is its name, "" for none. Append is
	// true if Parts continue the artifact.
	Artifact string      `json:"artifact,omitempty"`
	Name     string      `json:"name,omitempty"`
	Append   bool        `json:"append,omitempty"`
	Parts    []shownPart `json:"parts,omitempty"`
	// Question describes the answer for which the agent waits, nil if it waits for none.
	Question *question `json:"question,omitempty"`
	// Step is what a call of a tool does, on one line, "" for nothing.
	Step string `json:"step,omitempty"`
	// Own is true if Parts are a message of the caller.
	Own bool `json:"own,omitempty"`
	// Problem is the reason why the answer is incomplete or late, and Hint what the user can do.
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// shownPart is a part of a message or artifact: a text, data, a file, or an address. All texts are clean.
type shownPart struct {
	Text string `json:"text,omitempty"`
	// Markdown is true if HTML and Rest are Markdown of the agent. HTML follows the HTML of the earlier parts, and Rest
	// replaces the earlier Rest.
	Markdown bool   `json:"markdown,omitempty"`
	HTML     string `json:"html,omitempty"`
	Rest     string `json:"rest,omitempty"`
	// Data is formatted JSON.
	Data string `json:"data,omitempty"`
	// URL is the address of a file, which the page does not load.
	URL string `json:"url,omitempty"`
	// Name is the name of a file, of an address or of data, "" for none. Type and Content are a file. Image is true if the
	// browser may show it.
	Name    string `json:"name,omitempty"`
	Type    string `json:"type,omitempty"`
	Content []byte `json:"content,omitempty"`
	Image   bool   `json:"image,omitempty"`
}

// maxShown bounds the text of one answer that the page shows, in bytes.
const maxShown = 4 << 20

// transcript returns the updates for the events of one answer. It is not safe for concurrent use.
type transcript struct {
	// documents are the texts of artifacts that are incomplete, by the ids of the artifacts.
	documents map[string]*document
	// shown is the number of bytes of text in the updates so far.
	shown int
}

func newTranscript() *transcript { return &transcript{documents: map[string]*document{}} }

// updates returns the updates for an event of an agent. The updates for a task replace the shown artifacts and the state.
func (t *transcript) updates(e *a2a.Event) []update {
	switch {
	case e.Task != nil:
		var all []update
		for i := range e.Task.Artifacts {
			all = append(all, t.artifact(e.Task.ID, e.Task.ContextID, &e.Task.Artifacts[i], false))
		}
		return append(all, t.status(e.Task.ID, e.Task.ContextID, &e.Task.Status))
	case e.Status != nil:
		out := t.status(e.Status.TaskID, e.Status.ContextID, &e.Status.Status)
		out.Step = answer.DescribeStep(e.Status.Metadata)
		return []update{out}
	case e.Artifact != nil:
		return []update{t.artifact(e.Artifact.TaskID, e.Artifact.ContextID, &e.Artifact.Artifact, e.Artifact.Append)}
	case e.Message != nil:
		return []update{{Context: e.Message.ContextID, Ended: true, Parts: t.message(e.Message.Parts)}}
	default:
		return nil
	}
}

func (t *transcript) status(taskID, contextID string, status *a2a.Status) update {
	out := update{
		Task: taskID, Context: contextID, State: status.State.String(),
		Waits: status.State.Interrupted(), Ended: status.State.Terminal() || status.State.Interrupted(),
	}
	if !status.Time.IsZero() {
		out.Time = status.Time.UTC().Format(time.RFC3339)
	}
	if status.Message != nil && status.Message.Role != a2a.RoleUser {
		out.Parts = t.message(status.Message.Parts)
	}
	if status.State == a2a.StateInputRequired {
		out.Question = questionOf(status)
	}
	return out
}

// message returns the parts of a message. Unlike those of an artifact, they do not continue each other.
func (t *transcript) message(parts []a2a.Part) []shownPart {
	out := make([]shownPart, 0, len(parts))
	for i := range parts {
		part := t.parts(&document{}, parts[i:i+1])[0]
		part.HTML += part.Rest
		part.Rest = ""
		out = append(out, part)
	}
	return out
}

func (t *transcript) artifact(taskID, contextID string, artifact *a2a.Artifact, appends bool) update {
	id := taskID + "/" + artifact.ID
	d := t.documents[id]
	if d == nil || !appends {
		d = &document{}
		t.documents[id] = d
	}
	return update{
		Task: taskID, Context: contextID, Artifact: id, Append: appends,
		Name: safetext.Line(safetext.Clip(artifact.Name, 300)), Parts: t.parts(d, artifact.Parts),
	}
}

// images are the media types that the browser shows. SVG is not one of them: it may have scripts.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// parts returns the parts of a message or artifact whose text so far is in d.
func (t *transcript) parts(d *document, parts []a2a.Part) []shownPart {
	out := make([]shownPart, 0, len(parts))
	for i := range parts {
		p := &parts[i]
		part := shownPart{Name: safetext.Line(safetext.Clip(p.Filename, 300))}
		switch p.Content {
		case a2a.ContentText:
			text := t.clip(p.Text)
			if p.MediaType == "" || p.MediaType == "text/markdown" {
				part.Markdown = true
				part.HTML, part.Rest = d.add(text)
				out = append(out, part)
				continue
			}
			part.Text = safetext.Clean(text)
		case a2a.ContentData:
			part.Data = t.clip(formatted(p.Data))
		case a2a.ContentURL:
			part.URL = safetext.Line(safetext.Clip(p.URL, 2000))
		case a2a.ContentRaw:
			// The content determines the media type: a file with a wrong type is not shown as an image.
			mediaType, _, _ := mime.ParseMediaType(http.DetectContentType(p.Raw))
			part.Name = safeName(p.Filename)
			part.Content = p.Raw
			part.Type = "application/octet-stream"
			if slices.Contains(images, mediaType) {
				part.Type = mediaType
				part.Image = true
			}
		}
		*d = document{} // the text of a later part does not continue the text before this one
		out = append(out, part)
	}
	return out
}

// clip returns the text as far as maxShown allows.
func (t *transcript) clip(text string) string {
	before := t.shown
	t.shown += len(text)
	switch {
	case t.shown <= maxShown:
		return text
	case before > maxShown:
		return ""
	default:
		return safetext.Clip(text, maxShown-before) + "\n\nThe page does not show the rest of the answer."
	}
}

// safeName returns a name for a download, without directories.
func safeName(name string) string {
	name = safetext.Line(safetext.Clip(name[strings.LastIndexAny(name, `/\`)+1:], 100))
	name = strings.TrimLeft(name, ". ")
	if name == "" {
		return "file"
	}
	return name
}
