// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// authority signs certificates.
type authority struct {
	t           *testing.T
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pem         []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t, key, certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue returns a certificate and its key in PEM.
func (a *authority) issue(change func(*x509.Certificate)) (certificate, key []byte) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

func (a *authority) client(change func(*x509.Certificate)) tls.Certificate {
	a.t.Helper()
	pair, err := tls.X509KeyPair(a.issue(change))
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

func withNames(names ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.Subject.CommonName = names[0]; c.DNSNames = append(c.DNSNames, names...) }
}

func withSPIFFEIDs(t *testing.T, ids ...string) func(*x509.Certificate) {
	t.Helper()
	return func(c *x509.Certificate) {
		for _, id := range ids {
			u, err := url.Parse(id)
			if err != nil {
				t.Fatal(err)
			}
			c.URIs = append(c.URIs, u)
		}
	}
}

// mountCertificate writes the files of a Secret of type kubernetes.io/tls.
func (a *authority) mountCertificate(dir, name string) {
	a.t.Helper()
	certificate, key := a.issue(withNames(name))
	mount(a.t, dir, map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": a.pem})
}

// caller returns an HTTP client for one version of HTTP, with or without a client
// certificate.
func caller(t *testing.T, roots *x509.CertPool, http2 bool, certificates ...tls.Certificate) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	transport := &http.Transport{
		Protocols: protocols,
		TLSClientConfig: &tls.Config{
			RootCAs: roots, ServerName: "localhost",
			// The client sends its certificate even if the server does not name its authority.
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if len(certificates) == 0 {
					return &tls.Certificate{}, nil
				}
				return &certificates[0], nil
			},
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (p *pod) https() string { return "https://" + p.sidecar.Addresses().Agent + "/" }

// ask sends a message with a client.
func (p *pod) ask(client *http.Client, headers ...string) *http.Response {
	p.t.Helper()
	former := p.client
	p.client = client
	defer func() { p.client = former }()
	response, _ := p.do("POST", p.https(), hello, headers...)
	return response
}

func TestTLS(t *testing.T) {
	ca, dir := newAuthority(t, "servers"), t.TempDir()
	ca.mountCertificate(dir, "first")
	p := newPodWith(t, respondHi, withAPIKeys, func(o *settings.Options) { o.TLS = dir })
	token := "Bearer " + p.token("team")
	for _, http2 := range []bool{false, true} {
		response := p.ask(caller(t, ca.pool(), http2), "Authorization", token)
		want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[http2]
		if response.StatusCode != http.StatusOK || response.Proto != want || response.TLS.PeerCertificates[0].Subject.CommonName != "first" {
			t.Errorf("%s: %d %s", want, response.StatusCode, response.Proto)
		}
		if response := p.ask(caller(t, ca.pool(), http2)); response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a credential: %d", want, response.StatusCode)
		}
	}

	// After a renewal of the certificate, open connections continue, and new connections get
	// the new certificate.
	old := caller(t, ca.pool(), true)
	if got := p.ask(old, "Authorization", token); got.StatusCode != http.StatusOK {
		t.Fatal(got.Status)
	}
	ca.mountCertificate(dir, "second")
	p.eventually("the next certificate", func() bool {
		return p.ask(caller(t, ca.pool(), false), "Authorization", token).TLS.PeerCertificates[0].Subject.CommonName == "second"
	})
	if got := p.ask(old, "Authorization", token); got.StatusCode != http.StatusOK || got.TLS.PeerCertificates[0].Subject.CommonName != "first" {
		t.Errorf("open connection: %d", got.StatusCode)
	}

	// A certificate without its key is refused and counted.
	other, _ := ca.issue(withNames("third"))
	_, key := ca.issue(withNames("fourth"))
	mount(t, dir, map[string][]byte{"tls.crt": other, "tls.key": key, "ca.crt": ca.pem})
	p.eventually("a refused reload", func() bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, `a2a_reloads_total{result="refused",source="tls"} 1`)
	})
	if got := p.ask(caller(t, ca.pool(), false), "Authorization", token).TLS.PeerCertificates[0].Subject.CommonName; got != "second" {
		t.Errorf("served with %q", got)
	}
}

