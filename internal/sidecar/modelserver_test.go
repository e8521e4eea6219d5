// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const completion = `data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

// nonLoopbackIP returns an address of this machine that is not loopback. It stands for
// the address of a model server in a cluster.
func nonLoopbackIP(t *testing.T) net.IP {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP
		}
	}
	t.Skip("this machine has no address but loopback")
	return nil
}

// modelServerAt starts a model server at an address and returns its URL.
func modelServerAt(t *testing.T, ip net.IP, secure *tls.Config, h http.HandlerFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(ip.String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}, TLS: secure}
	if secure != nil {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// newCompletionServer returns a model server that accepts the given API keys, or any request without keys.
func newCompletionServer(keys ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		taken := len(keys) == 0
		for _, key := range keys {
			taken = taken || r.Header.Get("Authorization") == "Bearer "+key
		}
		switch {
		case !taken:
			http.Error(w, "no such key: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, completion)
		}
	}
}

// calls configures a model server as the backend of a pod.
func calls(url string) func(*sidecarconfig.Config) {
	return func(c *sidecarconfig.Config) {
		c.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolChatCompletions, URL: url}
	}
}

func (p *pod) readiness() string {
	response, body := p.do("GET", p.health(sidecarconfig.ReadyzPath), "")
	return fmt.Sprint(response.StatusCode, " ", strings.TrimSpace(body))
}

func (p *pod) turn() string {
	_, body := p.do("POST", p.agent(), hello, "Authorization", "Bearer "+p.token("team"))
	return body
}

// TestUnreachableModelServer checks that a pod becomes ready when its model server has
// responded once, and stays ready when the server fails later.
func TestUnreachableModelServer(t *testing.T) {
	var status atomic.Int32
	status.Store(http.StatusBadGateway)
	url := modelServerAt(t, nonLoopbackIP(t), nil, func(w http.ResponseWriter, r *http.Request) {
		if s := status.Load(); s != http.StatusOK {
			w.WriteHeader(int(s))
			return
		}
		newCompletionServer()(w, r)
	})
	p := newPod(t, respondHi, calls(url))
	p.eventually("the cause in the probe", func() bool {
		return p.readiness() == "503 model server not reached: The model server answered 502 Bad Gateway"
	})
	status.Store(http.StatusUnauthorized)
	p.eventually("the next cause", func() bool { return strings.Contains(p.readiness(), "requires an API key: 401 Unauthorized") })
	status.Store(http.StatusOK)
	p.eventually("readiness", func() bool { return p.readiness() == "200 ok" })
	if got := p.turn(); !strings.Contains(got, `"state":"completed"`) {
		t.Errorf("turn = %s", got)
	}
	status.Store(http.StatusBadGateway)
	if got := p.turn(); !strings.Contains(got, "502 Bad Gateway") || p.readiness() != "200 ok" {
		t.Errorf("after the server went away: %s, turn = %s", p.readiness(), got)
	}
}

// TestModelThatTheServerRefuses reports a model that its server does not have until the server answers, although it lists its models.
func TestModelThatTheServerRefuses(t *testing.T) {
	var isThere atomic.Bool
	url := modelServerAt(t, nonLoopbackIP(t), nil, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !isThere.Load() {
			http.NotFound(w, r)
			return
		}
		newCompletionServer()(w, r)
	})
	p := newPod(t, respondHi, calls(url))
	p.eventually("readiness", func() bool { return p.readiness() == "200 ok" })
	if got := p.turn(); !strings.Contains(got, "has no such model") {
		t.Errorf("turn = %s", got)
	}
	if message := p.reports(sidecarconfig.DependencyModelServer, sidecarconfig.CauseInvalid); !strings.Contains(message, "has no such model") || p.readiness() != "200 ok" {
		t.Errorf("%s: %s", p.readiness(), message)
	}
	isThere.Store(true)
	if got := p.turn(); !strings.Contains(got, `"state":"completed"`) {
		t.Errorf("turn = %s", got)
	}
	p.reports(sidecarconfig.DependencyModelServer, sidecarconfig.CauseHealthy)
}

// TestNextModelServerIsCalledAtOnce calls the server of a fallback while the first one asks to wait for an hour.
func TestNextModelServerIsCalledAtOnce(t *testing.T) {
	busy := modelServerAt(t, nonLoopbackIP(t), nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3600")
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	next := modelServerAt(t, nonLoopbackIP(t), nil, newCompletionServer())
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolChatCompletions, URL: busy, Model: sidecarconfig.Model{
			Name: "m", Fallbacks: []sidecarconfig.ModelServer{{URL: next, Name: "m"}},
		}}
	})
	p.eventually("readiness", func() bool { return p.readiness() == "200 ok" })
	if got := p.turn(); !strings.Contains(got, `"state":"completed"`) {
		t.Errorf("turn = %s", got)
	}
}

