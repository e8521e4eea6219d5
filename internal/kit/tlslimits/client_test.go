// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tlslimits_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/kit/tlslimits"
)

// TestClient connects to servers whose certificate is valid and that send others with it.
func TestClient(t *testing.T) {
	key := newKey(t)
	leaf := issue(t, key, x509.Certificate{DNSNames: []string{"server.example"}})
	parsed, err := x509.ParseCertificate(leaf)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	hosts := strings.Split(strings.Repeat("host.namespace.svc.cluster.example,", 200)+"host", ",")
	large := issue(t, key, x509.Certificate{OCSPServer: []string{strings.Repeat("x", 24<<10)}})
	tests := map[string]struct {
		others [][]byte
		want   error
	}{
		"no other certificate": {nil, nil},
		"nine others":          {repeat(leaf, 9), nil},
		"ten others":           {repeat(leaf, 10), tlslimits.ErrChain},
		"one of 200 hosts":     {[][]byte{issue(t, key, x509.Certificate{DNSNames: hosts})}, nil},
		"one of many URIs":     {[][]byte{issue(t, key, x509.Certificate{URIs: manyURIs(4000)})}, tlslimits.ErrChain},
		"two of 24 KiB":        {repeat(large, 2), tlslimits.ErrTooLong},
		"four of 8000 URIs":    {repeat(issue(t, key, x509.Certificate{URIs: manyURIs(8000)}), 4), tlslimits.ErrTooLong},
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for name, tt := range tests {
			t.Run(tls.VersionName(version)+" with "+name, func(t *testing.T) {
				served := &tls.Config{
					MinVersion: version, MaxVersion: version,
					Certificates: []tls.Certificate{{Certificate: append([][]byte{leaf}, tt.others...), PrivateKey: key}},
				}
				body := strings.Repeat("x", 1<<20)
				raw := pipe(t, func(raw net.Conn) {
					server := tls.Server(raw, served)
					_, _ = io.WriteString(server, body)
					_ = server.Close()
				})
				conn, err := tlslimits.Client(t.Context(), raw, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: "server.example"})
				if !errors.Is(err, tt.want) {
					t.Fatalf("Client() error = %v, want %v", err, tt.want)
				}
				if err != nil {
					return
				}
				if got, err := io.ReadAll(conn); err != nil || string(got) != body {
					t.Errorf("read %d bytes and %v, want %d", len(got), err, len(body))
				}
			})
		}
	}
}

// pipe returns a connection to a server.
func pipe(t *testing.T, serve func(net.Conn)) net.Conn {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
	})
	go serve(server)
	return client
}

func repeat(certificate []byte, count int) [][]byte {
	chain := make([][]byte, count)
	for i := range chain {
		chain[i] = certificate
	}
	return chain
}
