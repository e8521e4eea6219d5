// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/answer"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

const (
	// maxInputRows bounds the rows of the input that are visible.
	maxInputRows = 6
	// maxInput bounds a message, in characters, and maxInputLines its lines.
	maxInput, maxInputLines = 100_000, 2_000
	// maxHistory bounds the messages that the arrow keys recall.
	maxHistory = 100
	// firstFrame is longer than the program takes to draw its first frame. Rows that are printed before
	// go into the scrollback, above the visible part of the terminal.
	firstFrame = 100 * time.Millisecond
	// maxTasks bounds the tasks that /task lists.
	maxTasks = 100
)

// phase is what the chat waits for.
type phase uint8

const (
	// phaseIdle waits for the user.
	phaseIdle phase = iota
	// phaseRunning waits for the agent.
	phaseRunning
	// phaseStopping waits for the end of a turn that the user interrupted.
	phaseStopping
	// phaseAsking waits for the answer whether the task is to be canceled.
	phaseAsking
	// phaseLeaving prints the last rows.
	phaseLeaving
	// phaseLeft has an empty view.
	phaseLeft
)

// model is the state of a chat. Its methods run one at a time.
type model struct {
	o *Options
	// call returns a command that calls the agent or reads a file.
	call func(func(context.Context) tea.Msg) tea.Cmd

	input      textarea.Model
	transcript transcript
	height     int
	// printing is true while rows are being printed. The next event of the turn is requested when
	// all rows are printed, if wanted is true.
	printing, wanted bool

	phase phase
	turn  *turn
	// seconds is how long the turn takes.
	seconds int
	// leave is true after one Ctrl-C: the next one leaves.
	leave bool

	// taskID is the task that waits for the user, and contextID the context of the conversation.
	taskID, contextID string
	// lastTaskID is the task of the last turn that had one, "" for none.
	lastTaskID string
	// tasks are the tasks of the turns, and those that /task showed.
	tasks    []taskState
	files    receivedFiles
	attached []a2a.Part

	history []string
	// recalled is the index in history of the text in the input.
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
	// taskMsg is a task that was read.
	taskMsg struct{ event *a2aclient.Event }
	// canceledMsg is a task after a cancel.
	canceledMsg struct{ event *a2aclient.Event }
	// attachedMsg is a file that was read.
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
	m.input.KeyMap.Paste.SetEnabled(false) // terminals paste themselves
	m.input.SetWidth(80)
	m.input.Focus()
	return m
}

// Init greets the user.
func (m *model) Init() tea.Cmd {
	m.transcript.notice(strings.TrimSpace("Chat with " + terminal.Clip(m.o.Name, 200) + ". " + terminal.Clip(m.o.Description, 500)))
	m.transcript.notice("Enter sends, Alt-Enter begins a line, Ctrl-C stops an answer, /help helps.")
	m.printing = true
	return tea.Tick(firstFrame, func(time.Time) tea.Msg { return startMsg{} })
}

// begin sends the first message or follows the task of the options.
func (m *model) begin() tea.Cmd {
	m.printing = false
	switch {
	case m.o.Message != "":
		return m.submit(m.o.Message)
	case m.o.TaskID != "":
		return m.submit("/watch " + m.o.TaskID)
	}
	return nil
}

// Update takes a message.
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
		msg.Content = terminal.Clean(strings.ReplaceAll(strings.ReplaceAll(msg.Content, "\r\n", "\n"), "\r", "\n"))
		return m.edit(msg)
	case startMsg:
		return m.begin()
	case printedMsg:
		m.printing = false
	case turnMsg:
		m.show(msg)
		m.wanted = true
	case turnEndedMsg:
		m.end(msg.turn)
	case tickMsg:
		if msg.turn == m.turn {
			m.seconds++
			return m.tick()
		}
	case noticesMsg:
		for _, each := range msg {
			m.transcript.notice(each)
		}
	case taskMsg:
		m.showTask(msg.event)
	case canceledMsg:
		m.showCanceled(msg.event)
	case attachedMsg:
		m.attached = append(m.attached, msg.part)
		m.transcript.notice("Attached to the next message: " + answer.DescribeFile(&msg.part))
	}
	return nil
}

