// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/logging"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// The leak check ignores tryDial: after an outage, a closed connection pool of Redis
// dials once more within a second.
func TestMain(m *testing.M) {
	// In a pod, the address of the pod would be protected, and model servers of the tests listen there.
	if err := os.Unsetenv("KUBERNETES_SERVICE_HOST"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

const (
	issuer = "https://kubernetes.default.svc"
	hello  = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"new","role":"user","parts":[{"kind":"text","text":"Hello"}]}}}`
)

// pod is a test fixture: a sidecar with a mounted configuration, as in the pod of an Agent.
type pod struct {
	t       *testing.T
	dir     string
	key     *ecdsa.PrivateKey
	config  *sidecarconfig.Config
	sidecar *Sidecar
	stop    context.CancelFunc
	done    chan error
	client  *http.Client
	// options changes the flags.
	options func(*settings.Options)
	// flags are the flags of the sidecar.
	flags *settings.Options
	// fixedTime is the time of the rate limits if their clock does not run.
	fixedTime time.Time
	log       logBuffer
}

func newPod(t *testing.T, agent http.HandlerFunc, change func(*sidecarconfig.Config)) *pod {
	t.Helper()
	return newPodWith(t, agent, change, func(*settings.Options) {})
}

func newPodWith(t *testing.T, agent http.HandlerFunc, change func(*sidecarconfig.Config), options func(*settings.Options)) *pod {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &pod{t: t, dir: t.TempDir(), key: key, done: make(chan error, 1), options: options}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	backend := httptest.NewServer(agent)
	t.Cleanup(backend.Close)
	p.config = &sidecarconfig.Config{
		Version: sidecarconfig.Version,
		Agent:   sidecarconfig.Agent{Namespace: "team", Name: "echo"},
		Card: card.Card{
			Name: "Echo", Description: "d", Version: "1",
			Interfaces: []card.Interface{{URL: "http://echo.team.svc/", Binding: card.JSONRPC, ProtocolVersion: "1.0"}},
		},
		Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents, URL: backend.URL},
		Access: sidecarconfig.Access{
			Authentication: []sidecarconfig.Authentication{{
				Type: sidecarconfig.AuthenticationKubernetes,
				Kubernetes: &sidecarconfig.KubernetesAuthentication{
					Issuer: issuer, Audiences: []string{"echo.team.a2a-operator.dev"}, Keys: keys,
				},
			}},
			Namespaces: []string{"team"},
		},
		Drain: sidecarconfig.Drain{GracePeriod: sidecarconfig.Duration(30 * time.Second)},
	}
	if change != nil {
		change(p.config)
	}
	p.mount(p.encode())
	p.start()
	return p
}

func (p *pod) encode() []byte {
	p.t.Helper()
	text, err := sidecarconfig.Encode(p.config)
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

func (p *pod) mount(text []byte) {
	p.t.Helper()
	mount(p.t, p.dir, map[string][]byte{sidecarconfig.FileName: text})
}

// mount replaces the files of a volume as the kubelet does: it creates a new directory
// and a symbolic link to it, and renames the link.
func mount(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	version, err := os.MkdirTemp(dir, "..") //nolint:usetesting // the directory must be in the volume
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		check(os.WriteFile(filepath.Join(version, name), text, 0o600))
	}
	check(os.Symlink(filepath.Base(version), filepath.Join(dir, "..data_tmp")))
	check(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	for name := range files {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			check(os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
		}
	}
}

func (p *pod) start() {
	p.t.Helper()
	options := &settings.Options{
		ConfigFile: filepath.Join(p.dir, sidecarconfig.FileName),
		Listen:     "127.0.0.1:0", HealthListen: "127.0.0.1:0", GatewayListen: "127.0.0.1:0",
	}
	options.Level = &slog.LevelVar{}
	p.options(options)
	p.flags = options
	rateClock := time.Now
	// The rate limiters must not refill their buckets while a busy machine runs a test.
	if p.config.Limits != (sidecarconfig.Limits{}) {
		p.fixedTime = time.Now()
		rateClock = func() time.Time { return p.fixedTime }
	}
	s, err := openWith(p.t.Context(), options, logging.New(&p.log, options.Level), time.Now, rateClock)
	if err != nil {
		p.t.Fatal(err)
	}
	p.sidecar = s
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	go func() { p.done <- s.Serve(ctx) }()
	transport := &http.Transport{}
	p.client = &http.Client{Transport: transport}
	p.t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		if err := <-p.done; err != nil {
			p.t.Errorf("Serve() error = %v", err)
		}
	})
	p.eventually("the pod serves", func() bool {
		_, why := p.readyz()
		return !strings.Contains(why, "listeners are not open yet")
	})
}

func (p *pod) token(namespace string) string {
	p.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: "k"}}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": issuer, "aud": "echo.team.a2a-operator.dev", "sub": "system:serviceaccount:" + namespace + ":caller",
		"exp":           time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{"namespace": namespace, "serviceaccount": map[string]any{"name": "caller"}},
	}).Serialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// do sends a request to one of the listeners and returns the response with its body read.
func (p *pod) do(method, url, body string, headers ...string) (*http.Response, string) {
	p.t.Helper()
	response := p.open(method, url, body, headers...)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response, string(text)
}

// sent counts the ids that withNewMessageID has made.
var sent atomic.Int64

// withNewMessageID replaces the messageId "new" of a request by a unique one, because the
// sidecar deduplicates messages by their messageId.
func withNewMessageID(body string) string {
	return strings.Replace(body, `"messageId":"new"`, `"messageId":"new-`+strconv.FormatInt(sent.Add(1), 10)+`"`, 1)
}

func (p *pod) open(method, url, body string, headers ...string) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, url, strings.NewReader(withNewMessageID(body)))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	return response
}

func (p *pod) agent() string             { return "http://" + p.sidecar.Addresses().Agent + "/" }
func (p *pod) health(path string) string { return "http://" + p.sidecar.Addresses().Health + path }

// eventually polls a condition that becomes true soon.
func (p *pod) eventually(what string, holds func() bool) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			p.t.Fatalf("%s: not after 30 s", what)
		}
	}
}

func respondHi(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "Hi")
}
