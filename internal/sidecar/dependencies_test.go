// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// readyz returns whether the pod is ready, and if it is not, the reason.
func (p *pod) readyz() (ready bool, why string) {
	p.t.Helper()
	response, body := p.do("GET", p.health("/readyz"), "")
	return response.StatusCode == http.StatusOK, body
}

// reports waits until the report of a dependency has the given cause, and returns the
// message.
func (p *pod) reports(name sidecarconfig.Dependency, cause sidecarconfig.HealthCause) (message string) {
	p.t.Helper()
	p.eventually(string(name)+" "+string(cause), func() bool {
		for _, each := range p.sidecar.health.Report().Dependencies {
			if each.Dependency == name {
				message = each.Message
				return each.Cause == cause
			}
		}
		return cause == sidecarconfig.CauseHealthy
	})
	return message
}

func (p *pod) hasMetric(line string) {
	p.t.Helper()
	if _, metrics := p.do("GET", p.health("/metrics"), ""); !strings.Contains(metrics, "\n"+line+"\n") {
		p.t.Errorf("%s is missing", line)
	}
}

// closedAddress returns an address at which nothing listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	return freeport.Address(t) // no other test listens there
}

// A pod that has never reached its store is not ready, and its readiness probe reports
// the reason.
func TestPodWithAnUnreachableStoreIsNotReady(t *testing.T) {
	t.Parallel() // it waits most of the time
	const password = "correct-horse"
	server := redistest.Start(t, "--requirepass", password)
	open := redistest.Start(t)
	file := func(content string) string {
		name := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	closed := closedAddress(t)
	for name, test := range map[string]struct {
		options func(*settings.Options)
		cause   sidecarconfig.HealthCause
		says    string
	}{
		"nothing listens": {
			func(o *settings.Options) { o.Store = "redis://" + closed }, sidecarconfig.CauseRefused, closed + ": connection refused",
		},
		"no such host": {
			func(o *settings.Options) { o.Store = "redis://redis.invalid:6379" }, sidecarconfig.CauseNameResolution, `redis.invalid:6379: `,
		},
		"wrong password": {
			func(o *settings.Options) {
				o.Store, o.StorePasswordFile = "redis://"+server.Address(), file("wrong-secret")
			},
			sidecarconfig.CauseAuthentication, "WRONGPASS",
		},
		"no password": {
			func(o *settings.Options) { o.Store = "redis://" + server.Address() }, sidecarconfig.CauseAuthentication, "NOAUTH",
		},
		"emptied Secret": {
			func(o *settings.Options) {
				o.Store, o.StorePasswordFile = "redis://"+open.Address(), file("")
			},
			sidecarconfig.CauseInvalid, "file is empty",
		},
		"missing Secret": {
			func(o *settings.Options) {
				o.Store, o.StorePasswordFile = "redis://"+server.Address(), "/nowhere/password"
			},
			sidecarconfig.CauseMissing, "/nowhere/password is not mounted",
		},
		"no TLS there": {
			func(o *settings.Options) { o.Store = "rediss://" + open.Address() }, sidecarconfig.CauseTLS, "TLS",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPodWith(t, respondHi, nil, test.options)
			message := p.reports(sidecarconfig.DependencyTaskStore, test.cause)
			if !strings.Contains(message, test.says) || strings.Contains(message, "wrong-secret") {
				t.Errorf("message = %q, want %q", message, test.says)
			}
			if ready, why := p.readyz(); ready || !strings.Contains(why, "TaskStore: "+string(test.cause)) {
				t.Errorf("/readyz = %t, %q", ready, why)
			}
			if response, _ := p.do("GET", p.health("/startedz"), ""); response.StatusCode != http.StatusOK {
				t.Error("the sidecar has not started: the agent's container would wait for it")
			}
		})
	}
}

// A pod becomes ready without a restart when its store becomes available. It stays ready
// when it loses the store afterwards. The metric and the health report show both.
func TestStoreIsLostAndRegained(t *testing.T) {
	t.Parallel() // it waits most of the time
	server := redistest.Start(t)
	server.Kill()
	p := newPodWith(t, respondHi, nil, func(o *settings.Options) { o.Store = "redis://" + server.Address() })
	p.reports(sidecarconfig.DependencyTaskStore, sidecarconfig.CauseRefused)
	p.hasMetric(`a2a_dependency_state{cause="ConnectionRefused",dependency="TaskStore",state="never_reached"} 1`)
	server.Run()
	p.eventually("ready", func() bool { ready, _ := p.readyz(); return ready })
	p.hasMetric(`a2a_dependency_state{cause="",dependency="TaskStore",state="healthy"} 1`)
	server.Kill()
	p.reports(sidecarconfig.DependencyTaskStore, sidecarconfig.CauseRefused)
	p.hasMetric(`a2a_dependency_state{cause="ConnectionRefused",dependency="TaskStore",state="lost"} 1`)
	if ready, why := p.readyz(); !ready {
		t.Errorf("/readyz of a pod that lost its store = %s", why)
	}
	server.Run()
	p.reports(sidecarconfig.DependencyTaskStore, sidecarconfig.CauseHealthy)
}

