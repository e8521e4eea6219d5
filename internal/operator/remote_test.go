// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// Whom the file names is believed beside the system's authorities; without the
// file he is not.
func TestRemoteCAFile(t *testing.T) {
	address := reachable(t)
	server, bundle := serveTLS(t, address)
	config := Defaults()
	config.RemoteAllow = []netip.Prefix{netip.PrefixFrom(address, address.BitLen())}
	get := func(config Config) error {
		t.Helper()
		guard, err := newRemoteGuard(config, logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		defer guard.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := guard.RoundTrip(r)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](get(config)); !ok {
		t.Errorf("without the file: error = %v, want an unknown authority", get(config))
	}
	config.RemoteCAFile = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(config.RemoteCAFile, bundle, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := get(config); err != nil {
		t.Errorf("with the file: %v", err)
	}
}

func TestRemoteCAFileThatCannotBeUsed(t *testing.T) {
	config := Defaults()
	config.RemoteCAFile = filepath.Join(t.TempDir(), "ca.crt")
	for _, text := range []string{"", "nonsense"} {
		if text != "" {
			if err := os.WriteFile(config.RemoteCAFile, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := newRemoteGuard(config, logr.Discard())
		if err == nil || !strings.Contains(err.Error(), "--remote-ca-file") || !strings.Contains(err.Error(), config.RemoteCAFile) {
			t.Errorf("with %q: error = %v, want one that names flag and file", text, err)
		}
	}
}

// reachable is an address of this machine that remote agents may have: no
// loopback one.
func reachable(t *testing.T) netip.Addr {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() && !p.Addr().IsLinkLocalUnicast() {
			return p.Addr()
		}
	}
	t.Skip("this machine has no address but its own")
	return netip.Addr{}
}

// serveTLS serves at an address, with a certificate that vouches for itself.
func serveTLS(t *testing.T, at netip.Addr) (*httptest.Server, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{at.AsSlice()},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", netip.AddrPortFrom(at, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	_ = server.Listener.Close()
	server.Listener = listener
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
