// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/idna"

	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/publicaddress"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

const (
	dialTimeout         = 15 * time.Second
	tlsHandshakeTimeout = 15 * time.Second
	// maxHeader bounds the header of a response, in bytes.
	maxHeader = 256 << 10
	// maxRedirects bounds the redirects of a request for a card.
	maxRedirects = 5
)

// TransportOptions configure connections to an agent.
type TransportOptions struct {
	// DialContext makes the connections, and disables the proxy of the environment. If it is nil, a net.Dialer makes them.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// CAFile is a PEM file of certificate authorities that are trusted in addition to the authorities of the system, "" for
	// none.
	CAFile string
	// Authorities are PEM certificates of authorities that are trusted instead of the authorities of the system. Nil stands
	// for the authorities of the system. Authorities has no effect if CAFile is set.
	Authorities []byte
	// CertificateFile and KeyFile contain the client certificate and its key. Both are "" for none.
	CertificateFile, KeyFile string
	// Insecure skips the verification of certificates.
	Insecure bool
	// Trusted is the URL of a server that names others. If it is not nil, connections go to the host and port of this URL, to the proxy of the
	// environment and to public addresses only. If the port is that of http, they go to that of https, too, to which most such servers redirect.
	// DialContext must then be nil.
	Trusted *url.URL
	// HowToTrust is the hint for a connection that Trusted does not allow.
	HowToTrust string
}

// NewHTTPClient returns a client that follows at most 5 redirects of a GET request, but no redirect from https to http,
// and with a client certificate no redirect to another origin.
// It returns the response with any other redirect to its caller. If debug is not nil, the client logs requests and
// responses with it.
func NewHTTPClient(o TransportOptions, debug func(format string, args ...any)) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure} //nolint:gosec // --insecure asks for it, and warns
	if o.Authorities != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(o.Authorities) {
			return nil, failure.New(failure.Unreachable, "the CA certificates of the server contain no PEM certificate")
		}
	}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, failure.Wrap(failure.Usage, err, "read --ca-file")
		}
		if config.RootCAs, err = x509.SystemCertPool(); err != nil {
			config.RootCAs = x509.NewCertPool()
		}
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, failure.New(failure.Usage, "--ca-file %s has no PEM certificate", o.CAFile)
		}
	}
	if o.CertificateFile != "" || o.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertificateFile, o.KeyFile)
		if err != nil {
			return nil, failure.Wrap(failure.Usage, err, "read --cert-file and --key-file")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig: config, TLSHandshakeTimeout: tlsHandshakeTimeout, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: maxHeader, IdleConnTimeout: time.Minute,
	}
	switch {
	case o.DialContext != nil:
		transport.Proxy = nil
		transport.DialContext = o.DialContext
	case o.Trusted != nil:
		p := &publicDialer{direct: trustedAddresses(o.Trusted), howToTrust: o.HowToTrust}
		transport.Proxy = p.proxy
		transport.DialContext = p.dial
	}
	httpClient := &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects || !o.follows(via[0], r) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	if debug != nil {
		httpClient.Transport = &wireLog{next: transport, logf: debug}
	}
	return httpClient, nil
}

// publicDialer makes connections to the servers in direct, and to public addresses. It is safe for concurrent use.
type publicDialer struct {
	mu sync.Mutex
	// direct has hosts with ports.
	direct map[string]bool
	// howToTrust is the hint for other servers at addresses that are not public.
	howToTrust string
}

// trustedAddresses returns the hosts with ports of a URL to which connections go.
func trustedAddresses(u *url.URL) map[string]bool {
	trusted := map[string]bool{hostPort(u): true}
	if u.Scheme == "http" && (u.Port() == "" || u.Port() == "80") {
		trusted[hostPort(&url.URL{Scheme: "https", Host: strings.TrimSuffix(u.Host, ":80")})] = true
	}
	return trusted
}

// proxy returns the proxy of the environment for a request, nil for none.
func (p *publicDialer) proxy(r *http.Request) (*url.URL, error) {
	proxy, err := http.ProxyFromEnvironment(r)
	if proxy != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.direct[hostPort(proxy)] = true
	}
	return proxy, err
}

func (p *publicDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: dialTimeout}
	if !p.isDirect(address) {
		dialer.Control = p.onlyPublic
	}
	return dialer.DialContext(ctx, network, address)
}

func (p *publicDialer) isDirect(address string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.direct[strings.ToLower(address)]
}

// onlyPublic is a Control function of net.Dialer.
func (p *publicDialer) onlyPublic(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !publicaddress.Is(to.Addr().Unmap()) {
		return failure.New(failure.Unreachable, "%s is not a public address", address).WithHint("%s", p.howToTrust)
	}
	return nil
}

