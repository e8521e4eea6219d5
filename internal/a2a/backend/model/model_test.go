// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request is what the model server gets.
type request struct {
	Messages []struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		ID        string `json:"tool_call_id"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// results returns the number of results of tools in a request, and last the content of the last message.
func (r *request) results() (n int) {
	for i := range r.Messages {
		if r.Messages[i].Role == "tool" {
			n++
		}
	}
	return n
}

// tokens returns about as many tokens as the texts have.
func (r *request) tokens() (n int) {
	for _, m := range r.Messages {
		n += len(m.Content)
	}
	return n/4 + 10
}

func (r *request) last() string { return r.Messages[len(r.Messages)-1].Content }

// says returns the stream of an answer with a text and calls.
func says(text string, calls ...string) string {
	var out strings.Builder
	chunk := func(delta, finish string) {
		if finish == "" {
			finish = "null"
		}
		fmt.Fprintf(&out, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	if text != "" {
		encoded := jsonwrite.String(nil, text)
		chunk(`{"content":`+string(encoded)+`}`, "")
	}
	for i, call := range calls {
		name, arguments, _ := strings.Cut(call, " ")
		encoded := jsonwrite.String(nil, arguments)
		chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"m%d","function":{"name":%q,"arguments":%s}}]}`, i, i, name, encoded), "")
	}
	finish := `"stop"`
	if len(calls) > 0 {
		finish = `"tool_calls"`
	}
	chunk("{}", finish)
	out.WriteString("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n")
	return out.String()
}

// newClient returns a client of a model server that answers with what script returns, or with the status in "status 503".
func newClient(t *testing.T, script func(*request) string) *completions.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q request
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &q); err != nil {
			t.Errorf("request: %v", err)
		}
		answer := script(&q)
		if status, isStatus := strings.CutPrefix(answer, "status "); isStatus {
			code, err := strconv.Atoi(status)
			if err != nil {
				t.Errorf("script: %v", err)
			}
			w.WriteHeader(code)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Replace(answer, `"prompt_tokens":10`, fmt.Sprintf(`"prompt_tokens":%d`, q.tokens()), 1))
	}))
	t.Cleanup(server.Close)
	none := func() string { return "" }
	client, err := completions.New(completions.Options{URL: server.URL, Model: "m", Key: none, RefreshKey: none, Limits: stream.Limits{Once: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

var errKilled = errors.New("the process was killed")

// journal is a journal that fails after a number of steps.
type journal struct {
	entries [][]byte
	kill    func() bool
}

func (j *journal) Entries(context.Context, func(int64) error) ([][]byte, error) {
	return slices.Clone(j.entries), nil
}

func (j *journal) Append(_ context.Context, entry []byte) error {
	if j.kill != nil && j.kill() {
		return errKilled
	}
	j.entries = append(j.entries, slices.Clone(entry))
	return nil
}

// tools is a Toolset whose calls are counted.
type tools struct {
	all []*model.Tool
	run func(c *model.Call) (*model.Result, error)

	mu    sync.Mutex
	calls []string
}

func newTools(run func(c *model.Call) (*model.Result, error), all ...*model.Tool) *tools {
	s := &tools{all: all, run: run}
	for _, tool := range all {
		tool.Toolset = s
		tool.Key = tool.Name
		tool.Parameters = a2a.Object(`{"type":"object"}`)
		tool.Source = "the test"
	}
	return s
}

func (s *tools) Tools(context.Context, *backend.Turn) ([]*model.Tool, error) { return s.all, nil }

func (s *tools) Call(_ context.Context, c *model.Call, _ func(string)) (*model.Result, error) {
	s.mu.Lock()
	s.calls = append(s.calls, c.Tool.Name+" "+string(c.Arguments))
	s.mu.Unlock()
	return s.run(c)
}

func (s *tools) made() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.calls))
}

