// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/test/exchangetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seen is a request that the fake server received from the gateway.
type seen struct {
	Method, Host, URI string
	Header            http.Header
	Body              string
}

// cluster is a gateway with a fake server in place of all hosts that the gateway can
// reach.
type cluster struct {
	gateway *httptest.Server
	client  *http.Client
	tracer  tracing.Tracer
	token   string
	bodies  *limit.Budget
	seen    []seen
}

// newCluster starts a gateway. answer handles the requests to all hosts.
func newCluster(t *testing.T, answer http.HandlerFunc) *cluster {
	t.Helper()
	return newClusterBehind(t, func(next http.RoundTripper) http.RoundTripper { return next }, answer)
}

// newClusterBehind does the same as newCluster, with a wrapped transport between the
// gateway and the fake server.
func newClusterBehind(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper, answer http.HandlerFunc) *cluster {
	t.Helper()
	c := &cluster{token: filepath.Join(t.TempDir(), "token"), bodies: limit.NewBudget(64<<20, 50*time.Millisecond)}
	if err := os.WriteFile(c.token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && r.Header.Get("Authorization") == "" {
			return // the gateway probes whether the agent has TLS
		}
		if r.Host == "registry.system.svc:8444" && exchangetest.Serve(w, r) {
			return
		}
		if name, ok := strings.CutPrefix(r.URL.Path, "/v1/agents/"); ok && r.Host == "registry.system.svc:8444" && r.Header.Get("A2A-Version") == "1.0" {
			_, _ = io.WriteString(w, listed(name)) // the gateway looks up the agent
			return
		}
		body, _ := io.ReadAll(r.Body)
		c.seen = append(c.seen, seen{r.Method, r.Host, r.RequestURI, r.Header, string(body)})
		answer(w, r)
	}))
	t.Cleanup(far.Close)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, far.Listener.Addr().String())
	}}
	t.Cleanup(transport.CloseIdleConnections)
	c.gateway = httptest.NewServer(New(&Config{
		RegistryURL: "http://registry.system.svc:8444",
		AgentURL:    "http://{name}.{namespace}.svc.cluster.local",
		TokenFile:   c.token,
		TokenURL:    "http://registry.system.svc:8444" + exchangetest.Path,
		Audience:    "{name}.{namespace}.a2a-operator.dev",
	}, Options{Tracer: &c.tracer, Transport: wrap(transport), ObserveExchange: func(error) {}, Deny: plain, Bodies: c.bodies, Log: slog.New(slog.DiscardHandler), Now: time.Now}))
	t.Cleanup(c.gateway.Close)
	c.client = c.gateway.Client()
	c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

func (c *cluster) do(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.gateway.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	response, err := c.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response, string(text)
}

// listed returns the registry's entry of an agent of the cluster.
func listed(agent string) string {
	namespace, name, _ := strings.Cut(agent, "/")
	return `{"namespace":"` + namespace + `","name":"` + name + `","url":"http://` + name + "." + namespace + `.svc.cluster.local/"}`
}

// plain denies a request in a format that tests can read.
func plain(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	status := map[a2a.Reason]int{
		a2a.ReasonPermissionDenied: http.StatusForbidden, a2a.ReasonUnavailable: http.StatusServiceUnavailable,
		a2a.ReasonInvalidRequest: http.StatusBadRequest, a2a.ReasonTooLarge: http.StatusRequestEntityTooLarge, a2a.ReasonUnsupportedOperation: http.StatusNotImplemented,
	}
	w.WriteHeader(cmp.Or(status[problem.Reason], http.StatusBadGateway))
	_, _ = io.WriteString(w, r.URL.Path+": "+problem.Message)
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }

func TestPathsAreRouted(t *testing.T) {
	tests := map[string]struct{ method, path, host, uri string }{
		"registry":           {"GET", "/registry/v1/agents?skill=a%20b&q=1", "registry.system.svc:8444", "/v1/agents?skill=a%20b&q=1"},
		"registry alone":     {"GET", "/registry", "registry.system.svc:8444", "/"},
		"agent":              {"POST", "/agents/team/echo/", "echo.team.svc.cluster.local", "/"},
		"agent, no slash":    {"POST", "/agents/team/echo", "echo.team.svc.cluster.local", "/"},
		"REST":               {"GET", "/agents/team/echo/v1/tasks/a%2Fb:cancel", "echo.team.svc.cluster.local", "/v1/tasks/a%2Fb:cancel"},
		"namespace of digit": {"GET", "/agents/1team/echo/x", "echo.1team.svc.cluster.local", "/x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, ok)
			response, body := c.do(t, test.method, test.path, "")
			if response.StatusCode != http.StatusOK || body != "{}" || len(c.seen) != 1 {
				t.Fatalf("%s: %d %s", test.path, response.StatusCode, body)
			}
			if got := c.seen[0]; got.Host != test.host || got.URI != test.uri || got.Method != test.method {
				t.Errorf("arrived at %s %s%s, want %s%s", got.Method, got.Host, got.URI, test.host, test.uri)
			}
		})
	}
}

