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
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

func TestSendShowsTheAnswerOfEveryVersion(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	for _, flags := range [][]string{
		nil, {"--transport", "HTTP+JSON"}, {"--a2a-version", "0.3"}, {"--a2a-version", "0.3", "--transport", "HTTP+JSON"},
	} {
		r := run(t, append([]string{"send", "--url", f.URL, "Hello"}, flags...)...)
		if r.status != 0 || r.field("State") != "completed" || !strings.Contains(r.stdout, "\n  ") {
			t.Errorf("%v: %+v", flags, r)
		}
	}
	run(t, "send", "--url", f.URL, "Hello").golden(t, "send")
	run(t, "send", "--url", f.URL, "Hello", "--stream").golden(t, "send-stream")
	run(t, "send", "--url", f.URL, "Hello", "-o", "json").golden(t, "send-json")
}

func TestEachLineOfAStreamIsAnObject(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	r := run(t, "send", "--url", f.URL, "Hello", "-o", "json", "--stream")
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("%q is no JSON", line)
		}
	}
	if last := lines[len(lines)-1]; len(lines) < 3 || !strings.Contains(last, `"TASK_STATE_COMPLETED"`) || !strings.Contains(last, `"contextId"`) {
		t.Errorf("the last line %q lacks the state and the ids", last)
	}
}

func TestAnInterruptedTaskIsContinued(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.AskingAgent)
	asked := run(t, "send", "--url", f.URL, "Hello")
	asked.golden(t, "send-asked")
	for _, flag := range []string{"--task-id", "--task"} {
		first := run(t, "send", "--url", f.URL, "Hello")
		next := run(t, "send", "--url", f.URL, "yes", flag, first.field("Task"))
		if next.status != 0 || next.field("State") != "completed" || next.field("Task") != first.field("Task") {
			t.Errorf("%s: %+v", flag, next)
		}
	}
	lost := run(t, "send", "--url", f.URL, "yes", "--task-id", "none", "-o", "json")
	lost.golden(t, "send-unknown-task")
}

func TestAsyncReportsTheTaskAndWatchFollowsIt(t *testing.T) {
	proceed := make(chan struct{})
	f := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
	sent := run(t, "send", "--url", f.URL, "Hello", "--async")
	id := sent.field("Task")
	if sent.status != 0 || id == "" || sent.field("Context") == "" || !strings.Contains(sent.stderr, "task watch --url "+f.URL+" "+id) {
		t.Fatalf("%+v", sent)
	}
	late := run(t, "task", "watch", "--url", f.URL, id, "--timeout", "200ms")
	if late.status != 5 || !strings.Contains(late.stderr, "A2ACLI_ERR_TIMEOUT") || !strings.Contains(late.stderr, "task cancel") {
		t.Errorf("%+v", late)
	}
	close(proceed)
	watched := run(t, "task", "watch", "--url", f.URL, id)
	if watched.status != 0 || watched.field("State") != "completed" {
		t.Errorf("%+v", watched)
	}
	got := run(t, "task", "get", "--url", f.URL, id, "--history", "5")
	got.golden(t, "task-get")
	run(t, "task", "get", "--url", f.URL, id, "-o", "json").golden(t, "task-get-json")
	run(t, "task", "list", "--url", f.URL).golden(t, "task-list")
	run(t, "task", "list", "--url", f.URL, "--status", "failed").golden(t, "task-list-none")
	run(t, "task", "cancel", "--url", f.URL, id).golden(t, "task-cancel-ended")
}

func TestCancelEndsATask(t *testing.T) {
	proceed := make(chan struct{})
	defer close(proceed)
	f := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
	id := run(t, "send", "--url", f.URL, "Hello", "--async").field("Task")
	if r := run(t, "task", "cancel", "--url", f.URL, id); r.status != 0 || r.field("State") != "canceled" {
		t.Errorf("%+v", r)
	}
}

