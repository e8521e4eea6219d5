// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/a2a-operator/a2a-operator/test/connectproxy"
)

var _ = Describe("--egress-proxy-url", func() {
	It("names a proxy for the manager's connections to public servers", func(ctx context.Context) {
		address := reachableAddress()
		server, _ := serveTLS(ctx, address)
		proxy := connectproxy.New(GinkgoTB(), netip.AddrPortFrom(address, 0).String(), server.Listener.Addr().String(), false)
		config := Defaults()
		config.EgressProxy = EgressProxy{URL: "http://" + proxy.Listener.Addr().String(), CredentialDir: GinkgoT().TempDir()}
		Expect(os.WriteFile(filepath.Join(config.EgressProxy.CredentialDir, "username"), []byte("manager"), 0o600)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(config.EgressProxy.CredentialDir, "password"), []byte("secret"), 0o600)).To(Succeed())
		guard, err := newRemoteGuard(config, GinkgoLogr)
		Expect(err).NotTo(HaveOccurred())
		use, err := config.egressProxy()
		Expect(err).NotTo(HaveOccurred())
		for host, transport := range map[string]http.RoundTripper{
			"remote.agents.example": guard, "issuer.agents.example": outgoing("https://issuer.agents.example", use),
		} {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/", http.NoBody)
			Expect(err).NotTo(HaveOccurred())
			response, err := transport.RoundTrip(r)
			if err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			Expect(err).To(MatchError(ContainSubstring("certificate")), "the server has no certificate of this name")
			Expect(proxy.Requests()).To(ContainElement(connectproxy.Request{Target: "CONNECT " + host + ":443", Authorization: "Basic bWFuYWdlcjpzZWNyZXQ="}))
		}
	})
})
