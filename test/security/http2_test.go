// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// attacker is an HTTP/2 connection that can write any frames.
type attacker struct {
	net.Conn
	*http2.Framer
	headers []byte
	// refused counts the streams that the server reset.
	mu      sync.Mutex
	refused int
	streams uint32
	ended   chan struct{}
}

func attack(t *testing.T, address string) *attacker {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/"}, {":authority", "localhost"}, {"content-type", "application/json"}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1], Sensitive: true})
	}
	a := &attacker{Conn: c, Framer: http2.NewFramer(c, c), headers: block.Bytes(), ended: make(chan struct{})}
	_, _ = io.WriteString(c, http2.ClientPreface)
	if err := a.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	go a.read()
	t.Cleanup(func() { _ = c.Close(); <-a.ended })
	return a
}

// read reads the frames of the server, so that flow control does not stop the attack.
func (a *attacker) read() {
	defer close(a.ended)
	for {
		f, err := a.ReadFrame()
		if err != nil {
			if _, ok := errors.AsType[http2.StreamError](err); ok {
				continue
			}
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			a.mu.Lock()
			if n, ok := f.Value(http2.SettingMaxConcurrentStreams); ok {
				a.streams = n
			}
			a.mu.Unlock()
		case *http2.RSTStreamFrame:
			a.mu.Lock()
			a.refused++
			a.mu.Unlock()
		}
	}
}

func (a *attacker) closed() bool {
	select {
	case <-a.ended:
		return true
	case <-time.After(10 * time.Second):
		return false
	}
}

func served(t *testing.T, r *sidecartest.Fixture) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	response, err := client.Get(r.URL + "/.well-known/agent-card.json")
	if err != nil {
		t.Fatalf("another client is not served: %v", err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("another client gets the status %s", response.Status)
	}
}

// floods maps a flood to the function that writes its next frames.
var floods = map[string]func(a *attacker, i int) error{
	"rapid reset": func(a *attacker, i int) error {
		id := uint32(2*i + 1)
		if err := a.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: a.headers, EndHeaders: true}); err != nil {
			return err
		}
		return a.WriteRSTStream(id, http2.ErrCodeCancel)
	},
	"continuations": func(a *attacker, i int) error {
		if i == 0 {
			return a.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: a.headers})
		}
		// The bytes are one valid header field, a: b, in HPACK.
		return a.WriteContinuation(1, false, []byte{0, 1, 0x61, 1, 0x62})
	},
	"pings":    func(a *attacker, _ int) error { return a.WritePing(false, [8]byte{}) },
	"settings": func(a *attacker, _ int) error { return a.WriteSettings() },
}

func TestHTTP2FloodsAreClosed(t *testing.T) {
	const most = 100_000
	for name, flood := range floods {
		t.Run(name, func(t *testing.T) {
			r := sidecartest.Start(t, sidecartest.TextAgent)
			a := attack(t, r.URL)
			began, sent := time.Now(), 0
			for ; sent < most; sent++ {
				if flood(a, sent) != nil {
					break
				}
				if sent%1000 == 0 {
					served(t, r)
				}
			}
			if !a.closed() {
				t.Fatalf("the connection is open after %d frames", sent)
			}
			served(t, r)
			t.Logf("T-H2 %s: closed within %d of %d, after %v", name, sent, most, time.Since(began).Round(time.Millisecond))
		})
	}
}

// TestHTTP2FloodsCostLittle compares the CPU time of the sidecar program for an attacker's connection, until it is closed,
// with the CPU time for the requests that a normal client may send in a second.
func TestHTTP2FloodsCostLittle(t *testing.T) {
	const requests, connections, atMost = 400, 10, 500
	p := start(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "Hi") })
	ask := func() {
		status, answer, err := p.post(strings.NewReader(fmt.Sprintf(hello, rand.Text(), "Hello")))
		if err != nil || status != http.StatusOK {
			t.Fatalf("normal client: %d %s, %v", status, answer, err)
		}
	}
	p.client.Transport = &http.Transport{}
	defer p.client.CloseIdleConnections()
	for range requests / 4 {
		ask() // warm up
	}
	before := p.cpu(t)
	for range requests {
		ask()
	}
	normal := (p.cpu(t) - before) / requests
	for name, flood := range floods {
		t.Run(name, func(t *testing.T) {
			before, frames := p.cpu(t), 0
			for range connections {
				a := attack(t, p.address)
				for i := 0; flood(a, i) == nil; i++ {
					frames++
				}
				if !a.closed() {
					t.Fatal("the connection is open")
				}
			}
			each := (p.cpu(t) - before) / connections
			if each > atMost*normal {
				t.Errorf("a connection costs %v, %d requests of a normal client cost %v", each, atMost, atMost*normal)
			}
			t.Logf("T-H2 %s: a connection of %d frames costs %v of CPU, as much as %d requests of a normal client (%v each)",
				name, frames/connections, each.Round(time.Microsecond), (each+normal-1)/normal, normal.Round(time.Microsecond))
		})
	}
}

// cpu returns the CPU time of all threads of the process.
func (p *process) cpu(t *testing.T) (used time.Duration) {
	t.Helper()
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.pid))
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		var ran int64
		if _, scanned := fmt.Sscan(string(text), &ran); err == nil && scanned == nil {
			used += time.Duration(ran)
		}
	}
	if used == 0 {
		t.Skip("no /proc/PID/task/*/schedstat here")
	}
	return used
}

// TestHTTP2StreamsAreLimited opens more streams than a connection may have. The sidecar refuses them, closes the connection, or reads no further
// while the earlier requests run. It serves other clients meanwhile.
func TestHTTP2StreamsAreLimited(t *testing.T) {
	const opened = 1000
	r := sidecartest.Start(t, sidecartest.TextAgent)
	a := attack(t, r.URL)
	for i := range opened {
		// EndStream is false, so the request stays open, waiting for its body.
		if err := a.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: a.headers, EndHeaders: true}); err != nil {
			break
		}
	}
	deadline := time.Now().Add(2 * time.Second)
	for {
		a.mu.Lock()
		refused, streams := a.refused, a.streams
		a.mu.Unlock()
		if streams == 100 && refused >= opened-int(streams) {
			t.Logf("T-H2 streams: %d opened, %d refused", opened, refused)
			break
		}
		select {
		case <-a.ended:
			t.Log("T-H2 streams: the connection was closed")
			served(t, r)
			return
		default:
		}
		if time.Now().After(deadline) {
			t.Logf("T-H2 streams: %d opened, %d refused, and the others are not read", opened, refused)
			if streams != 100 {
				t.Errorf("%d streams are allowed at a time, want 100", streams)
			}
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	served(t, r)
}