func TestPartsKeepTheirOrderAndTypes(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	dir := t.TempDir()
	for name, content := range map[string]string{"a.bin": "\x00\x01", "b.txt": "plain", "c.json": `{"n": 1}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sent := runIn(t.Context(), t, `[1, 2]`, "send", "--url", f.URL, "first", "--file", filepath.Join(dir, "a.bin"), "--media-type", "application/x-thing",
		"--data", filepath.Join(dir, "c.json"), "--text", "last", "--file", filepath.Join(dir, "b.txt"), "--file", "https://example.com/d.png", "--media-type", "image/png",
		"--data", "-", "--skill", "echo", "--metadata", `{"k": [1]}`)
	if sent.status != 0 {
		t.Fatalf("%+v", sent)
	}
	r := run(t, "task", "get", "--url", f.URL, sent.field("Task"), "--history", "1", "-o", "json")
	var task struct {
		History []struct {
			Parts []struct {
				Text, Filename, MediaType, URL, Raw string
				Data                                json.RawMessage
			}
			Metadata map[string]any
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &task); err != nil || len(task.History) != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	var got []string
	for _, p := range task.History[0].Parts {
		var data bytes.Buffer
		_ = json.Compact(&data, p.Data)
		got = append(got, strings.Join([]string{p.Text, p.Filename, p.MediaType, p.URL, p.Raw, data.String()}, "|"))
	}
	want := []string{
		"first|||||", "|a.bin|application/x-thing||AAE=|", `|||||{"n":1}`, "last|||||", "|b.txt|text/plain||cGxhaW4=|", "||image/png|https://example.com/d.png||", "|||||[1,2]",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("parts are %q, want %q", got, want)
	}
	if m := task.History[0].Metadata; fmt.Sprint(m) != "map[a2a-operator.dev/skill:echo k:[1]]" {
		t.Errorf("metadata is %v", m)
	}
}

func TestWrongCommandLinesAreUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"send"},
		{"send", "--url", "http://127.0.0.1:1"},
		{"send", "--url", "http://127.0.0.1:1", "x", "--async", "--stream"},
		{"send", "--url", "http://127.0.0.1:1", "--media-type", "text/plain", "x"},
		{"send", "--url", "http://127.0.0.1:1", "x", "--data", "/nonexistent"},
		{"send", "--url", "http://127.0.0.1:1", "x", "--metadata", "[]"},
		{"send", "--url", "http://127.0.0.1:1", "x", "--bearer", "a", "--api-key", "b"},
		{"send", "--url", "gopher://127.0.0.1:1", "x"},
		{"send", "--unknown"},
		{"task", "list", "--url", "http://127.0.0.1:1", "--status", "dreaming"},
		{"task", "list", "--url", "http://127.0.0.1:1", "--limit", "1000"},
		{"task", "get", "--url", "http://127.0.0.1:1"},
		{"task", "dance"},
		{"dance"},
		{"list", "extra"},
		{"list", "-o", "xml"},
		{"help", "dance"},
	} {
		r := run(t, args...)
		if r.status != 2 || !strings.Contains(r.stderr, "A2ACLI_ERR_USAGE") || r.stdout != "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

func TestUnreachableAgentsHaveTheirStatus(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	none := httptest.NewServer(http.NotFoundHandler())
	defer none.Close()
	for u, want := range map[string]string{
		"http://127.0.0.1:1": "A2ACLI_ERR_UNREACHABLE", server.URL: "A2ACLI_ERR_UNREACHABLE", none.URL: "A2ACLI_ERR_CARD_NOT_FOUND",
	} {
		r := run(t, "send", "--url", u, "x")
		if r.status != 3 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", u, r)
		}
	}
	r := run(t, "send", "--url", server.URL, "x", "--insecure")
	if r.status != 3 || !strings.Contains(r.stderr, "CARD_NOT_FOUND") || !strings.Contains(r.stderr, "Warning: --insecure") {
		t.Errorf("--insecure: %+v", r)
	}
	run(t, "send", "echo", "x").golden(t, "no-cluster")
}

func TestCredentialsComeFromVariables(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent, sidecartest.WithTokens, sidecartest.WithoutAnonymous)
	missing := run(t, "send", "--url", f.URL, "x")
	if missing.status != 4 || !strings.Contains(missing.stderr, "A2ACLI_ERR_CREDENTIALS_MISSING") || !strings.Contains(missing.stderr, "A2ACLI_BEARER") {
		t.Errorf("%+v", missing)
	}
	t.Setenv("A2ACLI_BEARER", "wrong")
	if r := run(t, "send", "--url", f.URL, "x"); r.status != 4 || !strings.Contains(r.stderr, "A2ACLI_ERR_AUTH_FAILED") {
		t.Errorf("%+v", r)
	}
	token := f.Token(t, "me")
	r := run(t, "send", "--url", f.URL, "x", "--bearer", token, "--debug")
	if r.status != 0 || strings.Contains(r.stderr, token) || !strings.Contains(r.stderr, "> POST ") {
		t.Errorf("%+v", r)
	}
	t.Setenv("A2ACLI_BEARER", token)
	t.Setenv("A2ACLI_AGENT_CARD", f.URL)
	t.Setenv("A2ACLI_STREAM", "true")
	if r := run(t, "send", "x"); r.status != 0 || strings.Contains(r.stdout, "State: submitted") {
		t.Errorf("%+v", r)
	}
}

// hostile is an agent that attacks the terminal in every field.
func hostile(t *testing.T) string {
	t.Helper()
	const attack = "\\u001b]0;owned\\u0007\\u001b[2J\\u202e\\u009b31m\\nState: completed\\n\\nTask: forged\\r"
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = fmt.Fprintf(w, `{"name":"%[1]s","description":"%[1]s","version":"%[1]s","provider":{"organization":"%[1]s","url":"%[1]s"},
				"supportedInterfaces":[{"url":"%[2]s","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{},
				"defaultInputModes":["%[1]s"],"defaultOutputModes":["%[1]s"],
				"skills":[{"id":"%[1]s","name":"%[1]s","description":"%[1]s","tags":["%[1]s"],"examples":["%[1]s"]}]}`, attack, server.URL)
			return
		}
		var request struct{ Method string }
		_ = json.NewDecoder(r.Body).Decode(&request)
		if request.Method == "CancelTask" {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32603,"message":"%s"}}`, attack)
			return
		}
		task := fmt.Sprintf(`{"id":"%[1]s","contextId":"%[1]s","status":{"state":"TASK_STATE_FAILED","message":{"messageId":"%[1]s","role":"ROLE_AGENT","parts":[{"text":"%[1]s"}]}},
			"artifacts":[{"artifactId":"%[1]s","name":"%[1]s","parts":[{"text":"%[1]s"},{"data":{"%[1]s":"%[1]s"}},{"raw":"AAE=","filename":"../../%[1]s","mediaType":"%[1]s"},{"url":"https://a.example/%[1]s"}]}]}`, attack)
		if request.Method == "SendMessage" {
			task = `{"task":` + task + `}`
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1","result":%s}`, task)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestHostileAnswersCannotControlTheTerminalOrImitateFields(t *testing.T) {
	u := hostile(t)
	dir := filepath.Join(t.TempDir(), "out")
	r := run(t, "send", "--url", u, "x", "--save", dir)
	r.stdout = strings.ReplaceAll(r.stdout, dir, "<dir>")
	r.golden(t, "hostile-send")
	if r.field("State") != "failed" || r.status != 0 {
		t.Errorf("%+v", r)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("saved %v, %v", files, err)
	}
	for _, args := range [][]string{
		{"send", "--url", u, "x", "-o", "json"},
		{"task", "get", "--url", u, "id"},
		{"task", "get", "--url", u, "id", "-o", "json"},
		{"task", "cancel", "--url", u, "id"},
		{"send", "--url", u, "x", "--debug"},
	} {
		run(t, args...) // run checks that the output has no control characters
	}
}

func TestArgumentsOfShownCommandsAreQuotedForTheShell(t *testing.T) {
	for argument, want := range map[string]string{
		"5d1c-a": "5d1c-a", "https://a.example/x": "https://a.example/x", "$(rm -rf ~)": "'$(rm -rf ~)'", "a'b": `'a'\''b'`, "": "''", "a\nb": `'a\nb'`,
	} {
		if got := quoted(argument); got != want {
			t.Errorf("quoted(%q) = %s, want %s", argument, got, want)
		}
	}
}

func TestCardShowsItsFieldsSafely(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent, sidecartest.WithTokens, sidecartest.WithoutAnonymous)
	run(t, "card", "get", "--url", f.URL).golden(t, "card")
	if r := run(t, "card", "get", "--url", f.URL, "-o", "json"); r.status != 0 || !json.Valid([]byte(r.stdout)) {
		t.Errorf("%+v", r)
	}
	u := hostile(t)
	run(t, "card", "get", "--url", u).golden(t, "hostile-card")
	run(t, "card", "get", "--url", u, "-o", "json") // run checks that the output has no control characters
}

func TestSavedFilesOverwriteNothing(t *testing.T) {
	u := hostile(t)
	dir := t.TempDir()
	for range 3 {
		run(t, "send", "--url", u, "x", "--save", dir)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Errorf("saved %v, %v", files, err)
	}
}

func TestAnInterruptOffersToCancelTheTask(t *testing.T) {
	for answer, want := range map[string]string{"y\n": "canceled", "\n": "working"} {
		proceed := make(chan struct{})
		f := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
		ctx, interrupt := context.WithCancel(t.Context())
		started := &notifier{mark: "Context: ", notify: interrupt}
		var problems bytes.Buffer
		a := &app{interactive: true}
		a.In, a.Out, a.ErrOut = strings.NewReader(answer), started, &problems
		status := a.run(ctx, []string{"send", "--url", f.URL, "x"})
		id := result{stdout: started.String()}.field("Task")
		if status != 130 || id == "" || !strings.Contains(problems.String(), "Cancel the task "+id) {
			t.Errorf("answer %q: status %d, stderr %s", answer, status, problems.String())
		}
		if got := run(t, "task", "get", "--url", f.URL, id).field("State"); got != want {
			t.Errorf("answer %q: the task is %s, want %s", answer, got, want)
		}
		close(proceed)
	}
}

func TestAnInterruptWithoutATerminalAsksNothing(t *testing.T) {
	proceed := make(chan struct{})
	defer close(proceed)
	f := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
	ctx, interrupt := context.WithCancel(t.Context())
	started := &notifier{mark: "Context: ", notify: interrupt}
	var problems bytes.Buffer
	a := &app{}
	a.In, a.Out, a.ErrOut = strings.NewReader("y\n"), started, &problems
	status := a.run(ctx, []string{"send", "--url", f.URL, "x"})
	if status != 130 || strings.Contains(problems.String(), "[y/N]") || !strings.Contains(problems.String(), "task watch --url") {
		t.Errorf("status %d, stderr %s", status, problems.String())
	}
}

// notifier is a writer that calls notify when the output contains mark.
type notifier struct {
	written bytes.Buffer
	mark    string
	notify  func()
}

func (n *notifier) String() string { return n.written.String() }

func (n *notifier) Write(p []byte) (int, error) {
	written, err := n.written.Write(p)
	if strings.Contains(n.String(), n.mark) {
		n.notify()
	}
	return written, err
}

func TestWordsAreShownOneByOne(t *testing.T) {
	proceed := make(chan struct{})
	f := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
	reader, writer := io.Pipe()
	done := make(chan int, 1)
	go func() {
		a := &app{}
		a.In, a.Out, a.ErrOut = strings.NewReader(""), writer, io.Discard
		done <- a.run(t.Context(), []string{"send", "--url", f.URL, "x"})
		_ = writer.Close()
	}()
	buffer := make([]byte, 4096)
	seen := ""
	for !strings.Contains(seen, "Artifact") {
		n, err := reader.Read(buffer)
		if err != nil {
			t.Fatalf("the output ended with %q: %v", seen, err)
		}
		seen += string(buffer[:n])
	}
	close(proceed) // the agent goes on only after its first word was shown
	rest, err := io.ReadAll(reader)
	if status := <-done; status != 0 || err != nil || !strings.Contains(string(rest), "State: completed") {
		t.Errorf("status %d, rest %q, %v", status, rest, err)
	}
}

func TestTimeoutOfAnAgentThatNeverAnswers(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if r := runIn(ctx, t, "", "send", "--url", server.URL, "x"); r.status != 130 || r.stderr != "Interrupted\n" {
		t.Errorf("%+v", r)
	}
}
