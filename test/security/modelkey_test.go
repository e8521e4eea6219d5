// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
)

// echoes are responses of a model server that repeat the API key of the request. KEY
// stands for the key.
var echoes = []struct {
	status        int
	kind, content string
}{
	{http.StatusUnauthorized, "application/json", `{"error":{"message":"Incorrect API key provided: KEY","type":"invalid_request_error"}}`},
	{http.StatusForbidden, "text/plain", "KEY may not do this"},
	{http.StatusBadRequest, "text/plain", "KEY"},
	{http.StatusInternalServerError, "text/plain", "KEY"},
	{http.StatusTemporaryRedirect, "text/plain", "KEY"},
	{http.StatusOK, "text/html", "<p>KEY</p>"},
	{http.StatusOK, "application/json", `{"error":{"message":"KEY"}}`},
	{http.StatusOK, "application/json", `{"message":"KEY"}`},
	{http.StatusOK, "application/json", `{"model":"KEY","choices":[{"message":{"content":"KEY"},"finish_reason":"stop"}],"usage":{"KEY":1}}`},
	{http.StatusOK, "application/json", `{"choices":[{"message":{"content":7,"KEY":"KEY"}}]}`},
	{http.StatusOK, "text/event-stream", "data: {\"error\":\"KEY\"}\n\n"},
	{http.StatusOK, "text/event-stream", "KEY: KEY\n\n"},
	{http.StatusOK, "text/event-stream", "data: KEY\n\n"},
	{http.StatusOK, "text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"It is HALF\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"REST.\"},\"finish_reason\":\"stop\"}]}\n\n"},
	{http.StatusOK, "text/event-stream", "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"KEY\",\"function\":{\"name\":\"f\",\"arguments\":\"KEY\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n"},
	{http.StatusOK, "text/event-stream", "data: {\"choices\":[{\"delta\":{\"KEY\":\"KEY\"}}]}\n\n"},
	{http.StatusOK, "text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"HALF\"}}]}\n\n"},
}

// TestModelServerKeyIsNeverExposed gives the sidecar program the API key of a model
// server that repeats the key in many ways, and searches everything that the sidecar
// emits for it. The test replaces the key meanwhile, by another key and by an invalid one.
func TestModelServerKeyIsNeverExposed(t *testing.T) {
	dir := t.TempDir()
	canary := func() string {
		return "sk-canary" + strings.ToLower(rand.Text()) + strings.ToLower(rand.Text())
	}
	keys := []string{canary(), canary(), canary()}
	file := filepath.Join(dir, "key", "api-key")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) string {
		t.Helper()
		// The kubelet renames files into place, too.
		if err := os.WriteFile(path+"~", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+"~", path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(file, keys[0]+"\n")

	answers := make(chan int, 1)
	// A model whose answers call tools is asked again at each step.
	var shown sync.Map
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		shown.Store(key, true)
		at := <-answers
		answers <- at // the agent repeats this answer until the test sets the next
		echo := echoes[at]
		w.Header().Set("Content-Type", echo.kind)
		w.Header().Set("X-Api-Key", key)
		w.Header().Set("Location", "/"+key)
		w.WriteHeader(echo.status)
		half := len(key) / 2
		_, _ = io.WriteString(w, strings.NewReplacer("KEY", key, "HALF", key[:half], "REST", key[half:]).Replace(echo.content))
	}))
	defer model.Close()
	address, health := freeport.Address(t), freeport.Address(t)
	var log bytes.Buffer
	sidecar := exec.CommandContext(context.WithoutCancel(t.Context()), programs.Path("cmd/sidecar"), "--backend-url", model.URL, "--backend-protocol", "ChatCompletions", "--model-name", "m",
		"--listen", address, "--health-listen", health, "--card", write(filepath.Join(dir, "card.yaml"), "displayName: x\ndescription: d\nversion: '1'\n"), "--anonymous",
		"--model-api-key-file", file, "--model-header", "X-Team=blue", "--log-level", "DEBUG")
	sidecar.Stdout, sidecar.Stderr = &log, &log
	if err := sidecar.Start(); err != nil {
		t.Fatal(err)
	}
	told := &outputs{all: map[string]*bytes.Buffer{}}
	client := &http.Client{Timeout: 20 * time.Second}
	do := told.recorder(t, client)
	base := "http://" + address
	await := func(what string, holds func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				_ = sidecar.Process.Kill()
				_ = sidecar.Wait()
				t.Fatalf("%s: not after 30 s: %s", what, log.String())
			}
		}
	}
	await("the start of the sidecar", func() bool {
		status, _ := do("GET", base+"/.well-known/agent-card.json", "")
		return status == http.StatusOK
	})

	send := func(method string) string {
		_, text := do("POST", base+"/", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"message":{"kind":"message","role":"user","messageId":"`+
			rand.Text()+`","parts":[{"kind":"text","text":"Hello"}]}}}`, "Accept", "application/json, text/event-stream")
		return text
	}
	redacted := 0
	all := func() {
		for at := range echoes {
			select {
			case <-answers:
			default:
			}
			answers <- at
			for _, method := range []string{"message/send", "message/stream"} {
				text := send(method)
				if !strings.Contains(text, `"completed"`) && !strings.Contains(text, `"failed"`) && !strings.Contains(text, `"rejected"`) {
					t.Errorf("%v: %s", echoes[at], text)
				}
				redacted += strings.Count(text, "[redacted]")
			}
		}
		do("POST", base+"/", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`, "A2A-Version", "1.0")
	}
	all()
	reloads := func(result string) func() bool {
		return func() bool {
			_, metrics := do("GET", "http://"+health+"/metrics", "")
			return strings.Contains(metrics, `a2a_reloads_total{result="`+result+`",source="model-api-key"} 1`)
		}
	}
	write(file, keys[1])
	await("the next key", reloads("applied"))
	all()
	write(file, keys[2]+" "+keys[2]) // refused, and logged
	await("the refusal of an invalid key", reloads("refused"))
	for _, path := range []string{"/.well-known/agent.json", "/.well-known/agent-card.json"} {
		do("GET", base+path, "")
	}
	for _, path := range []string{"/metrics", "/readyz", "/livez"} {
		do("GET", "http://"+health+path, "")
	}
	for _, name := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", sidecar.Process.Pid, name))
		if err != nil {
			t.Fatal(err)
		}
		told.add(name, text)
	}
	client.CloseIdleConnections()
	_ = sidecar.Process.Signal(syscall.SIGTERM)
	if err := sidecar.Wait(); err != nil {
		t.Errorf("sidecar: %v", err)
	}
	told.add("the log", log.Bytes())

	size := 0
	for where, text := range told.all {
		size += text.Len()
		for n, key := range keys {
			// A fragment would help to guess the rest.
			for at := 0; at+16 <= len(key); at += 4 {
				if strings.Contains(text.String(), key[at:at+16]) {
					t.Errorf("%s holds a part of key %d", where, n)
				}
			}
		}
	}
	shown.Range(func(key, _ any) bool {
		if key != keys[0] && key != keys[1] {
			t.Errorf("the model server received %q", key)
		}
		return true
	})
	if redacted < len(echoes) || !strings.Contains(log.String(), "must hold one API key, without blanks within") {
		t.Errorf("%d places redacted; log: %s", redacted, log.String())
	}
	t.Logf("T-SECRET: %d keys, repeated in %d ways, in %d outputs of %d bytes, %d places redacted", len(keys), len(echoes), len(told.all), size, redacted)
}
