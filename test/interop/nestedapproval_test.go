// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	newsdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/exchangetest"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// delegatingModel is a model server. It passes the message of the user to the agent echo, and answers with the result.
func delegatingModel(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	last := in.Messages[len(in.Messages)-1]
	message := map[string]any{"role": "assistant", "content": last.Content}
	if last.Role == "user" {
		arguments, _ := json.Marshal(map[string]string{"message": last.Content}) // a text has a JSON form
		message["tool_calls"] = []any{map[string]any{"id": "c", "type": "function", "function": map[string]any{"name": "echo", "arguments": string(arguments)}}}
	}
	text, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"message": message, "finish_reason": "stop"}}})
	if err != nil {
		panic(err) // fails the request, and the answer is then missing in the test
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// startDelegator starts an agent without code that calls another agent, and returns it with the token of its gateway at the other agent.
func startDelegator(t *testing.T, next *sidecartest.Fixture) (f *sidecartest.Fixture, token string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("identity"), 0o600); err != nil {
		t.Fatal(err)
	}
	token = next.Token(t, "caller")
	listed := newRegistry(t, next.URL)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == exchangetest.Path {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":600,"issued_token_type":"urn:ietf:params:oauth:token-type:jwt"}`, token)
			return
		}
		listed.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(registry.Close)
	model := httptest.NewServer(http.HandlerFunc(delegatingModel))
	t.Cleanup(model.Close)
	f = sidecartest.Start(t, sidecartest.TextAgent, sidecartest.WithTokens, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolChatCompletions, URL: model.URL, Model: sidecarconfig.Model{
			Name: "m", Agents: []sidecarconfig.AgentTool{{Namespace: "team", Name: "echo"}},
		}}
		c.Gateway = &sidecarconfig.Gateway{RegistryURL: registry.URL, AgentURL: next.URL, TokenFile: file}
	})
	return f, token
}

// waiting returns the status message of the only task of a caller that waits for input, as the agent sends it.
func waiting(t *testing.T, f *sidecartest.Fixture, token string) (metadata map[string]json.RawMessage) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL+"/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"status":"TASK_STATE_INPUT_REQUIRED"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Content-Type", "application/json")
	response, err := sidecartest.Client(t, token).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var page struct {
		Result struct {
			Tasks []struct {
				Status struct {
					Message struct{ Metadata map[string]json.RawMessage }
				}
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil || len(page.Result.Tasks) != 1 {
		t.Fatalf("%d tasks wait, %v", len(page.Result.Tasks), err)
	}
	return page.Result.Tasks[0].Status.Message.Metadata
}

// TestApprovalThroughThreeAgents lets an agent ask for an approval whose caller is the third agent of a chain. The request reaches the first
// client as the agent has written it, byte by byte, and each agent asks for it in its own task. Only the decision runs the call. The second
// client is an MCP client of a gateway, one hop further.
func TestApprovalThroughThreeAgents(t *testing.T) {
	a := newApprovalSite(t)
	third, atThird := startDelegator(t, a.Fixture)
	second, atSecond := startDelegator(t, third)
	first, atFirst := startDelegator(t, second)

	alice := first.Token(t, "alice")
	client, err := newV1(newsdk.Version, newsdk.TransportProtocolJSONRPC)(t.Context(), target{client: sidecartest.Client(t, alice), url: first.URL, token: credential(alice)})
	if err != nil {
		t.Fatal(err)
	}
	person := client.(profileDecider)
	asked, err := person.say(t.Context(), "", "Deploy chain")
	if err != nil || asked.State != "input-required" || asked.Request == nil {
		t.Fatalf("the first agent answers %+v, %v", asked, err)
	}
	origin := waiting(t, a.Fixture, atThird)
	for name, each := range map[string]map[string]json.RawMessage{"third": waiting(t, third, atSecond), "second": waiting(t, second, atFirst), "first": waiting(t, first, alice)} {
		for _, member := range []string{approval.Extension, approval.MetadataMore} {
			if !bytes.Equal(each[member], origin[member]) {
				t.Errorf("the %s agent asks with %s, and the one that runs the call with %s", name, each[member], origin[member])
			}
		}
	}
	for _, part := range []string{"The agent team/echo asks:", "deploy (MCP server " + a.mcp + ")", `"version": "chain"`} {
		if !strings.Contains(asked.Text, part) {
			t.Errorf("the text lacks %q: %s", part, asked.Text)
		}
	}
	var request struct{ Tools []struct{ ID string } }
	if err := json.Unmarshal(asked.Request, &request); err != nil || len(request.Tools) != 1 {
		t.Fatalf("the request is %s, %v", asked.Request, err)
	}
	decision := func(id string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"type":"tool_approval_response","approvals":[{"id":%q,"approved":true}]}`, id))
	}
	for what, answer := range map[string]func() (*shown, error){
		"a text":      func() (*shown, error) { return person.say(t.Context(), asked.Task, "Yes, approved") },
		"another id":  func() (*shown, error) { return person.decide(t.Context(), asked.Task, decision("call-other")) },
		"the task id": func() (*shown, error) { return person.decide(t.Context(), asked.Task, decision(asked.Task)) },
	} {
		if got, err := answer(); err != nil || got.State != "input-required" || a.deployments("chain") != 0 {
			t.Fatalf("after %s: %+v, %v, %d deployments", what, got, err, a.deployments("chain"))
		}
	}
	got, err := person.decide(t.Context(), asked.Task, decision(request.Tools[0].ID))
	if err != nil || got.State != "completed" || !strings.Contains(got.Text, "Deployed chain") || a.deployments("chain") != 1 {
		t.Fatalf("after the decision: %+v, %v, %d deployments", got, err, a.deployments("chain"))
	}

	far, _ := startDelegator(t, first)
	form, err := openForm(t, &approvalSite{gateway: far.Gateway})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := form.say(t.Context(), "", "Deploy form")
	if err != nil || a.deployments("form") != 0 {
		t.Fatalf("the form shows %+v, %v", shown, err)
	}
	task := commandOf.FindStringSubmatch(shown.Text)
	if task == nil {
		t.Fatalf("the text has no command: %s", shown.Text)
	}
	shown, err = profileOf(form).decide(t.Context(), task[3], nil)
	if err != nil || !strings.Contains(shown.Text, "Deployed form") || a.deployments("form") != 1 {
		t.Errorf("after the form: %+v, %v, %d deployments", shown, err, a.deployments("form"))
	}
}