// A pod reports a store that takes no new task, although the store answers all other
// calls. It stays ready, because clients can still read their tasks. When the store has
// room again, the report ends without a request of a client.
func TestStoreIsFull(t *testing.T) {
	t.Parallel() // it waits most of the time
	server := redistest.Start(t)
	p := newPodWith(t, respondHi, nil, func(o *settings.Options) { o.Store = "redis://" + server.Address() })
	p.eventually("ready", func() bool { ready, _ := p.readyz(); return ready })
	c := client.NewClient(&client.Options{Addr: server.Address()})
	defer func() { _ = c.Close() }()
	set := func(maxmemory string) {
		t.Helper()
		if err := c.ConfigSet(t.Context(), "maxmemory", maxmemory).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("1")
	message := p.reports(sidecarconfig.DependencyTaskStore, sidecarconfig.CauseFull)
	if !strings.Contains(message, server.Address()+": the server has no memory left for new tasks (OOM)") {
		t.Errorf("message = %q", message)
	}
	p.hasMetric(`a2a_dependency_state{cause="Full",dependency="TaskStore",state="lost"} 1`)
	if ready, why := p.readyz(); !ready {
		t.Errorf("/readyz of a pod with a full store = %s", why)
	}
	set("0")
	p.eventually("healthy", func() bool { return len(p.sidecar.health.Report().Dependencies) == 0 })
	p.hasMetric(`a2a_dependency_state{cause="",dependency="TaskStore",state="healthy"} 1`)
}

func writeCard(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "card.yaml")
	if err := os.WriteFile(name, []byte("displayName: Echo\ndescription: d\nversion: '1'\nskills: [{id: a, name: A, description: d, tags: [a]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func valid(from, until time.Duration) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		withNames("agent")(c)
		c.NotBefore, c.NotAfter = time.Now().Add(from), time.Now().Add(until)
	}
}

func (a *authority) mountValid(dir string, from, until time.Duration) {
	a.t.Helper()
	certificate, key := a.issue(valid(from, until))
	mount(a.t, dir, map[string][]byte{certificateFile: certificate, keyFile: key})
}

// The sidecar does not start without a certificate that is valid now.
func TestCertificateThatIsInvalidAtTheStart(t *testing.T) {
	a := newAuthority(t, "a")
	for want, period := range map[string][2]time.Duration{
		"tls.crt expired on 20":         {-2 * time.Hour, -time.Hour},
		"tls.crt is not valid before 2": {time.Hour, 2 * time.Hour},
	} {
		dir := t.TempDir()
		a.mountValid(dir, period[0], period[1])
		_, err := Open(t.Context(), &settings.Options{
			BackendURL: "http://127.0.0.1:1", CardFile: writeCard(t), Anonymous: true, Listen: "127.0.0.1:0", TLS: dir,
		}, slog.New(slog.DiscardHandler), time.Now)
		if !errors.Is(err, ErrTLS) || !strings.Contains(err.Error(), want) {
			t.Errorf("Open() error = %v, want %q", err, want)
		}
	}
}

// An invalid certificate never replaces a valid one. When the served certificate expires,
// the pod is not ready until a valid certificate is mounted.
func TestCertificateOutsideItsValidityPeriod(t *testing.T) {
	t.Parallel() // it waits most of the time
	a := newAuthority(t, "a")
	dir := t.TempDir()
	a.mountValid(dir, -time.Hour, time.Hour)
	p := newPodWith(t, respondHi, nil, func(o *settings.Options) { o.TLS = dir })
	served := func() time.Time {
		p.sidecar.certificate.mu.Lock()
		defer p.sidecar.certificate.mu.Unlock()
		return p.sidecar.certificate.leaf.NotAfter
	}
	first := served()

	a.mountValid(dir, -2*time.Hour, -time.Hour)
	if message := p.reports(sidecarconfig.DependencyServingCertificate, sidecarconfig.CauseExpired); !strings.Contains(message, "is served") ||
		!strings.Contains(message, "valid until "+first.UTC().Format(time.RFC3339)) {
		t.Errorf("message = %q, want that the former is served, and its date", message)
	}
	if ready, why := p.readyz(); !ready || !served().Equal(first) {
		t.Errorf("/readyz with the former certificate = %s", why)
	}

	// A mounted certificate that becomes valid soon is put into use at that time.
	a.mountValid(dir, 2*time.Second, 6*time.Second)
	p.reports(sidecarconfig.DependencyServingCertificate, sidecarconfig.CauseNotYetValid)
	p.eventually("the next certificate is served", func() bool { return !served().Equal(first) })

	if message := p.reports(sidecarconfig.DependencyServingCertificate, sidecarconfig.CauseExpired); !strings.Contains(message, "the certificate that is served expired on 20") {
		t.Errorf("message = %q", message)
	}
	if ready, _ := p.readyz(); ready {
		t.Error("ready with a certificate that expired while it was served")
	}
	a.mountValid(dir, -time.Hour, time.Hour)
	p.reports(sidecarconfig.DependencyServingCertificate, sidecarconfig.CauseHealthy)
	if ready, why := p.readyz(); !ready {
		t.Errorf("/readyz with a valid certificate = %s", why)
	}
}

// byJWT configures authentication by others and by JWTs of an issuer. jwks is the URL of
// the issuer's keys.
func byJWT(jwks string, others ...sidecarconfig.Authentication) func(*sidecarconfig.Config) {
	return func(c *sidecarconfig.Config) {
		c.Access.Authentication = append(others, sidecarconfig.Authentication{
			Type: sidecarconfig.AuthenticationJWT,
			JWT:  &sidecarconfig.JWTAuthentication{Issuer: "https://issuer.example", Audiences: []string{"a"}, JWKSURL: jwks},
		})
	}
}

const someKeys = `{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}`

// While the keys of an issuer are unavailable, the pod is unready unless another method
// can authenticate callers.
func TestUnavailableIssuerKeys(t *testing.T) {
	var answer atomic.Pointer[http.HandlerFunc]
	says404 := http.HandlerFunc(http.NotFound)
	answer.Store(&says404)
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*answer.Load())(w, r) }))
	defer issuer.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	defer page.Close()
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"keys":[]}`) }))
	defer empty.Close()
	closed := "http://" + closedAddress(t) + "/jwks"
	for url, want := range map[string]struct {
		cause sidecarconfig.HealthCause
		says  string
	}{
		issuer.URL: {sidecarconfig.CauseHTTPStatus, "GET " + issuer.URL + " is answered with status 404"},
		page.URL:   {sidecarconfig.CauseInvalid, "GET " + page.URL + " is answered with 200, but the content is not a JSON object of the expected form"},
		empty.URL:  {sidecarconfig.CauseInvalid, "no member of keys is a public key"},
		closed:     {sidecarconfig.CauseRefused, "GET " + closed + ": connection refused"},
	} {
		p := newPod(t, respondHi, byJWT(url))
		if message := p.reports(sidecarconfig.DependencyIssuerKeys, want.cause); !strings.Contains(message, want.says) {
			t.Errorf("message = %q, want %q", message, want.says)
		}
		if ready, why := p.readyz(); ready || !strings.Contains(why, "IssuerKeys") {
			t.Errorf("%s: /readyz = %t, %q", url, ready, why)
		}
	}
	other := newPod(t, respondHi, byJWT(issuer.URL, sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationAnonymous}))
	other.reports(sidecarconfig.DependencyIssuerKeys, sidecarconfig.CauseHTTPStatus)
	if ready, why := other.readyz(); !ready {
		t.Errorf("/readyz where others are admitted = %s", why)
	}
	alone := newPod(t, respondHi, byJWT(issuer.URL))
	alone.reports(sidecarconfig.DependencyIssuerKeys, sidecarconfig.CauseHTTPStatus)
	found := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, someKeys) })
	answer.Store(&found)
	alone.eventually("ready", func() bool { ready, _ := alone.readyz(); return ready })
	alone.hasMetric(`a2a_dependency_state{cause="",dependency="IssuerKeys",state="healthy"} 1`)
	// A configuration without the issuer does not need the keys.
	alone.config.Access.Authentication = []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}
	alone.mount(alone.encode())
	alone.eventually("the issuer is forgotten", func() bool {
		_, metrics := alone.do("GET", alone.health("/metrics"), "")
		return !strings.Contains(metrics, "IssuerKeys")
	})
}

// If a new file of a mounted bundle or key cannot be used, the failure is reported, and
// the former bundle or key stays in use.
func TestInvalidFilesKeepTheFormerConfiguration(t *testing.T) {
	a := newAuthority(t, "a")
	trusted, keys := t.TempDir(), t.TempDir()
	mount(t, trusted, map[string][]byte{"ca.crt": a.pem})
	mount(t, keys, map[string][]byte{"alice": []byte(strings.Repeat("k", 32))})
	p := newPodWith(t, respondHi, func(c *sidecarconfig.Config) {
		c.Access.Authentication = []sidecarconfig.Authentication{{
			Type: sidecarconfig.AuthenticationAPIKey, APIKey: &sidecarconfig.APIKeyAuthentication{Header: sidecarconfig.DefaultAPIKeyHeader},
		}}
	}, func(o *settings.Options) { o.TrustBundle, o.APIKeys = filepath.Join(trusted, "ca.crt"), keys })
	if ready, why := p.readyz(); !ready {
		t.Fatalf("/readyz = %s", why)
	}
	mount(t, trusted, map[string][]byte{"ca.crt": []byte("nonsense")})
	if message := p.reports(sidecarconfig.DependencyTrustBundle, sidecarconfig.CauseInvalid); !strings.Contains(message, "stay in use") {
		t.Errorf("message = %q", message)
	}
	if ready, why := p.readyz(); !ready {
		t.Errorf("/readyz with the former authorities = %s", why)
	}
	mount(t, trusted, map[string][]byte{"ca.crt": a.pem})
	p.reports(sidecarconfig.DependencyTrustBundle, sidecarconfig.CauseHealthy)

	mount(t, keys, map[string][]byte{"alice": []byte("short-secret")})
	if message := p.reports(sidecarconfig.DependencyAPIKeys, sidecarconfig.CauseMissing); strings.Contains(message, "short-secret") {
		t.Errorf("message = %q", message)
	}
	if ready, why := p.readyz(); ready || !strings.Contains(why, "APIKeys") {
		t.Errorf("/readyz where nobody can be admitted = %t, %s", ready, why)
	}
	mount(t, keys, map[string][]byte{"alice": []byte(strings.Repeat("k", 32))})
	p.eventually("ready", func() bool { ready, _ := p.readyz(); return ready })

	p.mount([]byte("{"))
	if message := p.reports(sidecarconfig.DependencyConfiguration, sidecarconfig.CauseInvalid); !strings.Contains(message, "the former configuration stays in use") {
		t.Errorf("message = %q", message)
	}
	p.mount(p.encode())
	p.reports(sidecarconfig.DependencyConfiguration, sidecarconfig.CauseHealthy)
}

func TestTerminationMessage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "termination-log")
	writeTerminationMessage(file, errors.New("there is no such file")) // on a machine without a kubelet
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was made")
	}
	if err := os.WriteFile(file, []byte("former"), 0o600); err != nil {
		t.Fatal(err)
	}
	writeTerminationMessage(file, errors.New("tls.crt\nexpired"))
	if text, err := os.ReadFile(file); err != nil || string(text) != "tls.crt expired" {
		t.Errorf("message = %q, %v", text, err)
	}
}

// A pod that loses its model server stays ready. The sidecar detects the recovery of the
// server without a turn.
func TestModelServerIsLostAndRegained(t *testing.T) {
	t.Parallel() // it waits most of the time
	var away atomic.Bool
	answers := newCompletionServer()
	url := modelServerAt(t, nonLoopbackIP(t), nil, func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answers(w, r)
	})
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		calls(url)(c)
		c.Backend.Timeouts.FirstEvent = sidecarconfig.Duration(time.Second) // a turn waits this long for a busy server
	})
	p.eventually("ready", func() bool { ready, _ := p.readyz(); return ready })
	p.hasMetric(`a2a_dependency_state{cause="",dependency="ModelServer",state="healthy"} 1`)
	away.Store(true)
	_ = p.turn()
	if message := p.reports(sidecarconfig.DependencyModelServer, sidecarconfig.CauseNotServing); !strings.Contains(message, "answers with status 503") {
		t.Errorf("message = %q", message)
	}
	p.hasMetric(`a2a_dependency_state{cause="NotServing",dependency="ModelServer",state="lost"} 1`)
	if ready, why := p.readyz(); !ready {
		t.Errorf("/readyz of a pod that lost its model server = %s", why)
	}
	away.Store(false)
	p.reports(sidecarconfig.DependencyModelServer, sidecarconfig.CauseHealthy)
}

// A server may forbid the list of models to a key that may use completions. A pod with
// such a server is ready and healthy.
func TestModelServerWithAForbiddenModelList(t *testing.T) {
	answers := newCompletionServer()
	var asked atomic.Int32
	url := modelServerAt(t, nonLoopbackIP(t), nil, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			asked.Add(1)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		answers(w, r)
	})
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		calls(url)(c)
		c.Backend.Model.Name = "m"
	})
	p.eventually("ready", func() bool { ready, _ := p.readyz(); return ready })
	p.hasMetric(`a2a_dependency_state{cause="",dependency="ModelServer",state="healthy"} 1`)
	if got := p.turn(); !strings.Contains(got, `"state":"completed"`) {
		t.Errorf("turn = %s", got)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times for its models, want once", n)
	}
}

// The health check of a model server reports the failure that a turn would have.
func TestModelServerWithUnexpectedResponses(t *testing.T) {
	for name, tt := range map[string]struct {
		list  func(http.ResponseWriter, *http.Request)
		cause sidecarconfig.HealthCause
		says  string
	}{
		"a redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }, sidecarconfig.CauseInvalid, "redirects are not followed"},
		"no answer":  {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, sidecarconfig.CauseTimedOut, "does not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			url := modelServerAt(t, nonLoopbackIP(t), nil, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					tt.list(w, r)
					return
				}
				newCompletionServer()(w, r)
			})
			p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
				calls(url)(c)
				c.Backend.Timeouts.Connect = sidecarconfig.Duration(200 * time.Millisecond)
			})
			if message := p.reports(sidecarconfig.DependencyModelServer, tt.cause); !strings.Contains(message, tt.says) {
				t.Errorf("message = %q, want %q in it", message, tt.says)
			}
		})
	}
}

// If a server returns the list of models for any key, the sidecar still reports that
// completions are refused.
func TestModelServerRejectsCompletions(t *testing.T) {
	t.Parallel() // it waits most of the time
	var refuses atomic.Bool
	var lists atomic.Int32
	url := modelServerAt(t, nonLoopbackIP(t), nil, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			lists.Add(1)
		} else if refuses.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		newCompletionServer()(w, r)
	})
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		calls(url)(c)
		c.Backend.Model.Name = "m"
	})
	p.eventually("ready", func() bool { ready, _ := p.readyz(); return ready })
	refuses.Store(true)
	p.eventually("a refusal that is reported", func() bool {
		_ = p.turn()
		report := p.sidecar.health.Report()
		return len(report.Dependencies) == 1 && report.Dependencies[0].Cause == sidecarconfig.CauseAuthentication
	})
	before := lists.Load()
	p.eventually("the models are asked for again, twice", func() bool { return lists.Load() >= before+2 })
	p.reports(sidecarconfig.DependencyModelServer, sidecarconfig.CauseAuthentication)
	refuses.Store(false)
	_ = p.turn()
	p.reports(sidecarconfig.DependencyModelServer, sidecarconfig.CauseHealthy)
}

// A pod whose backend protocol is A2A is not ready until the agent serves its card.
func TestAgentWithoutACard(t *testing.T) {
	var served atomic.Bool
	agent := func(w http.ResponseWriter, r *http.Request) {
		if !served.Load() {
			http.Error(w, "unknown assistant", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"name":"a","url":"http://`+r.Host+`/","version":"1","protocolVersion":"0.3.0","capabilities":{},"skills":[]}`)
	}
	p := newPod(t, agent, func(c *sidecarconfig.Config) { c.Backend.Protocol = sidecarconfig.ProtocolA2A })
	message := p.reports(sidecarconfig.DependencyAgentCard, sidecarconfig.CauseInvalid)
	if !strings.Contains(message, "400") || !strings.Contains(message, "unknown assistant") {
		t.Errorf("message = %q, want the status and what the agent says", message)
	}
	if ready, why := p.readyz(); ready || !strings.Contains(why, "AgentCard") {
		t.Errorf("/readyz = %t, %s", ready, why)
	}
	served.Store(true)
	p.eventually("ready", func() bool { ready, _ := p.readyz(); return ready })
}

// A whole sidecar sends its health reports to the registry of its configuration.
func TestPodReportsItsHealth(t *testing.T) {
	reports := make(chan string, 16)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		reports <- r.Method + " " + r.URL.Path + " " + string(body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer registry.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	closed := closedAddress(t)
	newPodWith(t, respondHi, func(c *sidecarconfig.Config) {
		c.Gateway = &sidecarconfig.Gateway{RegistryURL: registry.URL, AgentURL: "http://{name}.{namespace}.svc", TokenFile: token}
	}, func(o *settings.Options) { o.Store = "redis://" + closed })
	want := `PUT /v1/health {"dependencies":[{"dependency":"TaskStore","cause":"ConnectionRefused","message":"` + closed + `: connection refused"}]}`
	if got := <-reports; got != want {
		t.Errorf("report = %s\nwant     %s", got, want)
	}
}
