// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/web/ui"
)

const (
	// shownTasks is the number of tasks on a page of the list.
	shownTasks = 20
	// listTimeout bounds the call that lists tasks.
	listTimeout = 15 * time.Second
	// titleMessages is the number of the last messages of a task in which its title is searched.
	titleMessages = 6
	// maxTitle bounds the title of a task, in bytes.
	maxTitle = 120
)

// task is a task of the list.
type task struct {
	ID, Context, State string
	// Title has the first words of the caller, or else of the agent.
	Title string
	// Open is true if the task has not ended. Waits is true if the task waits for its client.
	Open, Waits bool
	Changed     time.Time
}

// taskList is the data of a page of the list.
type taskList struct {
	ui.Layout
	Tasks []task
	// Total is the number of tasks of the caller, 0 if the agent does not report it.
	Total int
	// Next is the token of the next page, "" if there is none. First is true on the first page.
	Next  string
	First bool
}

// tasks responds with a page of the last changed tasks of the caller at an agent. Open tasks come first.
func (s *Server) tasks(w http.ResponseWriter, r *http.Request) {
	namespace := r.PathValue("namespace")
	name := r.PathValue("name")
	list := taskList{Layout: s.pages.Layout(r, "Tasks of "+namespace+"/"+name)}
	token := r.URL.Query().Get("token")
	list.First = token == ""
	ctx, cancel := context.WithTimeout(r.Context(), listTimeout)
	defer cancel()
	page, err := s.listTasks(ctx, namespace, name, token)
	if err != nil {
		// The page shows the error in place of the list, because some agents do not list tasks.
		list.Problem = problemOf(err)
		ui.Render(w, http.StatusOK, "tasks", &list)
		return
	}
	list.Total = page.TotalSize
	list.Next = page.NextPageToken
	var ended []task
	for _, e := range page.Tasks[:min(len(page.Tasks), shownTasks)] {
		state := e.Task.Status.State
		row := task{
			ID: e.Task.ID, Context: e.Task.ContextID, State: state.String(), Title: titleOf(e.Task),
			Open: !state.Terminal(), Waits: state.Interrupted(), Changed: e.Task.Status.Time,
		}
		if row.Open {
			list.Tasks = append(list.Tasks, row)
		} else {
			ended = append(ended, row)
		}
	}
	list.Tasks = append(list.Tasks, ended...)
	ui.Render(w, http.StatusOK, "tasks", &list)
}

func (s *Server) listTasks(ctx context.Context, namespace, name, token string) (*client.Page, error) {
	agent, end, err := s.options.Connect(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	defer end()
	page, err := agent.List(ctx, &a2a.ListRequest{PageSize: shownTasks, PageToken: token, HistoryLength: new(titleMessages)})
	if err != nil && !client.IsRefused(err) && ctx.Err() == nil { // messages with large files exceed the limit of an answer
		return agent.List(ctx, &a2a.ListRequest{PageSize: shownTasks, PageToken: token, HistoryLength: new(0)})
	}
	return page, err
}

// titleOf returns the first words of the first message of the caller, or of the agent if the caller sent no text. Without
// both, the title is the beginning of the id.
func titleOf(t *a2a.Task) string {
	messages := t.History
	if t.Status.Message != nil {
		messages = append(slices.Clone(messages), t.Status.Message)
	}
	for _, role := range []a2a.Role{a2a.RoleUser, a2a.RoleAgent} {
		for _, m := range messages {
			if m.Role != role {
				continue
			}
			for i := range m.Parts {
				if words := strings.Join(strings.Fields(safetext.Clip(m.Parts[i].Text, 4*maxTitle)), " "); words != "" {
					return safetext.Line(safetext.Clip(words, maxTitle))
				}
				if name := m.Parts[i].Filename; name != "" {
					return safetext.Line(safetext.Clip(name, maxTitle))
				}
			}
		}
	}
	return "Task " + safetext.Line(safetext.Clip(t.ID, 8))
}

// taskEvents responds with the updates of a task: with all events from the first one on if the agent stores them, and
// otherwise with the current task and its further events. The response ends when the task has ended.
func (s *Server) taskEvents(w http.ResponseWriter, r *http.Request) {
	// firstEvent requests the whole log of a sidecar. Other agents ignore it.
	const firstEvent = "0"
	s.call(w, r, func(ctx context.Context, write func(update) error) error {
		agent, end, err := s.options.Connect(ctx, r.PathValue("namespace"), r.PathValue("name"))
		if err != nil {
			return err
		}
		defer end()
		id := r.PathValue("task")
		now, err := agent.Get(ctx, &a2a.GetRequest{TaskID: id})
		if err != nil {
			return err
		}
		h := &history{messages: ownMessages(now.Task), write: write}
		shown := newTranscript()
		if err := h.next(); err != nil {
			return err
		}
		err = agent.Subscribe(ctx, &a2a.SubscribeRequest{TaskID: id}, firstEvent, func(e *client.Event) error { return h.take(shown.updates(&e.Event)) })
		if client.IsUnsupported(err) { // agents do not stream a task that has ended
			return h.take(shown.updates(&now.Event))
		}
		return err
	})
}

// history inserts the messages of the caller into the updates of a task, because the events of an agent do not contain
// them. It assumes that the first message begins the task, and that each further one answers a question.
type history struct {
	messages []update
	write    func(update) error
}

func ownMessages(task *a2a.Task) []update {
	var own []update
	for _, m := range task.History {
		if m.Role == a2a.RoleUser {
			own = append(own, update{Task: task.ID, Context: task.ContextID, Own: true, Parts: ownParts(m.Parts)})
		}
	}
	return own
}

// ownParts returns the parts of a message of the caller, whose text is not Markdown.
func ownParts(parts []a2a.Part) []shownPart {
	plain := slices.Clone(parts)
	for i := range plain {
		plain[i].MediaType = "text/plain"
	}
	return newTranscript().message(plain)
}

// next writes the next message of the caller.
func (h *history) next() error {
	if len(h.messages) == 0 {
		return nil
	}
	message := h.messages[0]
	h.messages = h.messages[1:]
	return h.write(message)
}

// take writes updates. After each question of the agent, it writes the next message of the caller.
func (h *history) take(all []update) error {
	for _, u := range all {
		if err := h.write(u); err != nil {
			return err
		}
		if u.Waits {
			if err := h.next(); err != nil {
				return err
			}
		}
	}
	return nil
}
