// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"bufio"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// issue returns a certificate that its own key has signed.
func issue(t *testing.T, key crypto.Signer, template x509.Certificate) []byte {
	t.Helper()
	template.SerialNumber = big.NewInt(1)
	template.NotAfter = time.Now().Add(time.Hour)
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// manyURIs returns URIs that need many times their length.
func manyURIs(count int) []*url.URL {
	uris := make([]*url.URL, count)
	for i := range uris {
		uris[i] = &url.URL{Scheme: "a", Opaque: "b"}
	}
	return uris
}

func repeat(certificate []byte, count int) [][]byte {
	chain := make([][]byte, count)
	for i := range chain {
		chain[i] = certificate
	}
	return chain
}

// TestCertificatesOfClients lets a client send certificates, which the server has requested, and checks what the table counts for them.
func TestCertificatesOfClients(t *testing.T) {
	small := newKey(t)
	large, err := rsa.GenerateKey(rand.Reader, 4096)
	if err != nil {
		t.Fatal(err)
	}
	hosts := make([]string, 10)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("host-%d.namespace.svc.cluster.example", i)
	}
	ordinary := issue(t, small, x509.Certificate{DNSNames: hosts})
	tests := map[string]struct {
		key   crypto.Signer
		chain [][]byte
		isOK  bool
	}{
		"a chain of three":              {small, repeat(ordinary, 3), true},
		"a chain of RSA-4096":           {large, repeat(issue(t, large, x509.Certificate{DNSNames: hosts}), maxChain), true},
		"a longer chain":                {small, repeat(ordinary, maxChain+1), false},
		"a certificate of many URIs":    {small, [][]byte{issue(t, small, x509.Certificate{URIs: manyURIs(1500)})}, false},
		"more than 32 KiB":              {small, [][]byte{ordinary, issue(t, small, x509.Certificate{OCSPServer: []string{strings.Repeat("x", 33<<10)}})}, false},
		"six certificates of 8000 URIs": {small, append([][]byte{ordinary}, repeat(issue(t, small, x509.Certificate{URIs: manyURIs(8000)}), 6)...), false},
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for name, test := range tests {
			t.Run(tls.VersionName(version)+" with "+name, func(t *testing.T) {
				s := serve(t, Options{Memory: 64 << 20, TLS: &tls.Config{
					Certificates: []tls.Certificate{newCertificate(t)}, MinVersion: version, MaxVersion: version, ClientAuth: tls.RequestClientCert,
				}})
				c := s.dial(t, "127.0.0.2")
				c.Conn = tls.Client(c.Conn, &tls.Config{
					InsecureSkipVerify: true, Certificates: []tls.Certificate{{Certificate: test.chain, PrivateKey: test.key}},
				})
				c.lines = bufio.NewReader(c.Conn)
				got := c.ask()
				if isOK := got == http.StatusOK; isOK != test.isOK {
					t.Fatalf("status = %d, accepted = %t", got, test.isOK)
				}
				if !test.isOK {
					return
				}
				s.table.mu.Lock()
				defer s.table.mu.Unlock()
				if least := s.table.cost + int64(len(test.chain))<<12; s.table.used < least {
					t.Errorf("the table counts %d bytes, want at least %d", s.table.used, least)
				}
			})
		}
	}
}

// TestCertificatesWithoutRoom fills the table with the certificates of a client, so that those of the last connection have no room.
func TestCertificatesWithoutRoom(t *testing.T) {
	key := newKey(t)
	chain := repeat(issue(t, key, x509.Certificate{URIs: manyURIs(50)}), maxChain)
	s := serve(t, Options{Memory: 1 << 20, TLS: &tls.Config{Certificates: []tls.Certificate{newCertificate(t)}, ClientAuth: tls.RequestClientCert}})
	for range 20 {
		c := s.dial(t, "127.0.0.2")
		_ = tls.Client(c.Conn, &tls.Config{
			InsecureSkipVerify: true, Certificates: []tls.Certificate{{Certificate: chain, PrivateKey: key}},
		}).HandshakeContext(t.Context())
		s.table.mu.Lock()
		if s.table.used > s.table.maxUsed {
			t.Errorf("the table counts %d bytes, and has room for %d", s.table.used, s.table.maxUsed)
		}
		s.table.mu.Unlock()
	}
}

// unfinishedHello are the first 32 KiB of a ClientHello of 64 KiB, in two records.
var unfinishedHello = "\x16\x03\x01\x40\x00" + "\x01\x00\xff\xff" + strings.Repeat("\x00", 16<<10-4) +
	"\x16\x03\x01\x40\x00" + strings.Repeat("\x00", 16<<10)

// TestUnfinishedHello sends a part of a long ClientHello. The server waits for no more than 32 KiB.
func TestUnfinishedHello(t *testing.T) {
	s := serve(t, Options{Memory: 64 << 20, TLS: &tls.Config{Certificates: []tls.Certificate{newCertificate(t)}}}, func(s *Server) {
		s.ReadHeaderTimeout = time.Hour
	})
	c := s.dial(t, "127.0.0.2")
	c.send(unfinishedHello)
	if _, err := io.ReadAll(c.Conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server waits for the rest")
	}
}

// TestHello sends a ClientHello with protocols.
func TestHello(t *testing.T) {
	s := serve(t, Options{Memory: 64 << 20, TLS: &tls.Config{Certificates: []tls.Certificate{newCertificate(t)}}})
	for name, test := range map[string]struct {
		protocols []string
		want      int
	}{
		"many protocols": {strings.Split(strings.Repeat("a,", maxProtocols)+"http/1.1", ","), 0},
		"long protocols": {append(strings.Split(strings.Repeat(strings.Repeat("a", 200)+",", 45), ",")[:45], "http/1.1"), 0},
		"a few":          {[]string{"h2", "http/1.1"}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.dial(t, "127.0.0.2")
			c.Conn = tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true, NextProtos: test.protocols})
			c.lines = bufio.NewReader(c.Conn)
			if got := c.ask(); got != test.want {
				t.Errorf("status = %d, want %d", got, test.want)
			}
		})
	}
}

// TestMessageAfterTheHandshake sends a part of a message of certificates after the handshake.
func TestMessageAfterTheHandshake(t *testing.T) {
	s := serve(t, Options{Memory: 64 << 20, TLS: &tls.Config{Certificates: []tls.Certificate{newCertificate(t)}, MinVersion: tls.VersionTLS13}}, func(s *Server) {
		s.ReadHeaderTimeout = time.Hour
	})
	var secrets strings.Builder
	c := s.dial(t, "127.0.0.2")
	secured := tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true, KeyLogWriter: &secrets, MinVersion: tls.VersionTLS13})
	if err := secured.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if secured.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skip("this machine prefers another cipher")
	}
	message := append([]byte{11, 4, 0, 0}, make([]byte, 16<<10-5)...)
	for number := range uint64(2) {
		if _, err := c.Write(sealed(t, clientSecret(t, secrets.String()), number, append(message, 22))); err != nil {
			t.Fatal(err)
		}
		message = make([]byte, 16<<10-1)
	}
	if _, err := io.ReadAll(c.Conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server waits for the rest")
	}
}
