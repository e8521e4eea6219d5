// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/publicaddress"
	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
	"github.com/a2a-operator/a2a-operator/test/connectproxy"
)

// behindProxy is a guard whose only way to the server at example.com is a proxy.
type behindProxy struct {
	*fakeInternet
	proxy  *connectproxy.Proxy
	server *httptest.Server
}

// targets returns the requests to the proxy.
func (b *behindProxy) targets() (targets []string) {
	for _, r := range b.proxy.Requests() {
		targets = append(targets, r.Target)
	}
	return targets
}

func newBehindProxy(t *testing.T, policy *Policy, resolver Resolver, options *ProxyOptions, handler http.HandlerFunc) *behindProxy {
	t.Helper()
	b := &behindProxy{server: httptest.NewTLSServer(handler)}
	t.Cleanup(b.server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(b.server.Certificate())
	b.proxy = connectproxy.New(t, "127.0.0.1:0", b.server.Listener.Addr().String(), strings.HasPrefix(options.URL, "https:"))
	options.URL += b.proxy.Listener.Addr().String()
	options.Local = true
	options.Resolver = resolver
	options.Roots = func() *x509.CertPool { return pool }
	if secure := b.proxy.Certificate(); secure != nil {
		pool.AddCert(secure)
	}
	proxy, err := NewProxy(*options)
	if err != nil {
		t.Fatal(err)
	}
	b.fakeInternet = newFakeInternet(t, policy, resolver, nil)
	b.options.Proxy = func() *Proxy { return proxy }
	b.options.Roots = options.Roots
	b.options.ConnectTimeout = options.ConnectTimeout
	if options.ConnectTimeout == 0 {
		b.options.ConnectTimeout = 5 * time.Second
	}
	return b
}

func (b *behindProxy) body(t *testing.T, url string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := b.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

func TestProxyCarriesPublicServers(t *testing.T) {
	for name, c := range map[string]struct {
		policy   *Policy
		resolver fakeResolver
		url      string
		want     string
	}{
		"a name without an address here":  {&Policy{Hosts: []string{"*"}}, fakeResolver{}, "https://example.com/", "example.com:443"},
		"a name with a public address":    {&Policy{Hosts: []string{"*"}}, fakeResolver{"example.com.": addresses("1.1.1.1")}, "https://example.com:8443/", "example.com:8443"},
		"a configured name":               {&Policy{Configured: []string{"example.com"}}, fakeResolver{}, "https://Example.com./", "example.com:443"},
		"a name allowed by its addresses": {&Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("1.1.1.0/24")}}, fakeResolver{"example.com.": addresses("1.1.1.1")}, "https://example.com/", "1.1.1.1:443"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBehindProxy(t, c.policy, c.resolver, &ProxyOptions{URL: "http://"}, hello)
			if text, err := b.body(t, c.url); text != "hello" || err != nil {
				t.Fatalf("response = %q, %v", text, err)
			}
			if got := b.targets(); !slices.Equal(got, []string{"CONNECT " + c.want}) || b.dials.Load() != 0 {
				t.Errorf("proxy got %q, and %d direct connections; want CONNECT %s, and none", got, b.dials.Load(), c.want)
			}
		})
	}
}

func TestProxyWithTLS(t *testing.T) {
	b := newBehindProxy(t, &Policy{Hosts: []string{"*"}}, fakeResolver{}, &ProxyOptions{URL: "https://"}, hello)
	if text, err := b.body(t, "https://example.com/"); text != "hello" || err != nil {
		t.Fatalf("response = %q, %v", text, err)
	}
}

