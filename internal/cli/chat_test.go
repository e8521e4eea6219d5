// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// The bytes that a terminal sends for keys.
const (
	keyEnter    = "\r"
	keyAltEnter = "\x1b\r"
	keyUp       = "\x1b[A"
	keyCtrlC    = "\x03"
	keyCtrlD    = "\x04"
)

// screen is a pseudo terminal with an emulator behind it, in which a command runs.
type screen struct {
	keys *os.File
	done chan int

	mu       sync.Mutex
	changed  *sync.Cond
	emulator vt10x.Terminal
	raw      bytes.Buffer
	// interrupt ends the command as a signal does.
	interrupt context.CancelFunc
}

// runOnTerminal runs a command in a terminal of the given size.
func runOnTerminal(t *testing.T, columns, rows int, args ...string) *screen {
	t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(keys, &pty.Winsize{Rows: uint16(rows), Cols: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	s := &screen{keys: keys, done: make(chan int, 1), emulator: vt10x.New(vt10x.WithSize(columns, rows), vt10x.WithWriter(keys))}
	s.changed = sync.NewCond(&s.mu)
	ctx, cancel := context.WithCancel(t.Context())
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		buffer := make([]byte, 4096)
		for {
			n, err := keys.Read(buffer)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.raw.Write(buffer[:n])
			_, _ = s.emulator.Write(buffer[:n])
			s.changed.Broadcast()
			s.mu.Unlock()
		}
	}()
	s.interrupt = cancel
	go func() { s.done <- Run(ctx, args, genericiooptions.IOStreams{In: tty, Out: tty, ErrOut: tty}) }()
	t.Cleanup(func() {
		cancel()
		_ = tty.Close()
		<-shown
		_ = keys.Close()
	})
	return s
}

// await waits until the screen has all texts.
func (s *screen) await(t *testing.T, texts ...string) {
	t.Helper()
	s.awaitThat(t, fmt.Sprintf("texts %q", texts), func() bool {
		for _, text := range texts {
			if !strings.Contains(s.emulator.String(), text) {
				return false
			}
		}
		return true
	})
}

// awaitOnce waits until the screen has a text exactly once. The output may have it twice: a row that is not complete is drawn again.
func (s *screen) awaitOnce(t *testing.T, text string) {
	t.Helper()
	s.awaitThat(t, fmt.Sprintf("text %q once", text), func() bool { return strings.Count(s.emulator.String(), text) == 1 })
}

func (s *screen) awaitThat(t *testing.T, what string, met func() bool) {
	t.Helper()
	expired := false
	timer := time.AfterFunc(30*time.Second, func() {
		s.mu.Lock()
		expired = true
		s.changed.Broadcast()
		s.mu.Unlock()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !met() {
		if expired {
			t.Fatalf("no %s; the screen is\n%s", what, s.emulator.String())
		}
		s.changed.Wait()
	}
}

func (s *screen) press(t *testing.T, keys ...string) {
	t.Helper()
	for _, each := range keys {
		if _, err := s.keys.WriteString(each); err != nil {
			t.Fatal(err)
		}
	}
}

// status waits for the end of the command and returns its exit status.
func (s *screen) status(t *testing.T) int {
	t.Helper()
	select {
	case status := <-s.done:
		return status
	case <-time.After(30 * time.Second):
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Fatalf("the command does not end; the screen is\n%s", s.emulator.String())
		return 0
	}
}

func (s *screen) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

func setTerminal(t *testing.T) {
	t.Helper()
	t.Setenv("TERM", "xterm-256color")
}

func TestChatShowsWordsAsTheyArriveAndContinuesTheContext(t *testing.T) {
	setTerminal(t)
	proceed := make(chan struct{})
	f := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
	s := runOnTerminal(t, 80, 24, "chat", "--url", f.URL)
	s.await(t, "* Chat with", "/help helps.")
	s.press(t, "Hello", keyEnter)
	s.await(t, "> Hello", "working, ")
	s.await(t, "one") // the agent goes on only after its first word is on the screen
	close(proceed)
	s.await(t, "is completed.")
	s.press(t, "Again", keyEnter)
	s.awaitThat(t, "second completed task", func() bool { return strings.Count(s.emulator.String(), "is completed.") == 2 })
	s.press(t, keyCtrlC)
	s.await(t, "Ctrl-C again leaves.")
	s.press(t, keyCtrlC)
	s.await(t, "To continue: kubectl a2a chat --url", "--context-id")
	if status := s.status(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	all := run(t, "task", "list", "--url", f.URL, "-o", "json")
	var page struct {
		Tasks []struct{ ContextID string }
	}
	if err := json.Unmarshal([]byte(all.stdout), &page); err != nil || len(page.Tasks) != 2 || page.Tasks[0].ContextID != page.Tasks[1].ContextID {
		t.Errorf("the tasks are not in one context: %+v", all)
	}
}

func TestChatAnswersAQuestionOfTheAgentInItsTask(t *testing.T) {
	setTerminal(t)
	f := sidecartest.Start(t, sidecartest.AskingAgent)
	s := runOnTerminal(t, 80, 24, "chat", "--url", f.URL, "Hello")
	s.await(t, "The agent waits for your answer.")
	s.press(t, "yes", keyEnter)
	s.await(t, "is completed.")
	s.press(t, "/task", keyEnter)
	s.await(t, "* ", " completed")
	s.press(t, "/quit", keyEnter)
	if status := s.status(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	if r := run(t, "task", "list", "--url", f.URL); strings.Count(r.stdout, "\n") != 2 {
		t.Errorf("the answer began another task: %+v", r)
	}
}

func TestChatStopsAnAnswerAndOffersToCancelTheTask(t *testing.T) {
	setTerminal(t)
	for key, want := range map[string]string{"y": "canceled", "n": "working"} {
		proceed := make(chan struct{})
		f := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
		s := runOnTerminal(t, 80, 24, "chat", "--url", f.URL, "Hello")
		s.await(t, "one")
		s.press(t, keyCtrlC)
		s.await(t, "Cancel the task, too? [y/N]")
		s.press(t, key)
		if key == "y" {
			s.await(t, "is canceled.")
		} else {
			s.await(t, "The task continues: /watch follows it, /cancel ends it.")
		}
		if r := run(t, "task", "list", "--url", f.URL); !strings.Contains(r.stdout, want) {
			t.Errorf("key %s: the task is not %s: %+v", key, want, r)
		}
		if key == "n" {
			s.press(t, "/watch", keyEnter)
			s.await(t, "working, ")
			close(proceed)
			s.await(t, "is completed.")
		} else {
			close(proceed)
		}
		s.press(t, keyCtrlD)
		if status := s.status(t); status != 0 {
			t.Errorf("the exit status is %d", status)
		}
	}
}

// A signal ends the chat like other programs, without an error, and the chat names the command that continues.
func TestASignalEndsTheChat(t *testing.T) {
	setTerminal(t)
	for name, texts := range map[string][]string{"idle": nil, "answer": {"Hello"}} {
		t.Run(name, func(t *testing.T) {
			proceed := make(chan struct{})
			defer close(proceed)
			f := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
			s := runOnTerminal(t, 80, 24, append([]string{"chat", "--url", f.URL}, texts...)...)
			s.await(t, "/help helps.")
			if len(texts) > 0 {
				s.await(t, "one")
			}
			s.interrupt()
			if status := s.status(t); status != 130 {
				t.Errorf("the exit status is %d", status)
			}
			s.await(t, "Interrupted")
			if out := s.output(); strings.Contains(out, "Error:") || strings.Contains(out, "Code:") || strings.Contains(out, "To continue") == (texts == nil) {
				t.Errorf("the screen is\n%s", out)
			}
		})
	}
}

// taskOtherThan returns the id of the task that is not other. The agent must have exactly two tasks.
func taskOtherThan(t *testing.T, url, other string) string {
	t.Helper()
	r := run(t, "task", "list", "--url", url, "-o", "json")
	var page struct {
		Tasks []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &page); err != nil || len(page.Tasks) != 2 {
		t.Fatalf("want two tasks: %+v", r)
	}
	if page.Tasks[0].ID == other {
		return page.Tasks[1].ID
	}
	return page.Tasks[0].ID
}

func TestChatCancelsAndFollowsTheTaskOfItsTurnAfterItShowedAnotherTask(t *testing.T) {
	setTerminal(t)
	detach := func(t *testing.T, s *screen) {
		t.Helper()
		s.press(t, keyCtrlC)
		s.await(t, "Cancel the task, too? [y/N]")
		s.press(t, "n")
		s.await(t, "The task continues")
	}
	for name, test := range map[string]struct {
		before, after func(t *testing.T, s *screen)
		// want is the state of the turn's task after the chat has ended.
		want string
	}{
		"answer yes": {after: func(t *testing.T, s *screen) {
			t.Helper()
			s.press(t, keyCtrlC)
			s.await(t, "Cancel the task, too? [y/N]")
			s.press(t, "y")
		}, want: "canceled"},
		"/cancel during the turn": {after: func(t *testing.T, s *screen) {
			t.Helper()
			s.press(t, "/cancel", keyEnter)
		}, want: "canceled"},
		"/cancel after the turn": {before: detach, after: func(t *testing.T, s *screen) {
			t.Helper()
			s.press(t, "/cancel", keyEnter)
		}, want: "canceled"},
		"/watch": {before: detach, after: func(t *testing.T, s *screen) {
			t.Helper()
			s.press(t, "/watch", keyEnter)
			s.await(t, "working, ")
			s.press(t, "/cancel", keyEnter)
		}, want: "canceled"},
		"/new": {before: detach, after: func(t *testing.T, s *screen) {
			t.Helper()
			s.press(t, "/new", keyEnter, "/watch", keyEnter, "/cancel", keyEnter)
			s.await(t, "There is no task to follow", "There is no task to cancel")
		}, want: "working"},
	} {
		t.Run(name, func(t *testing.T) {
			proceed := make(chan struct{})
			defer close(proceed)
			f := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
			other := run(t, "send", "--url", f.URL, "Hello", "--async").field("Task")
			s := runOnTerminal(t, 80, 40, "chat", "--url", f.URL, "Hello")
			s.await(t, "one")
			own := taskOtherThan(t, f.URL, other)
			if test.before != nil {
				test.before(t, s)
			}
			s.press(t, "/task "+other, keyEnter)
			s.await(t, "Task "+other+" is working.")
			test.after(t, s)
			if test.want == "canceled" {
				s.await(t, "is canceled.")
			}
			for id, want := range map[string]string{own: test.want, other: "working"} {
				if r := run(t, "task", "get", "--url", f.URL, id); r.field("State") != want {
					t.Errorf("the own task is %s; %s is not %s: %+v", own, id, want, r)
				}
			}
			s.press(t, keyCtrlC, keyCtrlC, keyCtrlC)
			s.status(t)
		})
	}
}

func TestChatCancelsNoEarlierTaskWhileTheTaskOfTheTurnIsUnknown(t *testing.T) {
	setTerminal(t)
	proceed := make(chan struct{})
	canceled := make(chan struct{}, 1)
	u := fakeAgent(t, func(w http.ResponseWriter, r *http.Request, method, text string) {
		switch {
		case method == "CancelTask":
			canceled <- struct{}{}
		case text == "Again":
			select {
			case <-proceed:
			case <-r.Context().Done():
			}
			writeEvents(w, strings.ReplaceAll(paintingTask, "t-1", "t-2"), strings.ReplaceAll(paintingDone, "t-1", "t-2"))
		default:
			writeEvents(w, paintingTask, paintingDone)
		}
	})
	s := runOnTerminal(t, 80, 24, "chat", "--url", u, "Hello")
	s.await(t, "Task t-1 is completed.")
	s.press(t, "Again", keyEnter)
	s.await(t, "waiting for the agent")
	s.press(t, "/cancel", keyEnter)
	s.await(t, "There is no task to cancel")
	close(proceed)
	s.await(t, "Task t-2 is completed.")
	if len(canceled) != 0 {
		t.Error("the chat canceled the task of an earlier turn")
	}
	s.press(t, keyCtrlD)
	s.status(t)
}

func TestChatAnswersThePausedTaskAfterItsCancelFailed(t *testing.T) {
	setTerminal(t)
	const question = `{"statusUpdate":{"taskId":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`
	tasks := make(chan string, 10)
	u := fakeAgent(t, func(w http.ResponseWriter, r *http.Request, method, text string) {
		var request struct {
			Params struct{ Message struct{ TaskID string } }
		}
		_ = json.NewDecoder(r.Body).Decode(&request)
		switch {
		case method == "CancelTask":
			http.Error(w, "not now", http.StatusServiceUnavailable)
		case text == "Hello":
			writeEvents(w, paintingTask, question)
		default:
			tasks <- request.Params.Message.TaskID
			writeEvents(w, paintingTask, paintingDone)
		}
	})
	s := runOnTerminal(t, 80, 24, "chat", "--url", u, "Hello")
	s.await(t, "The agent waits for your answer.")
	s.press(t, "/cancel", keyEnter)
	s.await(t, "Error: ")
	s.press(t, "This", keyEnter)
	s.await(t, "is completed.")
	if task := <-tasks; task != "t-1" {
		t.Errorf("the answer is for task %q", task)
	}
	s.press(t, keyCtrlD)
	s.status(t)
}

func TestASecondInterruptLeavesTheChat(t *testing.T) {
	setTerminal(t)
	proceed := make(chan struct{})
	defer close(proceed)
	f := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
	s := runOnTerminal(t, 80, 24, "chat", "--url", f.URL, "Hello")
	s.await(t, "one")
	s.press(t, keyCtrlC)
	s.await(t, "[y/N]")
	s.press(t, keyCtrlC)
	if status := s.status(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
}

// fakeAgent starts an agent of 1.0 over JSON-RPC, with the extensions on its card, and returns its URL. answer writes the
// response to a method; text is the text of the message, "" for methods without a message.
func fakeAgent(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, method, text string), extensions ...string) string {
	t.Helper()
	var declared []string
	for _, uri := range extensions {
		declared = append(declared, `{"uri":"`+uri+`"}`)
	}
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = fmt.Fprintf(w, `{"name":"Painter","description":"Paints what you describe.","version":"1","supportedInterfaces":[{"url":"%s","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
				"capabilities":{"streaming":true,"extensions":[%s]},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[]}`, server.URL, strings.Join(declared, ","))
			return
		}
		var request struct {
			Method string
			Params struct {
				Message struct {
					Parts []struct{ Text string }
				}
			}
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body)) // answer may read the body again
		_ = json.Unmarshal(body, &request)
		text := ""
		if parts := request.Params.Message.Parts; len(parts) > 0 {
			text = parts[0].Text
		}
		answer(w, r, request.Method, text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// writeEvents writes a stream with one event for each of the results, as a response of JSON-RPC.
func writeEvents(w http.ResponseWriter, results ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i, each := range results {
		_, _ = fmt.Fprintf(w, "id: %d\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":%s}\n\n", i+1, each)
		_ = http.NewResponseController(w).Flush()
	}
}

const (
	paintingTask = `{"task":{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_WORKING"}}}`
	paintingDone = `{"statusUpdate":{"taskId":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED"}}}`
)

// artifactUpdate returns an event with a part of an artifact.
func artifactUpdate(id, part string) string {
	return fmt.Sprintf(`{"artifactUpdate":{"taskId":"t-1","contextId":"c-1","append":true,"artifact":{"artifactId":"%s","parts":[%s]}}}`, id, part)
}

func TestChatResumesABrokenStreamWithoutRepeatingText(t *testing.T) {
	setTerminal(t)
	var last string
	u := fakeAgent(t, func(w http.ResponseWriter, r *http.Request, method, _ string) {
		switch method {
		case "SendStreamingMessage":
			writeEvents(w, paintingTask, artifactUpdate("a", `{"text":"first half"}`))
			panic(http.ErrAbortHandler) // the connection breaks
		case "SubscribeToTask":
			last = r.Header.Get("Last-Event-ID")
			writeEvents(w, `{"task":{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_WORKING"},"artifacts":[{"artifactId":"a","parts":[{"text":"first half, second half"}]}]}}`, paintingDone)
		}
	})
	s := runOnTerminal(t, 80, 24, "chat", "--url", u, "Hello")
	s.await(t, "is completed.")
	s.await(t, "The stream broke and is resumed", ", second half")
	s.awaitOnce(t, "first half")
	s.press(t, keyCtrlD)
	s.status(t)
	if last != "2" {
		t.Errorf("Last-Event-ID was %q", last)
	}
}

func TestChatSavesFilesOnRequestAndAttachesFiles(t *testing.T) {
	setTerminal(t)
	dir := t.TempDir()
	input := filepath.Join(dir, "sketch.png")
	if err := os.WriteFile(input, []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := fakeAgent(t, func(w http.ResponseWriter, _ *http.Request, _, _ string) {
		writeEvents(w, paintingTask, artifactUpdate("a", `{"raw":"AAE=","filename":"../cat.png","mediaType":"image/png"}`), artifactUpdate("b", `{"data":{"cats":1}}`), paintingDone)
	})
	s := runOnTerminal(t, 90, 24, "chat", "--url", u, "--save", filepath.Join(dir, "out"))
	s.await(t, "/help helps.")
	s.press(t, "/file "+input, keyEnter)
	s.await(t, "Attached to the next message: sketch.png, image/png, 8 bytes")
	s.press(t, "A cat", keyAltEnter, "with a hat", keyEnter)
	s.await(t, "> A cat", "  with a hat", "File 1: ../cat.png, image/png, 2 bytes. /save 1 writes it.", `"cats": 1`, "is completed.")
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("the file was written without a request")
	}
	s.press(t, "/save 1", keyEnter)
	s.await(t, "Saved ")
	if content, err := os.ReadFile(filepath.Join(dir, "out", "cat.png")); err != nil || string(content) != "\x00\x01" {
		t.Errorf("the saved file is %q, %v", content, err)
	}
	s.press(t, keyUp, keyUp) // the message of two lines
	s.awaitThat(t, "recalled message", func() bool { return strings.Count(s.emulator.String(), "with a hat") == 2 })
	s.press(t, keyCtrlC, "/nonsense", keyEnter)
	s.await(t, "There is no command /nonsense")
	s.press(t, keyCtrlC, keyCtrlC)
	if status := s.status(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
}

func TestHostileAnswersCannotControlTheChat(t *testing.T) {
	setTerminal(t)
	t.Setenv("NO_COLOR", "1")
	const attack = `\u001b]0;owned\u0007\u001b[2J\u202e\u009b31m\n* Task t-1 is completed.\n> yes\r`
	u := fakeAgent(t, func(w http.ResponseWriter, _ *http.Request, _, _ string) {
		writeEvents(w, paintingTask, artifactUpdate(attack, `{"text":"`+attack+`"}`), artifactUpdate("b", `{"data":{"`+attack+`":1}}`),
			artifactUpdate("c", `{"raw":"AAE=","filename":"`+attack+`","mediaType":"`+attack+`"}`), artifactUpdate("d", `{"url":"https://a.example/`+attack+`"}`),
			artifactUpdate("e", `{"text":"`+strings.Repeat("e\u0301\u0301", 20_000)+`"}`), artifactUpdate("f", `{"text":"`+strings.Repeat("megabytes ", 200_000)+`"}`),
			paintingDone)
	})
	s := runOnTerminal(t, 40, 12, "chat", "--url", u, "Hello")
	s.await(t, "The chat leaves out", "is completed.")
	s.press(t, keyCtrlD)
	if status := s.status(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	text := s.output()
	for _, bad := range []string{"\x1b]0;owned", "\u202e", "\u009b31m", "\x1b[1m", "\x1b[36m"} {
		if strings.Contains(text, bad) {
			t.Errorf("the output has %q", bad)
		}
	}
	if len(text) > 4<<20 {
		t.Errorf("the output has %d bytes", len(text))
	}
	rowStart := `(\r\n|\x1b\[\d*L)`
	for row, want := range map[string]int{`\* Task t-1 is completed\.`: 1, `> yes`: 0, `> Hello`: 1} {
		if got := len(regexp.MustCompile(rowStart+row).FindAllString(text, -1)); got != want {
			t.Errorf("%d rows begin with %s, want %d", got, row, want)
		}
	}
}

func TestChatWithoutATerminalSendsItsTextOrReportsAUsageError(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	r := run(t, "chat", "--url", f.URL)
	if r.status != 2 || !strings.Contains(r.stderr, "a chat needs a terminal") || !strings.Contains(r.stderr, "A2ACLI_ERR_USAGE") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "chat", "--url", f.URL, "Hello"); r.status != 0 || r.field("State") != "completed" {
		t.Errorf("%+v", r)
	}
	t.Setenv("TERM", "dumb")
	s := runOnTerminal(t, 80, 24, "chat", "--url", f.URL)
	s.await(t, "a chat needs a terminal")
	if status := s.status(t); status != 2 {
		t.Errorf("the exit status on a dumb terminal is %d", status)
	}
}
