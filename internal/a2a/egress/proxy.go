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
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/a2a-operator/a2a-operator/internal/kit/boundedfile"
	"github.com/a2a-operator/a2a-operator/internal/kit/hosturl"
	"github.com/a2a-operator/a2a-operator/internal/kit/publicaddress"
	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
)

// Proxy is an HTTP proxy for connections to public https servers. It connects to them with the method CONNECT, so the proxy
// learns the names of the servers and no content. It never carries:
//
//   - requests with the scheme http;
//   - addresses that are not public, and names with such an address in the DNS of this process;
//   - names without a dot, names of the cluster, and names below privateDomains;
//   - the hosts in ProxyOptions.NoProxy.
//
// A nil Proxy carries nothing. Its methods are safe for concurrent use.
type Proxy struct {
	options ProxyOptions
	url     *url.URL
	// address is the host and port of the proxy.
	address string
	// guard connects to the proxy itself.
	guard *Guard
	// find returns a URL for the targets that NoProxy does not list.
	find func(*url.URL) (*url.URL, error)
}

// ProxyOptions configures a Proxy.
type ProxyOptions struct {
	// URL is the http or https URL of the proxy, such as http://proxy.example:3128.
	URL string
	// NoProxy lists the hosts to which connections do not use the proxy, in the forms of the variable NO_PROXY: a name, which
	// includes the names below it, .name for only those below it, an address, a range of addresses, or "*" for all hosts. A
	// port may follow a name or an address.
	NoProxy []string
	// CredentialDir is a directory with the files username and password. They are read for each connection. If it is empty, or
	// has no file username, the proxy gets no credential.
	CredentialDir string
	// ClusterDomain is the DNS domain of the cluster, "cluster.local" if it is empty.
	ClusterDomain string
	// Local allows a proxy at a loopback address. It must be false in pods.
	Local bool
	// Protected, Resolver, ConnectTimeout and Roots are as in Options, for the connection to the proxy. The node, on which a
	// proxy may run, is not protected. ConnectTimeout also bounds the time until the response to CONNECT.
	Protected      *Protected
	Resolver       Resolver
	ConnectTimeout time.Duration
	Roots          func() *x509.CertPool
}

// Limits of proxies.
const (
	maxNoProxy    = 64
	maxCredential = 4 << 10
	// lookupTime bounds the resolution of a name that the proxy resolves, too.
	lookupTime = 500 * time.Millisecond
)

// privateDomains are the domains whose names exist in private networks only (RFC 6761, RFC 6762, RFC 8375 and ICANN's
// reservation of internal).
var privateDomains = []string{"svc", "local", "localhost", "internal", "home.arpa"}

// NewProxy returns the proxy for the options, nil if they have no URL. Its error begins with the name of the wrong
// option: url, or noProxy.
func NewProxy(o ProxyOptions) (*Proxy, error) {
	if o.URL == "" {
		return nil, nil // nil is a valid result: no proxy
	}
	if err := CheckProxy(o.URL, o.NoProxy, o.Local); err != nil {
		return nil, err
	}
	u, err := hosturl.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("url %w", err)
	}
	host, _ := hosturl.Normal(u.Hostname())
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	policy := &Policy{Configured: []string{host}, ClusterDomain: o.ClusterDomain, Local: o.Local}
	return &Proxy{
		options: o, url: u, address: net.JoinHostPort(host, port),
		guard: New(Options{Policy: policy, Protected: o.Protected, Resolver: o.Resolver, ConnectTimeout: o.ConnectTimeout, Roots: o.Roots}),
		find:  (&httpproxy.Config{HTTPSProxy: o.URL, NoProxy: strings.Join(o.NoProxy, ",")}).ProxyFunc(),
	}, nil
}

