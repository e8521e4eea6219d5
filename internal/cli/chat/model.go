// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"slices"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
)

const (
	// maxInputRows bounds the rows of the input that are visible.
	maxInputRows = 6
	// maxInput bounds a message in characters, and maxInputLines in lines.
	maxInput, maxInputLines = 100_000, 2_000
	// maxHistory bounds the messages that the arrow keys recall.
	maxHistory = 100
	// firstFrame is how long the chat waits until the program has drawn its first frame. Rows that are printed earlier would
	// go into the scrollback, above the visible part of the terminal.
	firstFrame = 100 * time.Millisecond
	// maxTasks bounds the tasks that /task lists.
	maxTasks = 100
)

// model is the state of a chat. Its methods run one at a time.
type model struct {
	o *Options
	// call returns a command that runs the function: a call to the agent, or the read of a file.
	call func(func(context.Context) tea.Msg) tea.Cmd

	input      textarea.Model
	transcript transcript
	height     int
	// printing is true while rows are being printed. If wanted is true, the model requests the next event of the turn when
	// all rows are printed.
	printing, wanted bool

	conversation conversation
	turn         *turn
	// seconds is the duration of the turn so far.
	seconds int
	// left is true after the last rows are printed. The view is then empty.
	left bool

	// reader reads the answers of the task of the last turn, so that a later turn of this task shows only what is new.
	reader *answer.Reader
	// sent is the message of the turn.
	sent sentMessage
	// form is what the task of the last turn asks in a form, nil for none. sensitive is true if it asks for a secret.
	form      *form
	sensitive bool
	// tasks are the tasks of the turns, and the tasks that /task showed.
	tasks []taskState
	files receivedFiles
	// images is the protocol of the terminal for images. shownImages is the number of images of the turn.
	images      imageProtocol
	shownImages int
	attached    []a2a.Part

	history []string
	// recalled is the index in history of the message that the input shows.
	recalled int
}

// sentMessage is a message of the user.
type sentMessage struct {
	text  string
	files []a2a.Part
	// hidden is true if the text is a secret.
	hidden bool
	// form is the answer to a form, nil for a message of text and files. digest is the inputform.Form.Digest of that form.
	form   *a2a.Message
	digest string
}

// Messages to the model.
type (
	printedMsg struct{}
	startMsg   struct{}
	tickMsg    struct{ turn *turn }
	// noticesMsg is the result of a command.
	noticesMsg []string
	// taskMsg is the task that /task read.
	taskMsg struct{ event *client.Event }
	// canceledMsg is the task that a cancel returned.
	canceledMsg struct{ event *client.Event }
	// checkedMsg is the task that the chat read to find out its state.
	checkedMsg struct{ event *client.Event }
	// attachedMsg is the file that /file read.
	attachedMsg struct{ part a2a.Part }
)

func newModel(o *Options, call func(func(context.Context) tea.Msg) tea.Cmd) *model {
	m := &model{o: o, call: call, input: textarea.New(), height: 24, images: imagesOf(o.Environment)}
	m.conversation.contextID = o.ContextID
	if o.TaskID != "" {
		m.conversation.phase = phaseInput // a message continues the task
		m.conversation.task.id = o.TaskID
	}
	m.transcript = transcript{width: 80, color: o.Color}
	m.input.Prompt = "> "
	m.input.ShowLineNumbers = false
	m.input.EndOfBufferCharacter = ' '
	m.input.SetPromptFunc(len(indent), func(p textarea.PromptInfo) string {
		if p.LineNumber == 0 {
			return "> "
		}
		return indent
	})
	m.input.SetStyles(textarea.Styles{})
	m.input.SetVirtualCursor(false)
	m.input.CharLimit = maxInput
	m.input.MaxContentHeight = maxInputLines
	m.input.DynamicHeight = true
	m.input.MinHeight = 1
	m.input.MaxHeight = maxInputRows
	m.input.KeyMap.InsertNewline.SetKeys("alt+enter", "shift+enter", "ctrl+j")
	m.input.KeyMap.Paste.SetEnabled(false) // the terminal itself inserts pasted text
	m.input.SetWidth(80)
	m.input.Focus()
	return m
}

// next passes an event to the conversation, and does what it asks for.
func (m *model) next(e event) tea.Cmd {
	var all []tea.Cmd
	for _, each := range m.conversation.next(e) {
		all = append(all, m.do(each))
	}
	if m.conversation.phase == phaseEnded {
		m.transcript.close()
	}
	m.ask()
	return tea.Batch(all...)
}

// do does what the conversation asks for.
func (m *model) do(e effect) tea.Cmd {
	switch e.action {
	case actionSay:
		m.transcript.notice(e.text)
	case actionSend:
		return m.send(e.taskID)
	case actionFollow:
		m.sent = sentMessage{}
		return m.start(e.taskID, func(ctx context.Context, f *client.Following) error { return f.Task(ctx, e.taskID, "") })
	case actionStop:
		close(m.turn.stop)
	case actionCancel:
		return m.cancelTask(e.taskID)
	case actionCheck:
		return m.check(e.taskID)
	case actionClear:
		m.input.Reset()
	case actionRestore:
		m.restore()
	}
	return nil
}

// start begins a turn that continues or follows the task with taskID, or a new task if it is "".
func (m *model) start(taskID string, start func(context.Context, *client.Following) error) tea.Cmd {
	if taskID == "" || m.reader == nil || m.reader.TaskID() != taskID {
		m.reader = &answer.Reader{}
	}
	t := newTurn(m.reader)
	m.turn = t
	m.seconds = 0
	m.shownImages = 0
	m.wanted = true
	m.transcript.begin()
	return tea.Batch(m.tick(), m.call(func(ctx context.Context) tea.Msg { return t.run(ctx, m.o, start) }))
}

// restore puts the message of the last turn back into the input, which the user may have used for another text.
func (m *model) restore() {
	if m.input.Value() == "" {
		m.input.SetValue(m.sent.text)
		m.input.MoveToEnd()
	}
	m.attached = append(m.sent.files, m.attached...)
	m.sent = sentMessage{}
}

func (m *model) tick() tea.Cmd {
	t := m.turn
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{t} })
}

// remember stores the state of a task for /task.
func (m *model) remember(t taskState) {
	if t.id == "" {
		return
	}
	if i := slices.IndexFunc(m.tasks, func(each taskState) bool { return each.id == t.id }); i >= 0 {
		m.tasks[i] = t
		return
	}
	m.tasks = append(m.tasks, t)
	m.tasks = m.tasks[max(0, len(m.tasks)-maxTasks):]
}

const (
	// maxKept bounds the content of received files that the chat stores for /save, in bytes.
	maxKept = 64 << 20
	// maxFiles bounds the received files.
	maxFiles = 1000
)

// receivedFiles are the files of answers, numbered from 1. Above maxKept bytes, the content of the oldest files is
// dropped.
type receivedFiles struct {
	parts []*a2a.Part
	bytes int
}

// add stores a file and returns its number. It returns 0, and stores nothing, if there are maxFiles files.
func (f *receivedFiles) add(p *a2a.Part) int {
	if len(f.parts) >= maxFiles {
		return 0
	}
	kept := *p
	f.parts = append(f.parts, &kept)
	f.bytes += len(kept.Raw)
	for i := 0; f.bytes > maxKept && i < len(f.parts); i++ {
		f.bytes -= len(f.parts[i].Raw)
		f.parts[i].Raw = nil
	}
	return len(f.parts)
}
