// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/tracecollector"
)

// outputs contains the bytes that a sidecar emitted, by place. It is safe for concurrent use.
type outputs struct {
	mu  sync.Mutex
	all map[string]*bytes.Buffer
}

func (o *outputs) add(where string, text []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all[where] == nil {
		o.all[where] = &bytes.Buffer{}
	}
	o.all[where].Write(append(text, '\n'))
}

// contains reports whether an output has a text.
func (o *outputs) contains(where, text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[where] != nil && bytes.Contains(o.all[where].Bytes(), []byte(text))
}

// lineWith reports whether a line of an output has all texts.
func (o *outputs) lineWith(where string, texts ...string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all[where] == nil {
		return false
	}
	for line := range strings.Lines(o.all[where].String()) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			return true
		}
	}
	return false
}

// recorder returns a function that sends a request, adds the response to the outputs, and
// returns its status and body. The status is 0 if there is no response.
func (o *outputs) recorder(t *testing.T, client *http.Client) func(method, target, body string, headers ...string) (int, string) {
	t.Helper()
	return func(method, target, body string, headers ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Add(headers[i], headers[i+1])
		}
		response, err := client.Do(r)
		if err != nil {
			return 0, ""
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		o.add("an answer", fmt.Appendf(text, "%v", response.Header))
		return response.StatusCode, string(text)
	}
}

// TestSecretsAreNeverExposed gives the sidecar program thirty secrets in every way that it can
// receive them, and searches everything that it emits for them.
func TestSecretsAreNeverExposed(t *testing.T) {
	dir, canaries := t.TempDir(), map[string]string{}
	plant := func(kind string) string {
		name := fmt.Sprintf("%s %d", kind, len(canaries))
		canaries[name] = "canary" + strings.ToLower(rand.Text()) + strings.ToLower(rand.Text())
		return canaries[name]
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var keys []string
	for i := range 10 {
		keys = append(keys, plant("API key"))
		write(fmt.Sprintf("callers/c%d", i), keys[i])
	}
	write("callers/two", keys[0])                // refused with a log line
	write("callers/spaced", keys[1]+" "+keys[1]) // refused with a log line
	for _, name := range []string{"tls", "card"} {
		certificate, key := selfSigned(t)
		write(name+"/tls.crt", certificate)
		write(name+"/tls.key", key)
		canaries["private key of "+name] = strings.Split(key, "\n")[1]
	}

	told := &outputs{all: map[string]*bytes.Buffer{}}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told.add("the agent", fmt.Appendf(body, "%s %v", r.RequestURI, r.Header))
		_, _ = io.WriteString(w, "Hi")
	}))
	defer agent.Close()
	address, health := freeport.Address(t), freeport.Address(t)
	traces := tracecollector.Start(t)
	var log bytes.Buffer
	sidecar := exec.CommandContext(context.WithoutCancel(t.Context()), programs.Path("cmd/sidecar"), "--backend-url", agent.URL, "--listen", address, "--health-listen", health,
		"--card", write("card.yaml", "displayName: x\ndescription: d\nversion: '1'\n"), "--api-keys", filepath.Join(dir, "callers"), "--tls", filepath.Join(dir, "tls"),
		"--card-signing-key", filepath.Join(dir, "card/tls.key"), "--allowed-push-target", "203.0.113.0/24", "--log-level", "DEBUG", "--access-log", "--profiling")
	sidecar.Stdout, sidecar.Stderr = &log, &log
	sidecar.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+traces.URL)
	if err := sidecar.Start(); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	do := told.recorder(t, client)
	base := "https://" + address
	deadline := time.Now().Add(20 * time.Second)
	for status := 0; status != http.StatusOK; status, _ = do("GET", base+"/.well-known/agent-card.json", "") {
		if time.Now().After(deadline) {
			t.Fatalf("the sidecar does not serve: %s", log.String())
		}
		time.Sleep(20 * time.Millisecond)
	}

	const send = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user","messageId":"m","parts":[{"kind":"text","text":"Hello"}]}%s}}`
	plain := fmt.Sprintf(send, "")
	for _, key := range keys[2:] {
		if status, text := do("POST", base+"/", plain, "X-API-Key", key); status != http.StatusOK {
			t.Fatalf("status %d: %s", status, text)
		}
	}
	// The agent receives the content of messages, and the log must not contain it.
	content := "content" + strings.ToLower(rand.Text())
	if status, text := do("POST", base+"/", strings.Replace(plain, "Hello", content, 1), "X-API-Key", keys[4]); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	do("POST", base+"/", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"`+content+`"}}`, "X-API-Key", keys[4])
	for range 6 {
		do("POST", base+"/", plain, "X-API-Key", plant("wrong key"))
		do("POST", base+"/", plain, "Authorization", "Bearer "+plant("wrong token"))
	}
	do("GET", base+"/tasks?api_key="+plant("key in the query"), "")
	do("POST", base+"/", plain, "X-API-Key", keys[2], "Cookie", "session="+plant("cookie"))
	do("POST", base+"/", plain, "X-API-Key", keys[2], "Authorization", "Basic "+plant("password"))
	push := fmt.Sprintf(`,"configuration":{"pushNotificationConfig":{"url":"https://203.0.113.7/a","token":%q,"authentication":{"schemes":["Bearer"],"credentials":%q}}}`,
		plant("push token"), plant("push credentials"))
	if status, text := do("POST", base+"/", fmt.Sprintf(send, push), "X-API-Key", keys[3]); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	plainText := plant("key without TLS")
	if response, err := http.Post("http://"+address+"/?key="+plainText, "application/json", strings.NewReader(plain)); err == nil {
		_ = response.Body.Close()
	}
	for _, path := range []string{"/.well-known/agent.json", "/.well-known/agent-card.json", "/.well-known/jwks.json"} {
		do("GET", base+path, "")
	}
	for _, path := range []string{"/metrics", "/readyz", "/livez", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1"} {
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
	traces.Await(t, tracecollector.Server("x", "SendMessage"), tracecollector.Server("x", "GetTask")) // the sidecar exports the rest before it ends
	told.add("the traces", []byte(traces.Requests()))

	found, size := 0, 0
	for where, text := range told.all {
		size += text.Len()
		for name, canary := range canaries {
			if strings.Contains(text.String(), canary) {
				found++
				t.Errorf("%s holds %s", where, name)
			}
		}
	}
	for _, where := range []string{"the agent", "an answer", "the log", "the traces", "cmdline"} {
		if told.all[where] == nil {
			t.Errorf("no output of %s was searched", where)
		}
	}
	if !strings.Contains(log.String(), `\"two\"`) || !strings.Contains(log.String(), `\"spaced\"`) {
		t.Errorf("the log has no line about refused keys: %s", log.String())
	}
	if n := strings.Count(log.String(), `"msg":"request ended"`); n < 20 || !strings.Contains(log.String(), `"msg":"request denied"`) || strings.Contains(log.String(), content) {
		t.Errorf("the log has %d requests, or no denied one, or the content of a message: %s", n, log.String())
	}
	t.Logf("T-SECRET: %d canaries in %d outputs of %d bytes, %d found", len(canaries), len(told.all), size, found)
}

func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "x"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}
