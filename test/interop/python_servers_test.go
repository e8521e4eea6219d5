// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// pythonServer is a process with a server of a Python SDK.
type pythonServer struct {
	url string
	// path is the path of the agent below the URL, "" for the root.
	path string

	// kill kills the process, and returns when it has ended.
	kill func()

	mu sync.Mutex
	// sent contains the parts in the server's journal, by turn and by run of the turn.
	sent map[string]map[string][]string
}

// startPython starts a server program that ends with the test.
func startPython(t *testing.T, program string, args ...string) *pythonServer {
	t.Helper()
	return startPythonWith(t, nil, program, args...)
}

// startPythonWith is startPython with an environment; nil is that of the test.
func startPythonWith(t *testing.T, environment []string, program string, args ...string) *pythonServer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program, append([]string{"-u"}, args...)...)
	command.Dir = "python"
	command.Env = environment
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr programs.Output
	command.Stderr = &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	s := &pythonServer{sent: map[string]map[string][]string{}}
	listens, ended := make(chan struct{}), make(chan struct{})
	s.kill = func() { _ = command.Process.Kill(); <-ended }
	go func() {
		defer close(ended)
		s.read(bufio.NewScanner(out), listens)
	}()
	t.Cleanup(func() {
		_ = in.Close() // the server ends when its standard input does
		kill := time.AfterFunc(10*time.Second, cancel)
		defer kill.Stop()
		<-ended
		_ = command.Wait()
		cancel()
		if t.Failed() {
			t.Logf("%s: %s", args[0], stderr.String())
		}
	})
	select {
	case <-listens:
	case <-ended:
		t.Fatalf("%v ended before it listened: %s", args, stderr.String())
	case <-time.After(2 * time.Minute):
		t.Fatalf("%v does not listen: %s", args, stderr.String())
	}
	return s
}

// read reads the journal from standard output, until the server ends.
func (s *pythonServer) read(lines *bufio.Scanner, listens chan<- struct{}) {
	for lines.Scan() {
		var fact struct{ URL, Path, Turn, Run, Sent string }
		if json.Unmarshal(lines.Bytes(), &fact) != nil {
			continue // some packages print to standard output
		}
		if fact.URL != "" {
			s.url, s.path = fact.URL, fact.Path
			close(listens)
		}
		if fact.Turn != "" {
			s.mu.Lock()
			if s.sent[fact.Turn] == nil {
				s.sent[fact.Turn] = map[string][]string{}
			}
			s.sent[fact.Turn][fact.Run] = append(s.sent[fact.Turn][fact.Run], fact.Sent)
			s.mu.Unlock()
		}
	}
}

// said returns the parts of a turn in the journal, by run.
func (s *pythonServer) said(turn string) map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.sent[turn])
}

// scenario returns a sidecar in front of the server. A value on the channel release of the scenario becomes a request
// that lets the waiting turn of the server continue.
func (s *pythonServer) scenario(t *testing.T, change ...func(*sidecarconfig.Backend, string)) *scenario {
	t.Helper()
	client := sidecartest.Plain(t)
	played := &scenario{release: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-played.release:
			}
			response, err := client.Post(s.url+"/release", "", nil)
			if err != nil {
				t.Errorf("release: %v", err)
				continue
			}
			_ = response.Body.Close()
		}
	})
	t.Cleanup(func() { cancel(); wait.Wait() })
	played.url = sidecartest.Start(t, nil, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolA2A, URL: s.url}
		for _, each := range change {
			if each != nil {
				each(&c.Backend, s.path)
			}
		}
	}).URL
	return played
}

// pythonServers are servers of the Python SDKs, with the interfaces that their cards offer.
var pythonServers = []struct {
	name, environment string
	args              []string
	// backend configures the sidecar for the path of the agent; nil where the sidecar
	// needs no path.
	backend func(b *sidecarconfig.Backend, path string)
	// wants contains, by operation, the results that differ from the results of other servers.
	wants map[string]string
}{
	{"a2a-sdk 1.3.0 JSON-RPC", "a2a-1", []string{"server_v10.py", "JSONRPC"}, nil, nil},
	{"a2a-sdk 1.3.0 HTTP+JSON", "a2a-1", []string{"server_v10.py", "HTTP+JSON"}, nil, nil},
	{"a2a-sdk 0.3.26 JSON-RPC", "a2a-0.3", []string{"server_v03.py", "JSONRPC"}, nil, nil},
	{"a2a-sdk 0.3.26 HTTP+JSON", "a2a-0.3", []string{"server_v03.py", "HTTP+JSON"}, nil, nil},
	{"google-adk 2.13.0 to_a2a", "adk", []string{"server_adk.py"}, nil, map[string]string{
		// The server sends chunks as status messages, and the whole answer as an artifact.
		"get":            "completed Hello world, 4 in history",
		"input required": "input-required, then completed That one, 6 in history",
		// The driver does not perform this operation: it waits for a chunk of an artifact, and the server streams none.
		"resubscribe": notPlayed,
	}},
	{"langgraph-api 0.16.7", "langgraph", []string{"server_langgraph.py"}, func(b *sidecarconfig.Backend, path string) {
		b.A2A.CardPath = path + "/.well-known/agent-card.json"
	}, map[string]string{
		// The server sends status messages like google-adk, each with the whole answer so far.
		"get":         "completed Hello world, 4 in history",
		"resubscribe": notPlayed,
		// Not performed, because the graph does not read files and data.
		"parts": notPlayed,
	}},
}

