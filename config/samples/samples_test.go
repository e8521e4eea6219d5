// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package samples tests the sample agents with requests like those of the sidecar, and checks the manifests of the
// samples.
package samples

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
)

func TestMain(m *testing.M) {
	os.Exit(programs.Built(m, "config/samples/echo", "config/samples/researcher").Run())
}

// start runs a sample, and returns its URL.
func start(t *testing.T, name string, env ...string) string {
	t.Helper()
	address := freeport.Address(t)
	_, port, _ := strings.Cut(address, ":")
	command := exec.CommandContext(t.Context(), programs.Path("config/samples/"+name))
	command.Env = append(os.Environ(), append(env, "PORT="+port)...)
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = connection.Close()
			return "http://" + address + "/"
		}
		if ctx.Err() != nil {
			t.Fatalf("%s does not listen: %v", name, err)
		}
	}
}

// post sends a turn as the sidecar does.
func post(t *testing.T, url, turn string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(turn))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream, application/x-ndjson, application/json, text/plain")
	request.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	request.Header.Set("A2A-Task-Id", "task-1")
	request.Header.Set("A2A-Context-Id", "context-1")
	response, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func turnOf(text string) string {
	return `{"taskId":"task-1","contextId":"context-1","message":` + userMessage(text) + `}`
}

func userMessage(text string) string {
	return fmt.Sprintf(`{"kind":"message","role":"user","messageId":"m","parts":[{"kind":"text","text":%q}]}`, text)
}

func TestEcho(t *testing.T) {
	url := start(t, "echo")
	response := post(t, url, turnOf("Hello, is anybody there?"))
	if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/plain; charset=utf-8" {
		t.Errorf("answer = %s, %s", response.Status, got)
	}
	var chunks []string
	buffer := make([]byte, 1024)
	for {
		n, err := response.Body.Read(buffer)
		if n > 0 {
			chunks = append(chunks, string(buffer[:n]))
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(chunks, ""); got != "Hello, is anybody there?" || len(chunks) < 2 {
		t.Errorf("answer in %d chunks = %q", len(chunks), chunks)
	}
	if response := post(t, url, "hello"); response.StatusCode != http.StatusBadRequest {
		t.Errorf("a turn that is not JSON = %s, want 400", response.Status)
	}
}

// events reads a stream of events, and returns each one as a line: "state text" for a status, and "=id text" or "+id
// text" for an artifact. With "+", the text is appended to the artifact.
func events(t *testing.T, response *http.Response) []string {
	t.Helper()
	if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "application/x-ndjson" {
		t.Fatalf("answer = %s, %s", response.Status, got)
	}
	var seen []string
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		e, err := v03.DecodeEvent(lines.Bytes())
		if err != nil {
			t.Fatalf("line %q is not an event: %v", lines.Text(), err)
		}
		switch {
		case e.Status != nil:
			line := e.Status.Status.State.String()
			if m := e.Status.Status.Message; m != nil {
				line += " " + m.Parts[0].Text
			}
			seen = append(seen, line)
		case e.Artifact != nil:
			seen = append(seen, artifactLine(e.Artifact))
		}
	}
	return seen
}

func artifactLine(u *a2a.ArtifactUpdate) string {
	mark := "="
	if u.Append {
		mark = "+"
	}
	return mark + u.Artifact.ID + " " + strings.TrimSpace(u.Artifact.Parts[0].Text)
}

// gateway starts a gateway. Its registry lists agents, which is the JSON of entries, and each call of an agent
// returns a completed task. asked returns the requests that the gateway has received so far.
func gateway(t *testing.T, agents string) (url string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, r.Method+" "+r.URL.String())
		if r.Header.Get("Traceparent") == "" || r.Header.Get("A2A-Task-Id") != "task-1" {
			t.Errorf("%s %s lacks the headers of the trace and the task: %v", r.Method, r.URL, r.Header)
		}
		if r.Method == http.MethodGet {
			_, _ = fmt.Fprintf(w, `{"items":[%s],"nextCursor":"","total":1}`, agents)
			return
		}
		var call struct {
			Method string
			Params struct{ Message json.RawMessage }
		}
		if json.Unmarshal(body, &call) != nil || call.Method != "message/send" {
			t.Errorf("call = %s", body)
		}
		if e, err := v03.DecodeEvent(call.Params.Message); err != nil || e.Message == nil || e.Message.ID == "" {
			t.Errorf("message = %s: %v", call.Params.Message, err)
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"x","contextId":"y","status":{"state":"completed"},
			"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"as you say"}]}]}}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return requests
	}
}

func TestResearcher(t *testing.T) {
	way, asked := gateway(t, `{"namespace":"team-a","name":"echo"}`)
	url := start(t, "researcher", "A2A_GATEWAY_URL="+way)

	t.Run("asks for the depth if the message does not name it", func(t *testing.T) {
		want := []string{"input-required How deep shall I go into The history of tea: brief or detailed?"}
		if diff := cmp.Diff(want, events(t, post(t, url, turnOf("The history of tea")))); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if got := events(t, post(t, url, turnOf(" "))); len(got) != 1 || !strings.HasPrefix(got[0], "input-required What") {
			t.Errorf("events for an empty message = %q", got)
		}
	})
	t.Run("continues with the answer", func(t *testing.T) {
		turn := fmt.Sprintf(`{"taskId":"task-1","contextId":"context-1","message":%s,
			"task":{"kind":"task","id":"task-1","contextId":"context-1","status":{"state":"input-required"},"history":[%s]}}`,
			userMessage("Brief"), userMessage("The history of tea"))
		want := []string{
			"working Looking for an agent with the skill echo",
			"=findings A brief report, with the help of team-a/echo (skill echo)",
			"+findings - echo says: as you say",
			"completed",
		}
		if diff := cmp.Diff(want, events(t, post(t, url, turn))); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		wantAsked := []string{"GET /registry/v1/agents?limit=1&ready=true&skill=echo", "POST /agents/team-a/echo/"}
		if diff := cmp.Diff(wantAsked, asked()); diff != "" {
			t.Errorf("through the gateway (-want +got):\n%s", diff)
		}
	})
	t.Run("does not ask if the message names the depth", func(t *testing.T) {
		got := events(t, post(t, url, turnOf("Research the history of tea in detail")))
		if len(got) != 6 || got[5] != "completed" {
			t.Errorf("events = %q", got)
		}
	})
}

func TestResearcherWithoutHelp(t *testing.T) {
	empty, _ := gateway(t, "")
	for name, test := range map[string]struct{ gateway, want string }{
		"no agent has the skill": {empty, "no agent that I may see has the skill echo"},
		"no gateway":             {"", "A2A_GATEWAY_URL is not set"},
		"gateway is down":        {"http://127.0.0.1:1", "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			url := start(t, "researcher", "A2A_GATEWAY_URL="+test.gateway)
			got := events(t, post(t, url, turnOf("Tea, briefly")))
			if last := got[len(got)-1]; !strings.HasPrefix(last, "failed ") || !strings.Contains(last, test.want) {
				t.Errorf("events = %q, want a failure with %q", got, test.want)
			}
		})
	}
}

// TestCancel disconnects while the researcher waits for the gateway, which must cancel the request to the gateway.
func TestCancel(t *testing.T) {
	reached := make(chan struct{})
	left := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
		close(left)
	}))
	defer server.Close()
	url := start(t, "researcher", "A2A_GATEWAY_URL="+server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(turnOf("Tea, briefly")))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-reached
		cancel()
	}()
	if response, err := http.DefaultTransport.RoundTrip(request); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Error("the call to the helper goes on after the turn was cancelled")
	}
}
