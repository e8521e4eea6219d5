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
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
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

// phase is the event for which the chat waits.
type phase uint8

const (
	// phaseIdle waits for input of the user.
	phaseIdle phase = iota
	// phaseRunning waits for the answer of the agent.
	phaseRunning
	// phaseStopping waits for the end of a turn that the user interrupted.
	phaseStopping
	// phaseAsking waits for the user's answer whether to cancel the task.
	phaseAsking
	// phaseLeaving waits until the last rows are printed.
	phaseLeaving
	// phaseLeft shows an empty view before the program ends.
	phaseLeft
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

	phase phase
	turn  *turn
	// seconds is the duration of the turn so far.
	seconds int
	// leave is true after one Ctrl-C. The next Ctrl-C then ends the chat.
	leave bool

	// taskID is the task that waits for the user, and contextID the context of the conversation.
	taskID, contextID string
	// lastTaskID is the task of the last turn that had one, "" for none.
	lastTaskID string
	// tasks are the tasks of the turns, and the tasks that /task showed.
	tasks    []taskState
	files    receivedFiles
	attached []a2a.Part

	history []string
	// recalled is the index in history of the message that the input shows.
	recalled int
}

// taskState is a task with its last known state.
type taskState struct {
	id    string
	state a2a.State
}

// Messages to the model.
type (
	printedMsg struct{}
	startMsg   struct{}
	tickMsg    struct{ turn *turn }
	// noticesMsg is the result of a command.
	noticesMsg []string
	// taskMsg is the task that /task read.
	taskMsg struct{ event *a2aclient.Event }
	// canceledMsg is the task that a cancel returned.
	canceledMsg struct{ event *a2aclient.Event }
	// attachedMsg is the file that /file read.
	attachedMsg struct{ part a2a.Part }
)

func newModel(o *Options, call func(func(context.Context) tea.Msg) tea.Cmd) *model {
	m := &model{o: o, call: call, input: textarea.New(), height: 24, contextID: o.ContextID, taskID: o.TaskID, lastTaskID: o.TaskID}
	m.transcript = transcript{width: 80, color: o.Color}
	m.input.Prompt, m.input.ShowLineNumbers, m.input.EndOfBufferCharacter = "> ", false, ' '
	m.input.SetPromptFunc(len(indent), func(p textarea.PromptInfo) string {
		if p.LineNumber == 0 {
			return "> "
		}
		return indent
	})
	m.input.SetStyles(textarea.Styles{})
	m.input.SetVirtualCursor(false)
	m.input.CharLimit, m.input.MaxContentHeight = maxInput, maxInputLines
	m.input.DynamicHeight, m.input.MinHeight, m.input.MaxHeight = true, 1, maxInputRows
	m.input.KeyMap.InsertNewline.SetKeys("alt+enter", "shift+enter", "ctrl+j")
	m.input.KeyMap.Paste.SetEnabled(false) // the terminal itself inserts pasted text
	m.input.SetWidth(80)
	m.input.Focus()
	return m
}

// quit leaves after the last rows are printed.
func (m *model) quit() tea.Cmd {
	m.transcript.close()
	m.phase = phaseLeaving
	return nil
}

// start begins a turn that continues or follows the task with taskID, or a new task if it is "".
func (m *model) start(taskID string, start func(context.Context, *a2aclient.Following) error) tea.Cmd {
	t := newTurn(taskID)
	m.turn, m.phase, m.seconds, m.wanted = t, phaseRunning, 0, true
	m.transcript.begin()
	return tea.Batch(m.tick(), m.call(func(ctx context.Context) tea.Msg { return t.run(ctx, m.o, start) }))
}

func (m *model) tick() tea.Cmd {
	t := m.turn
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{t} })
}

// remember stores the state of a task for /task.
func (m *model) remember(id string, state a2a.State) {
	if id == "" {
		return
	}
	i := slices.IndexFunc(m.tasks, func(t taskState) bool { return t.id == id })
	if i < 0 {
		m.tasks = append(m.tasks, taskState{id: id})
		m.tasks = m.tasks[max(0, len(m.tasks)-maxTasks):]
		i = len(m.tasks) - 1
	}
	m.tasks[i].state = state
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
