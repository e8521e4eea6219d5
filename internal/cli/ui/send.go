// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

const (
	// maxMessage bounds a message with its files, in bytes. Sidecars accept 8 MiB.
	maxMessage = 8 << 20
	// maxCalls bounds the concurrent calls to agents.
	maxCalls = 16
	// pollInterval is the time between two reads of a task that cannot be streamed.
	pollInterval = 2 * time.Second
)

// send sends a message and responds with the updates of the answer. The task continues when the request ends.
func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	s.call(w, r, func(ctx context.Context, write func(update) error) error {
		r.Body = http.MaxBytesReader(w, r.Body, maxMessage)
		message, decided, err := readMessage(r)
		if err != nil {
			return err
		}
		agent, end, err := s.options.Connect(ctx, r.PathValue("namespace"), r.PathValue("name"))
		if err != nil {
			return err
		}
		defer end()
		shown := newTranscript()
		following := &client.Following{
			Client: agent, PollInterval: pollInterval, NeedsEarlier: decided != nil,
			Earlier: func(e *client.Event) error { return decided.fill(e.Task, message) },
			Observe: func(e *client.Event) error { return writeAll(write, shown.updates(&e.Event)) },
			Resuming: func(cause error) {
				_ = write(update{Problem: "The stream broke and is resumed: " + safetext.Line(safetext.Clip(cause.Error(), 500))})
			},
		}
		return following.Send(ctx, &a2a.SendRequest{Message: message})
	})
}

// call runs a call to an agent and writes its updates as the response, one JSON object per line. If the call fails, the
// last update has the error.
func (s *Server) call(w http.ResponseWriter, r *http.Request, run func(ctx context.Context, write func(update) error) error) {
	select {
	case s.calls <- struct{}{}:
		defer func() { <-s.calls }()
	default:
		http.Error(w, "too many calls at a time: close other pages", http.StatusServiceUnavailable)
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // no deadline, because a call lasts as long as its task
	w.Header().Set("Content-Type", "application/x-ndjson")
	write := func(u update) error {
		line, err := json.Marshal(u)
		if err != nil {
			return err
		}
		_ = control.SetWriteDeadline(s.options.Now().Add(writeTimeout))
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
		return control.Flush()
	}
	if err := run(r.Context(), write); err != nil {
		problem := failure.Of(err)
		_ = write(update{Problem: safetext.Line(safetext.Clip(problem.Message, 2000)), Hint: safetext.Line(safetext.Clip(problem.Hint, 2000)), Ended: true})
	}
}

func writeAll(write func(update) error, all []update) error {
	for _, u := range all {
		if err := write(u); err != nil {
			return err
		}
	}
	return nil
}

// readMessage reads a message from a form, and the decision in it, nil for none.
func readMessage(r *http.Request) (*a2a.Message, *decision, error) {
	form, err := r.MultipartReader()
	if err != nil {
		return nil, nil, failure.Wrap(failure.Usage, err, "read the message")
	}
	m := &a2a.Message{ID: uuid.NewString(), Role: a2a.RoleUser}
	var decided *decision
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = readField(m, &decided, part)
		}
		if err != nil {
			return nil, nil, failure.Wrap(failure.Usage, err, "read the message").WithHint("a message has at most 8 MiB with its files")
		}
	}
	if len(m.Parts) == 0 && decided == nil {
		return nil, nil, failure.New(failure.Usage, "the message is empty")
	}
	return m, decided, nil
}

func readField(m *a2a.Message, decided **decision, part *multipart.Part) error {
	content, err := io.ReadAll(part) // bounded by maxMessage, the bound of the whole request
	if err != nil {
		return err
	}
	text := strings.ToValidUTF8(string(content), "\ufffd")
	switch part.FormName() {
	case "task":
		m.TaskID = text
	case "context":
		m.ContextID = text
	case "text", "secret":
		if strings.TrimSpace(text) != "" {
			m.Parts = append(m.Parts, a2a.Part{Content: a2a.ContentText, Text: text})
		}
	case "decision":
		return json.Unmarshal(content, decided)
	case "file":
		if part.FileName() != "" {
			m.Parts = append(m.Parts, a2a.Part{Content: a2a.ContentRaw, Raw: content, Filename: strings.ToValidUTF8(part.FileName(), "\ufffd"), MediaType: part.Header.Get("Content-Type")})
		}
	}
	return nil
}

// cancel cancels a task and responds with its update.
func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	agent, end, err := s.options.Connect(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
	out := update{Ended: true}
	if err == nil {
		defer end()
		var task *client.Event
		if task, err = agent.Cancel(r.Context(), &a2a.CancelRequest{TaskID: r.PathValue("task")}); err == nil {
			out.State = task.Task.Status.State.String()
		}
	}
	if err != nil {
		problem := failure.Of(err)
		out.Problem = safetext.Line(problem.Message)
		out.Hint = safetext.Line(problem.Hint)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // strings and booleans have a JSON form
}
