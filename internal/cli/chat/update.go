// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	m.printing = true
	return tea.Tick(firstFrame, func(time.Time) tea.Msg { return startMsg{} })
}

// begin greets the user. It sends the message of the options, or follows the task of the options.
func (m *model) begin() tea.Cmd {
	m.printing = false
	m.transcript.notice(strings.TrimSpace("Chat with " + safetext.Clip(m.o.Name, 200) + ". " + safetext.Clip(m.o.Description, 500)))
	m.transcript.notice("Enter sends, Alt-Enter begins a line, Ctrl-C stops an answer, /help helps.")
	switch {
	case m.o.Message != "":
		return m.submit(m.o.Message)
	case m.o.TaskID != "":
		return m.submit("/watch " + m.o.TaskID)
	}
	return nil
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.take(msg)
	return m, tea.Batch(cmd, m.print())
}

func (m *model) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		msg.Content = safetext.Clean(strings.ReplaceAll(strings.ReplaceAll(msg.Content, "\r\n", "\n"), "\r", "\n"))
		return m.edit(msg)
	case startMsg:
		return m.begin()
	case printedMsg:
		m.printing = false
	case turnMsg:
		m.show(msg)
		m.wanted = true
	case turnEndedMsg:
		return m.end(msg.turn)
	case tickMsg:
		if msg.turn == m.turn {
			m.seconds++
			return m.tick()
		}
	case noticesMsg:
		m.transcript.notices(msg)
	case taskMsg:
		return m.showTask(msg.event)
	case canceledMsg:
		return m.showCanceled(msg.event)
	case checkedMsg:
		return m.showChecked(msg.event)
	case attachedMsg:
		m.attached = append(m.attached, msg.part)
		m.transcript.notice("Attached to the next message: " + answer.DescribeFile(&msg.part))
	}
	return nil
}

// resize adapts the chat to the size of the terminal.
func (m *model) resize(width, height int) {
	m.height = max(height, 3)
	m.transcript.width = max(width, minWidth)
	m.input.MaxHeight = max(min(maxInputRows, m.height-3), 1)
	m.input.SetWidth(max(width, minWidth))
}

// edit passes a key or a paste to the input.
func (m *model) edit(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	return cmd
}

func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	if name == "ctrl+c" {
		return m.next(event{kind: eventInterrupt})
	}
	if m.conversation.phase == phaseAsking {
		return m.answerCancel(name)
	}
	m.next(event{kind: eventKey})
	switch name {
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+d":
		if m.input.Value() == "" {
			return m.next(event{kind: eventLeave})
		}
	case "enter":
		text := m.input.Value()
		m.input.Reset()
		return m.submit(text)
	case "up":
		if m.input.Line() == 0 {
			m.recall(-1)
			return nil
		}
	case "down":
		if m.input.Line() == m.input.LineCount()-1 {
			m.recall(1)
			return nil
		}
	}
	return m.edit(msg)
}

// recall replaces the input by an earlier or later message of the history.
func (m *model) recall(step int) {
	m.recalled = max(min(m.recalled+step, len(m.history)), 0)
	text := ""
	if m.recalled < len(m.history) {
		text = m.history[m.recalled]
	}
	m.input.SetValue(text)
	m.input.MoveToEnd()
}

// submit runs a command or sends a message.
func (m *model) submit(text string) tea.Cmd {
	text = strings.TrimSpace(text)
	if text == "" && len(m.attached) == 0 {
		return nil
	}
	isCommand := strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//")
	if f := m.openForm(); f != nil && !isCommand {
		return m.fill(f, strings.TrimPrefix(text, "/"))
	}
	if text != "" && (isCommand || !m.isHidden()) {
		m.history = append(m.history, text)
		m.history = m.history[max(0, len(m.history)-maxHistory):]
		m.recalled = len(m.history)
	}
	if isCommand {
		return m.command(text)
	}
	if !m.conversation.isBusy() {
		m.sent = sentMessage{text: text, files: m.attached, hidden: m.isHidden()}
	}
	return m.next(event{kind: eventMessage})
}

// send sends the message of the user with the attached files to the task, or for a new task if taskID is "".
func (m *model) send(taskID string) tea.Cmd {
	message := m.sent.form
	answers := message != nil
	digest := m.sent.digest
	if !answers {
		message = m.typed()
	}
	message.ID = uuid.NewString()
	message.Role = a2a.RoleUser
	message.TaskID = taskID
	message.ContextID = m.conversation.contextID
	known := m.reader != nil && m.reader.TaskID() == taskID
	return m.start(taskID, func(ctx context.Context, f *client.Following) error {
		switch earlier := f.Earlier; {
		case answers:
			f.Earlier = func(e *client.Event) error {
				if asked := answer.FormOf(&e.Task.Status); asked == nil || asked.Digest() != digest {
					return errAsksElse
				}
				if known {
					return nil
				}
				return earlier(e)
			}
		case known:
			f.Earlier = nil
		default:
			f.Earlier = func(e *client.Event) error {
				if answer.FormOf(&e.Task.Status) != nil {
					return errAsks
				}
				return earlier(e)
			}
		}
		return f.Send(ctx, &a2a.SendRequest{Message: message})
	})
}

// typed shows and returns the message with the text and the files of the user.
func (m *model) typed() *a2a.Message {
	text := strings.TrimPrefix(m.sent.text, "/")
	message := &a2a.Message{}
	if text != "" {
		message.Parts = append(message.Parts, a2a.TextPart(text))
	}
	message.Parts = append(message.Parts, m.sent.files...)
	if m.o.Skill != "" {
		message.Metadata, _ = json.Marshal(map[string]string{a2a.SkillName: m.o.Skill}) // a string has a JSON form
	}
	if m.sent.hidden {
		text = hidden
	}
	m.transcript.user(text)
	for i := range m.sent.files {
		m.transcript.user(answer.DescribeFile(&m.sent.files[i]))
	}
	m.attached = nil
	return message
}

// hidden stands for a secret that the user has typed.
const hidden = "(hidden)"

// end shows the result of a turn that has ended.
func (m *model) end(t *turn) tea.Cmd {
	if m.conversation.phase == phaseEnded {
		return nil
	}
	m.turn = nil
	m.wanted = false
	m.transcript.close()
	m.noteOmitted(m.conversation.task.id)
	kind := eventBroke
	switch {
	case t.err == nil:
		kind = eventFinished
	case errors.Is(t.err, errStopped):
		return m.next(event{kind: eventBroke})
	case errors.Is(t.err, errAsks), errors.Is(t.err, errAsksElse):
		m.transcript.notices(describe(t.err))
		id := m.conversation.task.id
		m.next(event{kind: eventBroke})
		return m.watch(id)
	case client.IsRefused(t.err) && failure.Of(t.err).Code != taskNotFound:
		kind = eventRefused
	case client.IsRefused(t.err) && m.conversation.task.id == "":
		kind = eventContextGone
	case client.IsRefused(t.err):
		kind = eventTaskGone
	}
	if t.err != nil {
		m.transcript.notices(describe(t.err))
	}
	return m.next(event{kind: kind})
}

// taskNotFound is the code of the failure for a task or a context that the agent does not have.
var taskNotFound = failure.OfReason(a2a.ReasonTaskNotFound)
