// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
)

const (
	// callTimeout bounds a call to the agent by a command.
	callTimeout = 15 * time.Second
	// maxAttached bounds the files of a message.
	maxAttached = 20
)

// command is a command of the chat.
type command struct {
	name, arguments, help string
	run                   func(m *model, argument string) tea.Cmd
}

// commands returns the commands in the order of /help.
func commands() []command {
	return []command{
		{"/cancel", "[TASK]", "cancel the task of this turn or the last one, or the one with this id", (*model).cancel},
		{"/file", "PATH|URL", "attach a file to the next message", (*model).attach},
		{"/help", "", "list the commands", (*model).help},
		{"/new", "", "begin a new conversation", (*model).renew},
		{"/quit", "", "leave; the task continues", func(m *model, _ string) tea.Cmd { return m.next(event{kind: eventLeave}) }},
		{"/save", "[N]", "write the files of the agent, or the one with this number", (*model).save},
		{"/task", "[TASK]", "list the tasks of this chat, or show one", (*model).task},
		{"/watch", "[TASK]", "follow the task of the last turn, or the one with this id", (*model).watch},
	}
}

// command runs the command of the chat that the text names.
func (m *model) command(text string) tea.Cmd {
	name, argument, _ := strings.Cut(text, " ")
	m.transcript.user(text)
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		m.transcript.notice("There is no command " + name + ": /help lists them. Begin the line with // to send a text that begins with /.")
		return nil
	}
	return all[i].run(m, strings.TrimSpace(argument))
}

func (m *model) help(string) tea.Cmd {
	for _, c := range commands() {
		m.transcript.notice(fmt.Sprintf("%-18s %s", strings.TrimSpace(c.name+" "+c.arguments), c.help))
	}
	return nil
}

// withTask returns a tea.Cmd that calls do, and passes the task that do returns to result. If do fails, the chat shows
// the error instead.
func (m *model) withTask(do func(context.Context) (*client.Event, error), result func(*client.Event) tea.Msg) tea.Cmd {
	return m.call(func(ctx context.Context) tea.Msg {
		ctx, end := context.WithTimeout(ctx, callTimeout)
		defer end()
		e, err := do(ctx)
		if err != nil {
			return noticesMsg(describe(err))
		}
		return result(e)
	})
}

func (m *model) cancel(argument string) tea.Cmd {
	id := cmp.Or(argument, m.conversation.task.id)
	if id == "" {
		m.transcript.notice("There is no task to cancel: /cancel TASK names one.")
		return nil
	}
	return m.cancelTask(id)
}

func (m *model) cancelTask(id string) tea.Cmd {
	return m.withTask(
		func(ctx context.Context) (*client.Event, error) {
			return m.o.Client.Cancel(ctx, &a2a.CancelRequest{TaskID: id})
		},
		func(e *client.Event) tea.Msg { return canceledMsg{e} })
}

// showCanceled shows the task after a cancel.
func (m *model) showCanceled(e *client.Event) tea.Cmd {
	t := taskState{e.Task.ID, e.Task.Status.State}
	m.remember(t)
	m.transcript.notice(taskIs(t))
	return m.next(event{kind: eventRead, task: t})
}

// answerCancel handles the key with which the user answers the question of phaseAsking: whether to cancel the task of the
// turn that the user stopped.
func (m *model) answerCancel(key string) tea.Cmd {
	switch key {
	case "y", "Y", "shift+y":
		return m.next(event{kind: eventYes})
	case "n", "N", "shift+n", "esc", "enter":
		return m.next(event{kind: eventNo})
	}
	return nil
}

func (m *model) watch(argument string) tea.Cmd {
	return m.next(event{kind: eventWatch, task: taskState{id: argument}})
}

// check reads a task whose state the chat does not know. If the read fails, the chat continues without it.
func (m *model) check(id string) tea.Cmd {
	return m.call(func(ctx context.Context) tea.Msg {
		ctx, end := context.WithTimeout(ctx, callTimeout)
		defer end()
		e, err := m.o.Client.Get(ctx, &a2a.GetRequest{TaskID: id, HistoryLength: new(0)})
		if err != nil {
			return nil
		}
		return checkedMsg{e}
	})
}

// showChecked shows what the task of the last turn has sent since, if it does not run anymore.
func (m *model) showChecked(e *client.Event) tea.Cmd {
	t := taskState{e.Task.ID, e.Task.Status.State}
	m.remember(t)
	if !m.conversation.isBusy() && m.reader.TaskID() == t.id && (t.state.Terminal() || t.state.Interrupted()) {
		m.showEvent(m.reader, e)
		m.transcript.close()
	}
	return m.next(event{kind: eventChecked, task: t})
}

func (m *model) task(id string) tea.Cmd {
	if id == "" {
		if len(m.tasks) == 0 {
			m.transcript.notice("There is no task in this chat.")
		}
		for _, t := range m.tasks {
			m.transcript.notice(t.id + " " + t.state.String())
		}
		return nil
	}
	return m.withTask(
		func(ctx context.Context) (*client.Event, error) {
			return m.o.Client.Get(ctx, &a2a.GetRequest{TaskID: id, HistoryLength: new(0)})
		},
		func(e *client.Event) tea.Msg { return taskMsg{e} })
}

// showTask shows the task that /task read.
func (m *model) showTask(e *client.Event) tea.Cmd {
	if m.turn == nil {
		m.transcript.begin()
	}
	m.showEvent(&answer.Reader{}, e)
	t := taskState{e.Task.ID, e.Task.Status.State}
	m.remember(t)
	m.transcript.close()
	if m.turn == nil {
		m.noteOmitted(t.id)
	}
	m.transcript.notice(taskIs(t))
	return m.next(event{kind: eventRead, task: t})
}

func (m *model) attach(path string) tea.Cmd {
	switch {
	case path == "":
		m.transcript.notice("/file needs the path or the URL of a file.")
		return nil
	case len(m.attached) >= maxAttached:
		m.transcript.notice(fmt.Sprintf("A message has at most %d files.", maxAttached))
		return nil
	}
	return m.call(func(context.Context) tea.Msg {
		part, err := m.o.Attach(path)
		if err != nil {
			return noticesMsg(describe(err))
		}
		return attachedMsg{part}
	})
}

func (m *model) renew(string) tea.Cmd {
	cmd := m.next(event{kind: eventRenew})
	if !m.conversation.isBusy() {
		m.attached = nil
	}
	return cmd
}

func (m *model) save(argument string) tea.Cmd {
	var wanted []*a2a.Part
	if n, err := strconv.Atoi(argument); err == nil && n >= 1 && n <= len(m.files.parts) {
		wanted = m.files.parts[n-1 : n]
	} else if argument == "" {
		wanted = m.files.parts
	}
	if len(wanted) == 0 {
		m.transcript.notice("There is no such file.")
		return nil
	}
	parts := make([]a2a.Part, len(wanted)) // copies, because the chat can drop the content of wanted during the command
	for i, p := range wanted {
		parts[i] = *p
	}
	return m.call(func(context.Context) tea.Msg {
		var lines noticesMsg
		for i := range parts {
			if parts[i].Raw == nil {
				lines = append(lines, "The content of "+answer.DescribeFile(&parts[i])+" is not kept: "+m.o.Command("task download", "TASK"))
				continue
			}
			path, err := m.o.Save(&parts[i])
			if err != nil {
				return append(lines, describe(err)...)
			}
			lines = append(lines, "Saved "+path)
		}
		return lines
	})
}