// resize adapts the chat to the terminal.
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
		return m.interrupt()
	}
	m.leave = false
	if m.phase == phaseAsking {
		return m.answerCancel(name)
	}
	switch name {
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+d":
		if m.input.Value() == "" {
			return m.quit()
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

// interrupt stops the turn. A second Ctrl-C leaves.
func (m *model) interrupt() tea.Cmd {
	switch {
	case m.phase == phaseRunning:
		m.phase = phaseStopping
		close(m.turn.stop)
		return nil
	case m.phase == phaseStopping, m.phase == phaseAsking, m.leave:
		return m.quit()
	}
	m.leave = true
	m.input.Reset()
	return nil
}

// quit leaves after the last rows are printed.
func (m *model) quit() tea.Cmd {
	m.transcript.close()
	m.phase = phaseLeaving
	return nil
}

// recall puts an earlier message into the input.
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
	if text != "" {
		m.history = append(m.history, text)
		m.history = m.history[max(0, len(m.history)-maxHistory):]
		m.recalled = len(m.history)
	}
	if strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") {
		return m.command(text)
	}
	if m.phase != phaseIdle {
		m.transcript.notice("The agent is still working: Ctrl-C stops the answer. The arrow key up has your text.")
		return nil
	}
	return m.send(strings.TrimPrefix(text, "/"))
}

// send sends a message with the attached files.
func (m *model) send(text string) tea.Cmd {
	message := &a2a.Message{ID: uuid.NewString(), Role: a2a.RoleUser, TaskID: m.taskID, ContextID: m.contextID}
	if text != "" {
		message.Parts = append(message.Parts, a2a.Part{Content: a2a.ContentText, Text: text})
	}
	message.Parts = append(message.Parts, m.attached...)
	if m.o.Skill != "" {
		message.Metadata, _ = json.Marshal(map[string]string{a2a.SkillName: m.o.Skill}) //nolint:errchkjson // it is a string
	}
	m.transcript.user(text)
	for i := range m.attached {
		m.transcript.user(answer.DescribeFile(&m.attached[i]))
	}
	m.attached = nil
	return m.start(m.taskID, func(ctx context.Context, f *a2aclient.Following) error {
		return f.Send(ctx, &a2a.SendRequest{Message: message})
	})
}

// start begins a turn that continues or follows a task, "" for a new one.
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

// show shows an event of the turn.
func (m *model) show(msg turnMsg) {
	if msg.resuming != nil {
		m.transcript.notice("The stream broke and is resumed: " + terminal.Clip(msg.resuming.Error(), 500))
		return
	}
	for _, p := range msg.turn.answer.Read(&msg.event.Event) {
		m.showPiece(&p)
	}
	m.remember(msg.turn.answer.TaskID(), msg.turn.answer.State())
}

func (m *model) showPiece(p *answer.Piece) {
	switch p.Kind {
	case answer.KindIDs:
		if p.ContextID != "" {
			m.contextID = p.ContextID
		}
	case answer.KindMessage:
		m.showParts(m.o.Name, p.Parts)
		m.transcript.close()
	case answer.KindArtifact:
		m.showParts(m.o.Name+" ("+terminal.Clip(p.Name, 100)+")", p.Parts)
	case answer.KindState: // the view has it
	}
}

// showParts shows text and data as blocks, and files by a line.
func (m *model) showParts(label string, parts []a2a.Part) {
	label = terminal.Clip(label, 300)
	for i := range parts {
		switch p := &parts[i]; p.Content {
		case a2a.ContentText:
			m.transcript.text(label, p.Text)
		case a2a.ContentData:
			m.transcript.text(label+" Data", answer.FormatData(p))
			m.transcript.close()
		case a2a.ContentURL:
			m.transcript.notice("File: " + terminal.Clip(answer.DescribeFile(p), 2000))
		case a2a.ContentRaw:
			if n := m.files.add(p); n > 0 {
				m.transcript.notice(fmt.Sprintf("File %d: %s. /save %d writes it.", n, terminal.Clip(answer.DescribeFile(p), 2000), n))
			}
		}
	}
}

// remember keeps the state of a task for /task.
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

