// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// adkJob is an agent that client_adk.py calls.
type adkJob struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	// CA is the file with the authority of the agent's certificate.
	CA string `json:"ca"`
	// Connect maps hosts with ports to the addresses to dial. If it is nil, ADK uses its own
	// HTTP client.
	Connect map[string]string `json:"connect"`

	// refused is the error of ADK, if ADK should refuse the card.
	refused string
}

// withBases sets the base URLs of the card, and its bindings if there are any.
func withBases(urls []string, bindings ...card.Binding) func(*sidecartest.Fixture, *sidecarconfig.Config) {
	return func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Card.Bindings = bindings
		for _, each := range urls {
			c.Bases = append(c.Bases, card.NewBase(each))
		}
	}
}

// terminateTLS starts a proxy like a Gateway with a listener for https: it terminates
// TLS, strips a path, keeps the Host, and forwards requests in the clear. It returns its
// host and port.
func terminateTLS(t *testing.T, certificate, path, agent string) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(certificate, "tls.crt"), filepath.Join(certificate, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(agent)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		},
		FlushInterval: -1, Transport: transport,
	}
	proxy := httptest.NewUnstartedServer(http.StripPrefix(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without full duplex, the server closes the body of a request at the first byte of the response. The transport fails if
		// it has not read the end of the body before.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		forward.ServeHTTP(w, r)
	})))
	proxy.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	return proxy.Listener.Addr().String()
}

// adkJobs returns the ways to reach an agent, and cards that ADK refuses.
func adkJobs(t *testing.T) []adkJob {
	t.Helper()
	const path = "/.well-known/agent-card.json"
	certificate, authority := newCertificate(t, "localhost", "echo.team.svc", "agents.example.test")
	host := func(at string) string {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	port := func(at string) string { return at[strings.LastIndexByte(at, ':'):] }
	local := httptest.NewServer(newGateway(t, sidecartest.Start(t, sidecartest.AskingAgent).URL))
	t.Cleanup(local.Close)

	// The same base URLs as the operator configures.
	inside := []string{"https://echo.team.svc.cluster.local/", "https://echo.team.svc/", "https://echo.team/", "https://echo/"}
	own := sidecartest.Start(t, sidecartest.AskingAgent, sidecartest.WithTLS(certificate), withBases(nil)).URL
	service := sidecartest.Start(t, sidecartest.AskingAgent, sidecartest.WithTLS(certificate), withBases(inside)).URL
	all := sidecartest.Start(t, sidecartest.AskingAgent, sidecartest.WithTLS(certificate), withBases(inside, card.Bindings...)).URL
	// The Gateway also has a listener for http. Requests to either listener reach the sidecar without TLS.
	exposed := sidecartest.Start(t, sidecartest.AskingAgent, withBases([]string{
		"https://agents.example.test/team/echo/", "http://agents.example.test/team/echo/", "http://echo.team.svc.cluster.local/", "http://echo.team.svc/",
	})).URL
	outside := terminateTLS(t, certificate, "/team/echo", exposed)

	none := map[string]string{}
	return []adkJob{
		{Name: "gateway to an agent of the cluster", URL: local.URL + "/agents/team/echo" + path, Connect: none},
		{Name: "gateway to a remote agent", URL: newRemoteAgent(t, sidecartest.Start(t, sidecartest.AskingAgent).URL).gateway(t) + path, Connect: none},
		{Name: "TLS, with SSL_CERT_FILE and nothing else", URL: "https://localhost" + port(own) + path, CA: authority},
		{
			Name: "TLS at a name of the Service", URL: "https://echo.team.svc" + path, CA: authority,
			Connect: map[string]string{"echo.team.svc:443": host(service)},
		},
		{
			Name: "Gateway that terminates TLS", URL: "https://agents.example.test/team/echo" + path, CA: authority,
			Connect: map[string]string{"agents.example.test:443": outside},
		},
		{
			Name: "card with gRPC", URL: "https://echo.team.svc" + path, CA: authority,
			Connect: map[string]string{"echo.team.svc:443": host(all)},
			refused: "Agent card RPC URL must use https, or http on a loopback host: echo.team.svc:443",
		},
		{
			Name: "Service without TLS", URL: "http://echo.team.svc" + path,
			Connect: map[string]string{"echo.team.svc:80": host(exposed)},
			refused: "Agent card URL must use https, or http on a loopback host",
		},
	}
}

// TestPythonADKClient has google-adk's RemoteA2aAgent call an agent by the URL of its
// card: through the gateway, which is on its loopback, over TLS inside the cluster, and
// by an external hostname whose TLS ends in front of the sidecar. ADK refuses a card with
// a URL of another origin.
func TestPythonADKClient(t *testing.T) {
	program := environment(t, "adk")
	jobs := adkJobs(t)
	in, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, "-u", "client_adk.py")
	command.Dir, command.Stdin = "python", bytes.NewReader(in)
	command.Env = append(os.Environ(), "NO_PROXY=*", "no_proxy=*")
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("client_adk.py: %v\n%s", err, stderr.String())
	}
	type report struct{ Job, Got, Error string }
	found := map[string]report{}
	for line := range strings.Lines(string(out)) {
		var one report
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("client_adk.py wrote %q: %v", line, err)
		}
		found[one.Job] = one
	}
	for _, j := range jobs {
		t.Run(j.Name, func(t *testing.T) {
			got := found[j.Name]
			switch {
			case j.refused != "":
				if !strings.Contains(got.Error, j.refused) {
					t.Errorf("got %q, error %q, want the error %q\n%s", got.Got, got.Error, j.refused, stderr.String())
				}
			// The question comes as a function call, and the next message answers it.
			case got.Got != "; That one" || got.Error != "":
				t.Errorf("got %q, error %q\n%s", got.Got, got.Error, stderr.String())
			}
		})
	}
}
