// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress is the SSRF protection: it guards calls to addresses that clients name,
// such as webhooks, so that a client cannot use the sidecar to reach an address that the
// client itself cannot reach. It also makes the calls to hosts in the configuration, such
// as a model server. These hosts may have private addresses, but no link-local or metadata
// addresses and, in pods, no loopback addresses.
//
// All targets are forbidden until a Policy allows them. No Policy allows the pod itself, its node
// and the API server of the cluster (Protected). The guard checks the text of a URL
// when a client registers it, and the resolved addresses each time it connects. To connect,
// it resolves the name once, requires that all addresses are allowed, and checks the dialed
// address again at the socket. It follows no redirect and ignores proxies in the
// environment.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
	"github.com/a2a-operator/a2a-operator/internal/kit/tlslimits"
)

// Resolver resolves a name to addresses.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options configures a guard. A zero field has its default.
type Options struct {
	// Policy lists the allowed targets. Nil forbids all.
	Policy *Policy
	// Protected are the targets that no policy allows. Nil protects none.
	Protected *Protected
	// ConnectTimeout bounds the TCP connect and, separately, the TLS handshake; 5 s by
	// default.
	ConnectTimeout time.Duration
	// Resolver resolves names. By default, it is Go's own resolver, which reads the system's
	// configuration files.
	Resolver Resolver
	// MaxIdle bounds the idle connections to one host, 4 by default. IdleTimeout is the
	// time until an idle connection is closed, 30 s by default.
	MaxIdle     int
	IdleTimeout time.Duration
	// Roots returns the certificate authorities that verify servers. It is called for each
	// connection. If Roots or the returned pool is nil, the authorities of the system are
	// used.
	Roots func() *x509.CertPool
	// Certificate returns the client certificate for servers that ask for one, an empty one for none. It is called
	// for each connection. If Certificate is nil, the guard has none.
	Certificate func(ctx context.Context) (*tls.Certificate, error)
	// PresentsTo reports whether a host gets the certificate. If it is nil, every host does.
	PresentsTo func(host string) bool
	// Proxy returns the proxy for public https servers, nil for none. It is called for each connection. If Proxy is nil,
	// there is none.
	Proxy func() *Proxy
	// Cleartext returns the transport of http (not https) requests. Its argument is the
	// transport that the guard would use without Cleartext. The result must connect with the
	// dialer of this transport and bound the headers of responses. If the result has a method CloseIdleConnections, the guard
	// calls it.
	Cleartext func(*http.Transport) http.RoundTripper
}

// Guard checks URLs, and is the http.RoundTripper for requests to them. It sends each
// request once and returns the response unchanged. It is safe for concurrent use.
type Guard struct {
	options Options
	current atomic.Pointer[transports]
	// connect connects to an IP address as a net.Dialer does. It calls control before it
	// connects the socket.
	connect func(ctx context.Context, network, address string, control control) (net.Conn, error)
}

// transports are the transports of one policy. Each policy has its own transports, so that
// no request reuses a connection that an earlier policy allowed and the current one
// forbids.
type transports struct {
	policy      *Policy
	http, https http.RoundTripper
}

type control = func(network, address string, c syscall.RawConn) error

// Limits of connections. maxAddresses is the maximum number of addresses of one name that
// dial tries. maxIdle is the maximum number of idle connections to all hosts together.
const (
	maxAddresses    = 8
	maxIdle         = 32
	maxIdlePerHost  = 4
	idleTimeout     = 30 * time.Second
	keepAlivePeriod = 30 * time.Second
)

// New returns a guard. Zero fields of o are replaced by their defaults.
func New(o Options) *Guard {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 5 * time.Second
	}
	if o.MaxIdle <= 0 {
		o.MaxIdle = maxIdlePerHost
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = idleTimeout
	}
	if o.Resolver == nil {
		o.Resolver = &net.Resolver{PreferGo: true}
	}
	if o.Proxy == nil {
		o.Proxy = func() *Proxy { return nil }
	}
	if o.Cleartext == nil {
		o.Cleartext = func(t *http.Transport) http.RoundTripper { return responseheader.Bound(t) }
	}
	g := &Guard{options: o, connect: dialer(o.ConnectTimeout)}
	g.current.Store(g.newTransports(o.Policy))
	return g
}