// ports are the default ports of schemes.
var ports = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// hostPort returns the host of a URL and its port, in lower case and as net/http dials it.
func hostPort(u *url.URL) string {
	host := u.Hostname()
	encoded, err := idna.Lookup.ToASCII(host)
	if err == nil {
		host = encoded
	}
	return net.JoinHostPort(strings.ToLower(host), cmp.Or(u.Port(), ports[u.Scheme]))
}

// follows reports whether the client follows a redirect of a request.
func (o *TransportOptions) follows(from, to *http.Request) bool {
	return from.Method == http.MethodGet && to.Method == http.MethodGet &&
		(from.URL.Scheme != "https" || to.URL.Scheme == "https") &&
		(o.CertificateFile == "" || client.Origin(from.URL) == client.Origin(to.URL))
}

// ExplainConnection returns the failure for the error of a connection. If ctx has ended, it returns context.Cause(ctx).
func ExplainConnection(ctx context.Context, err error, u *url.URL) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if problem, ok := errors.AsType[*failure.Error](err); ok {
		return problem // the error comes from port forwarding, which returns failures
	}
	place := u.Scheme + "://" + u.Host
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		out := failure.New(failure.Unreachable, "the certificate of %s is not trusted: %v", place, certificate.Err)
		return out.WithHint("--ca-file names the PEM file of its authority; --insecure skips the verification, for development only")
	}
	if record, ok := errors.AsType[tls.RecordHeaderError](err); ok && record.Conn != nil {
		return failure.New(failure.Unreachable, "%s does not speak TLS", place).WithHint("use http:// if the agent has no TLS")
	}
	out := failure.Wrap(failure.Unreachable, err, "%s cannot be reached", place)
	if proxy, proxyErr := http.ProxyFromEnvironment(&http.Request{URL: u}); proxyErr == nil && proxy != nil {
		return out.WithHint("the call goes through the proxy %s: check HTTPS_PROXY, or exclude the host by NO_PROXY", proxy.Host)
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return out.WithHint("check the name; agents inside a cluster are named without --url")
	}
	return out
}

// Sleep waits for d. If ctx ends during the wait, it returns the cause of the end.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxLogged bounds a logged body, in bytes.
const maxLogged = 64 << 10

// redacted is logged in place of a credential.
const redacted = "[redacted]"

// shownHeaders are the headers whose values are logged. The value of any other header may be a credential.
var shownHeaders = []string{"A2a-Extensions", "A2a-Version", "Accept", "Content-Length", "Content-Type", "Date", "Last-Event-Id", "Retry-After", "Www-Authenticate"}

// secretMembers matches the members of a push configuration that contain credentials, with their values.
var secretMembers = regexp.MustCompile(`"(token|credentials)"\s*:\s*"(?:[^"\\]|\\.)*"?`)

// redact replaces credentials in a body.
func redact(text string) string { return secretMembers.ReplaceAllString(text, `"$1":"`+redacted+`"`) }

// wireLog logs requests and responses without their credentials.
type wireLog struct {
	next http.RoundTripper
	logf func(format string, args ...any)
}

// RoundTrip implements http.RoundTripper.
func (w *wireLog) RoundTrip(r *http.Request) (*http.Response, error) {
	place := *r.URL
	if place.RawQuery != "" {
		place.RawQuery = redacted
	}
	w.logf("> %s %s://%s%s", r.Method, place.Scheme, place.Host, place.RequestURI())
	w.header(">", r.Header)
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		if len(body) > 0 {
			w.logf("> %s", redact(safetext.Clip(string(body), maxLogged)))
		}
	}
	resp, err := w.next.RoundTrip(r)
	if err != nil {
		w.logf("< %v", err)
		return nil, err
	}
	w.logf("< %s", resp.Status)
	w.header("<", resp.Header)
	resp.Body = &loggedBody{ReadCloser: resp.Body, logf: w.logf}
	return resp, nil
}

func (w *wireLog) header(mark string, header http.Header) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		value := redacted
		if slices.Contains(shownHeaders, name) {
			value = strings.Join(header[name], ", ")
		}
		w.logf("%s %s: %s", mark, name, value)
	}
}

// loggedBody logs a body while the client reads it, until it has logged maxLogged bytes.
type loggedBody struct {
	io.ReadCloser
	logf   func(format string, args ...any)
	logged int
}

// Read implements io.Reader.
func (b *loggedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.logged < maxLogged {
		b.logged += n
		b.logf("< %s", redact(strings.TrimRight(string(p[:n]), "\r\n")))
	}
	return n, err
}