// task is a task whose turns the test runs.
type task struct {
	t       *testing.T
	backend *model.Backend
	journal *journal
	number  int
	state   a2a.State
	// said is the message of the last status, and text the artifact of the last turn.
	said *a2a.Message
	text string
	// data is the last data part, and statuses the number of statuses.
	data     string
	statuses int
	// metadata is that of all statuses.
	metadata    []string
	onStatus    func()
	checkBudget func(context.Context) error
	kill        func() bool
	history     []*a2a.Message
	trace       a2a.TraceContext
	// reserved is the most memory that a turn has reserved, in bytes.
	reserved int64
}

func newTask(t *testing.T, script func(*request) string, options model.Options) *task {
	t.Helper()
	options.Models = append([]*completions.Client{newClient(t, script)}, options.Models...)
	b, err := model.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return &task{t: t, backend: b, journal: &journal{}}
}

// send runs a turn with a message until it ends without being killed.
func (k *task) send(m *a2a.Message) error {
	k.t.Helper()
	k.number++
	for attempt := 1; ; attempt++ {
		k.journal.kill = k.kill
		k.text = ""
		turn := &backend.Turn{TaskID: "t", ContextID: "c", Number: k.number, Attempt: attempt, Message: m, Journal: k.journal, Owner: "alice", History: k.history, Trace: k.trace, CheckBudget: k.checkBudget}
		turn.Reserve = func(bytes int64) error {
			k.reserved = max(k.reserved, bytes)
			return nil
		}
		err := k.backend.Run(k.t.Context(), turn, func(events []a2a.Event) error {
			if k.kill != nil && k.kill() {
				return errKilled
			}
			for _, e := range events {
				switch {
				case e.Status != nil:
					k.state = e.Status.Status.State
					k.said = e.Status.Status.Message
					k.statuses++
					k.metadata = append(k.metadata, string(e.Status.Metadata))
					if k.onStatus != nil {
						k.onStatus()
					}
				case e.Artifact != nil && e.Artifact.Artifact.ID == backend.ArtifactID(k.number):
					k.text += e.Artifact.Artifact.Parts[0].Text
					k.data = string(e.Artifact.Artifact.Parts[0].Data)
				}
			}
			return nil
		})
		if !errors.Is(err, errKilled) {
			return err
		}
	}
}

func text(text string) *a2a.Message {
	return &a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}}
}

