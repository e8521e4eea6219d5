// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress guards calls to addresses that clients name, such as webhooks:
// nobody may use the sidecar to reach what he could not reach himself. It also
// makes the calls to hosts that the configuration names, such as a model server,
// which may be private but no loopback, link-local or metadata address.
//
// All targets are forbidden until a Policy allows them. A URL is judged twice:
// by what stands in it when it is registered, and by the addresses that it
// leads to whenever a connection is made. The name is resolved once, all of its
// addresses must pass, and the address that is dialled is checked again by the
// socket. Redirects are not followed, and no proxy of the environment is used.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
)

// ErrDenied is in the error of a request whose target is not allowed. No byte
// was sent to it.
var ErrDenied = errors.New("target is not allowed")

// Resolver finds the addresses of a name.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are what a guard works with. Zero means the default.
type Options struct {
	// Policy is what is allowed; nil forbids everything.
	Policy *Policy
	// ConnectTimeout bounds the connect and, again, the TLS handshake, 5 s by
	// default.
	ConnectTimeout time.Duration
	// Resolver is that of Go by default, with the files of the system.
	Resolver Resolver
	// MaxIdle is the number of idle connections to one host that are kept for
	// later requests, 4 by default, and IdleTimeout how long one is kept, 30 s by
	// default.
	MaxIdle     int
	IdleTimeout time.Duration
	// Roots returns what verifies servers, for each connection; nil, and a nil
	// pool, is for those of the system.
	Roots func() *x509.CertPool
}

// Guard judges URLs, and is the http.RoundTripper to reach them by. It sends
// one request and returns its answer, whatever that is.
type Guard struct {
	options Options
	exit    atomic.Pointer[exit]
	// connect makes a connection to an IP address and has control look at it
	// first, as a net.Dialer does.
	connect func(ctx context.Context, network, address string, control control) (net.Conn, error)
}

// exit is a policy with the connections that it allowed. No other policy uses
// them.
type exit struct {
	policy *Policy
	// direct is for what is short and in the clear.
	direct        *http1.Client
	plain, secure *http.Transport
}

type control = func(network, address string, c syscall.RawConn) error

var _ http.RoundTripper = (*Guard)(nil)

// Bounds of a connection.
const (
	maxHeaderBytes  = 64 << 10
	maxAddresses    = 8
	maxIdle         = 32
	maxIdlePerHost  = 4
	idleTimeout     = 30 * time.Second
	keepAlivePeriod = 30 * time.Second
)

// New returns a guard.
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
	g := &Guard{options: o, connect: dialer(o.ConnectTimeout)}
	g.exit.Store(g.newExit(o.Policy))
	return g
}

func (g *Guard) newExit(p *Policy) *exit {
	return &exit{policy: p, direct: g.direct(p), plain: g.transport(p, true), secure: g.transport(p, false)}
}

// Swap replaces the policy. Connections that the former one allowed are not
// used again.
func (g *Guard) Swap(p *Policy) {
	g.exit.Swap(g.newExit(p)).close()
}

// CloseIdleConnections closes what no request uses.
func (g *Guard) CloseIdleConnections() { g.exit.Load().close() }

func (e *exit) close() {
	e.direct.CloseIdleConnections()
	e.plain.CloseIdleConnections()
	e.secure.CloseIdleConnections()
}

// RoundTrip implements http.RoundTripper. The error of a forbidden target is
// ErrDenied.
func (g *Guard) RoundTrip(r *http.Request) (*http.Response, error) {
	exit := g.exit.Load()
	target, reason := judge(exit.policy, r.URL)
	if reason != "" {
		closeBody(r)
		return nil, fmt.Errorf("%w: the URL %s", ErrDenied, reason)
	}
	to := *r.URL
	to.Host = target.hostport
	if target.plain && short(r) && http1.Speaks(&to) {
		return exit.call(r, &to)
	}
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = target.hostport, ""
	if target.plain {
		return exit.plain.RoundTrip(r)
	}
	return exit.secure.RoundTrip(r)
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
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
		MaxIdleConns:           max(maxIdle, g.options.MaxIdle),
		MaxIdleConnsPerHost:    g.options.MaxIdle,
		IdleConnTimeout:        g.options.IdleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true,
	}
}

// secure begins TLS on a connection.
func (g *Guard) secure(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ctx, cancel := context.WithTimeout(ctx, g.options.ConnectTimeout)
	defer cancel()
	secure := tls.Client(conn, g.tlsConfig(host))
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("begin TLS with target: %w", err)
	}
	return secure, nil
}

func (g *Guard) tlsConfig(host string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if g.options.Roots != nil {
		c.RootCAs = g.options.Roots()
	}
	return c
}

// dial resolves a name and connects to one of its addresses. One address that
// is not allowed forbids the name: somebody points it where it must not lead.
func (g *Guard) dial(ctx context.Context, network, address string, policy *Policy, plain bool) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial target: %w", err)
	}
	allowed := policy.access(host, plain)
	addresses, err := g.resolve(ctx, policy, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if !allowed.permits(a) {
			return nil, fmt.Errorf("%w: a host name leads to a forbidden address", ErrDenied)
		}
	}
	// What the socket is about to connect to is the last word.
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
		if failed = err; errors.Is(err, ErrDenied) || ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("connect to target: %w", failed)
}

// errNoAddress is an answer of the name service that leads nowhere.
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
