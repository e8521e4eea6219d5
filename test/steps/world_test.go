// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// moment is a kind of moment at which a sidecar is killed.
type moment string

const (
	beforeAnswer moment = "before an answer of the model"
	duringStream moment = "during the stream of an answer"
	afterAnswer  moment = "after an answer"
	beforeCall   moment = "before a call of a tool has an effect"
	beforeResult moment = "after the effect of a call"
	afterResult  moment = "after the result of a call"
	approvalOpen moment = "while a request for approval is open"
	deciding     moment = "while a decision is sent"
	decided      moment = "after a decision is accepted"
	compaction   moment = "during the compaction of the context"
	callingAgent moment = "while another agent is called"
	calledAgent  moment = "after the answer of another agent"

	modelAway      moment = "of the model before an answer"
	modelInAnswer  moment = "of the model during the stream of an answer"
	serverAway     moment = "of the MCP server before a call has an effect"
	serverInAnswer moment = "of the MCP server after the effect of a call"
)

// moments are all kinds. The rare ones are last, because a kill waits for its moment.
var moments = []moment{
	beforeAnswer, duringStream, afterAnswer, beforeCall, beforeResult, afterResult, modelAway, modelInAnswer, serverAway, serverInAnswer, approvalOpen, deciding,
	decided, callingAgent, calledAgent, compaction,
}

// world is an agent without code in some replicas, with everything that it calls. The model, the tools and the container of the called
// agent run in the test and know what has happened; the sidecars are processes.
type world struct {
	t    *testing.T
	plan *plan
	// forgets is true if a killed sidecar loses its tasks.
	forgets  bool
	replicas []*replica
	helper   *process.Process
	// mcp is the MCP server.
	mcp     *stub
	verdict *verdict

	mu sync.Mutex
	// at is the replica that last asked the model for a conversation.
	at map[string]*replica
	// faults are what hit the last task of a conversation.
	faults map[string]*faults
	// runs are the effects of calls, by the key of the call.
	runs map[string]int
	// seen are the outcomes of calls, as the model has read them.
	seen map[string]string
	// refused are the conversations with a message that a sidecar has refused for now.
	refused map[string]bool
	// summarized are the conversations whose context was compacted.
	summarized map[string]bool
	// kills are the kills at each kind of moment, wanted is the kind of the next one, and sinceKill the number of tasks since the last one.
	kills     map[moment]int
	wanted    moment
	sinceKill int
}

// replica is a sidecar that restarts at its address.
type replica struct {
	address string
	// model is its model server.
	model *stub
	run   func(name string) (*process.Process, error)

	mu      sync.Mutex
	process *process.Process
	count   int
}

func newWorld(t *testing.T, p *plan) *world {
	w := &world{
		t: t, plan: p, verdict: &verdict{t: t}, at: map[string]*replica{}, faults: map[string]*faults{}, runs: map[string]int{}, seen: map[string]string{}, summarized: map[string]bool{}, refused: map[string]bool{},
		kills: map[moment]int{}, wanted: p.moments[0], forgets: p.replicas == 0,
	}
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	w.must(os.WriteFile(token, []byte("mine"), 0o600))
	container := w.serve(http.HandlerFunc(w.serveHelper))
	w.helper = w.start(w.write("helper", func(c *sidecarconfig.Config) {
		c.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents, URL: container + "/"}
	}))
	w.mcp = w.newStub(w.tools)
	registry := w.serve(http.HandlerFunc(serveRegistry))
	store := ""
	if p.replicas > 0 {
		store = redistest.Start(t, redistest.Durable...).Address()
	}
	for i := range max(p.replicas, 1) {
		r := &replica{address: freeport.Address(t)}
		w.must(os.WriteFile(filepath.Join(dir, fmt.Sprint("replica-", i)), []byte(strconv.Itoa(i)), 0o600))
		r.model = w.newStub(func() http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, request *http.Request) { w.serveModel(rw, request, r) })
		})
		config := w.write(fmt.Sprint("agent-", i), func(c *sidecarconfig.Config) {
			c.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolChatCompletions, URL: r.model.server.URL + "/v1", Model: sidecarconfig.Model{
				Name: "m", Limits: sidecarconfig.ModelLimits{ContextTokens: 10 << 10},
				MCP: []sidecarconfig.MCPServer{{
					URL: w.mcp.server.URL, Headers: []sidecarconfig.HeaderFile{{Name: replicaHeader, File: fmt.Sprint("replica-", i)}},
					Allow: []string{}, Deny: []string{}, Approval: []string{toolDeploy},
				}},
				Agents: []sidecarconfig.AgentTool{{Namespace: "team", Name: toolHelper}},
			}}
			c.Gateway = &sidecarconfig.Gateway{RegistryURL: registry, AgentURL: "http://" + w.helper.Address, TokenFile: token}
		})
		r.run = func(name string) (*process.Process, error) {
			flags := append(flags(r.address, config), "--model-secrets", dir)
			if store != "" {
				flags = append(flags, "--store", "redis://"+store, "--replica", name)
			}
			return process.Run(t.Context(), r.address, programs.Path("cmd/sidecar"), flags...)
		}
		started, err := r.run(fmt.Sprint("replica-", i))
		w.must(err)
		r.process = started
		w.replicas = append(w.replicas, r)
		t.Cleanup(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.process.Stop()
		})
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) serve(h http.Handler) string {
	server := httptest.NewServer(h)
	w.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func flags(address, config string) []string {
	return []string{"--listen", address, "--config", config, "--health-listen", "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0", "--log-level", "ERROR"}
}

// write writes a sidecar configuration into a directory of its own.
func (w *world) write(name string, change func(*sidecarconfig.Config)) string {
	c := &sidecarconfig.Config{
		Version: sidecarconfig.Version, Agent: sidecarconfig.Agent{Namespace: "team", Name: name},
		Card: card.Card{
			Name: name, Description: "An agent of the checker of steps", Version: "1.0",
			Skills: []card.Skill{{ID: "s", Name: "S", Description: "d", Tags: []string{"t"}}},
		},
		Access: sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}},
		Tasks:  sidecarconfig.Tasks{MaxTasks: 50_000},
		// All clients are one caller, so the limits for one caller are far above the defaults.
		Limits: sidecarconfig.Limits{
			Requests: sidecarconfig.Rate{PerSecond: 1_000_000}, TotalRequests: sidecarconfig.Rate{PerSecond: 1_000_000},
			Turns:   sidecarconfig.TurnLimits{Max: 2048, MaxPerCaller: 2048},
			Streams: sidecarconfig.StreamLimits{Max: 8192, MaxPerCaller: 8192},
		},
	}
	if name != toolHelper {
		c.Agent.Name = "agent" // the name is part of the keys in the store
	}
	change(c)
	text, err := sidecarconfig.Encode(c)
	w.must(err)
	file := filepath.Join(w.t.TempDir(), sidecarconfig.FileName)
	w.must(os.WriteFile(file, text, 0o600))
	return file
}