func TestInvalidPathsAreRejected(t *testing.T) {
	tests := map[string]struct {
		path   string
		status int
	}{
		"root":                     {"/", 404},
		"elsewhere":                {"/metrics", 404},
		"prefix of registry":       {"/registryx/v1", 404},
		"agents alone":             {"/agents/", 404},
		"no name":                  {"/agents/team", 404},
		"empty name":               {"/agents/team//x", 404},
		"dots in a name":           {"/agents/team/kubernetes.default/", 404},
		"upper case":               {"/agents/team/Echo/", 404},
		"port in a name":           {"/agents/team/echo:8642/", 404},
		"at sign":                  {"/agents/team/x@evil/", 404},
		"escaped slash":            {"/agents/team/a%2fb/", 404},
		"escaped dot":              {"/agents/team/a%2eb/", 404},
		"escaped letter":           {"/agents/team/%65cho/", 404},
		"up":                       {"/agents/team/echo/../../../registry", 404},
		"escaped parent directory": {"/agents/team/echo/%2e%2e/%2e%2e/x", 404},
		"two slashes":              {"/agents/team/echo//x", 404},
		"backslash":                {`/agents/team/echo/%5c..%5cx`, 404},
		"long name":                {"/agents/team/" + strings.Repeat("a", 64) + "/", 404},
		"dash at the end":          {"/agents/team/a-/", 404},
		"braces":                   {"/agents/team/%7Bname%7D/", 404},
		"absolute in a label":      {"/agents/http:/evil.example/", 404},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, ok)
			connection, err := net.Dial("tcp", c.gateway.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			// The request is written directly to the connection, because an http.Client would
			// clean the path.
			_, _ = io.WriteString(connection, "GET "+test.path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(connection), nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != test.status || len(c.seen) != 0 {
				t.Errorf("%s gives %d and %v", test.path, response.StatusCode, c.seen)
			}
		})
	}
}

func TestRequestCarriesTheIdentityOfTheSidecar(t *testing.T) {
	c := newCluster(t, ok)
	c.do(t, "POST", "/agents/team/echo/", "{}",
		"Authorization", "Bearer mine", "Cookie", "a=b", "Proxy-Authorization", "x", "X-Forwarded-For", "1.2.3.4", "Forwarded", "for=x",
		"Connection", "X-Hop", "X-Hop", "1", "Traceparent", "00-a-b-01", "A2A-Version", "1.0", "Content-Type", "application/json")
	got := c.seen[0].Header
	got.Del("User-Agent")
	got.Del("Accept-Encoding")
	want := http.Header{
		"Authorization": {"Bearer secret-for-echo.team.a2a-operator.dev"}, "Traceparent": {"00-a-b-01"}, "A2a-Version": {"1.0"},
		"Content-Type": {"application/json"}, "Content-Length": {"2"},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}

	if err := os.WriteFile(c.token, []byte("renewed"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.do(t, "GET", "/registry/v1/agents", "")
	if got := c.seen[1].Header.Get("Authorization"); got != "Bearer renewed" {
		t.Errorf("Authorization = %q after the token was renewed", got)
	}

	if err := os.Remove(c.token); err != nil {
		t.Fatal(err)
	}
	if response, _ := c.do(t, "GET", "/registry/v1/agents", ""); response.StatusCode != http.StatusServiceUnavailable || len(c.seen) != 2 {
		t.Errorf("status = %d without a token", response.StatusCode)
	}
}

func TestRequestsOfOtherHostsAndOriginsAreRejected(t *testing.T) {
	tests := map[string]struct {
		headers []string
		status  int
	}{
		"loopback":     {nil, 200},
		"localhost":    {[]string{"Host", "localhost:8643"}, 200},
		"IPv6":         {[]string{"Host", "[::1]:8643"}, 200},
		"own origin":   {[]string{"Origin", "http://127.0.0.1:3000"}, 200},
		"rebound name": {[]string{"Host", "evil.example:8643"}, 403},
		"rebound name that begins with localhost": {[]string{"Host", "localhost.evil.example"}, 403},
		"pod's address":  {[]string{"Host", "10.0.0.7:8643"}, 403},
		"foreign origin": {[]string{"Origin", "https://evil.example"}, 403},
		"null origin":    {[]string{"Origin", "null"}, 403},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, ok)
			response, _ := c.do(t, "GET", "/registry/v1/agents", "", test.headers...)
			if response.StatusCode != test.status {
				t.Errorf("status = %d, want %d", response.StatusCode, test.status)
			}
		})
	}
}