// The error of the turn names the field of the Agent that contains the address.
func TestModelServerAtAForbiddenAddress(t *testing.T) {
	for url, want := range map[string]string{
		"http://169.254.169.254/v1":         "leads to a loopback, link-local or metadata address",
		"http://[fd00:ec2::254]/v1":         "leads to a loopback, link-local or metadata address",
		"http://localhost.localdomain:1/v1": "",
	} {
		if want == "" {
			if names, err := net.LookupHost("localhost.localdomain"); err != nil || names[0] != "127.0.0.1" {
				continue
			}
			want = "leads to a loopback, link-local or metadata address"
		}
		p := newPod(t, respondHi, calls(url))
		p.eventually(url+" to be refused", func() bool { return strings.Contains(p.readiness(), want) })
		if got := p.turn(); !strings.Contains(got, want) || strings.Contains(got, "169.254") {
			t.Errorf("%s: turn = %s", url, got)
		}
	}
}

// TestModelServerOverTLS checks that the sidecar trusts a server by the trust bundle of
// the Agent, and follows no redirect.
func TestModelServerOverTLS(t *testing.T) {
	ip, ca := nonLoopbackIP(t), newAuthority(t, "company")
	certificate, key := ca.issue(func(c *x509.Certificate) { c.IPAddresses = append(c.IPAddresses, ip) })
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	var redirect atomic.Bool
	url := modelServerAt(t, ip, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, func(w http.ResponseWriter, r *http.Request) {
		if redirect.Load() {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		newCompletionServer()(w, r)
	})
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	bundle := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(bundle, ca.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("trusted", func(t *testing.T) {
		p := newPodWith(t, respondHi, calls(url), func(o *settings.Options) { o.TrustBundle = bundle })
		p.eventually("readiness", func() bool { return p.readiness() == "200 ok" })
		if got := p.turn(); !strings.Contains(got, `"state":"completed"`) {
			t.Errorf("turn = %s", got)
		}
		redirect.Store(true)
		defer redirect.Store(false)
		if got := p.turn(); !strings.Contains(got, "answered with a redirect, which is not followed") {
			t.Errorf("turn = %s", got)
		}
	})
	t.Run("not trusted", func(t *testing.T) {
		p := newPod(t, respondHi, calls(url))
		const want = "The certificate of the model server is not trusted; spec.trustBundle names further authorities"
		p.eventually("the cause", func() bool { return strings.Contains(p.readiness(), want) })
		if got := p.turn(); !strings.Contains(got, want) {
			t.Errorf("turn = %s", got)
		}
	})
	t.Run("standalone", func(t *testing.T) {
		o := standaloneOptions(t, respondHi)
		o.BackendURL, o.BackendProtocol, o.TrustBundle = url, "ChatCompletions", bundle
		response, err := http.Post("http://"+standaloneWith(t, o).Addresses().Agent+"/", "application/json", strings.NewReader(hello))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if body, _ := io.ReadAll(response.Body); !strings.Contains(string(body), `"state":"completed"`) {
			t.Errorf("turn = %s", body)
		}
	})
}

// TestChatKeyIsRotated runs ten agents that use one model server, whose API key is in a
// Secret. It rotates the key while all agents run turns. No turn may fail.
func TestChatKeyIsRotated(t *testing.T) {
	const agents = 10
	key := func(n int) string { return fmt.Sprintf("sk-%02d-0123456789", n) }
	var taken sync.Map // the keys that the server accepts now
	taken.Store(key(0), true)
	var refused atomic.Int32
	url := modelServerAt(t, nonLoopbackIP(t), nil, func(w http.ResponseWriter, r *http.Request) {
		shown := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, ok := taken.Load(shown); !ok {
			refused.Add(1)
		} else {
			shown = ""
		}
		if shown != "" {
			newCompletionServer("none")(w, r)
			return
		}
		newCompletionServer()(w, r)
	})
	var pods []*pod
	var dirs []string
	for range agents {
		dir := t.TempDir()
		mount(t, dir, map[string][]byte{"api-key": []byte(key(0) + "\n")})
		dirs = append(dirs, dir)
		pods = append(pods, newPodWith(t, respondHi, calls(url), func(o *settings.Options) { o.ModelAPIKeyFile = filepath.Join(dir, "api-key") }))
	}
	var working sync.WaitGroup
	stop := make(chan struct{})
	var turns atomic.Int32
	failed := make(chan string, agents)
	for _, p := range pods {
		token := p.token("team")
		working.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, got := p.do("POST", p.agent(), hello, "Authorization", "Bearer "+token); !strings.Contains(got, `"state":"completed"`) {
					failed <- got
					return
				}
				turns.Add(1)
			}
		})
	}
	more := func(n int32) {
		t.Helper()
		for begin := turns.Load(); turns.Load() < begin+n; {
			select {
			case got := <-failed:
				t.Fatalf("a turn failed: %s", got)
			case <-time.After(time.Millisecond):
			}
		}
	}
	for n := 1; n <= 3; n++ {
		more(5 * agents)
		taken.Store(key(n), true)
		for _, dir := range dirs {
			mount(t, dir, map[string][]byte{"api-key": []byte(" " + key(n) + "\r\n")})
			more(2)
		}
		// The server may remove the former key at once. A sidecar that has not detected the
		// change yet reads the file again.
		taken.Delete(key(n - 1))
	}
	more(5 * agents)
	close(stop)
	working.Wait()
	t.Logf("%d turns of %d agents, %d requests with a former key were sent again", turns.Load(), agents, refused.Load())
	// A file without a key leaves the former key in use.
	mount(t, dirs[0], map[string][]byte{"api-key": []byte("\n")})
	p := pods[0]
	p.eventually("the refusal in the metrics", func() bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, `a2a_reloads_total{result="refused",source="model-api-key"} 1`)
	})
	if got := p.turn(); !strings.Contains(got, `"state":"completed"`) {
		t.Errorf("turn with an emptied key = %s", got)
	}
}