func (g *Guard) newTransports(p *Policy) *transports {
	return &transports{policy: p, http: g.options.Cleartext(g.transport(p, true)), https: responseheader.Bound(g.transport(p, false))}
}

// Swap replaces the policy. Requests that begin later do not reuse connections of the
// earlier policy.
func (g *Guard) Swap(p *Policy) {
	g.current.Swap(g.newTransports(p)).close()
}

// Present returns a new guard with the current policy and the options of g, and with a client certificate. A later Swap of
// one of the two does not change the other. All hosts get this certificate, in place of that of g.
func (g *Guard) Present(certificate func(ctx context.Context) (*tls.Certificate, error)) *Guard {
	options := g.options
	options.Policy = g.current.Load().policy
	options.Certificate = certificate
	options.PresentsTo = nil
	presenting := New(options)
	presenting.connect = g.connect
	return presenting
}

// Check returns an *a2a.Error that names the field if a URL is invalid, or if the policy
// allows no address to which its name could resolve. Check does not resolve the name, so
// that a client learns nothing about internal names.
func (g *Guard) Check(field, raw string) error {
	if raw == "" {
		return a2a.InvalidParams(field, "is required")
	}
	if len(raw) > maxURL {
		return a2a.InvalidParams(field, "must have at most "+strconv.Itoa(maxURL)+" bytes")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return a2a.InvalidParams(field, "must be a URL")
	}
	if _, reason := check(g.current.Load().policy, g.options.Protected, u); reason != "" {
		return a2a.InvalidParams(field, reason)
	}
	return nil
}

// CloseIdleConnections closes the connections without a request.
func (g *Guard) CloseIdleConnections() { g.current.Load().close() }

func (t *transports) close() {
	(&http.Client{Transport: t.http}).CloseIdleConnections()
	(&http.Client{Transport: t.https}).CloseIdleConnections()
}

// RoundTrip implements http.RoundTripper. The error for a forbidden target wraps
// ErrDenied.
func (g *Guard) RoundTrip(r *http.Request) (*http.Response, error) {
	transports := g.current.Load()
	target, reason := check(transports.policy, g.options.Protected, r.URL)
	if reason != "" {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, fmt.Errorf("%w: the URL %s", ErrDenied, reason)
	}
	if r.URL.Host != target.hostport || r.Host != "" && r.Host != target.hostport {
		u := *r.URL
		u.Host = target.hostport
		r = r.WithContext(r.Context())
		r.URL = &u
		r.Host = ""
	}
	if target.plain {
		return transports.http.RoundTrip(r)
	}
	return g.throughProxy(r, transports.https)
}

// throughProxy sends a request. If a proxy carries the connection, errors of the response's body name the proxy.
func (g *Guard) throughProxy(r *http.Request, transport http.RoundTripper) (*http.Response, error) {
	if g.options.Proxy() == nil {
		return transport.RoundTrip(r)
	}
	var proxy atomic.Pointer[string]
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		name := through(c.Conn)
		proxy.Store(&name)
	}}
	ctx := r.Context()
	response, err := transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(ctx, trace)))
	name := proxy.Load()
	if name == nil || *name == "" {
		return response, err
	}
	if err != nil {
		if ctx.Err() == nil {
			err = &ProxyError{Proxy: *name, Err: err}
		}
		return nil, err
	}
	response.Body = tunnelBody{response.Body, ctx, *name}
	return response, nil
}

func (g *Guard) transport(p *Policy, plain bool) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return g.dial(ctx, network, address, p, plain)
		},
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := g.dial(ctx, network, address, p, plain)
			if err != nil {
				return nil, err
			}
			return g.secure(ctx, conn, address)
		},
		MaxIdleConns:        max(maxIdle, g.options.MaxIdle),
		MaxIdleConnsPerHost: g.options.MaxIdle,
		IdleConnTimeout:     g.options.IdleTimeout,
		DisableCompression:  true,
	}
}

// secure makes the TLS handshake on a connection.
func (g *Guard) secure(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ctx, cancel := context.WithTimeout(ctx, g.options.ConnectTimeout)
	defer cancel()
	secure, err := tlslimits.Client(ctx, conn, g.tlsConfig(host)) // the handshake passes its context to GetClientCertificate
	if err != nil {
		err = fmt.Errorf("TLS handshake with target: %w", err)
		if proxy := through(conn); proxy != "" {
			err = &ProxyError{Proxy: proxy, Err: err}
		}
		return nil, err
	}
	return secure, nil
}

