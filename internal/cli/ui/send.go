// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

const (
	// maxMessage bounds a message with its files, in bytes. Sidecars accept 8 MiB.
	maxMessage = 8 << 20
	// maxCalls bounds the concurrent calls to agents.
	maxCalls = 8
	// pollInterval is the time between two reads of a task that cannot be streamed.
	pollInterval = 2 * time.Second
)

// update is a line of the response to a message: one event of the answer, for the script.
type update struct {
	// Task and Context are the ids of the task, "" if they are unknown.
	Task    string `json:"task,omitempty"`
	Context string `json:"context,omitempty"`
	// State is the new state of the task, "" if it is as before. Waits is true if the agent waits
	// for an answer, and Ended if nothing more follows.
	State string `json:"state,omitempty"`
	Waits bool   `json:"waits,omitempty"`
	Ended bool   `json:"ended,omitempty"`
	// Artifact is the artifact of Parts, "" for a message. Append is true if they continue it.
	Artifact string      `json:"artifact,omitempty"`
	Append   bool        `json:"append,omitempty"`
	Parts    []shownPart `json:"parts,omitempty"`
	// Problem is why the answer is not complete, or why it is late, with a Hint.
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

// send sends a message and responds with the updates of the answer, one JSON object a line. The
// end of the request does not end the task.
func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	select {
	case s.calls <- struct{}{}:
		defer func() { <-s.calls }()
	default:
		http.Error(w, "too many calls at a time", http.StatusServiceUnavailable)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxMessage)
	message, err := readMessage(r)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request was read
	w.Header().Set("Content-Type", "application/x-ndjson")
	write := func(u update) error {
		line, err := json.Marshal(u)
		if err != nil {
			return err //nolint:wrapcheck // it ends the response
		}
		_ = control.SetWriteDeadline(s.options.Now().Add(writeTimeout))
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err //nolint:wrapcheck // it ends the response
		}
		return control.Flush() //nolint:wrapcheck // it ends the response
	}
	if err == nil {
		err = s.follow(r.Context(), r.PathValue("namespace"), r.PathValue("name"), message, write)
	}
	if err != nil {
		problem := failure.Of(err)
		_ = write(update{Problem: terminal.Line(terminal.Clip(problem.Message, 2000)), Hint: terminal.Line(terminal.Clip(problem.Hint, 2000)), Ended: true})
	}
}

// follow sends a message and writes the updates of the answer until the task has ended or waits.
func (s *Server) follow(ctx context.Context, namespace, name string, message *a2a.Message, write func(update) error) error {
	client, end, err := s.options.Connect(ctx, namespace, name)
	if err != nil {
		return err
	}
	defer end()
	following := &a2aclient.Following{
		Client: client, PollInterval: pollInterval,
		Observe: func(e *a2aclient.Event) error {
			for _, u := range updatesOf(&e.Event) {
				if err := write(u); err != nil {
					return err
				}
			}
			return nil
		},
		Resuming: func(cause error) {
			if cause != nil {
				_ = write(update{Problem: "The stream broke and is resumed: " + terminal.Line(terminal.Clip(cause.Error(), 500))})
			}
		},
	}
	return following.Send(ctx, &a2a.SendRequest{Message: message})
}

// readMessage reads a message from a form.
func readMessage(r *http.Request) (*a2a.Message, error) {
	form, err := r.MultipartReader()
	if err != nil {
		return nil, failure.Wrap(failure.Usage, err, "read the message")
	}
	m := &a2a.Message{ID: uuid.NewString(), Role: a2a.RoleUser}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = readField(m, part)
		}
		if err != nil {
			return nil, failure.Wrap(failure.Usage, err, "read the message").WithHint("a message has at most 8 MiB with its files")
		}
	}
	if len(m.Parts) == 0 {
		return nil, failure.New(failure.Usage, "the message is empty")
	}
	return m, nil
}

func readField(m *a2a.Message, part *multipart.Part) error {
	content, err := io.ReadAll(part) // the request is bounded
	if err != nil {
		return err //nolint:wrapcheck // the caller does
	}
	text := strings.ToValidUTF8(string(content), "\ufffd")
	switch part.FormName() {
	case "task":
		m.TaskID = text
	case "context":
		m.ContextID = text
	case "text":
		if strings.TrimSpace(text) != "" {
			m.Parts = append(m.Parts, a2a.Part{Content: a2a.ContentText, Text: text})
		}
	case "file":
		if part.FileName() != "" {
			m.Parts = append(m.Parts, a2a.Part{Content: a2a.ContentRaw, Raw: content, Filename: strings.ToValidUTF8(part.FileName(), "\ufffd"), MediaType: part.Header.Get("Content-Type")})
		}
	}
	return nil
}

// updatesOf returns the updates for an event of an agent. Those of a task are its artifacts, which
// replace the shown ones, and its state.
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
	if status.Message != nil {
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
			out = append(out, shownPart{Text: terminal.Clean(p.Text)})
		case a2a.ContentData:
			out = append(out, shownPart{Text: string(terminal.JSON(p.Data))})
		case a2a.ContentURL:
			out = append(out, shownPart{URL: terminal.Line(terminal.Clip(p.URL, 2000))})
		case a2a.ContentRaw:
			// The content decides, so that a wrong type makes no image.
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
	name = terminal.Line(terminal.Clip(name[strings.LastIndexAny(name, `/\`)+1:], 100))
	if name = strings.TrimLeft(name, ". "); name == "" {
		return "file"
	}
	return name
}

// cancel cancels a task and responds with its update.
func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	client, end, err := s.options.Connect(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
	out := update{Ended: true}
	if err == nil {
		defer end()
		var task *a2aclient.Event
		if task, err = client.Cancel(r.Context(), r.PathValue("task")); err == nil {
			out.State = task.Task.Status.State.String()
		}
	}
	if err != nil {
		problem := failure.Of(err)
		out.Problem, out.Hint = terminal.Line(problem.Message), terminal.Line(problem.Hint)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) //nolint:errchkjson // strings and booleans
}