// TestInvalidChatKeyIsRefused checks that a sidecar does not start without a valid key.
// Its exit code and error show the reason, but not the key.
func TestInvalidChatKeyIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api-key")
	for text, want := range map[string]string{
		"missing":                       "no such file",
		"":                              "is empty, must hold a key",
		" \r\n\t":                       "is empty, must hold a key",
		"sk-secret one":                 "must hold one API key, without blanks",
		"sk-secret\nsk-secret2":         "must hold one value of visible ASCII characters",
		"sk-secret\x00":                 "must hold one value of visible ASCII characters",
		"sk-secret" + "\u00e9":          "must hold one value of visible ASCII characters",
		strings.Repeat("secret", 8<<10): "is longer than 8192 bytes",
	} {
		if text != "missing" {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		o := standaloneOptions(t, respondHi)
		o.BackendProtocol, o.ModelAPIKeyFile = "ChatCompletions", file
		_, err := Open(t.Context(), o, slog.New(slog.DiscardHandler), time.Now)
		if !errors.Is(err, ErrModelKey) || ExitCode(err) != sidecarconfig.ExitModelKey || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.20q: Open() = %v, want %s", text, err, want)
		}
	}
}

// TestChatHeaders checks which headers the flags can send.
func TestChatHeaders(t *testing.T) {
	for flag, want := range map[string]string{
		"X-Team=blue":                    "",
		"X-Filter=a=b; c":                "",
		"X-Team":                         "--model-header number 1 must be name=value",
		"=x":                             "must have a name",
		"X Team=x":                       "must have a name",
		"X-Team=":                        "must have a value",
		"X-Team=a\nb":                    "must have a value",
		"Authorization=Bearer sk-x":      "give the API key of the model server as a file",
		"cookie=sk-x":                    "give the API key of the model server as a file",
		"Content-Length=1":               "must not be Content-Length",
		"HOST=x":                         "must not be HOST",
		"A2A-Principal=sk-x":             "must not be A2A-Principal",
		"X=" + strings.Repeat("x", 1025): "must have a value of 1 to 1024",
	} {
		o := standaloneOptions(t, respondHi)
		o.BackendProtocol, o.ModelHeaders = "ChatCompletions", []string{flag}
		got := ""
		if err := o.Validate(); err != nil {
			got = err.Error()
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) || strings.Contains(got, "sk-x") {
			t.Errorf("%.30q: Validate() = %q, want %q", flag, got, want)
		}
	}
	o := standaloneOptions(t, respondHi)
	o.ModelHeaders = []string{"X-Team=blue"}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "--mcp-server need --backend-protocol ChatCompletions") {
		t.Errorf("Validate() with another protocol = %v", err)
	}
	var header http.Header
	o = standaloneOptions(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		newCompletionServer()(w, r)
	})
	o.BackendProtocol, o.ModelName, o.ModelHeaders = "ChatCompletions", "m", []string{"X-Team=blue", "X-Org=a b"}
	response, err := http.Post("http://"+standaloneWith(t, o).Addresses().Agent+"/", "application/json", strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if header.Get("X-Team") != "blue" || header.Get("X-Org") != "a b" {
		t.Errorf("header = %v", header)
	}
}
