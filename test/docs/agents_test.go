// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs tests the documentation. It runs the programs on the pages behind the
// standalone sidecar, and checks links, terms, and names of tests and metrics.
package docs

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
)

func TestMain(m *testing.M) { os.Exit(programs.Built(m, "cmd/sidecar").Run()) }

// snippet matches a fenced block whose first line is a comment with a file name.
var snippet = regexp.MustCompile("(?ms)^```\\w+\n(?://|#) (\\S+)\n(.*?)^```$")

// snippets writes the named blocks of a page into a new directory and returns it.
func snippets(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, found := range snippet.FindAllStringSubmatch(string(text), -1) {
		if err := os.WriteFile(filepath.Join(dir, found[1]), []byte(found[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run starts a program in a directory and waits until it listens.
func run(t *testing.T, dir, address string, env []string, name string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), env...)
	programs.Serve(t, command, address, 30*time.Second)
}

// languages contains, by the extension of the file name, the program and the command that run
// snippets of a language.
var languages = map[string]struct {
	program string
	command func(t *testing.T, file string) []string
}{
	".go": {"go", func(t *testing.T, file string) []string {
		t.Helper()
		return []string{build(t, filepath.Dir(file), file)}
	}},
	".py":  {"python3", func(_ *testing.T, file string) []string { return []string{"python3", file} }},
	".mjs": {"node", func(_ *testing.T, file string) []string { return []string{"node", file} }},
}

// startBehindSidecar starts an agent from the page with the page's card, and returns the
// URL of its sidecar.
func startBehindSidecar(t *testing.T, sidecar, dir, file string) string {
	t.Helper()
	language := languages[filepath.Ext(file)]
	if _, err := exec.LookPath(language.program); err != nil {
		t.Skipf("SKIPPED: %s is not tested, because this machine has no %s", file, language.program)
	}
	agent, front := freeport.Address(t), freeport.Address(t)
	_, port, _ := strings.Cut(agent, ":")
	command := language.command(t, filepath.Join(dir, file))
	run(t, dir, agent, []string{"PORT=" + port}, command[0], command[1:]...)
	run(t, dir, front, nil, sidecar, "--backend-url", "http://"+agent, "--backend-protocol", "Events",
		"--listen", front, "--card", "card.yaml", "--anonymous")
	return "http://" + front
}

// build builds a program and returns its path.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", binary, pkg)
	command.Dir = dir
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return binary
}

// result contains the members of a task of A2A 0.3 that the tests read.
type result struct {
	Kind, ID string
	Status   struct {
		State   string
		Message struct{ Parts []struct{ Text string } }
	}
	Artifacts []struct{ Parts []struct{ Text string } }
}

func (r result) text() string {
	var text strings.Builder
	for _, artifact := range r.Artifacts {
		for _, part := range artifact.Parts {
			text.WriteString(part.Text)
		}
	}
	return text.String()
}

// send calls message/send and returns the task. task is "" for a new task.
func send(t *testing.T, url, task, text string) result {
	t.Helper()
	message := map[string]any{
		"kind": "message", "role": "user", "messageId": fmt.Sprintf("%s-%d", text, len(task)),
		"parts": []any{map[string]any{"kind": "text", "text": text}},
	}
	if task != "" {
		message["taskId"] = task
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": map[string]any{"message": message}})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result result
		Error  json.RawMessage
	}
	if err := json.Unmarshal(fetch(t, http.MethodPost, url+"/", string(body)), &answer); err != nil || answer.Error != nil {
		t.Fatalf("message/send: %v %s", err, answer.Error)
	}
	return answer.Result
}

func fetch(t *testing.T, method, url, body string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s = %s %v\n%s", method, url, response.Status, err, text)
	}
	return text
}

func TestSmallestAgentsAnswer(t *testing.T) {
	sidecar, dir := programs.Path("cmd/sidecar"), snippets(t, "../../docs/how-to/agents.md")
	for _, file := range []string{"main.go", "agent.py", "agent.mjs"} {
		t.Run(file, func(t *testing.T) {
			url := startBehindSidecar(t, sidecar, dir, file)
			got := send(t, url, "", "Grüße")
			if got.Status.State != "completed" || got.text() != "You said: Grüße" {
				t.Errorf("answer = %+v", got)
			}
			var card struct{ Name string }
			if err := json.Unmarshal(fetch(t, http.MethodGet, url+"/.well-known/agent-card.json", ""), &card); err != nil || card.Name != "Repeater" {
				t.Errorf("card = %+v, %v", card, err)
			}
		})
	}
}

func TestAgentOfThePageAsksForInput(t *testing.T) {
	dir := snippets(t, "../../docs/how-to/agents.md")
	url := startBehindSidecar(t, programs.Path("cmd/sidecar"), dir, "ask.py")
	asked := send(t, url, "", "tea")
	if asked.Status.State != "input-required" || asked.Status.Message.Parts[0].Text != "How many words about tea?" {
		t.Fatalf("answer = %+v", asked)
	}
	answered := send(t, url, asked.ID, "2")
	if diff := cmp.Diff("tea 1\ntea 2\n", answered.text()); diff != "" || answered.Status.State != "completed" {
		t.Errorf("answer = %s (-want +got):\n%s", answered.Status.State, diff)
	}
}

// stream matches the events on the page.
var stream = regexp.MustCompile("(?ms)^```json\n(\\{\"text\":.*?)^```$")

// TestSidecarAcceptsTheEventsOnThePage runs an agent that responds with the events on the
// page.
func TestSidecarAcceptsTheEventsOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/events-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	found := stream.FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/reference/events-protocol.md has no stream of events")
	}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = w.Write(found[1])
	}))
	defer agent.Close()
	dir, front := snippets(t, "../../docs/how-to/agents.md"), freeport.Address(t)
	run(t, dir, front, nil, programs.Path("cmd/sidecar"), "--backend-url", agent.URL, "--backend-protocol", "Events",
		"--listen", front, "--card", "card.yaml", "--anonymous")
	got := send(t, "http://"+front, "", "tea")
	if want := "The answer begins and goes on.\n# Tea\nIt is old.\n"; got.Status.State != "completed" || got.text() != want {
		t.Errorf("answer = %s %q, want %q", got.Status.State, got.text(), want)
	}
}
