// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// strictAgent is an agent with the rules of A2A for messages: a message with the id of a task needs a task that waits. Its
// first task asks a question, and works on the answer until proceed is closed. Each further task completes at once.
type strictAgent struct {
	url     string
	proceed chan struct{}

	mu sync.Mutex
	// state is the state of the first task.
	state string
	// sent are the messages as "text task context".
	sent []string
	// ended is the number of tasks that have begun.
	tasks int
}

const (
	questionOfTask = `{"statusUpdate":{"taskId":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m-1","role":"ROLE_AGENT","parts":[{"text":"With ink or with oil?"}]}}}}`
	draftOfTask    = `{"artifactId":"draft","parts":[{"text":"A draft."}]}`
)

// snapshot returns the first task with all of its content so far.
func (a *strictAgent) snapshot() string {
	status := `{"state":"TASK_STATE_` + a.state + `"}`
	if a.state == "INPUT_REQUIRED" {
		status = `{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m-1","role":"ROLE_AGENT","parts":[{"text":"With ink or with oil?"}]}}`
	}
	return `{"id":"t-1","contextId":"c-1","status":` + status + `,"artifacts":[` + draftOfTask + `]}`
}

func (a *strictAgent) setState(state string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = state
}

func startStrictAgent(t *testing.T) *strictAgent {
	t.Helper()
	a := &strictAgent{proceed: make(chan struct{}), state: "WORKING"}
	a.url = fakeAgent(t, func(w http.ResponseWriter, r *http.Request, method, text string) {
		var request struct {
			Params struct {
				Message struct{ TaskID, ContextID string }
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&request)
		m := request.Params.Message
		a.mu.Lock()
		switch {
		case method == "GetTask" || method == "CancelTask":
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1","result":%s}`, a.snapshot())
		case m.TaskID != "" && a.state != "INPUT_REQUIRED":
			a.sent = append(a.sent, strings.Join([]string{text, m.TaskID, m.ContextID}, " "))
			_, _ = fmt.Fprint(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32004,"message":"Task is in a terminal state and takes no more messages"}}`)
		case m.TaskID != "":
			a.sent = append(a.sent, strings.Join([]string{text, m.TaskID, m.ContextID}, " "))
			a.state = "WORKING"
			snapshot := a.snapshot()
			a.mu.Unlock()
			writeEvents(w, `{"task":`+snapshot+`}`, artifactUpdate("cat", `{"text":"Seven strokes."}`))
			select {
			case <-a.proceed:
				a.setState("COMPLETED")
				writeEvents(w, paintingDone)
			case <-r.Context().Done():
			}
			return
		default:
			a.sent = append(a.sent, strings.Join([]string{text, m.TaskID, m.ContextID}, " "))
			a.tasks++
			id := fmt.Sprintf("t-%d", a.tasks)
			if id == "t-1" {
				a.state = "INPUT_REQUIRED"
				writeEvents(w, paintingTask, artifactUpdate("draft", `{"text":"A draft."}`), questionOfTask)
			} else {
				writeEvents(w, strings.ReplaceAll(paintingTask, "t-1", id), strings.ReplaceAll(paintingDone, "t-1", id))
			}
		}
		a.mu.Unlock()
	})
	return a
}

func (a *strictAgent) checkSent(t *testing.T, want ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if fmt.Sprint(a.sent) != fmt.Sprint(want) {
		t.Errorf("the messages are %q, want %q", a.sent, want)
	}
}

func TestChatGoesOnInANewTaskAfterItLeftATaskThatItContinued(t *testing.T) {
	setTerminal(t)
	a := startStrictAgent(t)
	s := runOnTerminal(t, 80, 30, "chat", "--url", a.url, "Hello")
	s.await(t, "The agent waits for your answer.", "The agent waits for you.")
	s.press(t, "ink", keyEnter)
	s.await(t, "Seven strokes.", "working, ")
	s.press(t, keyCtrlC)
	s.await(t, "[y/N]")
	s.press(t, "n")
	s.await(t, "The task continues: /watch follows it.")
	s.awaitThat(t, "status without a claim that the agent waits", func() bool { return !strings.Contains(s.emulator.String(), "The agent waits for you.") })
	s.golden(t, "chat-detached")
	close(a.proceed)
	a.setState("COMPLETED")
	s.press(t, "Again", keyEnter)
	s.await(t, "Task t-2 is completed.")
	s.awaitOnce(t, "A draft.")
	s.press(t, keyCtrlD)
	if status := s.status(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	a.checkSent(t, "Hello  ", "ink t-1 c-1", "Again  c-1")
	if text := s.output(); strings.Contains(text, "Error:") {
		t.Errorf("the output has an error:\n%s", text)
	}
}

func TestChatGivesAMessageBackIfItsTaskHasEnded(t *testing.T) {
	setTerminal(t)
	a := startStrictAgent(t)
	s := runOnTerminal(t, 80, 30, "chat", "--url", a.url, "Hello")
	s.await(t, "The agent waits for your answer.")
	a.setState("CANCELED") // by another client
	s.press(t, "with ink", keyEnter)
	s.await(t, "Error: ", "Task t-1 is canceled.")
	s.press(t, ", please", keyEnter) // the text is in the input again
	s.await(t, "Task t-2 is completed.")
	s.press(t, keyCtrlD)
	s.status(t)
	// An agent without streams answers with the same error, so the client repeats the message without a stream.
	a.checkSent(t, "Hello  ", "with ink t-1 c-1", "with ink t-1 c-1", "with ink, please  c-1")
}

func TestSendToATaskPrintsOnlyWhatIsNew(t *testing.T) {
	a := startStrictAgent(t)
	first := run(t, "send", "--url", a.url, "Hello")
	if first.status != 0 || first.field("State") != "input-required" || !strings.Contains(first.stdout, "A draft.") {
		t.Fatalf("%+v", first)
	}
	close(a.proceed)
	next := run(t, "send", "--url", a.url, "--task-id", "t-1", "ink")
	next.golden(t, "send-continued")
	if strings.Contains(next.stdout, "A draft.") || strings.Contains(next.stdout, "ink or") || !strings.Contains(next.stdout, "Seven strokes.") {
		t.Errorf("the output repeats earlier output: %s", next.stdout)
	}
}

func TestSendShowsOnATerminalThatTheAgentIsSilent(t *testing.T) {
	setTerminal(t)
	proceed := make(chan struct{})
	u := fakeAgent(t, func(w http.ResponseWriter, r *http.Request, _, _ string) {
		writeEvents(w, paintingTask)
		select {
		case <-proceed:
		case <-r.Context().Done():
		}
		writeEvents(w, artifactUpdate("cat", `{"text":"Seven strokes."}`), paintingDone)
	})
	s := runOnTerminal(t, 20, 12, "send", "--url", u, "Hello")
	s.await(t, "working, ")
	close(proceed)
	if status := s.status(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	s.await(t, "State: completed")
	if screen := s.emulator.String(); strings.Contains(screen, "working, ") {
		t.Errorf("the progress is not erased:\n%s", screen)
	}
}

func TestTheExitStatusOfSendTellsTheOutcomeIfItIsAskedFor(t *testing.T) {
	for state, want := range map[string]int{
		"COMPLETED": 0, "FAILED": 10, "REJECTED": 11, "CANCELED": 12, "INPUT_REQUIRED": 13, "AUTH_REQUIRED": 13,
	} {
		u := fakeAgent(t, func(w http.ResponseWriter, _ *http.Request, method, _ string) {
			done := strings.ReplaceAll(paintingDone, "COMPLETED", state)
			if method == "GetTask" {
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1","result":%s}`, `{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_`+state+`"}}`)
				return
			}
			writeEvents(w, paintingTask, done)
		})
		for _, command := range [][]string{{"send", "--url", u, "Hello"}, {"send", "--url", u, "Hello", "-o", "json"}, {"task", "watch", "--url", u, "t-1"}} {
			if r := run(t, command...); r.status != 0 {
				t.Errorf("%s: the status of %q without the flag is %d", state, command, r.status)
			}
			if r := run(t, append(command, "--exit-status")...); r.status != want || r.stdout == "" {
				t.Errorf("%s: the status of %q is %d, want %d: %+v", state, command, r.status, want, r)
			}
		}
	}
}

