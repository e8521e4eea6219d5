// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	oldsdk "github.com/a2aproject/a2a-go/a2a"
	newsdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/cli"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// decider is a client in whose task a person decides about a call.
type decider interface {
	// say sends a text to a task, "" for a new one, and returns what the client gets.
	say(ctx context.Context, task, text string) (*shown, error)
}

// profileDecider is a decider that knows the extension for approvals.
type profileDecider interface {
	decider
	decide(ctx context.Context, task string, object json.RawMessage) (*shown, error)
}

// shown is what a client gets of a task. A client that knows nothing but texts has only Text.
type shown struct {
	Task, State, Text string
	// Request is the object of the extension, nil for none.
	Request json.RawMessage
}

// shownOf reads a task in the JSON of any version.
func shownOf(text []byte) (*shown, error) {
	type parts []struct{ Text string }
	var task struct {
		ID     string
		Status struct {
			State   string
			Message struct {
				Parts      parts
				Extensions []string
				Metadata   map[string]json.RawMessage
			}
		}
		Artifacts []struct{ Parts parts }
	}
	if err := json.Unmarshal(text, &task); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	m := task.Status.Message
	s := &shown{Task: task.ID, State: strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(task.Status.State, "TASK_STATE_")), "_", "-")}
	if slices.Contains(m.Extensions, approval.Extension) {
		s.Request = m.Metadata[approval.Extension]
	}
	all := []parts{m.Parts}
	for _, artifact := range task.Artifacts {
		all = append(all, artifact.Parts)
	}
	for _, part := range slices.Concat(all...) {
		s.Text += part.Text
	}
	return s, nil
}

// shownTask is shownOf for the task of an SDK.
func shownTask(task any, err error) (*shown, error) {
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	return shownOf(text)
}

func (s *v1) say(ctx context.Context, task, text string) (*shown, error) {
	return shownTask(s.client.SendMessage(ctx, s.request(message{Text: text, TaskID: task})))
}

func (s *v1) decide(ctx context.Context, task string, object json.RawMessage) (*shown, error) {
	r := s.request(message{Text: "A person has decided.", TaskID: task})
	var value map[string]any // over gRPC, the SDK encodes no raw JSON
	if err := json.Unmarshal(object, &value); err != nil {
		return nil, err
	}
	r.Message.Extensions = []string{approval.Extension}
	r.Message.Metadata = map[string]any{approval.Extension: value}
	return shownTask(s.client.SendMessage(ctx, r))
}

func (s *v03) say(ctx context.Context, task, text string) (*shown, error) {
	return shownTask(s.client.SendMessage(ctx, s.params(message{Text: text, TaskID: task})))
}

func (s *v03) decide(ctx context.Context, task string, object json.RawMessage) (*shown, error) {
	p := s.params(message{Text: "A person has decided.", TaskID: task})
	p.Message.Extensions = []string{approval.Extension}
	p.Message.Metadata = map[string]any{approval.Extension: object}
	return shownTask(s.client.SendMessage(ctx, p))
}

// rawDecider is a program without an SDK, such as curl.
type rawDecider struct {
	client  *http.Client
	url     string
	version string
	// message returns the path and the body that send a message with the members.
	message func(members string) (path, body string)
}

func (d *rawDecider) say(ctx context.Context, task, text string) (*shown, error) {
	return d.send(ctx, task, text, "")
}

func (d *rawDecider) decide(ctx context.Context, task string, object json.RawMessage) (*shown, error) {
	return d.send(ctx, task, "A person has decided.", fmt.Sprintf(`,"extensions":[%q],"metadata":{%q:%s}`, approval.Extension, approval.Extension, object))
}

func (d *rawDecider) send(ctx context.Context, task, text, more string) (*shown, error) {
	if task != "" {
		more += fmt.Sprintf(`,"taskId":%q`, task)
	}
	path, body := d.message(fmt.Sprintf(`"messageId":%q,"parts":[{"kind":"text","text":%q}]%s`, newsdk.NewMessageID(), text, more))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if d.version != "" {
		r.Header.Set("A2A-Version", d.version)
	}
	response, err := d.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Result, Task, Error json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, errors.New(string(answer.Error))
	}
	if answer.Result != nil && bytes.HasPrefix(answer.Result, []byte(`{"task":`)) {
		if err := json.Unmarshal(answer.Result, &answer); err != nil {
			return nil, err
		}
		answer.Result = nil
	}
	return shownOf([]byte(cmp.Or(string(answer.Result), string(answer.Task))))
}

