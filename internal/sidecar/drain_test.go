// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// drain runs the sidecar's preStop hook.
func (p *pod) drain() {
	p.t.Helper()
	address := strings.TrimSuffix(strings.TrimPrefix(p.health(""), "http://"), "/")
	if err := serving.RequestDrain(p.t.Context(), address); err != nil {
		p.t.Error(err)
	}
}

func TestDrainWhenIdle(t *testing.T) {
	p := newPod(t, respondHi, nil)
	began := time.Now()
	done := make(chan struct{})
	go func() { // the kubelet calls the agent's hook at the same moment
		defer close(done)
		p.do("GET", p.health("/drained"), "")
	}()
	p.drain()
	<-done
	if took := time.Since(began); took < serving.Propagation || took > 10*time.Second {
		t.Errorf("drain of an idle sidecar took %v", took)
	}
	if response, _ := p.do("GET", p.health("/readyz"), ""); response.StatusCode != http.StatusServiceUnavailable {
		t.Error("a drained sidecar is ready")
	}
	if response, _ := p.do("POST", p.agent(), hello, "Authorization", "Bearer "+p.token("team")); response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
		t.Errorf("a new turn is answered with %d", response.StatusCode)
	}
	if response, _ := p.do("GET", p.agent()+".well-known/agent.json", ""); response.StatusCode != http.StatusOK {
		t.Error("a drained sidecar does not serve its card")
	}
}

func TestDrainedWithoutADrain(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPod(t, respondHi, nil)
	p.do("GET", p.health("/drained"), "")
	if response, _ := p.do("GET", p.health("/readyz"), ""); response.StatusCode != http.StatusOK {
		t.Error("the restart of the agent's container alone makes the sidecar not ready for ever")
	}
}

// TestDrainServesCallsThatStillArrive is the eviction of the only pod of an agent: no other pod is ready, so calls
// still arrive. The pod stays ready, which makes Kubernetes route the calls to it, and answers all of them, longer
// than the drain of a pod without calls takes.
func TestDrainServesCallsThatStillArrive(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) { c.Drain.GracePeriod = sidecarconfig.Duration(16 * time.Second) })
	began := time.Now()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		p.drain()
	}()
	p.eventually("draining", p.sidecar.drain.Draining)
	calls := 0
	for tick := time.NewTicker(50 * time.Millisecond); !p.sidecar.drain.Refusing(); <-tick.C {
		ready, why := p.readyz()
		response, body := p.do("POST", p.agent(), hello, "Authorization", "Bearer "+p.token("team"))
		if p.sidecar.drain.Refusing() {
			break
		}
		if response.StatusCode != http.StatusOK || !strings.Contains(body, "Hi") || !response.Close || !ready {
			t.Fatalf("call %d during the drain: %s %s, closes the connection: %t, ready: %t %s", calls, response.Status, body, response.Close, ready, why)
		}
		calls++
	}
	if took := time.Since(began); calls == 0 || took < serving.Propagation+time.Second {
		t.Errorf("refused calls after %s and %d calls", took, calls)
	}
	if ready, _ := p.readyz(); ready {
		t.Error("ready while calls are refused")
	}
	<-drained
}

func TestDrainWaitsForTurns(t *testing.T) {
	t.Parallel() // it waits most of the time
	proceed := make(chan struct{})
	p := newPod(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "one ")
		_ = http.NewResponseController(w).Flush()
		<-proceed
		_, _ = io.WriteString(w, "two")
	}, nil)
	stream := p.open("POST", p.agent(), strings.Replace(hello, "message/send", "message/stream", 1), "Authorization", "Bearer "+p.token("team"))
	defer stream.Body.Close()
	lines := bufio.NewReader(stream.Body)
	for line := ""; !strings.Contains(line, "one "); {
		var err error
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}

	drained := make(chan struct{})
	go func() {
		defer close(drained)
		p.drain()
	}()
	p.eventually("not ready", func() bool {
		response, _ := p.do("GET", p.health("/readyz"), "")
		return response.StatusCode == http.StatusServiceUnavailable
	})
	p.stop() // SIGTERM while the turn runs
	select {
	case <-drained:
		t.Fatal("the drain is over while a turn runs")
	case <-time.After(200 * time.Millisecond):
	}
	close(proceed)
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), `"state":"completed"`) {
		t.Errorf("the stream ended with %s, %v", rest, err)
	}
	<-drained
}

// TestShutdownEndsSessionsOfMCP holds the stream of a session open during the shutdown. The
// session ends before the servers cut the connections.
func TestShutdownEndsSessionsOfMCP(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Gateway = &sidecarconfig.Gateway{RegistryURL: "http://127.0.0.1:1", AgentURL: "http://{name}.{namespace}.svc", TokenFile: "token"}
	})
	address := "http://" + p.sidecar.Addresses().Gateway + "/mcp"
	headers := []string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-11-25"}
	begun, text := p.do("POST", address, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, headers...)
	session := begun.Header.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatalf("%s: %s", begun.Status, text)
	}
	headers = append(headers, "Mcp-Session-Id", session)
	_, _ = p.do("POST", address, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers...)
	stream := p.open("GET", address, "", headers...)
	defer stream.Body.Close()
	p.stop()
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Errorf("the stream ended with %v", err)
	}
}

