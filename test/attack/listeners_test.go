// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"cmp"
	"net"
	"net/http"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// listener is a listener of a program, and the right answers to the requests of the well-behaved client.
type listener struct {
	Name string
	Port string
	TLS  bool
	// V4 is true if the program listens at 127.0.0.1 only, and not at all addresses.
	V4 bool
	// HTTP2 is true if the listener speaks HTTP/2, too.
	HTTP2 bool
	// Names is the Host of requests; "" for the address.
	Names string
	// Path is the path of the attacker's requests, "" for the root, and Bearer its token, "" for none.
	Path, Bearer string
	good         []ask
}

// newListener returns a listener at a free port of all addresses.
func newListener(t *testing.T, name string) listener {
	t.Helper()
	_, port, err := net.SplitHostPort(freeport.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	return listener{Name: name, Port: port}
}

// bind is the address that the flags of the program name.
func (l *listener) bind() string {
	if l.V4 {
		return net.JoinHostPort("127.0.0.1", l.Port)
	}
	return ":" + l.Port
}

func (l *listener) host() string {
	if l.Names != "" {
		return l.Names
	}
	return net.JoinHostPort("127.0.0.1", l.Port)
}

func (l *listener) path() string { return cmp.Or(l.Path, "/") }

// head returns the beginning of a request of the attacker, whose header has no end yet.
func (l *listener) head(method string) string {
	head := method + " " + l.path() + " HTTP/1.1\r\nHost: " + l.host() + "\r\n"
	if l.Bearer != "" {
		head += "Authorization: Bearer " + l.Bearer + "\r\n"
	}
	return head
}

func (l *listener) url(path string) string {
	scheme := "http://"
	if l.TLS {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort("127.0.0.1", l.Port) + path
}

// get adds a request of the well-behaved client.
func (l *listener) get(path string, header ...string) {
	a := ask{method: http.MethodGet, url: l.url(path), host: l.Names, status: http.StatusOK, http2: l.HTTP2}
	copy(a.header[:], header)
	l.good = append(l.good, a)
}

// post adds a request of the well-behaved client.
func (l *listener) post(body string, header ...string) {
	a := ask{method: http.MethodPost, url: l.url("/"), host: l.Names, status: http.StatusOK, body: body, http2: l.HTTP2}
	copy(a.header[:], header)
	l.good = append(l.good, a)
}

// suffers reports whether an attack from a source can reach the listener.
func (l *listener) suffers(a attack, from string) bool {
	return (!a.handshake || l.TLS) && (!l.V4 || from != overIPv6)
}