// end ends a turn.
func (m *model) end(t *turn) {
	if m.phase == phaseLeaving || m.phase == phaseLeft {
		return
	}
	stopped := m.phase == phaseStopping
	m.phase, m.turn, m.wanted = phaseIdle, nil, false
	m.transcript.close()
	id, state := t.answer.TaskID(), t.answer.State()
	if id != "" {
		m.lastTaskID = id
	}
	m.noteOmitted(id)
	open := id != "" && !state.Terminal() && !state.Interrupted()
	switch {
	case t.err == nil:
		m.settle(id, state)
	case stopped && open:
		m.phase = phaseAsking
	case stopped:
		m.transcript.notice("Stopped.")
	default:
		m.explain(t.err)
		if open {
			m.transcript.notice("The task may continue: /watch follows it, /cancel ends it.")
		}
	}
}

// noteOmitted says how to read text that the chat leaves out.
func (m *model) noteOmitted(id string) {
	if m.transcript.omitted > 0 {
		m.transcript.notice(fmt.Sprintf("The chat leaves out %d bytes. All of the answer: %s", m.transcript.omitted, m.o.Command("task get", id)))
	}
}

// settle says what a task that has ended or waits needs.
func (m *model) settle(id string, state a2a.State) {
	m.taskID = ""
	switch {
	case state == a2a.StateInputRequired:
		m.taskID = id
		m.transcript.notice("The agent waits for your answer.")
	case state == a2a.StateAuthRequired:
		m.taskID = id
		m.transcript.notice("The agent waits for an authorization, which its message describes. Then send a message to continue.")
	case id != "":
		m.transcript.notice("Task " + terminal.Clip(id, 100) + " is " + state.String() + ".")
	}
}

// explain shows an error.
func (m *model) explain(err error) {
	for _, line := range describe(err) {
		m.transcript.notice(line)
	}
}

// describe returns the lines that show an error.
func describe(err error) []string {
	problem := failure.Of(err)
	lines := []string{"Error: " + terminal.Clip(problem.Message, 2000)}
	if problem.Hint != "" {
		lines = append(lines, "Hint: "+terminal.Clip(problem.Hint, 2000))
	}
	return lines
}

// print prints rows above the input, and requests the next event when none is left. An answer that
// arrives faster than the terminal takes it is held back by this.
func (m *model) print() tea.Cmd {
	if m.printing {
		return nil
	}
	if rows := m.transcript.take(max(m.height-maxInputRows-3, 1)); len(rows) > 0 {
		m.printing = true
		text := strings.Join(rows, "\n")
		if text == "" {
			text = " " // the program prints no empty text
		}
		return tea.Sequence(tea.Println(text), func() tea.Msg { return printedMsg{} })
	}
	if m.phase == phaseLeaving {
		m.phase = phaseLeft
		return tea.Quit
	}
	if m.wanted {
		m.wanted = false
		return m.turn.next
	}
	return nil
}

// View returns the last rows: the row that grows, the status, and the input.
func (m *model) View() tea.View {
	if m.phase == phaseLeft {
		return tea.NewView("")
	}
	var rows []string
	if open := m.transcript.open(); open != "" {
		rows = append(rows, open)
	}
	status := terminal.Clip(terminal.Line(m.status()), max(m.transcript.width, minWidth)-3)
	if m.o.Color {
		status = styleNotice.Render(status)
	}
	rows = append(rows, status)
	view := tea.NewView(strings.Join(append(rows, m.input.View()), "\n"))
	if cursor := m.input.Cursor(); cursor != nil && m.phase != phaseAsking {
		cursor.Y += len(rows)
		view.Cursor = cursor
	}
	return view
}

// status is the line above the input.
func (m *model) status() string {
	switch {
	case m.phase == phaseAsking:
		return "Cancel the task, too? [y/N]"
	case m.phase == phaseStopping:
		return "Stopping. Ctrl-C leaves."
	case m.phase == phaseRunning:
		state := m.turn.answer.State()
		if state == a2a.StateUnknown {
			return fmt.Sprintf("waiting for the agent, %d s", m.seconds)
		}
		return fmt.Sprintf("%s, %d s", state, m.seconds)
	case m.leave:
		return "Ctrl-C again leaves."
	case m.taskID != "":
		return "The agent waits for you."
	}
	return ""
}