// formDecider is an MCP client of the gateway that shows forms to its user.
type formDecider struct {
	session *mcp.ClientSession
	token   string
	// answer is what the user enters into the next form, nil for nothing.
	answer map[string]any
}

func openForm(t *testing.T, a *approvalSite) (decider, error) {
	t.Helper()
	d := &formDecider{token: a.caller}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if d.answer == nil {
				return &mcp.ElicitResult{Action: "cancel"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: d.answer}, nil
		},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: a.gateway + "/mcp", HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1,
	}, nil)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = session.Close() })
	d.session = session
	return d, nil
}

func (d *formDecider) say(ctx context.Context, task, text string) (*shown, error) {
	return d.call(ctx, map[string]any{"agent": "team/echo", "message": text}, task)
}

// decide implements profileDecider. The user fills in the form of the gateway, which knows the extension.
func (d *formDecider) decide(ctx context.Context, task string, _ json.RawMessage) (*shown, error) {
	d.answer = map[string]any{"decision1": "approve"}
	return d.call(ctx, map[string]any{"agent": "team/echo"}, task)
}

func (d *formDecider) call(ctx context.Context, arguments map[string]any, task string) (*shown, error) {
	if task != "" {
		arguments["taskId"] = task
	}
	r, err := d.session.CallTool(ctx, &mcp.CallToolParams{Name: "call_agent", Arguments: arguments})
	if err != nil {
		return nil, err
	}
	s := &shown{}
	for _, content := range r.Content {
		if text, is := content.(*mcp.TextContent); is {
			s.Text += text.Text
		}
	}
	return s, nil
}

// kubectlDecider is kubectl a2a.
type kubectlDecider struct{ url, token string }

// say implements decider. A text to a task that waits for a decision is not sent, which is an error of the command.
func (d *kubectlDecider) say(ctx context.Context, task, text string) (*shown, error) {
	arguments := []string{"send", "--url", d.url, "--bearer", d.token}
	if task != "" {
		arguments = append(arguments, "--task-id", task)
	}
	status, out := kubectl(ctx, append(arguments, text)...)
	if status != 0 && task == "" {
		return nil, errors.New(out)
	}
	return &shown{Text: out}, nil
}

