// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("the DNS domain of the cluster", func() {
	resolver := func(text string) string {
		file := filepath.Join(GinkgoT().TempDir(), "resolv.conf")
		Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
		return file
	}

	DescribeTable("comes from the resolver configuration",
		func(text, domain string) {
			config, err := Config{}.withClusterDomain(resolver(text))
			Expect(err).NotTo(HaveOccurred())
			Expect(config.ClusterDomain).To(Equal(domain))
		},
		Entry("of the kubelet", "search a2a-system.svc.corp.example svc.corp.example corp.example lan\nnameserver 10.96.0.10\noptions ndots:5\n", "corp.example"),
		Entry("with a domain of one label", "search ns.svc.k8s svc.k8s k8s\n", "k8s"),
		Entry("with dots at the ends, in upper case", "search\tns.svc.Corp.Example. SVC.Corp.Example.\n", "corp.example"),
		Entry("whose last search line counts", "search svc.a.example\nsearch svc.b.example\n", "b.example"),
		Entry("whose last search line has no Services", "search svc.a.example\nsearch lan\n", "cluster.local"),
		Entry("of a machine", "nameserver 192.0.2.1\nsearch lan\n", "cluster.local"),
		Entry("with a comment", "# search svc.a.example\n", "cluster.local"),
		Entry("with nonsense", "search svc. svc.-a svc.a_b\nsearch\n\x00", "cluster.local"),
		Entry("that is empty", "", "cluster.local"),
	)

	It("is that of the flag, without a read", func() {
		config, err := Config{ClusterDomain: "corp.example"}.withClusterDomain(GinkgoT().TempDir())
		Expect(err).NotTo(HaveOccurred())
		Expect(config.ClusterDomain).To(Equal("corp.example"))
	})

	It("is cluster.local without a resolver configuration", func() {
		config, err := Config{}.withClusterDomain(filepath.Join(GinkgoT().TempDir(), "missing"))
		Expect(err).NotTo(HaveOccurred())
		Expect(config.ClusterDomain).To(Equal("cluster.local"))
	})

	It("needs a file that can be read and is not too large", func() {
		_, err := Config{}.withClusterDomain(GinkgoT().TempDir())
		Expect(err).To(MatchError(ContainSubstring("set --cluster-domain")))
		_, err = Config{}.withClusterDomain(resolver(strings.Repeat("#", maxResolverSize+1)))
		Expect(err).To(MatchError(ContainSubstring("larger than")))
	})

	DescribeTable("completes the URL of the registry",
		func(url, want string) {
			config, err := Config{ClusterDomain: "corp.example", RegistryURL: url}.withClusterDomain("")
			Expect(err).NotTo(HaveOccurred())
			Expect(config.RegistryURL).To(Equal(want))
		},
		Entry("of a Service", "http://registry.a2a.svc", "http://registry.a2a.svc.corp.example"),
		Entry("with a port", "https://registry.a2a.svc:8444", "https://registry.a2a.svc.corp.example:8444"),
		Entry("not one that has a domain", "http://registry.a2a.svc.cluster.local", "http://registry.a2a.svc.cluster.local"),
		Entry("not one outside of the cluster", "https://registry.example", "https://registry.example"),
		Entry("not without a registry", "", ""),
	)
})
