// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
)

const (
	maxBody = 10 << 20
	hello   = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"%s","role":"user","parts":[{"kind":"text","text":"%s"}]}}}`
)

// process is a process of the sidecar program.
type process struct {
	address string
	pid     int
	client  *http.Client
}

// start runs the sidecar program in front of an agent until the test ends.
func start(t *testing.T, agent http.HandlerFunc) *process {
	t.Helper()
	backend := httptest.NewServer(agent)
	t.Cleanup(backend.Close)
	dir := t.TempDir()
	card := filepath.Join(dir, "card.yaml")
	if err := os.WriteFile(card, []byte("displayName: Echo\ndescription: d\nversion: \"1\"\nskills: [{id: s, name: S, description: d, tags: [t]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &process{address: freeport.Address(t), client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}}
	sidecar := exec.CommandContext(t.Context(), programs.Path("cmd/sidecar"), "--backend-url", backend.URL, "--card", card, "--anonymous", "--listen", p.address)
	if err := sidecar.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sidecar.Process.Kill()
		_ = sidecar.Wait()
	})
	p.pid = sidecar.Process.Pid
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		response, err := p.client.Get("http://" + p.address + "/.well-known/agent-card.json")
		if err == nil {
			_ = response.Body.Close()
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("the sidecar does not listen: %v", err)
		}
	}
}

// peak returns the largest resident memory that the process has had, in bytes.
func (p *process) peak(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		t.Skipf("no /proc here: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// post sends a body, and returns the status and the beginning of the response.
func (p *process) post(body io.Reader, headers ...string) (status int, answer string, err error) {
	request, err := http.NewRequest(http.MethodPost, "http://"+p.address, body)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := p.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	return response.StatusCode, string(text), err
}

// raw writes to a connection, and returns the status of the response, or 0 if the connection ends without one.
func (p *process) raw(t *testing.T, write func(io.Writer) error) int {
	t.Helper()
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { _ = write(conn) })
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	_ = conn.Close()
	if err != nil {
		return 0
	}
	return response.StatusCode
}

// spaces is an endless stream of JSON white space.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func message(id string, size int) string { return fmt.Sprintf(hello, id, strings.Repeat("x", size)) }

// manyNames returns a request of nearly 10 MiB with many short names in one object.
func manyNames() string {
	var body strings.Builder
	body.WriteString(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"`)
	for i := range 950_000 {
		fmt.Fprintf(&body, `,"%x":0`, i)
	}
	return body.String() + "}}"
}