// kubectl runs kubectl a2a, and returns its exit status and what it prints.
func kubectl(ctx context.Context, arguments ...string) (int, string) {
	var out bytes.Buffer
	status := cli.Run(ctx, arguments, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	return status, out.String()
}

// The ways on which a person decides.
const (
	byData    = "data"    // the client sends the object of the extension
	byCommand = "command" // the person runs the command in the text
	byLink    = "link"    // the person opens the link in the text
	byForm    = "form"    // the person fills in a form of the client
)

// deciders are the clients in whose tasks a person decides, with the way of the decision.
var deciders = []struct {
	client, way string
	open        func(t *testing.T, a *approvalSite) (decider, error)
}{
	{"a2a-go v2.4.0, 1.0, JSON-RPC", byData, goDecider(newV1(newsdk.Version, newsdk.TransportProtocolJSONRPC))},
	{"a2a-go v2.4.0, 1.0, gRPC", byData, goDecider(newV1(newsdk.Version, newsdk.TransportProtocolGRPC))},
	{"a2a-go v2.4.0, 0.3, REST", byData, goDecider(newV1("0.3", newsdk.TransportProtocolHTTPJSON))},
	{"a2a-go v0.3.15, 0.3, JSON-RPC", byData, goDecider(newV03(oldsdk.TransportProtocolJSONRPC))},
	{"a2a-sdk 1.3.0, 1.0, REST", byData, pythonDecider("a2a-1", "v10", "1.0", "REST")},
	{"a2a-sdk 0.3.26, 0.3, JSON-RPC", byData, pythonDecider("a2a-0.3", "v03", "0.3", "JSON-RPC")},
	{"@a2a-js/sdk 1.3.0, 1.0, JSON-RPC", byData, jsDecider("@a2a-js/sdk 1.3.0", "1.0", "JSON-RPC")},
	{"@a2a-js/sdk 0.3.14, 0.3, REST", byLink, jsDecider("@a2a-js/sdk 0.3.14", "0.3", "REST")},
	{"a program without an SDK, 0.3, JSON-RPC", byData, func(t *testing.T, a *approvalSite) (decider, error) {
		return a.raw(t, "", func(members string) (string, string) {
			return "/", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user",` + members + `}}}`
		}), nil
	}},
	{"a program without an SDK, 1.0, JSON-RPC", byCommand, func(t *testing.T, a *approvalSite) (decider, error) {
		return a.raw(t, "1.0", func(members string) (string, string) {
			return "/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"role":"ROLE_USER",` + withoutKind(members) + `}}}`
		}), nil
	}},
	{"a program without an SDK, 1.0, REST", byLink, func(t *testing.T, a *approvalSite) (decider, error) {
		return a.raw(t, "1.0", func(members string) (string, string) {
			return "/message:send", `{"message":{"role":"ROLE_USER",` + withoutKind(members) + `}}`
		}), nil
	}},
	{"kubectl a2a", byCommand, func(_ *testing.T, a *approvalSite) (decider, error) {
		return &kubectlDecider{url: a.URL, token: a.person("echo")}, nil
	}},
	{"google-adk 2.13.0 at the gateway", byCommand, pythonDecider("adk", "adk", "", "")},
	{"go-sdk for MCP at the gateway", byForm, openForm},
	{"mcp 2.3.0 at the gateway", byCommand, pythonDecider("mcp", "mcp", "", "")},
	{"@modelcontextprotocol/client 2.4.0 at the gateway", byCommand, jsDecider("mcp", "", "")},
	{"openai-agents 0.24.0 at the gateway", byCommand, pythonDecider("../../../../examples/mcp/requirements", "agents", "", "")},
}

func withoutKind(members string) string { return strings.Replace(members, `"kind":"text",`, "", 1) }

func goDecider(open opener) func(*testing.T, *approvalSite) (decider, error) {
	return func(t *testing.T, a *approvalSite) (decider, error) {
		t.Helper()
		token := a.person("echo")
		client, err := open(t.Context(), target{client: sidecartest.Client(t, token), url: a.URL, token: credential(token)})
		if err != nil {
			return nil, err
		}
		return client.(decider), nil
	}
}

var commandOf = regexp.MustCompile(`run kubectl a2a (approve) (team/echo) (\S+) \(or kubectl a2a reject\)`)

// TestEveryClientGetsADecision lets a person decide about a call of an agent without code in the tasks of many clients. Clients that know the
// extension for approvals send its object. The others show a text, and the same person decides by its command or its link. A text of
// a client decides nothing.
func TestEveryClientGetsADecision(t *testing.T) {
	a := newApprovalSite(t)
	var mu sync.Mutex
	outcomes := map[string]string{}
	t.Run("clients", func(t *testing.T) {
		for _, d := range deciders {
			t.Run(d.client, func(t *testing.T) {
				t.Parallel()
				outcome := "fails"
				defer func() {
					if t.Skipped() {
						outcome = "skipped"
					}
					mu.Lock()
					defer mu.Unlock()
					outcomes[d.client] = outcome
				}()
				client, err := d.open(t, a)
				if err != nil {
					t.Fatal(err)
				}
				if d.way == byData && profileOf(client) == nil {
					t.Fatal("the client does not know the extension")
				}
				if a.letDecide(t, d.client, d.way, client) {
					outcome = "decides"
				}
			})
		}
	})
	var table strings.Builder
	decided := 0
	skipped := 0
	for _, d := range deciders {
		fmt.Fprintf(&table, "\n%-50s %-8s %s", d.client, d.way, outcomes[d.client])
		switch outcomes[d.client] {
		case "decides":
			decided++
		case "skipped":
			skipped++
		}
	}
	t.Logf("%d of %d clients decide, %d are skipped:%s", decided, len(outcomes), skipped, table.String())
	if decided+skipped != len(outcomes) || len(deciders) < 12 {
		t.Errorf("%d of %d clients decide", decided, len(outcomes)-skipped)
	}
}

func profileOf(d decider) profileDecider {
	p, _ := d.(profileDecider)
	return p
}

// letDecide begins a task, sends a text that decides nothing, decides, and reports whether the call has run once.
func (a *approvalSite) letDecide(t *testing.T, name, way string, client decider) bool {
	t.Helper()
	asked, err := client.say(t.Context(), "", "Deploy "+name)
	if err != nil {
		t.Fatal(err)
	}
	command := commandOf.FindStringSubmatch(asked.Text)
	if command == nil {
		t.Fatalf("the text has no command: %s", asked.Text)
	}
	task := command[3]
	owner := a.ownerOf(client)
	for _, part := range []string{"team/echo waits for your approval of 1 call", "deploy (MCP server " + a.mcp + ")", `"namespace": "shop"`, fmt.Sprintf(`"version": %q`, name)} {
		if !strings.Contains(asked.Text, part) {
			t.Errorf("the text lacks %q: %s", part, asked.Text)
		}
	}
	if asked.Task != "" && (asked.Task != task || asked.State != "input-required") {
		t.Errorf("the client shows %+v, want the task %s", asked, task)
	}
	if got, err := client.say(t.Context(), task, "Yes, I approve all calls"); err != nil || got.State != "" && got.State != "input-required" {
		t.Errorf("after a text, the task is %+v, %v", got, err)
	}
	if a.deployments(name) != 0 || a.state(t, owner, task) != "input-required" {
		t.Fatal("a text decides")
	}
	switch way {
	case byData:
		var request struct{ Tools []struct{ ID string } }
		if err := json.Unmarshal(asked.Request, &request); err != nil || len(request.Tools) != 1 {
			t.Fatalf("the request is %s, %v", asked.Request, err)
		}
		object := fmt.Sprintf(`{"type":"tool_approval_response","approvals":[{"id":%q,"approved":true}]}`, request.Tools[0].ID)
		got, err := profileOf(client).decide(t.Context(), task, json.RawMessage(object))
		if err != nil || got.State != "completed" || !strings.Contains(got.Text, "Deployed "+name) {
			t.Fatalf("after the decision, the task is %+v, %v", got, err)
		}
	case byForm:
		got, err := profileOf(client).decide(t.Context(), task, nil)
		if err != nil || !strings.Contains(got.Text, "Deployed "+name) {
			t.Fatalf("after the decision, the client shows %+v, %v", got, err)
		}
	case byCommand:
		// The command of the text, with the address in place of the name: no cluster resolves the name here.
		status, out := kubectl(t.Context(), command[1], "--url", a.URL, "--bearer", owner, "--yes", task)
		if status != 0 || !strings.Contains(out, "Deployed "+name) {
			t.Fatalf("the command prints %s", out)
		}
	case byLink:
		link := linkIn.FindString(asked.Text)
		if link == "" {
			t.Fatalf("the text has no link: %s", asked.Text)
		}
		a.decideOnPage(t, link)
	}
	for end := time.Now().Add(30 * time.Second); a.state(t, owner, task) != "completed"; time.Sleep(5 * time.Millisecond) { // the page does not wait for the end of the call
		if time.Now().After(end) {
			t.Fatalf("the task is %s", a.state(t, owner, task))
		}
	}
	if n := a.deployments(name); n != 1 {
		t.Fatalf("the call ran %d times", n)
	}
	return !t.Failed()
}

var linkIn = regexp.MustCompile(`https://\S+/approvals/team/echo/\S+`)

// decideOnPage opens a link as the person, and sends the form.
func (a *approvalSite) decideOnPage(t *testing.T, link string) {
	t.Helper()
	at, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	page := a.open(t, http.MethodGet, at, nil)
	form := regexp.MustCompile(`name="form" value="([0-9a-f]+)"`).FindStringSubmatch(page)
	if form == nil {
		t.Fatalf("the page has no form: %s", page)
	}
	if page := a.open(t, http.MethodPost, at, url.Values{"form": {form[1]}, "call-0": {"approve"}}); !strings.Contains(page, "has reached the agent") {
		t.Fatalf("the page answers %s", page)
	}
}