func TestMistypedCommandsAndSkillsHaveASuggestion(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	if r := run(t, "send", "--url", f.URL, "--skill", "ss", "Hello"); r.status != 0 || !strings.Contains(r.stderr, "The card lists no skill ss. Did you mean s?") {
		t.Errorf("%+v", r)
	}
	for want, args := range map[string][]string{
		"did you mean kubectl a2a send?":                  {"snd", "echo", "Hello"},
		"did you mean kubectl a2a task watch?":            {"task", "wacth"},
		"did you mean kubectl a2a task push-config list?": {"task", "push-config", "lst"},
		"did you mean kubectl a2a list?":                  {"help", "lisst"},
		"kubectl a2a --help lists the commands":           {"dance"},
	} {
		if r := run(t, args...); r.status != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: want %q, got %+v", args, want, r)
		}
	}
}

// golden waits until the screen equals testdata/<name>.screen, without the spaces at the ends of its rows.
func (s *screen) golden(t *testing.T, name string) {
	t.Helper()
	rows := func() string {
		var out strings.Builder
		for row := range strings.Lines(s.emulator.String()) {
			out.WriteString(strings.TrimRight(row, " \n") + "\n")
		}
		return strings.TrimRight(out.String(), "\n") + "\n"
	}
	file := filepath.Join("testdata", name+".screen")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		time.Sleep(time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := os.WriteFile(file, []byte(rows()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s.awaitThat(t, "screen as in "+file+"\n"+string(want), func() bool { return rows() == string(want) })
}

func TestChatShowsMarkdownAndWhatEndsInsideOfATable(t *testing.T) {
	setTerminal(t)
	pieces := []string{"# Weat", "her\\n\\nIt is **sun", "ny** in `Paris`:\\n\\n- [map](https://maps.example)\\n- שלום, مرحبا\\n\\n```\\nls -l\\n", "```\\n\\n| City | Degrees |\\n|---|--", "-|\\n| Paris | 31 |\\n| Oslo"}
	u := fakeAgent(t, func(w http.ResponseWriter, _ *http.Request, _, _ string) {
		events := []string{paintingTask}
		for _, piece := range pieces {
			events = append(events, artifactUpdate("a", `{"text":"`+piece+`"}`))
		}
		writeEvents(w, append(events, paintingDone)...)
	})
	for columns, name := range map[int]string{80: "chat-markdown", 20: "chat-markdown-narrow"} {
		s := runOnTerminal(t, columns, 40, "chat", "--url", u)
		s.await(t, "helps.")
		s.press(t, "\x1b[200~a\x1b]0;x\x07b\x1b[201~")
		s.await(t, "> ab") // the terminal library drops the sequence
		s.press(t, keyEnter)
		s.golden(t, name)
		s.press(t, keyCtrlD)
		if status := s.status(t); status != 0 {
			t.Errorf("the exit status is %d", status)
		}
		if text := s.output(); strings.Contains(text, "\x1b]0;x") {
			t.Errorf("the output is\n%q", text)
		}
	}
}

func TestChatShowsTheSourceOfMarkdownWithoutStyles(t *testing.T) {
	setTerminal(t)
	t.Setenv("NO_COLOR", "1")
	u := fakeAgent(t, func(w http.ResponseWriter, _ *http.Request, _, _ string) {
		writeEvents(w, paintingTask, artifactUpdate("a", `{"text":"# Weather\n\n**sunny**"}`), paintingDone)
	})
	s := runOnTerminal(t, 80, 24, "chat", "--url", u, "Hello")
	s.await(t, "# Weather", "**sunny**", "is completed.")
	s.press(t, keyCtrlD)
	s.status(t)
}