// CheckProxy returns an error that begins with the name of the wrong value, url or noProxy. local allows loopback addresses.
func CheckProxy(proxy string, noProxy []string, local bool) error {
	u, err := hosturl.Parse(proxy)
	if err != nil {
		return fmt.Errorf("url %w", err)
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery {
		return errors.New("url must have no path and no query, such as http://proxy.example:3128")
	}
	host, _ := hosturl.Normal(u.Hostname())
	if literal, err := netip.ParseAddr(host); err == nil {
		if !(&Policy{Configured: []string{host}, Local: local}).access(host, true, nil).permits(literal) {
			return errors.New("url must not name a loopback, link-local, metadata, multicast or unspecified address")
		}
	} else if !local && (host == "localhost" || strings.HasSuffix(host, ".localhost")) {
		return errors.New("url must not name localhost, which is the pod itself")
	}
	if len(noProxy) > maxNoProxy {
		return fmt.Errorf("noProxy must have at most %d hosts", maxNoProxy)
	}
	for i, each := range noProxy {
		if each == "" || strings.ContainsFunc(each, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' }) {
			return fmt.Errorf("noProxy[%d] is %q, must be a name, an address, a range of addresses or *", i, each)
		}
	}
	return nil
}

// ProxyError is the failure of a connection through a proxy. It wraps the cause.
type ProxyError struct {
	// Proxy is the host and port of the proxy.
	Proxy string
	// Status is the status of the response to CONNECT, 0 if there was none.
	Status int
	Err    error
}

func (e *ProxyError) Error() string {
	if e.Status != 0 {
		return e.Proxy + ": " + e.Reason()
	}
	return "connection through the proxy " + e.Proxy + ": " + e.Err.Error()
}

// Reason returns the failure without the address of the proxy.
func (e *ProxyError) Reason() string {
	switch e.Status {
	case 0:
		return "the connection through the proxy fails"
	case http.StatusProxyAuthRequired:
		return "the proxy refuses the credential, or requires one (status 407)"
	default:
		return fmt.Sprintf("the proxy refuses the connection (status %d)", e.Status)
	}
}

func (e *ProxyError) Unwrap() error { return e.Err }

// errProxyDenied is the error for a proxy at a forbidden address.
var errProxyDenied = errors.New("its name resolves to a loopback, link-local or metadata address, to the pod itself or to the API server, at which no proxy is used")

// carries reports whether the proxy carries connections to a host, which is a name or an address. addresses are those that the
// host has in the DNS of this process, at most maxAddresses and all public. They are empty if the DNS does not answer in time or does not
// know the name: the networks that need a proxy often have no DNS for public names.
func (p *Proxy) carries(ctx context.Context, host, port string) (addresses []netip.Addr, ok bool) {
	if p == nil || !p.isCandidate(host, port) {
		return nil, false
	}
	if literal, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{literal}, true
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	addresses, err := p.guard.options.Resolver.LookupNetIP(ctx, "ip", host+".")
	if err != nil {
		return nil, true
	}
	if slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !publicaddress.Is(a.Unmap()) }) {
		return nil, false
	}
	return addresses, true
}

// isCandidate reports whether the text of a host lets the proxy carry it.
func (p *Proxy) isCandidate(host, port string) bool {
	host, ok := hosturl.Normal(host)
	if !ok {
		return false
	}
	if literal, err := netip.ParseAddr(host); err == nil {
		if !publicaddress.Is(literal) {
			return false
		}
	} else {
		domains := append(slices.Clip(privateDomains), p.guard.current.Load().policy.clusterDomain())
		within := func(domain string) bool { return strings.HasSuffix("."+host, "."+domain) }
		if !strings.Contains(host, ".") || slices.ContainsFunc(domains, within) {
			return false
		}
	}
	found, err := p.find(&url.URL{Scheme: "https", Host: net.JoinHostPort(host, port)})
	return err == nil && found != nil
}

// tunnel is a connection through a proxy.
type tunnel struct {
	net.Conn
	proxy string
}

