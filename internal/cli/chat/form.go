// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/inputform"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// errAsks ends a turn whose message has a text for a task that asks in a form.
var errAsks = failure.New(failure.Usage, "the task asks in a form, and the text was not sent")

// errAsksElse ends a turn that answers a form for which the task does not ask any more.
var errAsksElse = failure.New(failure.Usage, "the task asks for something else now, and the answer was not sent")

// Texts of forms.
const (
	textDecide = "Type y to approve or n to reject, then Enter."
	textReason = "Type y to approve or n to reject, then Enter. A text after n tells the agent why."
	// textUndecided answers a text that is no decision. The text is not sent.
	textUndecided = "That decides nothing, and was not sent. " + textDecide + " /cancel ends the task."
)

// form is what the task that waits asks of the user, with the answers so far.
type form struct {
	*inputform.Form
	taskID string
	// shown is true if the transcript shows the call or the question that is next.
	shown     bool
	decisions []inputform.Decision
	answers   []string
}

// noteForm stores the form of the task of the turn, if the event has its status.
func (m *model) noteForm(e *client.Event) {
	switch {
	case e.Task != nil:
		m.setForm(e.Task.ID, &e.Task.Status)
	case e.Status != nil:
		m.setForm(e.Status.TaskID, &e.Status.Status)
	}
}

func (m *model) setForm(taskID string, s *a2a.Status) {
	request, _ := s.Message.InputRequest()
	m.sensitive = s.State == a2a.StateInputRequired && request.Sensitive
	m.form = nil
	if asked := answer.FormOf(s); asked != nil {
		m.form = &form{Form: asked, taskID: taskID}
	}
}

// openForm returns the form that the next line of the user answers, nil for none.
func (m *model) openForm() *form {
	if m.form == nil || m.conversation.phase != phaseInput || m.conversation.task.id != m.form.taskID {
		return nil
	}
	return m.form
}

// isHidden reports whether the next line of the user is a secret that the chat does not show.
func (m *model) isHidden() bool { return m.sensitive && m.conversation.phase == phaseInput }

// ask shows the next call or question of the form.
func (m *model) ask() {
	f := m.openForm()
	if f == nil || f.shown {
		return
	}
	f.shown = true
	if f.Hint != "" && len(f.decisions) == 0 {
		m.transcript.notice(safetext.Clip(f.Hint, 2000))
	}
	if call := f.call(); call != nil {
		m.transcript.notice(fmt.Sprintf("May the agent make this call? (%d of %d)", len(f.decisions)+1, len(f.Calls)))
		m.transcript.quote(answer.DescribeCall(f.Form, call))
		if f.TakesReasons {
			m.transcript.notice(textReason)
		} else {
			m.transcript.notice(textDecide)
		}
		return
	}
	q := f.question()
	m.transcript.notice(fmt.Sprintf("Question %d of %d:", len(f.answers)+1, len(f.Questions)))
	m.transcript.quote(answer.DescribeQuestion(f.Form, q))
	switch {
	case q.Multiple && q.IsNumbered():
		m.transcript.notice("Type the numbers of your choices, such as 1,2, or another answer.")
	case q.Multiple && len(q.Choices) > 0:
		m.transcript.notice("Type your choices with commas between them, or another answer.")
	case len(q.Choices) > 0 && !q.IsNumbered():
		m.transcript.notice("Type your choice, or another answer.")
	case len(q.Choices) > 0:
		m.transcript.notice("Type the number of your choice, or another answer.")
	}
}

// call returns the next call to decide about, nil for none.
func (f *form) call() *inputform.Call {
	if len(f.decisions) >= len(f.Calls) {
		return nil
	}
	return &f.Calls[len(f.decisions)]
}

// question returns the next question, nil for none.
func (f *form) question() *inputform.Question {
	if len(f.answers) >= len(f.Questions) {
		return nil
	}
	return &f.Questions[len(f.answers)]
}

// status returns the line above the input.
func (f *form) status() string {
	if call := f.call(); call != nil {
		return "Approve " + safetext.Clip(call.Tool, 60) + "? y or n, then Enter."
	}
	return "The agent asks."
}

// fill records a line of the user. After the last one, it sends the answer.
func (m *model) fill(f *form, line string) tea.Cmd {
	m.transcript.user(line)
	if problem := f.take(line); problem != "" {
		m.transcript.notice(problem)
		return nil
	}
	if f.call() != nil || f.question() != nil {
		f.shown = false
		m.ask()
		return nil
	}
	message := &a2a.Message{}
	var err error
	if len(f.Calls) > 0 {
		err = f.Decide(message, f.decisions)
	} else {
		err = f.Answer(message, f.answers)
	}
	if err != nil { // the lines were checked one by one
		m.transcript.notices(describe(err))
		return nil
	}
	f.again() // if the message does not reach the agent, the form is open again
	m.sent = sentMessage{form: message, digest: f.Digest()}
	return m.next(event{kind: eventMessage})
}

// take records a line as the decision about the next call or as the answer to the next question. It returns what is wrong
// with the line, "" for nothing.
func (f *form) take(line string) (problem string) {
	if q := f.question(); q != nil {
		if _, err := q.Read(line); err != nil {
			return "Not sent: " + err.Error() + "."
		}
		f.answers = append(f.answers, line)
		return ""
	}
	word, reason, _ := strings.Cut(line, " ")
	reason = strings.TrimSpace(reason)
	decision := inputform.Decision{ID: f.call().ID, Approved: word == "y", Reason: reason}
	if word != "y" && word != "n" || reason != "" && (word == "y" || !f.TakesReasons) {
		return textUndecided
	}
	f.decisions = append(f.decisions, decision)
	return ""
}

// again forgets the answers.
func (f *form) again() {
	f.shown = false
	f.decisions = nil
	f.answers = nil
}