// decide returns a message that decides on all calls of the last request.
func (k *task) decide(approved bool) *a2a.Message {
	k.t.Helper()
	var metadata map[string]struct {
		Tools []struct {
			ID string `json:"id"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(k.said.Metadata, &metadata); err != nil {
		k.t.Fatal(err)
	}
	var approvals []map[string]any
	for _, tool := range metadata[model.Extension].Tools {
		approvals = append(approvals, map[string]any{"id": tool.ID, "approved": approved})
	}
	m := text("decided")
	answer, err := json.Marshal(map[string]any{model.Extension: map[string]any{"type": "tool_approval_response", "approvals": approvals}})
	if err != nil {
		k.t.Fatal(err)
	}
	m.Metadata = answer
	m.Extensions = []string{model.Extension}
	return approval.WithDecidedBy(m, approval.By{Principal: "bob"}) // as the sidecar does for a caller who may decide
}

func echo(c *model.Call) (*model.Result, error) {
	return &model.Result{Text: "result of " + c.Tool.Name}, nil
}

// TestTranscriptReservesMemory lets a model call a tool with large results. The turn reserves memory for all of them.
func TestTranscriptReservesMemory(t *testing.T) {
	const steps, size = 4, 100 << 10
	set := newTools(func(*model.Call) (*model.Result, error) {
		return &model.Result{Text: strings.Repeat("x", size)}, nil
	}, &model.Tool{Name: "look"})
	k := newTask(t, func(r *request) string {
		if r.results() < steps {
			return says("", "look {}")
		}
		return says("It is tea.")
	}, model.Options{Toolsets: []model.Toolset{set}})
	if err := k.send(text("What is it?")); err != nil {
		t.Fatal(err)
	}
	// The last request has all results once more.
	if k.state != a2a.StateCompleted || k.reserved < 2*steps*size || k.reserved > 3*steps*size {
		t.Errorf("state %v; results of %d bytes reserve %d", k.state, steps*size, k.reserved)
	}
}

// TestArgumentsThatNotEveryoneReads lets a model call a tool that needs approval. A call runs only if all
// clients of the task read its arguments in one way. On indented lines, the deep ones would be 50 MB.
func TestArgumentsThatNotEveryoneReads(t *testing.T) {
	for name, arguments := range map[string]string{
		"deep":                `{"a":` + strings.Repeat("[", 4990) + strings.Repeat("]", 4990) + "}",
		"deep in metadata":    `{"a":` + strings.Repeat("[", 26) + strings.Repeat("]", 26) + "}",
		"no double":           `{"a":1e400}`,
		"two names":           `{"to":"staging","to":"production"}`,
		"two objects":         `{},{}`,
		"half of a character": `{"a":"\ud800"}`,
	} {
		t.Run(name, func(t *testing.T) {
			set := newTools(echo, &model.Tool{Name: "deploy", NeedsApproval: true})
			k := newTask(t, func(r *request) string {
				if r.results() > 0 {
					return says(r.last()[:25])
				}
				return says("", "deploy "+arguments)
			}, model.Options{Toolsets: []model.Toolset{set}})
			if err := k.send(text("Deploy.")); err != nil {
				t.Fatal(err)
			}
			if k.state != a2a.StateCompleted || k.text != "The arguments are not a J" {
				t.Errorf("state %v, text %q", k.state, k.text)
			}
		})
	}
}

func TestToolsAndAnswer(t *testing.T) {
	set := newTools(echo, &model.Tool{Name: "look"}, &model.Tool{Name: "find"})
	var last *request
	k := newTask(t, func(r *request) string {
		last = r
		if r.results() == 0 {
			return says("I look.", `look {"a":1}`, `find {}`, `none {}`, `look [1`)
		}
		return says("It is tea.")
	}, model.Options{Toolsets: []model.Toolset{set}, Instructions: func(*backend.Turn) string { return "Be brief." }})
	if err := k.send(text("What is it?")); err != nil {
		t.Fatal(err)
	}
	if k.state != a2a.StateCompleted || k.text != "I look.\n\nIt is tea." {
		t.Errorf("state %v, text %q", k.state, k.text)
	}
	if diff := cmp.Diff([]string{"find {}", `look {"a":1}`}, set.made()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	var got []string
	for _, m := range last.Messages {
		got = append(got, m.Role+": "+m.Content)
	}
	want := []string{
		"system: Be brief.", "user: What is it?", "assistant: I look.", "tool: result of look", "tool: result of find",
		`tool: There is no tool "none"`, "tool: The arguments are not a JSON object, or are nested too deeply: [1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	for i, call := range last.Messages[2].ToolCalls {
		if call.ID != last.Messages[3+i].ID || !json.Valid([]byte(call.Function.Arguments)) {
			t.Errorf("call %d: %+v, result of %q", i, call, last.Messages[3+i].ID)
		}
	}
}

func TestApproval(t *testing.T) {
	script := func(r *request) string {
		if r.results() == 0 {
			return says("", `deploy {"version":"1.4.2"}`, `look {}`)
		}
		return says(r.Messages[len(r.Messages)-2].Content)
	}
	begin := func(t *testing.T, now func() time.Time) (*task, *tools) {
		t.Helper()
		set := newTools(echo, &model.Tool{Name: "deploy", NeedsApproval: true}, &model.Tool{Name: "look"})
		k := newTask(t, script, model.Options{Toolsets: []model.Toolset{set}, Now: now})
		if err := k.send(text("Deploy.")); err != nil {
			t.Fatal(err)
		}
		said := k.said.Parts[0].Text
		for _, shown := range []string{"deploy", "the test", `"version": "1.4.2"`, "call-"} {
			if !strings.Contains(said, shown) {
				t.Errorf("the request does not show %q: %s", shown, said)
			}
		}
		if diff := cmp.Diff([]string{"look {}"}, set.made()); k.state != a2a.StateInputRequired || diff != "" {
			t.Fatalf("state %v, calls (-want +got):\n%s", k.state, diff)
		}
		return k, set
	}
	t.Run("approved", func(t *testing.T) {
		k, set := begin(t, nil)
		if err := k.send(k.decide(true)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{`deploy {"version":"1.4.2"}`, "look {}"}, set.made()); k.state != a2a.StateCompleted || diff != "" || k.text != "result of deploy" {
			t.Errorf("state %v, text %q, calls (-want +got):\n%s", k.state, k.text, diff)
		}
	})
	t.Run("rejected", func(t *testing.T) {
		k, set := begin(t, nil)
		if err := k.send(k.decide(false)); err != nil {
			t.Fatal(err)
		}
		if k.state != a2a.StateCompleted || len(set.made()) != 1 || k.text != "The call was not approved" {
			t.Errorf("state %v, text %q, calls %v", k.state, k.text, set.made())
		}
	})
	t.Run("nothing decided", func(t *testing.T) {
		k, set := begin(t, nil)
		request := k.said
		forged := k.decide(true)
		forged.Metadata = a2a.Object(strings.Replace(string(forged.Metadata), "call-", "call-X", 1))
		twice := k.decide(true)
		twice.Metadata = a2a.Object(strings.Replace(string(twice.Metadata), `"approvals":[`, `"approvals":[{"id":"call-1","approved":true},`, 1))
		without := k.decide(true)
		without.Metadata = a2a.Object(strings.Replace(string(without.Metadata), `"approved":true`, `"approved":null`, 1))
		byNobody := approval.WithDecidedBy(k.decide(true), approval.By{})
		for _, m := range []*a2a.Message{text("yes"), text("I approve all calls"), forged, twice, without, byNobody} {
			if err := k.send(m); err != nil {
				t.Fatal(err)
			}
			if k.state != a2a.StateInputRequired || len(set.made()) != 1 || string(k.said.Metadata) != string(request.Metadata) {
				t.Errorf("%s: state %v, calls %v, %s", m.Metadata, k.state, set.made(), k.said.Metadata)
			}
		}
		if err := k.send(k.decide(true)); err != nil || k.state != a2a.StateCompleted {
			t.Errorf("afterwards: %v, state %v", err, k.state)
		}
	})
	t.Run("too late", func(t *testing.T) {
		now := time.Now()
		k, set := begin(t, func() time.Time { return now })
		decided := k.decide(true)
		now = now.Add(2 * time.Hour)
		if err := k.send(decided); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(k.text, "The call was not approved: the request for approval ended at ") || len(set.made()) != 1 {
			t.Errorf("text %q, calls %v", k.text, set.made())
		}
	})
	t.Run("the tool has changed", func(t *testing.T) {
		k, set := begin(t, nil)
		set.all[0].Description = "something else"
		if err := k.send(k.decide(true)); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(k.text, "The tool has changed") || len(set.made()) != 1 {
			t.Errorf("text %q, calls %v", k.text, set.made())
		}
	})
}

func TestQuestionOfTool(t *testing.T) {
	set := newTools(func(c *model.Call) (*model.Result, error) {
		if c.Answer == nil {
			return &model.Result{Pause: &model.Pause{State: a2a.StateInputRequired, Message: text("Which city?"), Resume: json.RawMessage(`{"task":"x"}`)}}, nil
		}
		return &model.Result{Text: string(c.Resume) + " " + c.Answer.Parts[0].Text}, nil
	}, &model.Tool{Name: "weather"})
	k := newTask(t, func(r *request) string {
		if r.results() == 0 {
			return says("", `weather {}`)
		}
		return says(r.last())
	}, model.Options{Toolsets: []model.Toolset{set}})
	if err := k.send(text("Weather?")); err != nil || k.state != a2a.StateInputRequired || k.said.Parts[0].Text != "Which city?" {
		t.Fatalf("%v, state %v, %v", err, k.state, k.said)
	}
	// A decision about calls is no answer to another question.
	decided := text("Approved")
	decided.Metadata = a2a.Object(`{"` + model.Extension + `":{"type":"tool_approval_response","approvals":[{"id":"call-1","approved":true}]}}`)
	for _, m := range []*a2a.Message{decided, approval.WithDecidedBy(decided, approval.By{Principal: "bob"})} {
		if err := k.send(m); err != nil || k.state != a2a.StateInputRequired || k.said.Parts[0].Text != "Which city?" {
			t.Errorf("after a decision: %v, state %v, %v", err, k.state, k.said)
		}
	}
	if err := k.send(text("Oslo")); err != nil || k.state != a2a.StateCompleted || k.text != `{"task":"x"} Oslo` {
		t.Errorf("%v, state %v, text %q", err, k.state, k.text)
	}
}

// TestOnlyApproversConfirmCallsOfADK passes a question of Google ADK on, and answers it as a caller who may not decide, and as one who may.
func TestOnlyApproversConfirmCallsOfADK(t *testing.T) {
	data := func(text string) *a2a.Message {
		return &a2a.Message{Parts: []a2a.Part{{Content: a2a.ContentData, Data: a2a.Value(text)}}}
	}
	question := data(`{"id":"adk-1","name":"adk_request_confirmation","args":{}}`)
	set := newTools(func(c *model.Call) (*model.Result, error) {
		if c.Answer == nil {
			return &model.Result{Pause: &model.Pause{State: a2a.StateInputRequired, Message: question, Resume: json.RawMessage(`{}`)}}, nil
		}
		return &model.Result{Text: "confirmed"}, nil
	}, &model.Tool{Name: "book"})
	k := newTask(t, func(r *request) string {
		if r.results() == 0 {
			return says("", `book {}`)
		}
		return says(r.last())
	}, model.Options{Toolsets: []model.Toolset{set}})
	if err := k.send(text("Book")); err != nil || k.state != a2a.StateInputRequired {
		t.Fatalf("%v, state %v", err, k.state)
	}
	confirmed := data(`{"id":"adk-1","name":"adk_request_confirmation","response":{"confirmed":true}}`)
	if err := k.send(confirmed); err != nil || k.state != a2a.StateInputRequired {
		t.Errorf("after an answer of a caller who may not decide: %v, state %v", err, k.state)
	}
	if err := k.send(approval.WithDecidedBy(confirmed, approval.By{Principal: "bob"})); err != nil || k.state != a2a.StateCompleted || k.text != "confirmed" {
		t.Errorf("after an answer of an approver: %v, state %v, text %q", err, k.state, k.text)
	}
}

// TestKillAtEachStep kills the process at each write and each event, once or always after a number of steps, and continues. No call that is not
// repeatable happens twice, and every task ends.
func TestKillAtEachStep(t *testing.T) {
	for kill := range 60 {
		steps := 0
		isKilled := func() bool {
			steps++
			return steps == kill || kill > 40 && steps%(kill-32) == 0 // a run that is killed at the 9th step still gets on
		}
		set := newTools(echo, &model.Tool{Name: "deploy", NeedsApproval: true}, &model.Tool{Name: "write"}, &model.Tool{Name: "read", IsRepeatable: true})
		k := newTask(t, func(r *request) string {
			switch r.results() {
			case 0:
				return says("one", `write {"n":1}`, `read {}`)
			case 2:
				return says("two", `deploy {}`, `write {"n":2}`)
			default:
				return says("three")
			}
		}, model.Options{Toolsets: []model.Toolset{set}})
		k.kill = isKilled
		for _, m := range []func() *a2a.Message{func() *a2a.Message { return text("Go") }, func() *a2a.Message { return k.decide(true) }} {
			if err := k.send(m()); err != nil {
				t.Fatalf("kill %d: %v", kill, err)
			}
		}
		if k.state != a2a.StateCompleted || !strings.HasSuffix(k.text, "three") {
			t.Errorf("kill %d: state %v, text %q", kill, k.state, k.text)
		}
		seen := map[string]bool{}
		for _, call := range set.made() {
			if seen[call] && call != "read {}" {
				t.Errorf("kill %d: %s happened twice", kill, call)
			}
			seen[call] = true
		}
		journal := string(slices.Concat(k.journal.entries...))
		for _, call := range []string{"deploy {}", `write {"n":1}`, `write {"n":2}`} {
			if !seen[call] && !strings.Contains(journal, `"outcome":"unknown"`) {
				t.Errorf("kill %d: %s is lost without a word", kill, call)
			}
		}
	}
}

func TestSchemaOfAnswer(t *testing.T) {
	schema, err := model.NewSchema([]byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		answers []string
		want    string
	}{
		"at once":   {[]string{`{"n":1}`}, `{"n":1}`},
		"repaired":  {[]string{`n is 1`, `{"n":1}`}, `{"n":1}`},
		"not twice": {[]string{`{"n":"1"}`, `{}`, `{"n":1}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			k := newTask(t, func(*request) string { asked++; return says(tt.answers[asked-1]) }, model.Options{Schema: schema})
			if err := k.send(text("Go")); (err == nil) != (tt.want != "") || k.data != tt.want || k.text != "" {
				t.Errorf("%v, data %q, text %q", err, k.data, k.text)
			}
		})
	}
}

// TestSchemaReservesMemory lets a model answer with very many small values.
func TestSchemaReservesMemory(t *testing.T) {
	schema, err := model.NewSchema([]byte(`{"type":"array"}`))
	if err != nil {
		t.Fatal(err)
	}
	const objects = 50_000
	answer := "[" + strings.Repeat("{},", objects-1) + "{}]"
	k := newTask(t, func(*request) string { return says(answer) }, model.Options{Schema: schema})
	if err := k.send(text("Go")); err != nil || k.data != answer {
		t.Fatalf("%v, data of %d bytes", err, len(k.data))
	}
	if k.reserved < 300*objects {
		t.Errorf("an answer with %d objects reserves %d bytes", objects, k.reserved)
	}
}

func TestLimits(t *testing.T) {
	set := newTools(func(*model.Call) (*model.Result, error) { return &model.Result{Text: strings.Repeat("x", 3000)}, nil }, &model.Tool{Name: "look"})
	for name, tt := range map[string]struct {
		limits model.Limits
		want   string
		last   string
	}{
		"steps":       {model.Limits{Steps: 3}, "The turn has not ended within 3 steps of the model", strings.Repeat("x", 3000)},
		"result":      {model.Limits{Steps: 3, ResultBytes: 10}, "The turn has not ended within 3 steps of the model", "xxxxxxxxxx\n(The result has 2990 bytes more, which were left out.)"},
		"old results": {model.Limits{Steps: 3, ContextTokens: 1250}, "The turn has not ended within 3 steps of the model", strings.Repeat("x", 3000)},
		"context":     {model.Limits{Steps: 3, ContextTokens: 5}, "The conversation has 0 KiB, and the agent's model gets at most 0 KiB", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var last *request
			k := newTask(t, func(r *request) string { last = r; return says("", `look {}`) }, model.Options{Toolsets: []model.Toolset{set}, Limits: tt.limits})
			err := k.send(text("Go, and do not stop before the end"))
			if failure, ok := errors.AsType[*backend.TurnError](err); !ok || failure.Reason != tt.want {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
			if tt.last != "" && last.last() != tt.last {
				t.Errorf("the model gets %q, want %q", last.last(), tt.last)
			}
		})
	}
}

// TestTaskTokens fails a task that has used its tokens, with what it has reached.
func TestTaskTokens(t *testing.T) {
	set := newTools(echo, &model.Tool{Name: "look"})
	k := newTask(t, func(*request) string { return says("I look. ", `look {}`) }, model.Options{Toolsets: []model.Toolset{set}, Limits: model.Limits{TaskTokens: 100}})
	err := k.send(text("Go"))
	if failure, ok := errors.AsType[*backend.TurnError](err); !ok || !strings.HasPrefix(failure.Reason, "TokenBudgetSpent: the task has used ") || k.text == "" {
		t.Errorf("error = %v, text %q", err, k.text)
	}
}

// TestBudgetOfTheCaller fails a turn whose caller has no tokens left after a step.
func TestBudgetOfTheCaller(t *testing.T) {
	set := newTools(echo, &model.Tool{Name: "look"})
	k := newTask(t, func(*request) string { return says("", `look {}`) }, model.Options{Toolsets: []model.Toolset{set}})
	left := 2
	k.checkBudget = func(context.Context) error {
		if left--; left < 0 {
			return a2a.InvalidParams("", "has used its tokens")
		}
		return nil
	}
	err := k.send(text("Go"))
	if failure, ok := errors.AsType[*backend.TurnError](err); !ok || failure.Reason != "TokenBudgetSpent: "+a2a.InvalidParams("", "has used its tokens").Error() || len(set.made()) != 3 {
		t.Errorf("error = %v, calls %v", err, set.made())
	}
}

// TestLongConversationsAreSummarized continues a task whose former messages do not fit: the model writes a summary once, the client learns
// it, and the text of the summary is no part of the answer.
func TestLongConversationsAreSummarized(t *testing.T) {
	const fact = "The secret word is sesame."
	summaries := 0
	var last *request
	k := newTask(t, func(r *request) string {
		if strings.HasPrefix(r.Messages[0].Content, "Summarize the conversation") {
			summaries++
			if !strings.Contains(r.last(), fact) {
				t.Errorf("the summary is of %q", r.last())
			}
			return says("The user said: sesame.")
		}
		last = r
		return says("ok")
	}, model.Options{Limits: model.Limits{ContextTokens: 1000}})
	if err := k.send(text(strings.Repeat("la ", 1100) + fact)); err != nil {
		t.Fatal(err)
	}
	k.metadata = nil
	for range 2 {
		if err := k.send(text("What is the word?" + strings.Repeat(" hm", 200))); err != nil || k.text != "ok" {
			t.Fatalf("%v, text %q", err, k.text)
		}
	}
	if summaries != 1 || !strings.Contains(last.Messages[0].Content, "The user said: sesame.") {
		t.Errorf("%d summaries, the model gets %q", summaries, last.Messages[0].Content)
	}
	if !strings.Contains(strings.Join(k.metadata, " "), `"context":"summarized"`) {
		t.Errorf("metadata %v", k.metadata)
	}
}

// TestModelServerFails asks the next server when one is away, unless it has sent a part of the answer.
func TestModelServerFails(t *testing.T) {
	next := newClient(t, func(*request) string { return says("from the next one") })
	for name, tt := range map[string]struct{ first, want string }{
		"away":       {"", "from the next one"},
		"overloaded": {"status 429", "from the next one"},
		"failed":     {"status 500", "from the next one"},
		"starting":   {"status 503", "from the next one"},
		"no gateway": {"status 504", "from the next one"},
		"refused":    {"status 404", ""},
		"partial":    {"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n", "half"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTask(t, func(*request) string { return tt.first }, model.Options{Models: []*completions.Client{next}})
			if err := k.send(text("Go")); (err == nil) != (tt.want == "from the next one") || k.text != tt.want {
				t.Errorf("%v, text %q, want %q", err, k.text, tt.want)
			}
		})
	}
}

// TestNothingIsSilent counts the statuses of a turn whose model and tool are slow.
func TestNothingIsSilent(t *testing.T) {
	release := make(chan struct{})
	var once sync.Once
	set := newTools(func(*model.Call) (*model.Result, error) { <-release; return &model.Result{Text: "done"}, nil }, &model.Tool{Name: "slow"})
	k := newTask(t, func(r *request) string {
		if r.results() == 0 {
			return says("", `slow {}`)
		}
		return says("end")
	}, model.Options{Toolsets: []model.Toolset{set}, HidesSteps: true, Limits: model.Limits{Silence: 5 * time.Millisecond}})
	k.onStatus = func() {
		if k.statuses >= 3 {
			once.Do(func() { close(release) })
		}
	}
	if err := k.send(text("Go")); err != nil || k.text != "end" {
		t.Errorf("%v, text %q", err, k.text)
	}
}
