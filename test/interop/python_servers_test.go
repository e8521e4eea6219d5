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

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// pythonServer is a server of an SDK, in a process of its own.
type pythonServer struct {
	url string
	// path is where the agent is below the URL; "" for the root.
	path string

	mu sync.Mutex
	// sent has the parts that the agent says it sent, by numbered turn and run of
	// that turn.
	sent map[string]map[string][]string
}

// startPython runs a server program until the test ends.
func startPython(t *testing.T, program string, args ...string) *pythonServer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program, append([]string{"-u"}, args...)...)
	command.Dir = "python"
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr lockedBuilder
	command.Stderr = &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	s := &pythonServer{sent: map[string]map[string][]string{}}
	listens, ended := make(chan struct{}), make(chan struct{})
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

// read takes the server's journal.
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

// said returns what the agent says that it sent in a turn, by run.
func (s *pythonServer) said(turn string) map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.sent[turn])
}

type lockedBuilder struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuilder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuilder) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// scene is a sidecar in front of the server; its release is passed on.
func (s *pythonServer) scene(t *testing.T, change ...func(*sidecarconfig.Backend, string)) *scene {
	t.Helper()
	client := sidecartest.Plain(t)
	played := &scene{release: make(chan struct{})}
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

// pythonServers are servers of the Python SDKs, by what their card offers.
var pythonServers = []struct {
	name, environment string
	args              []string
	// backend sets the sidecar for a server whose agent is at a path, nil for what
	// it finds itself.
	backend func(b *sidecarconfig.Backend, path string)
	// wants is what a client finds that is not as with other servers, by
	// operation.
	wants map[string]string
}{
	{"a2a-sdk 1.3.0 JSON-RPC", "a2a-1", []string{"server_v10.py", "JSONRPC"}, nil, nil},
	{"a2a-sdk 1.3.0 HTTP+JSON", "a2a-1", []string{"server_v10.py", "HTTP+JSON"}, nil, nil},
	{"a2a-sdk 0.3.26 JSON-RPC", "a2a-0.3", []string{"server_v03.py", "JSONRPC"}, nil, nil},
	{"a2a-sdk 0.3.26 HTTP+JSON", "a2a-0.3", []string{"server_v03.py", "HTTP+JSON"}, nil, nil},
	{"google-adk 2.13.0 to_a2a", "adk", []string{"server_adk.py"}, nil, map[string]string{
		// It tells the pieces as messages of the status, and the whole as an artifact.
		"get":            "completed Hello world, 4 in history",
		"input required": "input-required, then completed That one, 6 in history",
		// The scenario waits for a piece of an artifact.
		"resubscribe": notPlayed,
	}},
	{"langgraph-api 0.16.7", "langgraph", []string{"server_langgraph.py"}, func(b *sidecarconfig.Backend, path string) {
		b.A2A.CardPath = path + "/.well-known/agent-card.json"
	}, map[string]string{
		// It tells the pieces as google-adk does, each time the whole so far.
		"get":         "completed Hello world, 4 in history",
		"resubscribe": notPlayed,
		// What it makes of files and data is the graph's to understand.
		"parts": notPlayed,
	}},
}

// TestPythonServers: what clients find behind a sidecar is the same when the
// agent is a server of a Python SDK, by the pod's sidecar and, as an agent that
// runs elsewhere, by the gateway.
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
					played := s.scene(t, server.backend)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					client, err := c.open(ctx, target{client: sidecartest.Client(t), url: played.url})
					if err != nil {
						t.Fatal(err)
					}
					played.relays(ctx, t, client, server.wants)
				})
			}
			client := s.open(t, server.backend, func(b *sidecarconfig.Backend, _ string) {
				b.Timeouts.Idle = sidecarconfig.Duration(12 * time.Second)
			})
			if server.wants["parts"] != notPlayed {
				t.Run("parts", func(t *testing.T) { echoesParts(t, client) })
			}
			t.Run("a conversation", func(t *testing.T) { remembers(t, client) })
			t.Run("a failure", func(t *testing.T) { breaks(t, client) })
			t.Run("elsewhere", func(t *testing.T) {
				if s.path != "" {
					t.Skip("an agent elsewhere has its card at a usual place")
				}
				far := newElsewhere(t, s.url)
				client, err := goClients[0].open(t.Context(), target{client: newChatty(t), url: far.gateway(t)})
				if err != nil {
					t.Fatal(err)
				}
				got, err := collect(client.stream(t.Context(), message{Text: "Hi"}))
				if summary(got) != "task ... completed Hello world" || err != nil {
					t.Errorf("stream = %q, %v", summary(got), err)
				}
				far.discreet(t)
			})
		})
	}
}

// open returns a client of 1.0 for the sidecar in front of the server.
func (s *pythonServer) open(t *testing.T, change ...func(*sidecarconfig.Backend, string)) sdk {
	t.Helper()
	client, err := goClients[0].open(t.Context(), target{client: sidecartest.Client(t), url: s.scene(t, change...).url})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// echoesParts: parts of every kind come to the agent, and back.
func echoesParts(t *testing.T, client sdk) {
	t.Helper()
	got, err := client.parts(t.Context())
	want := []string{"text t", "raw hi h.txt text/plain", `data {"n":1.5}`, "url https://example.com/f text/html"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("parts (-want +got):\n%s%v", diff, err)
	}
}

// remembers: a second task of a context is one conversation for the agent, and
// another context is another.
func remembers(t *testing.T, client sdk) {
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

// breaks: a turn whose agent breaks fails, without waiting for as long as an
// agent may be silent. The SDK of 0.3 leaves the task unfinished.
func breaks(t *testing.T, client sdk) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 11*time.Second) // less than timeouts.idle
	defer cancel()
	got, err := client.send(ctx, message{Text: "fail"})
	if err != nil || got.State != "failed" {
		t.Errorf("send = %+v, %v, want failed", got, err)
	}
}