// TestDrainEndsConnections sends messages on the connection of a stream that has ended.
// The client does not know yet that the pod drains. The sidecar accepts its next message,
// and closes the connection after it.
func TestDrainEndsConnections(t *testing.T) {
	t.Parallel() // it waits most of the time
	for name, transport := range map[string]*http.Transport{"HTTP/1.1": {}, "HTTP/2": {Protocols: unencryptedHTTP2()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proceed, others := make(chan struct{}), make(chan struct{})
			var asked atomic.Bool
			p := newPod(t, func(w http.ResponseWriter, r *http.Request) {
				until := proceed
				if !asked.Swap(true) {
					until = others
				}
				w.Header().Set("Content-Type", "text/plain")
				_, _ = io.WriteString(w, "one ")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-until:
				case <-r.Context().Done():
				}
			}, nil)
			defer transport.CloseIdleConnections()
			// For half of its time, the drain refuses no turn while the turn of another client runs.
			// The client of the stream may therefore send its next message late.
			busy := p.open("POST", p.agent(), helloStream, "Authorization", "Bearer "+p.token("team"))
			defer busy.Body.Close()
			if _, err := bufio.NewReader(busy.Body).ReadString('\n'); err != nil || !asked.Load() {
				t.Fatalf("the turn of another client: %v, the agent was asked: %t", err, asked.Load())
			}
			reused := false
			trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}
			send := func(method, path, body string) *http.Response {
				t.Helper()
				request, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), method, p.agent()+path, strings.NewReader(withNewMessageID(body)))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("Authorization", "Bearer "+p.token("team"))
				response, err := transport.RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				return response
			}
			card := send(http.MethodGet, ".well-known/agent.json", "")
			_, _ = io.Copy(io.Discard, card.Body)
			stream := send(http.MethodPost, "", strings.Replace(hello, "message/send", "message/stream", 1))
			if !reused {
				t.Fatal("a connection is not kept while nothing is drained")
			}
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				p.drain()
			}()
			select {
			case <-drained:
				t.Fatal("the drain is over while a turn runs")
			case <-time.After(serving.Propagation + 500*time.Millisecond):
			}
			close(proceed)
			if text, err := io.ReadAll(stream.Body); err != nil || !strings.Contains(string(text), `"state":"completed"`) {
				t.Errorf("the stream ended with %s, %v", text, err)
			}
			last := send(http.MethodPost, "", hello)
			if text, err := io.ReadAll(last.Body); err != nil || !reused || last.StatusCode != http.StatusOK {
				t.Errorf("the next message is answered with %s %s, %v", last.Status, text, err)
			}
			card = send(http.MethodGet, ".well-known/agent.json", "")
			if _, _ = io.Copy(io.Discard, card.Body); reused {
				t.Error("a client is never sent away")
			}
			close(others)
			<-drained
		})
	}
}

func unencryptedHTTP2() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

func TestDrainEndsWithTheGracePeriod(t *testing.T) {
	p := newPod(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, func(c *sidecarconfig.Config) { c.Drain.GracePeriod = sidecarconfig.Duration(time.Second) })
	result := make(chan string, 1)
	go func() {
		_, body := p.do("POST", p.agent(), hello, "Authorization", "Bearer "+p.token("team"))
		result <- body
	}()
	p.eventually("a turn", func() bool { return p.sidecar.turns.Running() == 1 })
	p.stop()
	if body := <-result; !strings.Contains(body, `"state":"failed"`) {
		t.Errorf("the turn that was cut off is answered with %s", body)
	}
}

// The shutdown ends a stream whose client does not read. In the access log, the request
// has the reason UNAVAILABLE, and not the outcome of a client that disconnected.
func TestAccessLogNamesTheShutdownForStreamsThatItCutsOff(t *testing.T) {
	t.Parallel() // it waits most of the time
	for name, test := range map[string]struct {
		header string
		parked int
	}{"parked": {"", 1}, "not parked": {"Connection: close\r\n", 0}} {
		t.Run(name, func(t *testing.T) {
			proceed := make(chan struct{})
			p := newPod(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				_, _ = io.WriteString(w, "one ")
				_ = http.NewResponseController(w).Flush()
				<-proceed
				for range 16 {
					_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
				}
			}, func(c *sidecarconfig.Config) { c.Observability.AccessLog = true })
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.sidecar.Addresses().Agent)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			body := withNewMessageID(helloStream)
			_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\n%sAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
				conn.RemoteAddr(), test.header, p.token("team"), len(body), body)
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReaderSize(conn, 4<<10)
			for line := ""; !strings.Contains(line, "one "); {
				if line, err = lines.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			p.eventually("parked streams", func() bool { return p.sidecar.parking.Len() == test.parked })
			close(proceed)
			p.eventually("the end of the turn", func() bool { return p.sidecar.turns.Running() == 0 })
			p.stop()
			if err := <-p.done; err != nil {
				t.Errorf("Serve() error = %v", err)
			}
			p.done <- nil // the cleanup of the test receives this
			var ended []map[string]any
			p.eventually("the request in the log", func() bool {
				ended = p.log.events(t, "request ended")
				return len(ended) > 0
			})
			if got := fmt.Sprint(ended[0]["outcome"], " ", ended[0]["reason"]); got != "failed UNAVAILABLE" {
				t.Errorf("the request ended as %s, want failed UNAVAILABLE", got)
			}
		})
	}
}