// TestProxyIsNotUsed calls targets that are reached directly, and checks that the proxy sees none of them.
func TestProxyIsNotUsed(t *testing.T) {
	policy := &Policy{
		Hosts: []string{"*"}, CIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Services: []Service{{"hooks", "team"}}, ClusterDomain: "corp.example",
		Configured: []string{"llm", "models.team", "model.internal"},
	}
	resolver := fakeResolver{
		"hooks.team.svc.corp.example.": addresses("10.3.0.1"), "split.example.com.": addresses("10.1.0.1"), "noproxy.example.net.": addresses("1.1.1.1"),
		"below.noproxy.example.net.": addresses("1.1.1.1"), "llm": addresses("10.3.0.2"), "model.internal": addresses("10.3.0.2"), "name.corp.example.": addresses("1.1.1.1"),
	}
	b := newBehindProxy(t, policy, resolver, &ProxyOptions{URL: "http://", NoProxy: []string{"noproxy.example.net", "9.9.9.0/24"}, ClusterDomain: "corp.example"}, nil)
	for i, url := range []string{
		"http://10.1.0.1/", "https://10.1.0.1/", "http://hooks.team.svc/", "https://hooks.team.svc.corp.example/", "https://split.example.com/",
		"https://noproxy.example.net/", "https://below.noproxy.example.net/", "https://9.9.9.9/", "https://llm/", "https://model.internal/", "https://name.corp.example/",
	} {
		// The server of the direct connections does not speak TLS.
		if _, err := b.get(t, url); isDenied(err) {
			t.Errorf("%s: error = %v", url, err)
		}
		if got := b.dials.Load(); got != int64(i+1) {
			t.Errorf("%s: %d direct connections, want %d", url, got, i+1)
			b.dials.Store(int64(i + 1))
		}
	}
	if got := b.targets(); len(got) != 0 {
		t.Errorf("proxy got %q, want nothing", got)
	}
}

func TestSSRFThroughAProxy(t *testing.T) {
	resolver := fakeResolver{}
	b := newBehindProxy(t, &Policy{Hosts: []string{"*"}}, resolver, &ProxyOptions{URL: "http://"}, hello)
	b.options.Protected = &Protected{APIServer: addresses("1.2.3.4"), APIServerNames: []string{"api.example.com"}, Node: addresses("5.6.7.8")}
	attempt := func(url string) {
		t.Helper()
		if _, err := b.get(t, url); err == nil {
			t.Errorf("%s: no error", url)
		}
	}
	for _, p := range slices.Concat(publicaddress.Special, publicaddress.Metadata) {
		a := sample(p)
		spellings := spellings6
		if a.Is4() {
			spellings = spellings4
		}
		for _, write := range spellings {
			attempt("https://" + write(a) + "/")
		}
		resolver["name.example.com."] = []netip.Addr{a}
		attempt("https://name.example.com/")
		resolver["name.example.com."] = append(addresses("1.1.1.1"), a)
		attempt("https://name.example.com/")
	}
	resolver["protected.example.com."] = addresses("1.2.3.4")
	resolver["node.example.com."] = addresses("5.6.7.8")
	for _, host := range []string{
		"protected.example.com", "node.example.com", "1.2.3.4", "5.6.7.8", "api.example.com", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		"localhost", "a.localhost", "metadata.google.internal", "instance-data", "printer.local", "router.home.arpa", "secret.team.svc", "secret.team.svc.cluster.local",
		"example.com@localhost", "0x7f.1", "127.1",
	} {
		attempt("https://" + host + "/")
		attempt("http://" + host + "/")
	}
	attempt("http://example.com/")
	if got := b.targets(); len(got) != 0 {
		t.Errorf("the proxy got %q, want nothing", got)
	}
}

// TestSSRFCertificateThroughAProxy shows what remains of an attack by a name that the proxy resolves to another server: a
// TLS handshake, which fails.
func TestSSRFCertificateThroughAProxy(t *testing.T) {
	requests := 0
	b := newBehindProxy(t, &Policy{Hosts: []string{"*"}}, fakeResolver{}, &ProxyOptions{URL: "http://"}, func(http.ResponseWriter, *http.Request) { requests++ })
	_, err := b.get(t, "https://attacker.example.org/")
	if _, ok := errors.AsType[x509.HostnameError](err); !ok {
		t.Errorf("error = %v, want that of the name of the certificate", err)
	}
	if b.server.Close(); requests != 0 {
		t.Errorf("the server got %d requests, want 0", requests)
	}
}