func TestTLSRefusesOldVersions(t *testing.T) {
	ca, dir := newAuthority(t, "servers"), t.TempDir()
	ca.mountCertificate(dir, "first")
	p := newPodWith(t, respondHi, nil, func(o *settings.Options) { o.TLS = dir })
	address := p.sidecar.Addresses().Agent
	for name, config := range map[string]*tls.Config{
		"TLS 1.1": {MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10},
		"CBC":     {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}},
		"RSA":     {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}},
	} {
		config.RootCAs, config.ServerName = ca.pool(), "localhost"
		if c, err := tls.Dial("tcp", address, config); err == nil {
			_ = c.Close()
			t.Errorf("%s: accepted", name)
		}
	}
	// The response to an unencrypted request, of HTTP/1.1 or HTTP/2, names the mistake.
	for _, opening := range []string{"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, opening)
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode != http.StatusUpgradeRequired || response.Header.Get("Upgrade") != "TLS/1.2" || !strings.Contains(string(body), "use https") {
			t.Errorf("%.3s: %s %s", opening, response.Status, body)
		}
		_ = c.Close()
	}
}

func withMTLS(principals ...string) func(*sidecarconfig.Config) {
	return func(c *sidecarconfig.Config) {
		// The certificate is tried first. If it is not accepted, the other types of
		// credentials are tried.
		c.Access.Authentication = append([]sidecarconfig.Authentication{{
			Type: sidecarconfig.AuthenticationMTLS, MTLS: &sidecarconfig.MTLSAuthentication{TrustDomain: "example.org", Principals: principals},
		}}, c.Access.Authentication...)
	}
}

// TestMTLSOfSeveralTrustDomains admits callers of two trust domains, each by the authorities of its own domain only.
func TestMTLSOfSeveralTrustDomains(t *testing.T) {
	servers, own, federated, strangers := newAuthority(t, "servers"), newAuthority(t, "own"), newAuthority(t, "federated"), newAuthority(t, "strangers")
	dir, caDir := t.TempDir(), t.TempDir()
	servers.mountCertificate(dir, "agent")
	mount(t, caDir, map[string][]byte{"ca.crt": own.pem, "federated-0.crt": federated.pem})
	principals := make(chan string, 1)
	p := newPodWith(t, func(w http.ResponseWriter, r *http.Request) {
		principals <- r.Header.Get("A2A-Principal")
		respondHi(w, r)
	}, withMTLS("spiffe://example.org/a", "spiffe://example.net/team/*"), func(o *settings.Options) {
		o.TLS = dir
		o.MTLSCABundle = filepath.Join(caDir, "ca.crt")
		o.MTLSFederatedBundles = []string{"example.net=" + filepath.Join(caDir, "federated-0.crt")}
	})
	attempts := 0
	call := func(what string, by *authority, id string, status int, says string) {
		t.Helper()
		if status != http.StatusOK {
			attempts++
		}
		p.client = caller(t, servers.pool(), true, by.client(withSPIFFEIDs(t, id)))
		response, body := p.do("POST", p.https(), hello)
		if response.StatusCode != status || !strings.Contains(body, says) {
			t.Errorf("%s: %d %s, want %d and %q", what, response.StatusCode, body, status, says)
		}
		if response.StatusCode != http.StatusOK {
			return
		}
		if got := <-principals; got != id {
			t.Errorf("%s: principal %q, want %q", what, got, id)
		}
	}
	call("the first domain", own, "spiffe://example.org/a", 200, "")
	call("the federated domain", federated, "spiffe://example.net/team/a", 200, "")
	call("another principal of the federated domain", federated, "spiffe://example.net/other", 403, "may not call this agent")
	call("the first authority for the federated domain", own, "spiffe://example.net/team/a", 401, "its authority is not trusted here")
	call("the federated authority for the first domain", federated, "spiffe://example.org/a", 401, "its authority is not trusted here")
	call("the first authority for a third domain", own, "spiffe://example.com/a", 401, "not that of the trust domain")
	call("the federated authority for a third domain", federated, "spiffe://example.com/a", 401, "its authority is not trusted here")
	call("a stranger for the federated domain", strangers, "spiffe://example.net/team/a", 401, "its authority is not trusted here")
	securitypage.Attempts(t, "T-TRUST", attempts)

	// A verified certificate of the federated domain is not remembered beyond its authority.
	mount(t, caDir, map[string][]byte{"ca.crt": own.pem, "federated-0.crt": strangers.pem})
	p.eventually("the end of the federated authority", func() bool {
		p.client = caller(t, servers.pool(), true, federated.client(withSPIFFEIDs(t, "spiffe://example.net/team/a")))
		response, _ := p.do("POST", p.https(), hello)
		if response.StatusCode == http.StatusOK {
			<-principals
		}
		return response.StatusCode == http.StatusUnauthorized
	})
	call("the new federated authority", strangers, "spiffe://example.net/team/a", 200, "")
	call("the first domain afterwards", own, "spiffe://example.org/a", 200, "")
}