// TestBodiesCostBoundedMemory covers T-BODY: a body of a client or of the agent may cost the sidecar at most 56 MiB, and the sender
// must receive an error response.
func TestBodiesCostBoundedMemory(t *testing.T) {
	var answer struct {
		sync.Mutex
		with http.HandlerFunc
	}
	p := start(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer.Lock()
		with := answer.with
		answer.Unlock()
		if with == nil {
			with = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				_, _ = io.WriteString(w, "ok")
			}
		}
		with(w, r)
	})
	if status, body, err := p.post(strings.NewReader(message("warm", 10))); status != http.StatusOK || err != nil {
		t.Fatalf("a good request = %d %s %v", status, body, err)
	}
	before := p.peak(t)

	status := func(want int, body func() io.Reader, headers ...string) func(*testing.T) {
		return func(t *testing.T) {
			got, text, err := p.post(body(), headers...)
			// The server may close the connection before a client that is still sending reads the response.
			if got != want && (err == nil || want != http.StatusRequestEntityTooLarge && want != http.StatusUnsupportedMediaType) {
				t.Errorf("status = %d, want %d: %s %v", got, want, text, err)
			}
		}
	}
	of := func(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }
	endless := func() io.Reader { return io.MultiReader(strings.NewReader("{"), spaces{}) }
	head := func(lines string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+lines)
			return err
		}
	}
	refused := func(write func(io.Writer) error, want ...int) func(*testing.T) {
		return func(t *testing.T) {
			got := p.raw(t, write)
			if !slices.Contains(want, got) {
				t.Errorf("status = %d, want one of %d", got, want)
			}
		}
	}
	// fails returns a test in which the agent answers with a handler, and the task must fail.
	fails := func(with http.HandlerFunc) func(*testing.T) {
		return func(t *testing.T) {
			answer.Lock()
			answer.with = with
			answer.Unlock()
			got, text, err := p.post(strings.NewReader(message(t.Name(), 10)))
			answer.Lock()
			answer.with = nil
			answer.Unlock()
			if got != http.StatusOK || err != nil || !strings.Contains(text, `"state":"failed"`) {
				t.Errorf("status = %d, %.300s, %v, want a task that failed", got, text, err)
			}
		}
	}
	sends := func(contentType, prefix string, body func(io.Writer)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, prefix)
			body(w)
		}
	}
	much := func(n int64) func(io.Writer) {
		return func(w io.Writer) { _, _ = io.Copy(w, io.LimitReader(spaces{}, n)) }
	}
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	_, _ = io.Copy(zip, io.LimitReader(spaces{}, 200<<20))
	_ = zip.Close()
	frame := make([]byte, 5)
	binary.BigEndian.PutUint32(frame[1:], 1<<31)

	for name, attack := range map[string]func(*testing.T){
		"one byte over the limit": status(413, of(message("1", maxBody+1-len(fmt.Sprintf(hello, "1", ""))))),
		"at the limit, not JSON":  status(200, of(strings.Repeat("[", maxBody))),
		"100 MB":                  status(413, func() io.Reader { return io.LimitReader(endless(), 100<<20) }),
		"100 MB, declared":        refused(head("Content-Length: 104857600\r\n\r\n{"), 413),
		"a length that overflows": refused(head("Content-Length: 9223372036854775807\r\n\r\n{"), 413),
		"a negative length":       refused(head("Content-Length: -1\r\n\r\n{"), 400),
		"endless chunks":          status(413, endless),
		"chunks of 16 bytes": refused(func(w io.Writer) error {
			if err := head("Transfer-Encoding: chunked\r\n\r\n")(w); err != nil {
				return err
			}
			chunk := "10\r\n" + strings.Repeat(" ", 16) + "\r\n"
			for range 12 << 10 {
				if _, err := io.WriteString(w, strings.Repeat(chunk, 64)); err != nil {
					return err
				}
			}
			return nil
		}, 413, 0),
		"a chunk that overflows": refused(head("Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"), 200, 400),
		"a header of 1 MB":       refused(head("X-A: "+strings.Repeat("x", 1<<20)+"\r\n\r\n"), 431, 0),
		"100,000 headers":        refused(head(strings.Repeat("X-A: b\r\n", 100_000)+"\r\n"), 431, 0),
		"a path of 1 MB": refused(func(w io.Writer) error {
			_, err := io.WriteString(w, "GET /"+strings.Repeat("x", 1<<20)+" HTTP/1.1\r\n")
			return err
		}, 431, 0),
		"a gzip bomb":                  status(http.StatusUnsupportedMediaType, func() io.Reader { return bytes.NewReader(bomb.Bytes()) }, "Content-Encoding", "gzip"),
		"deep nesting":                 status(200, of(`{"jsonrpc":"2.0","id":1,"method":"message/send","params":`+strings.Repeat(`{"a":`, 1<<20)+"1"+strings.Repeat("}", 1<<20)+"}")),
		"a million parts":              status(200, of(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"p","role":"user","parts":[%s1]}}}`, strings.Repeat("{},", 1<<20)))),
		"a million names":              status(200, func() io.Reader { return strings.NewReader(manyNames()) }),
		"an id of 1 MB":                status(200, of(`{"jsonrpc":"2.0","id":"`+strings.Repeat("x", 1<<20)+`","method":"tasks/get","params":{"id":"x"}}`)),
		"JSON of another content type": status(415, of("{}"), "Content-Type", "application/grpc"),
		"the agent: a line of 64 MB":   fails(sends("application/x-ndjson", `{"text":"`, much(64<<20))),
		"the agent: endless SSE":       fails(sends("text/event-stream", "data: ", much(64<<20))),
		"the agent: JSON of 64 MB":     fails(sends("application/json", `{"a":"`, much(64<<20))),
		"the agent: headers of 2 MB": fails(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-A", strings.Repeat("x", 2<<20))
		}),
	} {
		t.Run(name, func(t *testing.T) {
			at := p.peak(t)
			attack(t)
			t.Logf("%s: peak grew by %d KiB", name, (p.peak(t)-at)>>10)
		})
	}
	t.Logf("peak memory grew by %d MiB from %d", (p.peak(t)-before)>>20, before>>20)
	if status, body, err := p.post(strings.NewReader(message("after", 10))); status != http.StatusOK || err != nil {
		t.Errorf("a valid request after the others = %d %s %v", status, body, err)
	}
	// The sidecar uses 35 to 41 MiB on a busy machine, on which the garbage collector is late by one or two bodies.
	const allowed = 56 << 20
	if grown := p.peak(t) - before; grown > allowed {
		t.Errorf("peak memory grew by %d MiB, want at most %d", grown>>20, allowed>>20)
	}
}