// connect returns a connection to a host through the proxy. Its errors are *ProxyError.
func (p *Proxy) connect(ctx context.Context, host, port string) (net.Conn, error) {
	failed := func(status int, err error) error { return &ProxyError{Proxy: p.address, Status: status, Err: err} }
	conn, err := p.guard.dial(ctx, "tcp", p.address, p.guard.current.Load().policy, p.url.Scheme == "http")
	if err == nil && p.url.Scheme == "https" {
		conn, err = p.guard.secure(ctx, conn, p.address)
	}
	if errors.Is(err, ErrDenied) {
		// This error is about the proxy, and not about the target.
		err = errProxyDenied
	}
	if err != nil {
		return nil, failed(0, err)
	}
	ctx, cancel := context.WithTimeout(ctx, p.guard.options.ConnectTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	status, err := p.handshake(conn, net.JoinHostPort(host, port))
	if err != nil || !stop() {
		_ = conn.Close()
		if cause := ctx.Err(); cause != nil {
			err = fmt.Errorf("wait for the response to CONNECT: %w", cause)
		}
		return nil, failed(status, err)
	}
	return tunnel{conn, p.address}, nil
}

// handshake sends CONNECT, and reads the response. It returns the status of a response that refuses, and its error is then
// not nil.
func (p *Proxy) handshake(conn net.Conn, target string) (status int, err error) {
	header := http.Header{}
	user, password, err := p.credential()
	if err != nil {
		return 0, err
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target, Header: header}
	if user != "" {
		request.SetBasicAuth(user, password)
		header.Set("Proxy-Authorization", header.Get("Authorization"))
		header.Del("Authorization")
	}
	header.Set("User-Agent", "a2a-operator")
	conn = responseheader.Conn(conn)
	if err := request.Write(conn); err != nil {
		return 0, fmt.Errorf("send CONNECT: %w", err)
	}
	reader := bufio.NewReader(io.LimitReader(conn, responseheader.MaxBytes))
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		return 0, fmt.Errorf("read the response to CONNECT: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return response.StatusCode, errors.New("the proxy refuses CONNECT")
	}
	// The server speaks after the client, so bytes that follow the header are of the proxy.
	if reader.Buffered() > 0 {
		return 0, errors.New("the response to CONNECT has a body")
	}
	return 0, nil
}

// credential returns the user name and the password for the proxy, "" for none.
func (p *Proxy) credential() (user, password string, err error) {
	if p.options.CredentialDir == "" {
		return "", "", nil
	}
	name, err := boundedfile.Read(filepath.Join(p.options.CredentialDir, "username"), maxCredential)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read the user name for the proxy: %w", err)
	}
	secret, err := boundedfile.Read(filepath.Join(p.options.CredentialDir, "password"), maxCredential)
	if err != nil {
		return "", "", fmt.Errorf("read the password for the proxy: %w", err)
	}
	return strings.TrimSpace(string(name)), strings.TrimSpace(string(secret)), nil
}

// DialFunc connects to an address, as the dial functions of http.Transport do.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// DialThrough returns a function that connects to https servers: through the proxy that current returns if the proxy carries the
// connection, else by direct. It is for the addresses in a configuration. A Guard connects itself, with Options.Proxy.
func DialThrough(current func() *Proxy, direct DialFunc) DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		proxy := current()
		host, port, err := net.SplitHostPort(address)
		if proxy == nil || err != nil {
			return direct(ctx, network, address)
		}
		if _, carried := proxy.carries(ctx, host, port); !carried {
			return direct(ctx, network, address)
		}
		return proxy.connect(ctx, strings.TrimSuffix(host, "."), port)
	}
}

// tunnelBody is the body of a response that came through a proxy. Its errors name the proxy.
type tunnelBody struct {
	io.ReadCloser
	ctx   context.Context //nolint:containedctx // of the request
	proxy string
}

func (b tunnelBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	if err != nil && err != io.EOF && b.ctx.Err() == nil {
		err = &ProxyError{Proxy: b.proxy, Err: err}
	}
	return n, err
}

// through returns the proxy of a connection, "" for none.
func through(conn net.Conn) string {
	for {
		switch c := conn.(type) {
		case tunnel:
			return c.proxy
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return ""
		}
	}
}