func TestMTLS(t *testing.T) {
	servers, clients, strangers := newAuthority(t, "servers"), newAuthority(t, "clients"), newAuthority(t, "strangers")
	dir, caDir := t.TempDir(), t.TempDir()
	servers.mountCertificate(dir, "agent")
	mount(t, caDir, map[string][]byte{"ca.crt": clients.pem})
	principals := make(chan string, 1)
	p := newPodWith(t, func(w http.ResponseWriter, r *http.Request) {
		principals <- r.Header.Get("A2A-Principal")
		respondHi(w, r)
	}, withMTLS("spiffe://example.org/ns/team/*"), func(o *settings.Options) { o.TLS, o.MTLSCABundle = dir, filepath.Join(caDir, "ca.crt") })
	token := "Bearer " + p.token("team")
	const id = "spiffe://example.org/ns/team/sa/caller"
	const serviceAccount = "system:serviceaccount:team:caller"
	good := clients.client(withSPIFFEIDs(t, id))
	tests := map[string]struct {
		certificate *tls.Certificate
		token       string
		status      int
		principal   string
		says        string
	}{
		"a certificate":                       {&good, "", 200, id, ""},
		"none":                                {nil, "", 401, "", "credential is required"},
		"none, and a token":                   {nil, token, 200, serviceAccount, ""},
		"both":                                {&good, token, 200, id, ""},
		"of an authority that is not trusted": {new(strangers.client(withSPIFFEIDs(t, id))), "", 401, "", "its authority is not trusted here"},
		"of an authority that is not trusted, and a token": {new(strangers.client(withSPIFFEIDs(t, id))), token, 200, serviceAccount, ""},
		"of the servers":       {new(servers.client(withSPIFFEIDs(t, id))), "", 401, "", "its authority is not trusted here"},
		"expired":              {new(clients.client(func(c *x509.Certificate) { withSPIFFEIDs(t, id)(c); c.NotAfter = time.Now().Add(-time.Minute) })), "", 401, "", "has expired"},
		"expired, and a token": {new(clients.client(func(c *x509.Certificate) { withSPIFFEIDs(t, id)(c); c.NotAfter = time.Now().Add(-time.Minute) })), token, 200, serviceAccount, ""},
		"not valid yet":        {new(clients.client(func(c *x509.Certificate) { withSPIFFEIDs(t, id)(c); c.NotBefore = time.Now().Add(time.Minute) })), "", 401, "", "not valid yet"},
		"for servers":          {new(clients.client(func(c *x509.Certificate) { withSPIFFEIDs(t, id)(c); c.ExtKeyUsage = c.ExtKeyUsage[:1] })), "", 401, "", "it is not a client certificate"},
		"another principal":    {new(clients.client(withSPIFFEIDs(t, "spiffe://example.org/ns/other/sa/caller"))), "", 403, "", "may not call this agent"},
		"beginning of a name":  {new(clients.client(withSPIFFEIDs(t, "spiffe://example.org/ns/team"))), "", 403, "", "may not call this agent"},
		"another trust domain": {new(clients.client(withSPIFFEIDs(t, "spiffe://example.com/ns/team/sa/caller"))), "", 401, "", "not that of the trust domain"},
		"no SPIFFE ID":         {new(clients.client(withNames("caller"))), "", 401, "", "no SPIFFE ID"},
		"two URIs":             {new(clients.client(withSPIFFEIDs(t, id, "https://example.org"))), "", 401, "", "no SPIFFE ID"},
		"a dot segment":        {new(clients.client(withSPIFFEIDs(t, "spiffe://example.org/ns/team/../other"))), "", 401, "", "no SPIFFE ID"},
		"a port":               {new(clients.client(withSPIFFEIDs(t, "spiffe://example.org:1/ns/team/a"))), "", 401, "", "no SPIFFE ID"},
		"a query":              {new(clients.client(withSPIFFEIDs(t, id+"?a"))), "", 401, "", "no SPIFFE ID"},
		"an escape":            {new(clients.client(withSPIFFEIDs(t, "spiffe://example.org/ns/team/%61"))), "", 401, "", "no SPIFFE ID"},
	}
	attempts := 0
	for name, test := range tests {
		for _, http2 := range []bool{false, true} {
			if test.certificate != nil && test.status != http.StatusOK {
				attempts++
			}
			t.Run(name, func(t *testing.T) {
				var certificates []tls.Certificate
				if test.certificate != nil {
					certificates = append(certificates, *test.certificate)
				}
				var headers []string
				if test.token != "" {
					headers = []string{"Authorization", test.token}
				}
				p.client = caller(t, servers.pool(), http2, certificates...)
				response, body := p.do("POST", p.https(), hello, headers...)
				if response.StatusCode != test.status || !strings.Contains(body, test.says) {
					t.Fatalf("response = %d %s", response.StatusCode, body)
				}
				if test.status == http.StatusUnauthorized && !strings.Contains(strings.Join(response.Header.Values("WWW-Authenticate"), ", "), "MutualTLS") {
					t.Errorf("WWW-Authenticate: %v", response.Header.Values("WWW-Authenticate"))
				}
				if test.principal != "" {
					if got := <-principals; got != test.principal {
						t.Errorf("principal %q, want %q", got, test.principal)
					}
				}
			})
		}
	}

	securitypage.Attempts(t, "T-TRUST", attempts)

	// New authorities apply at once, also to open connections.
	open := caller(t, servers.pool(), true, good)
	status := func(c *http.Client) int {
		got := p.ask(c).StatusCode
		if got == http.StatusOK {
			<-principals
		}
		return got
	}
	if got := status(open); got != http.StatusOK {
		t.Fatal(got)
	}
	mount(t, caDir, map[string][]byte{"ca.crt": append(strangers.pem, clients.pem...)})
	p.eventually("another authority", func() bool {
		return status(caller(t, servers.pool(), false, strangers.client(withSPIFFEIDs(t, id)))) == http.StatusOK
	})
	if got := status(open); got != http.StatusOK {
		t.Errorf("former authority: %d", got)
	}
	mount(t, caDir, map[string][]byte{"ca.crt": strangers.pem})
	p.eventually("the end of an authority", func() bool { return status(open) == http.StatusUnauthorized })
	mount(t, caDir, map[string][]byte{"ca.crt": []byte("nothing")})
	p.eventually("a refused reload", func() bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, `a2a_reloads_total{result="refused",source="mtls-ca-bundle"} 1`)
	})
}

