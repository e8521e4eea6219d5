// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// controls matches the sequences with which a program controls a terminal, and white space.
var controls = regexp.MustCompile(`\x1b\[[0-9;?>=<]*[ -/]*[a-zA-Z]|\x1b[()=>78][B0]?|\s`)

// visible returns a text without control sequences and white space, so that it does not depend on where rows break.
func visible(text string) string { return controls.ReplaceAllString(text, "") }

// awaitVisible waits until the output has the text, on one row or broken into several.
func (s *screen) awaitVisible(t *testing.T, text string) {
	t.Helper()
	// A frame that was drawn in two parts is only on the screen in one piece.
	s.awaitThat(t, text, func() bool {
		return strings.Contains(visible(s.raw.String()), visible(text)) || strings.Contains(visible(s.emulator.String()), visible(text))
	})
}

// TestOddAnswersReachTheUser runs send and chat without a terminal, and on terminals of 20 and of 80 columns.
func TestOddAnswersReachTheUser(t *testing.T) {
	for name, test := range map[string]struct {
		events []string
		want   []string
	}{
		"a stream that ends inside of a table": {
			[]string{artifactUpdate("a", `{"text":"| City | Degrees |\n|---|---|\n| Paris | 31 |\n| Osl"}`)}, []string{"Paris", "31", "Osl"},
		},
		"a stream that ends inside of a code block": {[]string{artifactUpdate("a", `{"text":"`+"```"+`\nls -l"}`)}, []string{"ls -l"}},
		"right-to-left scripts": {
			[]string{artifactUpdate("a", `{"text":"שלום עולם, مرحبا بالعالم, and \u202ehidden\u202c"}`)}, []string{"שלום עולם, مرحبا بالعالم", `\u202ehidden`},
		},
		"wide characters": {[]string{artifactUpdate("a", `{"text":"`+strings.Repeat("世界🙂", 20)+`"}`)}, []string{"世界🙂世界"}},
		"control characters": {
			[]string{artifactUpdate("a", `{"text":"a\u001b[2Jb\rc\b\u0007\u009b1m"}`)}, []string{`a\x1b[2Jb\rc\x08\x07\x9b1m`},
		},
		"a word longer than a row": {[]string{artifactUpdate("a", `{"text":"`+strings.Repeat("x", 500)+`end"}`)}, []string{"xxxend"}},
		"nothing at all":           {nil, nil},
		"a call to approve": {
			[]string{`{"statusUpdate":{"taskId":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"m-1","role":"ROLE_AGENT",` + approvals + `}}}}`},
			[]string{"Shall I?", "deploy", `"namespace": "shop"`, `"replicas": 3`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			setTerminal(t)
			done := paintingDone
			if strings.Contains(fmt.Sprint(test.events), "INPUT_REQUIRED") {
				done = ""
			}
			u := fakeAgent(t, func(w http.ResponseWriter, _ *http.Request, _, _ string) {
				events := append([]string{paintingTask}, test.events...)
				if done != "" {
					events = append(events, done)
				}
				writeEvents(w, events...)
			})
			check := func(way, output string, status int) {
				for _, want := range test.want {
					if !strings.Contains(visible(output), visible(want)) {
						t.Errorf("%s: the output lacks %q:\n%s", way, want, output)
					}
				}
				if strings.ContainsAny(output, "\u202e\u009b\a") || status != 0 {
					t.Errorf("%s: the status is %d, and the output is\n%q", way, status, output)
				}
			}
			for _, command := range []string{"send", "chat"} {
				r := run(t, command, "--url", u, "Hello")
				check(command+" without a terminal", r.stdout+r.stderr, r.status)
				for _, columns := range []int{20, 80} {
					s := runOnTerminal(t, columns, 12, command, "--url", u, "Hello")
					end := map[string]string{"send": "State: completed", "chat": "is completed."}[command]
					if done == "" {
						end = map[string]string{"send": "To reject: kubectl a2a", "chat": "then Enter."}[command]
					}
					s.awaitVisible(t, end)
					if command == "chat" {
						s.press(t, keyCtrlC, keyCtrlD)
					}
					status := s.status(t)
					check(fmt.Sprintf("%s on %d columns", command, columns), s.output(), status)
				}
			}
		})
	}
}

// TestPastedControlCharactersReachNeitherTheTerminalNorTheAgent pastes with and without the brackets of the terminal.
func TestPastedControlCharactersReachNeitherTheTerminalNorTheAgent(t *testing.T) {
	setTerminal(t)
	got := make(chan string, 1)
	u := fakeAgent(t, func(w http.ResponseWriter, _ *http.Request, _, text string) {
		got <- text
		writeEvents(w, paintingTask, paintingDone)
	})
	s := runOnTerminal(t, 20, 12, "chat", "--url", u)
	s.await(t, "helps.")
	s.press(t, "\x1b[200~one\x00\x07\u202etwo\u200b\x7f\r\nthree\x1b[201~")
	s.await(t, "three")
	s.press(t, keyEnter)
	s.awaitVisible(t, "is completed.")
	text := <-got
	if strings.ContainsAny(text, "\x00\x07\x7f\u202e\u200b\r") || !strings.Contains(text, "two") || !strings.HasSuffix(text, "\nthree") {
		t.Errorf("the agent got %q", text)
	}
	s.press(t, keyCtrlD)
	s.status(t)
	if strings.ContainsAny(s.output(), "\x00\x07\u202e") {
		t.Errorf("the terminal got %q", s.output())
	}
}