func (w *world) start(config string) *process.Process {
	address := freeport.Address(w.t)
	p, err := process.Run(w.t.Context(), address, programs.Path("cmd/sidecar"), flags(address, config)...)
	w.must(err)
	w.t.Cleanup(p.Stop)
	return p
}

// reach kills the replica that runs a conversation, its model server or the MCP server, if a kill at this kind of moment is the next one. It
// returns false if it did not.
func (w *world) reach(m moment, token string) bool {
	w.mu.Lock()
	r := w.at[token]
	if r == nil || m != w.wanted || w.sinceKill < w.plan.every || w.total() >= w.plan.kills {
		w.mu.Unlock()
		return false
	}
	w.kills[m]++
	for _, each := range w.faults {
		each.note(m, r)
	}
	w.wanted = slices.MinFunc(w.plan.moments, func(a, b moment) int { return w.kills[a] - w.kills[b] })
	w.sinceKill = 0
	w.mu.Unlock()
	switch m {
	case modelAway, modelInAnswer:
		r.model.kill()
	case serverAway, serverInAnswer:
		w.mcp.kill()
	default:
		r.kill(w)
	}
	return true
}

func (w *world) total() (n int) {
	for each := range maps.Values(w.kills) {
		n += each
	}
	return n
}

// kill ends the process by SIGKILL, and starts another one soon after.
func (r *replica) kill(w *world) {
	r.mu.Lock()
	r.process.Stop()
	r.count++
	name := fmt.Sprint("replica-", slices.Index(w.replicas, r))
	if w.plan.renames && r.count%4 == 0 {
		name += fmt.Sprint("-", r.count) // like a pod of a Deployment: the lease of its predecessor ends in its time
	}
	go func() {
		defer r.mu.Unlock()
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		if w.t.Context().Err() != nil {
			return
		}
		p, err := r.run(name)
		if err != nil {
			w.verdict.violationf("a sidecar did not restart: %v", err)
			return
		}
		r.process = p
	}()
}

// await waits until the process runs.
func (r *replica) await() {
	r.mu.Lock()
	defer r.mu.Unlock()
}

// anyAddress returns the address of a replica.
func (w *world) anyAddress() string { return w.replicas[rand.IntN(len(w.replicas))].address }

// moved notes the replica that runs a conversation.
func (w *world) moved(token string, r *replica) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at[token] = r
	if f := w.faults[token]; f != nil {
		f.holder = r
	}
}

// ended counts a task that has ended.
func (w *world) ended(how end) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if how == completed || !w.forgets {
		w.sinceKill++
	}
}

// ran counts the effect of a call.
func (w *world) ran(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[key]++
}

// verdict collects violations.
type verdict struct {
	t  *testing.T
	mu sync.Mutex
	n  int
}

const maxReported = 20

func (v *verdict) violationf(format string, arguments ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n++
	if v.n <= maxReported {
		v.t.Errorf(format, arguments...)
	}
}

// pause waits for a random time of at most d.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(rand.N(d)):
	case <-ctx.Done():
	}
}