func TestProxyAtAForbiddenAddress(t *testing.T) {
	for _, address := range []string{"127.0.0.1", "169.254.169.254", "::1", "10.0.0.9", "10.0.0.1"} {
		resolver := fakeResolver{"proxy.example": addresses(address)}
		proxy, err := NewProxy(ProxyOptions{
			URL: "http://proxy.example:3128", Resolver: resolver,
			Protected: &Protected{APIServer: addresses("10.0.0.1"), Interfaces: func() ([]net.Addr, error) {
				return []net.Addr{&net.IPNet{IP: net.IPv4(10, 0, 0, 9), Mask: net.CIDRMask(24, 32)}}, nil
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		g := New(Options{Policy: &Policy{Hosts: []string{"*"}}, Resolver: resolver, Proxy: func() *Proxy { return proxy }})
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com/", http.NoBody)
		_, err = g.RoundTrip(r)
		if failure, ok := errors.AsType[*ProxyError](err); !ok || !errors.Is(err, errProxyDenied) || isDenied(err) || failure.Proxy != "proxy.example:3128" {
			t.Errorf("proxy at %s: error = %v, want errProxyDenied in a ProxyError", address, err)
		}
	}
}

func TestProxyFailures(t *testing.T) {
	write := func(text string) func(net.Conn) bool {
		return func(conn net.Conn) bool {
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
			return false
		}
	}
	for name, c := range map[string]struct {
		answer func(net.Conn) bool
		status int
		want   string
	}{
		"407":     {write("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"), 407, "the proxy refuses the credential, or requires one (status 407)"},
		"403":     {write("HTTP/1.1 403 Forbidden\r\n\r\n"), 403, "status 403"},
		"hangs":   {func(net.Conn) bool { return false }, 0, "wait for the response to CONNECT: context deadline exceeded"},
		"closes":  {write(""), 0, "read the response to CONNECT"},
		"no HTTP": {write("SSH-2.0-x\r\n\r\n"), 0, "read the response to CONNECT"},
		"body":    {write("HTTP/1.1 200 OK\r\n\r\nGET / HTTP/1.1\r\n\r\n"), 0, "has a body"},
		"trickles": {func(conn net.Conn) bool {
			for _, c := range []byte("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1000)) {
				if _, err := conn.Write([]byte{c}); err != nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			return false
		}, 0, "wait for the response to CONNECT: context deadline exceeded"},
		"endless header": {func(conn net.Conn) bool {
			for err := error(nil); err == nil; {
				_, err = io.WriteString(conn, "HTTP/1.1 407 X\r\nX: "+strings.Repeat("x", 1<<20))
			}
			return false
		}, 0, "read the response to CONNECT"},
		"large header": {write("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", responseheader.MaxBytes) + "\r\n\r\n"), 0, "read the response to CONNECT"},
		"no TLS":       {write("HTTP/1.1 200 OK\r\n\r\n"), 0, "TLS handshake with target"},
	} {
		t.Run(name, func(t *testing.T) {
			options := &ProxyOptions{URL: "http://"}
			if name == "hangs" || name == "trickles" {
				options.ConnectTimeout = 100 * time.Millisecond
			}
			b := newBehindProxy(t, &Policy{Hosts: []string{"*"}}, fakeResolver{}, options, nil)
			b.proxy.Answer(c.answer)
			_, err := b.get(t, "https://example.com/")
			failure, ok := errors.AsType[*ProxyError](err)
			if !ok || failure.Status != c.status || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), b.proxy.Listener.Addr().String()) {
				t.Errorf("error = %v, want a ProxyError with status %d and %q", err, c.status, c.want)
			}
		})
	}
}

func TestProxyDiesInAStream(t *testing.T) {
	b := newBehindProxy(t, &Policy{Hosts: []string{"*"}}, fakeResolver{}, &ProxyOptions{URL: "http://"}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: 1\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com/", http.NoBody)
	response, err := b.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	if line, err := lines.ReadString('\n'); line != "data: 1\n" || err != nil {
		t.Fatalf("first line = %q, %v", line, err)
	}
	b.proxy.Cut()
	_, err = lines.ReadString('\n')
	if failure, ok := errors.AsType[*ProxyError](err); !ok || !errors.Is(err, io.ErrUnexpectedEOF) || failure.Proxy != b.proxy.Listener.Addr().String() {
		t.Errorf("error = %v, want io.ErrUnexpectedEOF in a ProxyError", err)
	}
}

func TestProxyCredential(t *testing.T) {
	directory := t.TempDir()
	b := newBehindProxy(t, &Policy{Hosts: []string{"*"}}, fakeResolver{}, &ProxyOptions{URL: "http://", CredentialDir: directory}, hello)
	call := func() error {
		b.CloseIdleConnections()
		_, err := b.body(t, "https://example.com/")
		return err
	}
	store := func(name, text string) {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := call(); err != nil {
		t.Errorf("without a credential: %v", err)
	}
	store("username", "agents\n")
	if err := call(); err == nil || !strings.Contains(err.Error(), "read the password for the proxy") {
		t.Errorf("without a password: %v", err)
	}
	store("password", "pass:word\n")
	if err := call(); err != nil {
		t.Errorf("with a credential: %v", err)
	}
	requests := b.proxy.Requests()
	if len(requests) != 2 || requests[0].Authorization != "" || requests[1].Authorization != "Basic YWdlbnRzOnBhc3M6d29yZA==" {
		t.Errorf("requests = %q", requests)
	}
}

func TestDialThrough(t *testing.T) {
	b := newBehindProxy(t, nil, fakeResolver{}, &ProxyOptions{URL: "http://", NoProxy: []string{"direct.example"}}, hello)
	direct := 0
	dial := DialThrough(b.options.Proxy, func(context.Context, string, string) (net.Conn, error) {
		direct++
		return nil, errors.New("direct")
	})
	for _, address := range []string{"registry.a2a.svc:443", "10.0.0.1:443", "direct.example:443", "0x7f.1:443", "no port"} {
		if _, err := dial(t.Context(), "tcp", address); err == nil || err.Error() != "direct" {
			t.Errorf("%s: error = %v, want a direct connection", address, err)
		}
	}
	conn, err := dial(t.Context(), "tcp", "issuer.example.com.:443")
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if got := b.targets(); !slices.Equal(got, []string{"CONNECT issuer.example.com:443"}) || direct != 5 {
		t.Errorf("proxy got %q, and %d direct connections", got, direct)
	}
	if _, err := DialThrough(func() *Proxy { return nil }, dial)(t.Context(), "tcp", "direct.example:443"); err == nil {
		t.Error("without a proxy, the connection is not direct")
	}
}

func TestCheckProxy(t *testing.T) {
	for url, want := range map[string]string{
		"proxy.example:3128": "url must be", "socks5://proxy.example": "url must be", "http://user:secret@proxy.example": "url must not contain credentials",
		"http://proxy.example/path": "no path", "http://proxy.example?x=y": "no path", "http://127.0.0.1:3128": "loopback", "http://localhost:3128": "localhost",
		"http://[::1]:3128": "loopback", "http://169.254.169.254": "link-local", "http://0.0.0.0:3128": "unspecified", "http://proxy.example:0": "port",
	} {
		if err := CheckProxy(url, nil, false); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("CheckProxy(%q) = %v, want %q", url, err, want)
		}
		if proxy, err := NewProxy(ProxyOptions{URL: url}); err == nil {
			t.Errorf("NewProxy(%q) = %v", url, proxy)
		}
	}
	for _, url := range []string{"http://proxy.example:3128", "https://proxy.example/", "http://10.0.0.1:8080", "http://proxy"} {
		if err := CheckProxy(url, []string{"*", ".example.com", "10.0.0.0/8", "host:8080"}, false); err != nil {
			t.Errorf("CheckProxy(%q) = %v", url, err)
		}
	}
	for _, bad := range []string{"", "a,b", "a b", "ä.example"} {
		if err := CheckProxy("http://proxy.example", []string{"ok.example", bad}, false); err == nil || !strings.HasPrefix(err.Error(), "noProxy[1]") {
			t.Errorf("noProxy %q: %v", bad, err)
		}
	}
	if err := CheckProxy("http://proxy.example", slices.Repeat([]string{"a.example"}, maxNoProxy+1), false); err == nil {
		t.Error(fmt.Sprint("more than ", maxNoProxy, " hosts are allowed"))
	}
	if err := CheckProxy("http://localhost:3128", nil, true); err != nil {
		t.Errorf("a local proxy: %v", err)
	}
}
