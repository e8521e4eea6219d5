// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/client/inputform"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// formAgent is an agent whose task asks in a form, and is completed by the next message.
type formAgent struct {
	url string

	mu sync.Mutex
	// asked is the message of the status, in JSON, "" after the answer.
	asked string
	// answers are the messages that continue the task, in JSON. activated is the last value of A2A-Extensions, and owner that of
	// A2A-Task-Owner.
	answers          []string
	activated, owner string
}

func (a *formAgent) task() string {
	if a.asked == "" {
		return `{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED"}}`
	}
	return `{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":` + a.asked + `}}`
}

// startFormAgent starts an agent that asks with a status message of the given members.
func startFormAgent(t *testing.T, members string) *formAgent {
	t.Helper()
	a := &formAgent{asked: `{"messageId":"m-1","role":"ROLE_AGENT",` + members + `}`}
	a.url = fakeAgent(t, func(w http.ResponseWriter, r *http.Request, method, _ string) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.activated = r.Header.Get("A2A-Extensions")
		a.owner = r.Header.Get("A2A-Task-Owner")
		var request struct {
			Params struct{ Message json.RawMessage }
		}
		_ = json.NewDecoder(r.Body).Decode(&request)
		switch {
		case method == "GetTask":
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1","result":%s}`, a.task())
			return
		case strings.Contains(string(request.Params.Message), `"taskId":"t-1"`):
			a.answers = append(a.answers, string(request.Params.Message))
			a.asked = ""
		}
		if method == "SendMessage" {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1","result":{"task":%s}}`, a.task())
			return
		}
		writeEvents(w, `{"task":`+a.task()+`}`)
	}, inputform.Extension)
	return a
}

// checkAnswer checks that the agent got one answer, with these texts.
func (a *formAgent) checkAnswer(t *testing.T, texts ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.answers) != 1 {
		t.Fatalf("the agent has %d answers: %q", len(a.answers), a.answers)
	}
	for _, text := range texts {
		if !strings.Contains(a.answers[0], text) {
			t.Errorf("the answer lacks %s: %s", text, a.answers[0])
		}
	}
	if a.activated != inputform.Extension {
		t.Errorf("the extensions of the request are %q", a.activated)
	}
}

func (a *formAgent) checkNoAnswer(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.answers) > 0 {
		t.Errorf("the agent got %q", a.answers)
	}
}

const (
	approvals = `"parts":[{"text":"Shall I?"}],"extensions":["` + inputform.Extension + `"],"metadata":{"` + inputform.Extension +
		`":{"type":"tool_approval_request","hint":"Deploy now?","tools":[{"id":"call-1","call_id":"x","name":"deploy","args":{"namespace":"shop","replicas":3}},{"id":"call 2","call_id":"y","name":"announce","args":{}}]}}`
	questions = `"parts":[{"text":"Please answer."}],"extensions":["` + inputform.Extension + `"],"metadata":{"` + inputform.Extension +
		`":{"type":"ask_user_request","id":"ask-1","questions":[{"question":"Where?","choices":["us","eu"]},{"question":"When?"}]}}`
	confirmation = `"parts":[{"data":{"id":"adk-1","name":"adk_request_confirmation","args":{"originalFunctionCall":{"id":"o","name":"book_table","args":{"place":"Luigi","people":4}},"toolConfirmation":{"hint":"Book?"}}},"metadata":{"adk_type":"function_call"}}]`
)