func TestRegistryIsOnlyRead(t *testing.T) {
	c := newCluster(t, ok)
	if response, _ := c.do(t, "POST", "/registry/v1/agents", "{}"); response.StatusCode != http.StatusMethodNotAllowed || len(c.seen) != 0 {
		t.Errorf("POST gives %d", response.StatusCode)
	}
}

func TestRedirectsAreNotForwarded(t *testing.T) {
	c := newCluster(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
	})
	response, _ := c.do(t, "GET", "/agents/team/echo/x", "")
	if response.StatusCode != http.StatusBadGateway || response.Header.Get("Location") != "" || len(c.seen) != 1 {
		t.Errorf("status = %d, Location = %q", response.StatusCode, response.Header.Get("Location"))
	}
}

func TestGatewayWithoutConfigurationRefusesRequests(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/registry/v1/agents", nil)
	New(nil, Options{Deny: plain, Log: slog.New(slog.DiscardHandler), Now: time.Now}).ServeHTTP(w, r)
	if w.Code != http.StatusNotFound {
		t.Errorf("status = %d", w.Code)
	}
}

func TestStreamsAreForwardedAtOnce(t *testing.T) {
	proceed := make(chan struct{})
	c := newCluster(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			_, _ = io.WriteString(w, "data: x\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-proceed:
			case <-r.Context().Done():
			}
		}
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.gateway.URL+"/agents/team/echo/", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for range 3 {
		for _, want := range []string{"data: x\n", "\n"} {
			if line, err := lines.ReadString('\n'); err != nil || line != want {
				t.Fatalf("read %q, %v", line, err)
			}
		}
		proceed <- struct{}{}
	}
}

// lateReader is a transport that reads the end of the request's body after the first
// event of the response. http.Transport may do the same.
type lateReader struct{ http.RoundTripper }

func (l lateReader) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || !strings.HasPrefix(r.Host, "echo.") {
		return l.RoundTripper.RoundTrip(r)
	}
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Request: r,
		Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body:   &lateBody{events: io.NopCloser(strings.NewReader("data: 1\n\n")), request: r.Body},
	}, nil
}

// lateBody is a response body that consists of one event and the body of the request.
type lateBody struct {
	events  io.ReadCloser
	request io.ReadCloser
}

func (b *lateBody) Read(p []byte) (int, error) {
	if n, err := b.events.Read(p); err == nil {
		return n, nil
	}
	return b.request.Read(p)
}

func (b *lateBody) Close() error { return b.request.Close() }

// TestStreamsContinueAfterAnEarlyResponse sends requests that the gateway forwards without a
// buffer. Each response begins before the transport has read the end of the request.
func TestStreamsContinueAfterAnEarlyResponse(t *testing.T) {
	for name, test := range map[string]struct{ path, body string }{
		"REST":           {"/agents/team/echo/v1/message:stream", `{"message":{}}`},
		"JSON-RPC":       {"/agents/team/echo/", `{"method":"SendStreamingMessage"}`},
		"large JSON-RPC": {"/agents/team/echo/", `{"method":"` + strings.Repeat("x", maxCardRequest) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClusterBehind(t, func(next http.RoundTripper) http.RoundTripper { return lateReader{next} }, ok)
			response, got := c.do(t, http.MethodPost, test.path, test.body, "Content-Type", "application/json")
			if want := "data: 1\n\n" + test.body; response.StatusCode != http.StatusOK || got != want {
				t.Errorf("status = %d, the stream is %.80q, want %.80q", response.StatusCode, got, want)
			}
		})
	}
}