// TestASilentAgentIsShownAsWaiting lets the clocks of send and chat run for a minute.
func TestASilentAgentIsShownAsWaiting(t *testing.T) {
	setTerminal(t)
	var errOut bytes.Buffer
	p := &progress{app: &app{}, errOut: &errOut, width: 20, state: a2a.StateUnknown}
	p.show(p.began.Add(time.Minute + 5*time.Second))
	if got := errOut.String(); got != eraseLine+"waiting for the ag…" {
		t.Errorf("on 20 columns: %q", got)
	}
	errOut.Reset()
	p.width = 80
	p.state = a2a.StateWorking
	p.show(p.began.Add(time.Minute + 5*time.Second))
	if got := errOut.String(); got != eraseLine+"working, 65 s" {
		t.Errorf("on 80 columns: %q", got)
	}
	proceed := make(chan struct{})
	u := fakeAgent(t, func(w http.ResponseWriter, r *http.Request, _, _ string) {
		select {
		case <-proceed:
		case <-r.Context().Done():
		}
		writeEvents(w, paintingTask, paintingDone)
	})
	s := runOnTerminal(t, 20, 12, "send", "--url", u, "Hello")
	s.await(t, "waiting for the a")
	close(proceed)
	if status := s.status(t); status != 0 {
		t.Errorf("the exit status is %d", status)
	}
	s.await(t, "State: completed")
	if screen := s.emulator.String(); strings.Contains(screen, "waiting") {
		t.Errorf("the progress is not erased:\n%s", screen)
	}
}

func TestTenThousandTasksAreListed(t *testing.T) {
	const total, page = 10_000, 100
	u := fakeAgent(t, func(w http.ResponseWriter, r *http.Request, _, _ string) {
		body, _ := io.ReadAll(r.Body)
		first := 0
		if found := regexp.MustCompile(`"pageToken":"(\d+)"`).FindSubmatch(body); found != nil {
			first, _ = strconv.Atoi(string(found[1]))
		}
		var tasks []string
		for i := first; i < first+page; i++ {
			tasks = append(tasks, fmt.Sprintf(`{"id":"t-%d","contextId":"c-1","status":{"state":"TASK_STATE_WORKING"}}`, i))
		}
		next := ""
		if first+page < total {
			next = strconv.Itoa(first + page)
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1","result":{"tasks":[%s],"nextPageToken":"%s","pageSize":100,"totalSize":10000}}`, strings.Join(tasks, ","), next)
	})
	for want, flags := range map[int][]string{
		total + 1: {"--all"},
		total:     {"--all", "-o", "json", "--stream"},
		page + 1:  {"--limit", "100"},
	} {
		r := run(t, append([]string{"task", "list", "--url", u}, flags...)...)
		if got := strings.Count(r.stdout, "\n"); r.status != 0 || got != want {
			t.Errorf("%q: %d lines, status %d, %s", flags, got, r.status, r.stderr)
		}
	}
	if r := run(t, "task", "list", "--url", u); !strings.Contains(r.stderr, "There are more tasks") {
		t.Errorf("%s", r.stderr)
	}
}

func TestACardWithAHundredSkillsIsShownAndUsed(t *testing.T) {
	setTerminal(t)
	var skills []string
	for i := range 100 {
		skills = append(skills, fmt.Sprintf(`{"id":"skill-%d","name":"Skill %d","description":"%s","tags":["t"]}`, i, i, strings.Repeat("Does it. ", 50)))
	}
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			writeEvents(w, paintingTask, paintingDone)
			return
		}
		_, _ = fmt.Fprintf(w, `{"name":"Many","description":"%s","version":"1","supportedInterfaces":[{"url":"%s","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true},
			"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[%s]}`, strings.Repeat("Long. ", 1000), server.URL, strings.Join(skills, ","))
	}))
	t.Cleanup(server.Close)
	if r := run(t, "card", "get", "--url", server.URL); r.status != 0 || strings.Count(r.stdout, "\nSkill: ") != 100 {
		t.Errorf("%+v", r)
	}
	if r := run(t, "send", "--url", server.URL, "--skill", "skil-99", "Hello"); r.status != 0 || !strings.Contains(r.stderr, "skill-99") || len(r.stderr) > 500 {
		t.Errorf("%+v", r)
	}
	s := runOnTerminal(t, 20, 12, "chat", "--url", server.URL, "--skill", "skill-99", "Hello")
	s.awaitVisible(t, "is completed.")
	s.press(t, keyCtrlD)
	if status := s.status(t); status != 0 || len(s.output()) > 20_000 {
		t.Errorf("status %d, %d bytes", status, len(s.output()))
	}
}

// TestCommandsWithoutATerminalAskNothing runs the commands with stdin, stdout and stderr in files.
func TestCommandsWithoutATerminalAskNothing(t *testing.T) {
	a := startFormAgent(t, approvals)
	for _, command := range []string{"send", "chat"} {
		file, err := os.CreateTemp(t.TempDir(), "output")
		if err != nil {
			t.Fatal(err)
		}
		status := Run(t.Context(), []string{command, "--url", a.url, "Deploy"}, genericiooptions.IOStreams{In: file, Out: file, ErrOut: file})
		text, err := os.ReadFile(file.Name())
		if status != 0 || err != nil || strings.Contains(string(text), "\x1b") || !strings.Contains(string(text), "Approval call-1:\n  deploy {") || !strings.Contains(string(text), "To reject: kubectl a2a reject --url "+a.url+" t-1") {
			t.Errorf("%s: %d %v\n%s", command, status, err, text)
		}
		_ = file.Close()
	}
}