// TestPythonServers plays the scenario against servers of Python SDKs behind the
// pod's sidecar, and reaches them as remote agents through the gateway.
func TestPythonServers(t *testing.T) {
	for _, server := range pythonServers {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			s := startPython(t, environment(t, server.environment), server.args...)
			for _, c := range goClients {
				if c.binding != "JSON-RPC" || c.name == "a2a-go v2.4.0" && c.protocol == "0.3" {
					continue
				}
				t.Run("for "+c.name, func(t *testing.T) {
					played := s.scenario(t, server.backend)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					client, err := c.open(ctx, target{client: sidecartest.Client(t), url: played.url})
					if err != nil {
						t.Fatal(err)
					}
					played.playRelayed(ctx, t, client, server.wants)
				})
			}
			client := s.open(t, server.backend, func(b *sidecarconfig.Backend, _ string) {
				b.Timeouts.Idle = sidecarconfig.Duration(12 * time.Second)
			})
			if server.wants["parts"] != notPlayed {
				t.Run("parts", func(t *testing.T) { testParts(t, client) })
			}
			t.Run("a conversation", func(t *testing.T) { testHistory(t, client) })
			t.Run("a failure", func(t *testing.T) { testFailure(t, client) })
			t.Run("remote", func(t *testing.T) {
				if s.path != "" {
					t.Skip("a remote agent has its card at a well-known path")
				}
				remote := newRemoteAgent(t, s.url)
				client, err := goClients[0].open(t.Context(), target{client: newLeakyClient(t), url: remote.gateway(t)})
				if err != nil {
					t.Fatal(err)
				}
				got, err := collect(client.stream(t.Context(), message{Text: "Hi"}))
				if summary(got) != "task ... completed Hello world" || err != nil {
					t.Errorf("stream = %q, %v", summary(got), err)
				}
				remote.checkNoSecrets(t)
			})
		})
	}
}

// open returns a client of 1.0 of a sidecar in front of the server.
func (s *pythonServer) open(t *testing.T, change ...func(*sidecarconfig.Backend, string)) sdk {
	t.Helper()
	client, err := goClients[0].open(t.Context(), target{client: sidecartest.Client(t), url: s.scenario(t, change...).url})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// testParts sends a part of each kind, which the agent sends back.
func testParts(t *testing.T, client sdk) {
	t.Helper()
	got, err := client.parts(t.Context())
	want := []string{"text t", "raw hi h.txt text/plain", `data {"n":1.5}`, "url https://example.com/f text/html"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("parts (-want +got):\n%s%v", diff, err)
	}
}

// testHistory checks that the tasks of a context are one conversation for the agent,
// and that another context is another conversation.
func testHistory(t *testing.T, client sdk) {
	t.Helper()
	context := fmt.Sprintf("conversation-%d", time.Now().UnixNano())
	say := func(text, contextID string) string {
		t.Helper()
		got, err := client.send(t.Context(), message{Text: text, ContextID: contextID})
		if err != nil || got.State != "completed" {
			t.Fatalf("send %q = %+v, %v", text, got, err)
		}
		return got.Text
	}
	say("My name is Ada", context)
	say("I live in Oslo", context)
	if got := say("what was said", context); got != "My name is Ada, I live in Oslo" {
		t.Errorf("the agent remembers %q", got)
	}
	if got := say("what was said", context+"-other"); strings.Contains(got, "Ada") {
		t.Errorf("the agent remembers %q in another context", got)
	}
}

// testFailure checks that a turn whose agent raises an exception fails before
// timeouts.idle. The SDK of 0.3 leaves such a task unfinished.
func testFailure(t *testing.T, client sdk) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 11*time.Second) // less than timeouts.idle
	defer cancel()
	got, err := client.send(ctx, message{Text: "fail"})
	if err != nil || got.State != "failed" {
		t.Errorf("send = %+v, %v, want failed", got, err)
	}
}