// advised returns the words of the command after a label in a line of stderr.
func advised(t *testing.T, stderr, label string) []string {
	t.Helper()
	_, line, found := strings.Cut(stderr, label+" kubectl a2a ")
	if !found {
		t.Fatalf("%q has no command after %q", stderr, label)
	}
	line, _, _ = strings.Cut(line, "\n")
	var words []string
	for i, part := range strings.Split(line, "'") { // in quotes, or words
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

func TestSendShowsWhatIsToBeApprovedAndTheCommandsThatDecide(t *testing.T) {
	for flag, want := range map[string]string{"To approve:": `"approved":true`, "To reject:": `"approved":false`} {
		a := startFormAgent(t, approvals)
		r := run(t, "send", "--url", a.url, "Deploy")
		r.golden(t, "form-approvals")
		if r := run(t, append(advised(t, r.stderr, flag), "--yes")...); r.status != 0 || r.field("State") != "completed" {
			t.Errorf("%+v", r)
		}
		a.checkAnswer(t, want, `"id":"call-1"`, `"id":"call 2"`, `"type":"tool_approval_response"`)
	}
	a := startFormAgent(t, confirmation)
	r := run(t, "send", "--url", a.url, "Book a table", "-o", "json")
	if r.status != 0 || !json.Valid([]byte(r.stdout)) {
		t.Errorf("%+v", r)
	}
	run(t, append(advised(t, r.stderr, "To approve:"), "--yes")...)
	a.checkAnswer(t, `"confirmed":true`, `"adk_type":"function_response"`)

	a = startFormAgent(t, questions)
	r = run(t, "chat", "--url", a.url, "Deploy")
	r.golden(t, "form-questions")
	if r := run(t, "send", "--url", a.url, "--task-id", "t-1", "--answer", "2", "--answer", "now", "--async"); r.status != 0 {
		t.Errorf("%+v", r)
	}
	a.checkAnswer(t, `"answers":[{"answer":["eu"]},{"answer":["now"]}]`, `"id":"ask-1"`)
}

// TestApproveShowsEachCallAndAsks decides with the commands approve and reject. Without a yes, nothing is sent.
func TestApproveShowsEachCallAndAsks(t *testing.T) {
	answering := func(answer string, arguments ...string) result {
		var out, problems bytes.Buffer
		a := &app{interactive: true}
		a.In, a.Out, a.ErrOut = strings.NewReader(answer), &out, &problems
		status := a.run(t.Context(), arguments)
		return result{out.String(), problems.String(), status}
	}
	for name, test := range map[string]struct {
		answer    string
		arguments []string
		status    int
		// shown is on stdout or stderr, and want in the message to the agent; nil for no message.
		shown string
		want  []string
	}{
		"all":                {"y\n", []string{"approve"}, 0, "Approve 2 and reject 0 of the calls? [y/N]", []string{`{"approved":true,"id":"call-1"},{"approved":true,"id":"call 2"}`}},
		"of another caller":  {"y\n", []string{"approve", "--owner", "jwt:https://login.example#o'neil"}, 0, "State: completed", []string{`"approved":true`}},
		"all but one":        {"yes\n", []string{"approve", "--reject", "call 2", "--reason", "not today"}, 0, "Reject call 2:\n  announce {}", []string{`{"approved":true,"id":"call-1"}`, `{"approved":false,"id":"call 2","rejection_reason":"not today"}`}},
		"reject":             {"y\n", []string{"reject", "--reason", "no"}, 0, "Approve 0 and reject 2 of the calls?", []string{`{"approved":false,"id":"call-1","rejection_reason":"no"}`}},
		"reject all but one": {"", []string{"reject", "--approve", "call-1", "-y"}, 0, "Approve call-1:", []string{`{"approved":true,"id":"call-1"}`, `{"approved":false,"id":"call 2"}`}},
		"JSON":               {"y\n", []string{"approve", "-o", "json"}, 0, `"namespace": "shop"`, []string{`"approved":true`}},
		"Enter":              {"\n", []string{"approve"}, 1, `"replicas": 3`, nil},
		"no answer":          {"", []string{"approve"}, 1, "nothing was decided", nil},
		"a text":             {"ok\n", []string{"approve"}, 1, "nothing was decided", nil},
		"another call":       {"y\n", []string{"approve", "--reject", "call-3"}, 2, `does not ask about the call "call-3"`, nil},
		"a call twice":       {"y\n", []string{"reject", "--approve", "call-1", "--approve", "call-1"}, 2, "two decisions", nil},
		"a reason only":      {"y\n", []string{"approve", "--reason", "why"}, 2, "--reason needs --reject", nil},
	} {
		a := startFormAgent(t, approvals)
		r := answering(test.answer, append(test.arguments, "--url", a.url, "t-1")...)
		if r.status != test.status || !strings.Contains(r.stdout+r.stderr, test.shown) {
			t.Errorf("%s: want %q: %+v", name, test.shown, r)
		}
		if test.want == nil {
			a.checkNoAnswer(t)
			continue
		}
		a.checkAnswer(t, test.want...)
		if name == "of another caller" && a.owner != test.arguments[2] {
			t.Errorf("the request names the owner %q", a.owner)
		}
		if name == "JSON" && !json.Valid([]byte(r.stdout)) {
			t.Errorf("%s: %s", name, r.stdout)
		}
		if r := run(t, append(test.arguments, "--yes", "--url", a.url, "t-1")...); r.status != 2 || !strings.Contains(r.stdout+r.stderr, "the task is completed, and waits for no decision") {
			t.Errorf("%s, again: %+v", name, r)
		}
	}
	a := startFormAgent(t, approvals)
	if r := run(t, "approve", "--url", a.url, "t-1"); r.status != 2 || !strings.Contains(r.stderr, "without a terminal") {
		t.Errorf("%+v", r)
	}
	more := `"a2a-operator.dev/approval":{"agent":"team/deployer","sources":{"call-1":"MCP server http://tools/mcp"}},"` + inputform.Extension + `":{"type"`
	a = startFormAgent(t, strings.Replace(approvals, `"`+inputform.Extension+`":{"type"`, more, 1))
	if r := answering("n\n", "approve", "--url", a.url, "t-1"); !strings.Contains(r.stdout, "Agent team/deployer asks to call deploy (MCP server http://tools/mcp) {") {
		t.Errorf("%+v", r)
	}
	// Another client may get a new question in before the user answers.
	changed := &changingReader{func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked = strings.Replace(a.asked, `"replicas":3`, `"replicas":300`, 1)
	}}
	var out, problems bytes.Buffer
	asked := &app{interactive: true}
	asked.In, asked.Out, asked.ErrOut = changed, &out, &problems
	if status := asked.run(t.Context(), []string{"approve", "--url", a.url, "t-1"}); status != 2 || !strings.Contains(problems.String(), "asks for something else now") {
		t.Errorf("status %d, %s", status, problems.String())
	}
	a.checkNoAnswer(t)
}

// changingReader reads the answer y after a change.
type changingReader struct{ change func() }

func (r *changingReader) Read(p []byte) (int, error) {
	r.change()
	return copy(p, "y\n"), nil
}

func TestSendDecidesNothingThatWasNotNamed(t *testing.T) {
	a := startFormAgent(t, approvals)
	flags := []string{"send", "--url", a.url, "--task-id", "t-1"}
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"a text":                {[]string{"yes"}, "a text cannot make"},
		"a text, async":         {[]string{"yes", "--async"}, "a text cannot make"},
		"a file":                {[]string{"--file", "form_test.go"}, "a text cannot make"},
		"one of two calls":      {[]string{"--approve", "call-1"}, `no decision about the call "call 2"`},
		"another call":          {[]string{"--approve", "call-1", "--approve", "call-3"}, `does not ask about the call "call-3"`},
		"both":                  {[]string{"--approve", "call-1", "--reject", "call-1", "--approve", "call 2"}, "two decisions"},
		"answers to no":         {[]string{"--answer", "yes"}, "does not ask for that"},
		"a text and a decision": {[]string{"yes", "--approve", "call-1"}, "exclude a text"},
		"a reason for nothing":  {[]string{"--approve", "call-1", "--approve", "call 2", "--reason", "why not"}, "--reason needs --reject"},
	} {
		r := run(t, append(flags, test.arguments...)...)
		if r.status != 2 || !strings.Contains(r.stderr, test.want) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := run(t, "send", "--url", a.url, "--approve", "call-1"); r.status != 2 || !strings.Contains(r.stderr, "need --task-id") {
		t.Errorf("%+v", r)
	}
	a.checkNoAnswer(t)
	a.mu.Lock()
	a.asked = "" // another client has decided
	a.mu.Unlock()
	if r := run(t, append(flags, "--approve", "call-1", "--approve", "call 2")...); r.status != 2 || !strings.Contains(r.stderr, "the task is completed") {
		t.Errorf("%+v", r)
	}
	a.checkNoAnswer(t)
}

func TestChatDecidesByYAndNOnly(t *testing.T) {
	setTerminal(t)
	a := startFormAgent(t, approvals)
	s := runOnTerminal(t, 80, 40, "chat", "--url", a.url, "Deploy")
	s.await(t, "Deploy now?", "(1 of 2)", `"namespace": "shop"`, `"replicas": 3`, "Approve deploy? y or n, then Enter.")
	for i, text := range []string{"yes", "Yes, please go on", "y go", "ok"} {
		s.press(t, text, keyEnter)
		s.awaitThat(t, "refusal of "+text, func() bool { return strings.Count(s.emulator.String(), "That decides nothing") == i+1 })
	}
	s.press(t, "\x1b[200~y\r\x1b[201~") // a paste does not decide
	a.checkNoAnswer(t)
	s.press(t, keyCtrlC, "y", keyEnter)
	s.await(t, "(2 of 2)", "announce {}")
	a.checkNoAnswer(t)
	s.press(t, "n not today", keyEnter)
	s.await(t, "Task t-1 is completed.")
	s.press(t, keyCtrlD)
	s.status(t)
	a.checkAnswer(t, `{"approved":true,"id":"call-1"}`, `{"approved":false,"id":"call 2","rejection_reason":"not today"}`)
}

func TestChatShowsTheFormOfATaskThatItContinues(t *testing.T) {
	setTerminal(t)
	a := startFormAgent(t, confirmation)
	s := runOnTerminal(t, 80, 40, "chat", "--url", a.url, "--task-id", "t-1", "yes")
	s.await(t, "the text was not sent", "book_table {", `"people": 4`, "Approve book_table?")
	a.checkNoAnswer(t)
	s.press(t, "n because", keyEnter) // ADK takes no reason
	s.await(t, "That decides nothing")
	s.press(t, "y", keyEnter)
	s.await(t, "Task t-1 is completed.")
	s.press(t, keyCtrlD)
	s.status(t)
	a.checkAnswer(t, `"confirmed":true`)
}

func TestChatAnswersQuestionsByNumber(t *testing.T) {
	setTerminal(t)
	a := startFormAgent(t, questions)
	s := runOnTerminal(t, 80, 40, "chat", "--url", a.url, "Deploy")
	s.await(t, "Question 1 of 2:", "1. us", "2. eu", "Type the number of your choice")
	s.press(t, "3", keyEnter)
	s.await(t, "there is no choice 3")
	s.press(t, "2", keyEnter)
	s.await(t, "Question 2 of 2:", "When?")
	s.press(t, "next week", keyEnter)
	s.await(t, "Task t-1 is completed.")
	s.press(t, keyCtrlD)
	s.status(t)
	a.checkAnswer(t, `"answers":[{"answer":["eu"]},{"answer":["next week"]}]`)
}

func TestChatHidesASecret(t *testing.T) {
	setTerminal(t)
	a := startFormAgent(t, `"parts":[{"text":"API key?"}],"metadata":{"inputRequest":{"requestId":"i-1","sensitive":true}}`)
	s := runOnTerminal(t, 80, 24, "chat", "--url", a.url, "Hello")
	s.await(t, "Your text is hidden.")
	s.press(t, "hunter2", keyEnter)
	s.await(t, "> (hidden)", "Task t-1 is completed.")
	s.press(t, keyUp)
	s.await(t, "> Hello")
	s.press(t, keyCtrlC, keyCtrlD)
	s.status(t)
	if strings.Contains(s.output(), "hunter2") {
		t.Errorf("the terminal shows the secret:\n%s", s.emulator.String())
	}
	a.checkAnswer(t, "hunter2")
}

func TestAMessageToATaskThatHasEndedNamesTheWayOn(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	ended := run(t, "send", "--url", f.URL, "Hello")
	r := run(t, "send", "--url", f.URL, "--task-id", ended.field("Task"), "Again")
	want := `--context-id ` + ended.field("Context") + ` "..."`
	if r.status != 1 || !strings.Contains(r.stderr, "the task is completed") || !strings.Contains(r.stderr, want) || strings.Contains(r.stderr, "the task continues") {
		t.Errorf("want %s: %+v", want, r)
	}
}