func TestMTLSBySubject(t *testing.T) {
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	ca.mountCertificate(dir, "agent")
	principals := make(chan string, 1)
	o := standaloneOptions(t, func(w http.ResponseWriter, r *http.Request) {
		principals <- r.Header.Get("A2A-Principal")
		respondHi(w, r)
	})
	o.Anonymous, o.TLS, o.MTLSCABundle = false, dir, filepath.Join(dir, "ca.crt")
	p := &pod{t: t, sidecar: standaloneWith(t, o)}
	p.client = caller(t, ca.pool(), true, ca.client(func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: "a,b", Organization: []string{"o"}} }))
	if response, body := p.do("POST", p.https(), hello); response.StatusCode != http.StatusOK || <-principals != `x509:CN=a\,b,O=o` {
		t.Errorf("response = %d %s", response.StatusCode, body)
	}
	if _, card := p.do("GET", p.https()+".well-known/agent-card.json", ""); !strings.Contains(card, `"mtlsSecurityScheme":{`) ||
		!strings.Contains(card, `"type":"mutualTLS"`) || !strings.Contains(card, `"url":"https://127.0.0.1:`) {
		t.Errorf("card = %s", card)
	}
}

// TestGatewayTrusts calls an agent with TLS through the gateway of another agent.
func TestGatewayTrusts(t *testing.T) {
	ca, dir, caDir := newAuthority(t, "ca"), t.TempDir(), t.TempDir()
	ca.mountCertificate(dir, "callee")
	callee := newPodWith(t, respondHi, func(c *sidecarconfig.Config) {
		c.Access.Authentication = []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}
	}, func(o *settings.Options) { o.TLS = dir })
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(callee.sidecar.Addresses().Agent)
	toCallee := func(c *sidecarconfig.Config) {
		c.Gateway = &sidecarconfig.Gateway{RegistryURL: registryOf(t, "team/callee"), AgentURL: "https://localhost:" + port, TokenFile: token}
	}
	stranger := newAuthority(t, "stranger")
	mount(t, caDir, map[string][]byte{"ca.crt": stranger.pem})
	p := newPodWith(t, respondHi, toCallee, func(o *settings.Options) { o.TrustBundle = filepath.Join(caDir, "ca.crt") })
	status := func() int {
		response, _ := p.do("GET", "http://"+p.sidecar.Addresses().Gateway+"/agents/team/callee/.well-known/agent-card.json", "")
		return response.StatusCode
	}
	if got := status(); got != http.StatusServiceUnavailable {
		t.Errorf("without its authority: %d", got)
	}
	mount(t, caDir, map[string][]byte{"ca.crt": ca.pem})
	p.eventually("trust", func() bool { return status() == http.StatusOK })

	// A sidecar trusts the issuer of its own certificate.
	own := t.TempDir()
	ca.mountCertificate(own, "caller")
	p = newPodWith(t, respondHi, toCallee, func(o *settings.Options) { o.TLS = own })
	if got := status(); got != http.StatusOK {
		t.Errorf("with the authority of its own certificate: %d", got)
	}
}

