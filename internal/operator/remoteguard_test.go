// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("--remote-ca-file", func() {
	var config Config
	BeforeEach(func() {
		config = Defaults()
		config.RemoteCAFile = filepath.Join(GinkgoT().TempDir(), "ca.crt")
	})

	It("names authorities that are trusted besides those of the system", func(ctx context.Context) {
		address := reachableAddress()
		server, bundle := serveTLS(ctx, address)
		config.RemoteAllow = []netip.Prefix{netip.PrefixFrom(address, address.BitLen())}
		Expect(os.WriteFile(config.RemoteCAFile, bundle, 0o600)).To(Succeed())
		get := func(config Config) error {
			guard, err := newRemoteGuard(config, GinkgoLogr)
			Expect(err).NotTo(HaveOccurred())
			defer guard.CloseIdleConnections()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
			Expect(err).NotTo(HaveOccurred())
			response, err := guard.RoundTrip(r)
			if err == nil {
				_ = response.Body.Close()
			}
			return err
		}
		Expect(get(config)).To(Succeed())
		config.RemoteCAFile = ""
		Expect(get(config)).To(MatchError(ContainSubstring("unknown authority")))
	})

	DescribeTable("is named in the error if it cannot be used", func(content string) {
		if content != "" {
			Expect(os.WriteFile(config.RemoteCAFile, []byte(content), 0o600)).To(Succeed())
		}
		_, err := newRemoteGuard(config, GinkgoLogr)
		Expect(err).To(MatchError(And(ContainSubstring("--remote-ca-file"), ContainSubstring(config.RemoteCAFile))))
	},
		Entry("without a file", ""),
		Entry("without a certificate", "nonsense"),
	)
})

// reachableAddress returns an address of this machine that remote agents may have. It is not a
// loopback address.
func reachableAddress() netip.Addr {
	GinkgoHelper()
	GinkgoT().Setenv("KUBERNETES_SERVICE_HOST", "") // in a pod, the address would be protected
	addresses, err := net.InterfaceAddrs()
	Expect(err).NotTo(HaveOccurred())
	for _, a := range addresses {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() && !p.Addr().IsLinkLocalUnicast() {
			return p.Addr()
		}
	}
	Skip("this machine has loopback addresses only")
	return netip.Addr{}
}

// serveTLS starts a server at an address with a self-signed certificate, and returns the server
// and the certificate as PEM.
func serveTLS(ctx context.Context, at netip.Addr) (*httptest.Server, []byte) {
	GinkgoHelper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{at.AsSlice()},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	Expect(err).NotTo(HaveOccurred())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", netip.AddrPortFrom(at, 0).String())
	Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	_ = server.Listener.Close()
	server.Listener = listener
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	DeferCleanup(server.Close)
	return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
