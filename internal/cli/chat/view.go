// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"fmt"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// show shows an event of the turn.
func (m *model) show(msg turnMsg) {
	if msg.resuming != nil {
		m.transcript.notice("The stream broke and is resumed: " + safetext.Clip(msg.resuming.Error(), 500))
		return
	}
	t := msg.turn
	if msg.earlier != nil {
		_ = t.answer.Read(&msg.earlier.Event) // the user has seen it, or asked to go on from there
		return
	}
	m.showEvent(t.answer, msg.event)
	m.next(answered(&msg.event.Event))
	m.remember(m.conversation.task)
}

// answered returns the event of the conversation for an event of the agent.
func answered(e *a2a.Event) event {
	out := event{kind: eventAnswer}
	switch {
	case e.Task != nil:
		out.task = taskState{e.Task.ID, e.Task.Status.State}
		out.contextID = e.Task.ContextID
	case e.Status != nil:
		out.task = taskState{e.Status.TaskID, e.Status.Status.State}
		out.contextID = e.Status.ContextID
	case e.Artifact != nil:
		out.task.id = e.Artifact.TaskID
		out.contextID = e.Artifact.ContextID
	case e.Message != nil:
		out.contextID = e.Message.ContextID
	}
	return out
}

// showEvent shows the content of an event that is new to the reader.
func (m *model) showEvent(reader *answer.Reader, e *client.Event) {
	if reader == m.reader {
		m.noteForm(e)
	}
	for _, p := range reader.Read(&e.Event) {
		switch p.Kind {
		case answer.KindMessage:
			m.showParts(m.o.Name, p.Parts)
			m.transcript.close()
		case answer.KindArtifact:
			m.showParts(m.o.Name+" ("+safetext.Clip(p.Name, 100)+")", p.Parts)
		case answer.KindStep:
			m.transcript.notice(p.Step)
		case answer.KindIDs, answer.KindState, answer.KindForm: // nothing to add: View shows the state, and ask the form after the turn
		}
	}
}

// showParts shows text and data as blocks, and each file as a line.
func (m *model) showParts(label string, parts []a2a.Part) {
	label = safetext.Clip(label, 300)
	for i := range parts {
		switch p := &parts[i]; p.Content {
		case a2a.ContentText:
			m.transcript.text(label, p.Text, p.MediaType == "" || p.MediaType == "text/markdown")
		case a2a.ContentData:
			m.transcript.text(label+" Data", answer.FormatData(p), false)
			m.transcript.close()
		case a2a.ContentURL:
			m.transcript.notice("File: " + safetext.Clip(answer.DescribeFile(p), 2000))
		case a2a.ContentRaw:
			if n := m.files.add(p); n > 0 {
				m.transcript.notice(fmt.Sprintf("File %d: %s. /save %d writes it.", n, safetext.Clip(answer.DescribeFile(p), 2000), n))
			}
			if rows := imageRows(p, m.images, m.transcript.width, m.printedRows()); rows != nil && m.shownImages < maxShownImages {
				m.shownImages++
				m.transcript.image(rows)
			}
		}
	}
}

// noteOmitted shows the command that prints the whole answer if the chat has omitted text.
func (m *model) noteOmitted(id string) {
	if m.transcript.omitted > 0 {
		m.transcript.notice(fmt.Sprintf("The chat leaves out %d bytes. All of the answer: %s", m.transcript.omitted, m.o.Command("task get", id)))
	}
}

// describe returns the lines that show an error.
func describe(err error) []string {
	problem := failure.Of(err)
	lines := []string{"Error: " + safetext.Clip(problem.Message, 2000)}
	if problem.Hint != "" {
		lines = append(lines, "Hint: "+safetext.Clip(problem.Hint, 2000))
	}
	return lines
}

// print returns a command that prints complete rows above the input, or, if there is none, requests the next event. This
// applies back-pressure: an agent cannot send faster than the terminal prints.
func (m *model) print() tea.Cmd {
	if m.printing {
		return nil
	}
	if rows := m.transcript.take(m.printedRows()); len(rows) > 0 {
		m.printing = true
		text := strings.Join(rows, "\n")
		if text == "" {
			text = " " // an empty row; tea.Program does not print an empty text
		}
		return tea.Sequence(tea.Println(text), func() tea.Msg { return printedMsg{} })
	}
	if m.conversation.phase == phaseEnded {
		if m.left {
			return nil
		}
		m.left = true
		return tea.Quit
	}
	if m.wanted {
		m.wanted = false
		return m.turn.next
	}
	return nil
}

// printedRows returns the number of rows that fit above the input.
func (m *model) printedRows() int { return max(m.height-maxInputRows-3, 1) }

// View returns the rows at the bottom: the incomplete rows of the answer, the status, and the input.
func (m *model) View() tea.View {
	if m.left {
		return tea.NewView("")
	}
	var rows []string
	rows = append(rows, m.transcript.open(m.printedRows())...)
	status := safetext.Clip(safetext.Line(m.status()), max(m.transcript.width, minWidth)-3)
	if m.o.Color {
		status = styleNotice.Render(status)
	}
	rows = append(rows, status)
	input := m.input.View()
	if m.isHidden() && !strings.HasPrefix(m.input.Value(), "/") {
		input = "> " + strings.Repeat("*", min(utf8.RuneCountInString(m.input.Value()), m.transcript.columns()))
	}
	view := tea.NewView(strings.Join(append(rows, input), "\n"))
	if cursor := m.input.Cursor(); cursor != nil && m.conversation.phase != phaseAsking {
		cursor.Y += len(rows)
		view.Cursor = cursor
	}
	return view
}

// status returns the line above the input.
func (m *model) status() string {
	c := &m.conversation
	switch {
	case c.phase == phaseAsking:
		return "Cancel the task, too? [y/N]"
	case c.phase == phaseStopping:
		return "Stopping. Ctrl-C leaves."
	case c.phase == phaseRunning && c.task.state == a2a.StateUnknown:
		return fmt.Sprintf("waiting for the agent, %d s", m.seconds)
	case c.phase == phaseRunning:
		return fmt.Sprintf("%s, %d s", c.task.state, m.seconds)
	case c.warned:
		return "Ctrl-C again leaves."
	case c.phase == phaseInput && m.openForm() != nil:
		return m.form.status()
	case m.isHidden():
		return "The agent waits for a secret. Your text is hidden."
	case c.phase == phaseInput:
		return "The agent waits for you."
	case c.phase == phaseAuth:
		return "The agent waits for an authorization."
	case c.phase == phaseDetached:
		return "The task continues: /watch follows it."
	}
	return ""
}