func TestOpenRequiresTheMountedFiles(t *testing.T) {
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	ca.mountCertificate(dir, "x")
	broken := t.TempDir()
	mount(t, broken, map[string][]byte{"tls.crt": ca.pem, "tls.key": []byte("x"), "ca.crt": []byte("x")})
	// Several trust domains need a configuration, which names the first one.
	p := newPodWith(t, respondHi, withMTLS("spiffe://example.org/a"), func(o *settings.Options) {
		o.TLS = dir
		o.MTLSCABundle = filepath.Join(dir, "ca.crt")
	})
	tests := map[string]struct {
		change func(*settings.Options)
		want   error
		code   int
	}{
		"no certificate":     {func(o *settings.Options) { o.TLS = t.TempDir() }, ErrTLS, sidecarconfig.ExitTLS},
		"broken certificate": {func(o *settings.Options) { o.TLS = broken }, ErrTLS, sidecarconfig.ExitTLS},
		"no client CA":       {func(o *settings.Options) { o.TLS, o.MTLSCABundle = dir, "/none" }, ErrClientCA, sidecarconfig.ExitClientCA},
		"broken client CA":   {func(o *settings.Options) { o.TLS, o.MTLSCABundle = dir, filepath.Join(broken, "ca.crt") }, ErrClientCA, sidecarconfig.ExitClientCA},
		"no federated CA": {func(o *settings.Options) {
			*o = *p.flags
			o.MTLSFederatedBundles = []string{"example.net=/none"}
		}, ErrClientCA, sidecarconfig.ExitClientCA},
		"a key among the CAs": {func(o *settings.Options) { o.TLS, o.MTLSCABundle = dir, filepath.Join(dir, "tls.key") }, ErrClientCA, sidecarconfig.ExitClientCA},
		"no trust":            {func(o *settings.Options) { o.TrustBundle = "/none" }, ErrTrust, sidecarconfig.ExitTrust},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := standaloneOptions(t, respondHi)
			test.change(o)
			_, err := Open(context.Background(), o, slog.New(slog.DiscardHandler), time.Now)
			if !errors.Is(err, test.want) || ExitCode(err) != test.code {
				t.Errorf("Open() = %v, exit code %d", err, ExitCode(err))
			}
		})
	}
}
