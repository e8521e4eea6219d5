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
	"github.com/a2a-operator/a2a-operator/internal/safetext"
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
	// Artifact is the id of the artifact that has Parts, "" if a message has them. Append is true if Parts continue the
	// artifact.
	Artifact string      `json:"artifact,omitempty"`
	Append   bool        `json:"append,omitempty"`
	Parts    []shownPart `json:"parts,omitempty"`
	// Own is true if Parts are a message of the caller.
	Own bool `json:"own,omitempty"`
	// Problem is the reason why the answer is incomplete or late, and Hint what the user can do.
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// shownPart is a part of a message or artifact: a text, a file, or an address. All texts are clean.
type shownPart struct {
	Text string `json:"text,omitempty"`
	// URL is the address of a file, which the page does not load.
	URL string `json:"url,omitempty"`
	// Name, Type and Content are a file. Image is true if the browser may show it.
	Name    string `json:"name,omitempty"`
	Type    string `json:"type,omitempty"`
	Content []byte `json:"content,omitempty"`
	Image   bool   `json:"image,omitempty"`
}

// updatesOf returns the updates for an event of an agent. The updates for a task replace the shown artifacts and the
// state.
func updatesOf(e *a2a.Event) []update {
	switch {
	case e.Task != nil:
		var all []update
		for i := range e.Task.Artifacts {
			artifact := &e.Task.Artifacts[i]
			all = append(all, update{Task: e.Task.ID, Context: e.Task.ContextID, Artifact: e.Task.ID + "/" + artifact.ID, Parts: shownParts(artifact.Parts)})
		}
		status := statusOfTask(&e.Task.Status)
		status.Task, status.Context = e.Task.ID, e.Task.ContextID
		return append(all, status)
	case e.Status != nil:
		out := statusOfTask(&e.Status.Status)
		out.Task, out.Context = e.Status.TaskID, e.Status.ContextID
		return []update{out}
	case e.Artifact != nil:
		return []update{{
			Task: e.Artifact.TaskID, Context: e.Artifact.ContextID, Append: e.Artifact.Append,
			Artifact: e.Artifact.TaskID + "/" + e.Artifact.Artifact.ID, Parts: shownParts(e.Artifact.Artifact.Parts),
		}}
	case e.Message != nil:
		return []update{{Context: e.Message.ContextID, Ended: true, Parts: shownParts(e.Message.Parts)}}
	default:
		return nil
	}
}

func statusOfTask(status *a2a.Status) update {
	out := update{State: status.State.String(), Waits: status.State.Interrupted(), Ended: status.State.Terminal() || status.State.Interrupted()}
	if !status.Time.IsZero() {
		out.Time = status.Time.UTC().Format(time.RFC3339)
	}
	if status.Message != nil && status.Message.Role != a2a.RoleUser {
		out.Parts = shownParts(status.Message.Parts)
	}
	return out
}

// images are the media types that the browser shows. SVG is not one of them: it may have scripts.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

func shownParts(parts []a2a.Part) []shownPart {
	out := make([]shownPart, 0, len(parts))
	for i := range parts {
		p := &parts[i]
		switch p.Content {
		case a2a.ContentText:
			out = append(out, shownPart{Text: safetext.Clean(p.Text)})
		case a2a.ContentData:
			out = append(out, shownPart{Text: string(safetext.JSON(p.Data))})
		case a2a.ContentURL:
			out = append(out, shownPart{URL: safetext.Line(safetext.Clip(p.URL, 2000))})
		case a2a.ContentRaw:
			// The content determines the media type: a file with a wrong type is not shown as an image.
			mediaType, _, _ := mime.ParseMediaType(http.DetectContentType(p.Raw))
			file := shownPart{Name: safeName(p.Filename), Content: p.Raw, Type: "application/octet-stream"}
			if slices.Contains(images, mediaType) {
				file.Type, file.Image = mediaType, true
			}
			out = append(out, file)
		}
	}
	return out
}

// safeName returns a name for a download, without directories.
func safeName(name string) string {
	name = safetext.Line(safetext.Clip(name[strings.LastIndexAny(name, `/\`)+1:], 100))
	if name = strings.TrimLeft(name, ". "); name == "" {
		return "file"
	}
	return name
}