func (g *Guard) tlsConfig(host string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if g.options.Roots != nil {
		c.RootCAs = g.options.Roots()
	}
	if g.options.Certificate != nil && (g.options.PresentsTo == nil || g.options.PresentsTo(host)) {
		c.GetClientCertificate = func(r *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return g.options.Certificate(r.Context())
		}
	}
	return c
}

// dial resolves a name and connects to one of its addresses. If any of the addresses is
// not allowed, it connects to none, because the owner of the name may have added the
// forbidden address on purpose.
func (g *Guard) dial(ctx context.Context, network, address string, policy *Policy, plain bool) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial target: %w", err)
	}
	allowed := policy.access(host, plain, g.options.Protected)
	if !plain && !allowed.inCluster {
		conn, carried, err := g.dialProxy(ctx, allowed, host, port)
		if carried || err != nil {
			return conn, err
		}
	}
	addresses, err := g.resolve(ctx, policy, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if !allowed.permits(a) {
			return nil, fmt.Errorf("%w: the host name resolves to a forbidden address", ErrDenied)
		}
	}
	// check is called with the address of the socket, which is the address that is finally
	// dialed.
	check := func(_, address string, _ syscall.RawConn) error {
		final, err := netip.ParseAddrPort(address)
		if err != nil || !allowed.permits(final.Addr()) {
			return fmt.Errorf("%w: the final address is forbidden", ErrDenied)
		}
		return nil
	}
	var failed error
	for _, a := range addresses[:min(len(addresses), maxAddresses)] {
		conn, err := g.connect(ctx, network, net.JoinHostPort(a.Unmap().String(), port), check)
		if err == nil {
			return conn, nil
		}
		failed = err
		if errors.Is(err, ErrDenied) || ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("connect to target: %w", failed)
}

// dialProxy connects to a host through the proxy. carried is false if no proxy carries the connection, or if the policy
// allows the host only by its addresses and the DNS of this process has none.
//
// The proxy resolves the name again, so the guard does not know the address to which it connects. What it checks are the name and
// the addresses in the DNS of this process. The TLS handshake then shows whether the server is that of the name.
func (g *Guard) dialProxy(ctx context.Context, allowed access, host, port string) (conn net.Conn, carried bool, err error) {
	proxy := g.options.Proxy()
	addresses, carried := proxy.carries(ctx, host, port)
	if !carried {
		return nil, false, nil
	}
	for _, a := range addresses {
		if !allowed.permits(a) {
			return nil, false, fmt.Errorf("%w: the host name resolves to a forbidden address", ErrDenied)
		}
	}
	if !allowed.public && !allowed.configured {
		if len(addresses) == 0 {
			return nil, false, nil
		}
		host = addresses[0].Unmap().String()
	}
	conn, err = proxy.connect(ctx, host, port)
	return conn, true, err
}

// errNoAddress is the error for a name that resolves to no address.
var errNoAddress = errors.New("the name of the target has no address")

func (g *Guard) resolve(ctx context.Context, policy *Policy, host string) ([]netip.Addr, error) {
	if literal, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{literal}, nil
	}
	addresses, err := g.options.Resolver.LookupNetIP(ctx, "ip", policy.absolute(host))
	if err != nil {
		return nil, fmt.Errorf("resolve target: %w", err)
	}
	if len(addresses) == 0 {
		return nil, errNoAddress
	}
	return addresses, nil
}

func dialer(timeout time.Duration) func(context.Context, string, string, control) (net.Conn, error) {
	return func(ctx context.Context, network, address string, c control) (net.Conn, error) {
		d := net.Dialer{Timeout: timeout, KeepAlive: keepAlivePeriod, Control: c}
		return d.DialContext(ctx, network, address)
	}
}

// ParseAuthorities parses a bundle of PEM certificates. It returns an error if the bundle
// has no certificate, or has a PEM block of another type.
func ParseAuthorities(bundle []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	found := 0
	for {
		var block *pem.Block
		block, bundle = pem.Decode(bundle)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("contains a PEM block %q, and only certificates are allowed", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", found+1, err)
		}
		pool.AddCert(c)
		found++
	}
	if found == 0 {
		return nil, errors.New("contains no PEM certificate")
	}
	return pool, nil
}
