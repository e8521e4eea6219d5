// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"net/netip"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("a configuration", func() {
	var config Config
	BeforeEach(func() {
		config = Defaults()
		config.SidecarImage = "example/sidecar:1"
	})

	DescribeTable("is valid",
		func(namespaces ...string) {
			config.WatchNamespaces = namespaces
			Expect(config.Validate()).To(Succeed())
		},
		Entry("for all namespaces"),
		Entry("for one namespace", "team-a"),
		Entry("for two namespaces", "team-a", "b"),
	)

	DescribeTable("is rejected",
		func(change func(*Config), message string) {
			change(&config)
			Expect(config.Validate()).To(MatchError(ContainSubstring(message)))
		},
		Entry("without the image of the sidecar", func(c *Config) { c.SidecarImage = "" }, "--sidecar-image is required"),
		Entry("with a memory limit with which no sidecar starts", func(c *Config) { c.SidecarLimits = "memory=47Mi" }, "--sidecar-resources-limits has memory=47Mi, must be at least 48Mi"),
		Entry("with a memory limit that is no quantity", func(c *Config) { c.SidecarLimits = "memory=much" }, "--sidecar-resources-limits is"),
		Entry("with a limit of an unknown resource", func(c *Config) { c.SidecarLimits = "gpu=1" }, "--sidecar-resources-limits is"),
		Entry("with a negative request", func(c *Config) { c.SidecarRequests = "cpu=-1" }, "--sidecar-resources-requests is"),
		Entry("with two requests of a resource", func(c *Config) { c.SidecarRequests = "cpu=1,cpu=2" }, "--sidecar-resources-requests is"),
		Entry("with a request above the limit", func(c *Config) { c.SidecarRequests = "memory=512Mi" }, "--sidecar-resources-requests has memory=512Mi, must not be more than 256Mi"),
		Entry("with a negative user of the sidecar", func(c *Config) { c.SidecarUser = -1 }, "--sidecar-run-as-user"),
		Entry("with a cluster domain that has an empty label", func(c *Config) { c.ClusterDomain = "corp..example" }, "--cluster-domain"),
		Entry("with a cluster domain that ends with a dot", func(c *Config) { c.ClusterDomain = "cluster.local." }, "--cluster-domain"),
		Entry("with a registry that is no URL", func(c *Config) { c.RegistryURL = "registry:80" }, "--registry-url"),
		Entry("with a publisher that is no domain", func(c *Config) { c.RegistryPublisher = "agents_example" }, "--registry-publisher"),
		Entry("with a catalog outside of the cluster and no URL", func(c *Config) {
			c.RegistryOutsideBindAddress, c.RegistryPublisher = ":8445", "agents.example.com"
		}, "--registry-outside-url"),
		Entry("with a catalog outside of the cluster and no publisher", func(c *Config) {
			c.RegistryOutsideBindAddress, c.RegistryOutsideURL = ":8445", "https://agents.example.com"
		}, "--registry-publisher is required"),
		Entry("with a catalog outside of the cluster and a disabled registry", func(c *Config) {
			c.RegistryBindAddress, c.RegistryOutsideBindAddress, c.RegistryOutsideURL, c.RegistryPublisher = off, ":8445", "https://agents.example.com", "agents.example.com"
		}, "--registry-outside-bind-address needs the registry"),
		Entry("with peers and no publisher", func(c *Config) {
			c.RegistryPeersFile, c.RegistryURL = "/peers.yaml", "http://registry.a2a.svc"
		}, "--registry-peers-file needs --registry-url and --registry-publisher"),
		Entry("with another kind of hook", func(c *Config) { c.SidecarPreStop = "Sleep" }, "--sidecar-pre-stop is"),
		Entry("with a proxy at localhost", func(c *Config) { c.EgressProxy.URL = "http://localhost:3128" }, "--egress-proxy-url and --egress-proxy-no-proxy: url must not name localhost"),
		Entry("with hosts and no proxy", func(c *Config) { c.EgressProxy.NoProxy = []string{"*"} }, "need --egress-proxy-url"),
		Entry("with a Secret of a proxy that is no name", func(c *Config) { c.EgressProxy = EgressProxy{URL: "http://proxy", Secret: "A b"} }, "--egress-proxy-secret is"),
		Entry("with a model and no endpoint for embeddings", func(c *Config) { c.RegistryEmbeddings.Model = "m" }, "need --registry-embeddings-url"),
		Entry("with an endpoint for embeddings and no model", func(c *Config) { c.RegistryEmbeddings.URL = "https://models.example/" }, "--registry-embeddings-model is empty"),
		Entry("with an endpoint for embeddings that is no URL", func(c *Config) {
			c.RegistryEmbeddings = RegistryEmbeddings{URL: "models.example", Model: "m"}
		}, "--registry-embeddings-url must be"),
		Entry("with a certificate for a registry at http", func(c *Config) { c.RegistryCertDir, c.RegistryURL = "/tls", "http://registry.a2a.svc" }, "--registry-url"),
		Entry("with the URL of a disabled registry", func(c *Config) { c.RegistryBindAddress, c.RegistryURL = off, "http://registry.a2a.svc" }, "remove one of the two flags"),
		Entry("with an issuer at http", func(c *Config) { c.RegistryOIDC.Issuer, c.RegistryOIDC.Audience = "http://login.example", "a" }, "--registry-oidc-issuer"),
		Entry("with an issuer without an audience", func(c *Config) { c.RegistryOIDC.Issuer = "https://login.example" }, "--registry-oidc-audience"),
		Entry("with an issuer without a user name claim", func(c *Config) {
			c.RegistryOIDC = RegistryOIDC{Issuer: "https://login.example", Audience: "a"}
		}, "--registry-oidc-username-claim"),
		Entry("with pprof at all addresses", func(c *Config) { c.PprofBindAddress = ":6060" }, "--pprof-bind-address is \":6060\", must be a loopback address"),
		Entry("with pprof at the address of the pod", func(c *Config) { c.PprofBindAddress = "10.0.0.1:6060" }, "must be a loopback address"),
		Entry("with pprof at a host name", func(c *Config) { c.PprofBindAddress = "localhost:6060" }, "must be a loopback address"),
		Entry("with a page and no issuer", func(c *Config) {
			c.UI = UI{BindAddress: ":8446", URL: "https://agents.example.com"}
		}, "--registry-oidc-issuer, whose tokens the page accepts"),
		Entry("with a page at http", func(c *Config) { c.UI.BindAddress, c.UI.URL = ":8446", "http://agents.example.com" }, "--ui-url"),
		Entry("with a page below a path", func(c *Config) { c.UI.BindAddress, c.UI.URL = ":8446", "https://agents.example.com/a" }, "--ui-url"),
		Entry("with a sign-out at another host", func(c *Config) { c.UI.BindAddress, c.UI.SignOutPath = ":8446", "//a.example/out" }, "--ui-sign-out-path"),
		Entry("with a sign-out without a slash", func(c *Config) { c.UI.BindAddress, c.UI.SignOutPath = ":8446", "out" }, "--ui-sign-out-path"),
		Entry("without a worker", func(c *Config) { c.MaxConcurrentReconciles = 0 }, "--max-concurrent-reconciles"),
		Entry("with remote agents at loopback", func(c *Config) { c.RemoteAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }, "--remote-allow"),
	)

	// The manager would watch a namespace with an invalid name forever without an event. An
	// empty name means all namespaces.
	DescribeTable("is rejected for an invalid namespace",
		func(namespace, quoted string) {
			config.WatchNamespaces = []string{"a", namespace}
			Expect(config.Validate()).To(MatchError(ContainSubstring("--watch-namespaces names " + quoted)))
		},
		Entry("with a space", " b", `" b"`),
		Entry("with a capital letter", "Team", `"Team"`),
		Entry("that is a pattern", "*", `"*"`),
		Entry("with a dot", "a.b", `"a.b"`),
		Entry("that is empty, after a trailing comma", "", `""`),
		Entry("that is a variable that Kubernetes has not expanded", "$(TEAM)", `"$(TEAM)"`),
		Entry("longer than 63 characters", strings.Repeat("a", 64), `"aaaa`),
		Entry("with an underscore", "namespa_e", `"namespa_e"`),
	)
})
