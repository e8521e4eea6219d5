//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/test/docs/blocks"
)

var _ = Describe("An agent behind an Ingress", func() {
	It("has the address of the page on its card, at which an SDK calls it", func(ctx SpecContext) {
		ns := namespace(ctx)
		agent := newAgent(ns, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.Exposure = documented[a2av1alpha1.Agent]("    url: https://").Spec.Exposure
		})
		ingress := documented[networkingv1.Ingress]("kind: Ingress")
		ingress.Namespace = ns
		host := ingress.Spec.Rules[0].Host
		DeferCleanup(func(ctx SpecContext) { installChart(ctx) })
		installChart(ctx, "--set", "exposure.allowed[0].namespaces={"+ns+"}", "--set", "exposure.allowed[0].hostnames={"+host+"}")
		Expect(cluster.Create(ctx, ingress)).To(Succeed())
		create(ctx, agent)
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionExposed).WithTimeout(150 * time.Second).Should(HavePrefix("True"))
		expectReady(ctx, agent)

		proxy := serveIngress(client.ObjectKeyFromObject(ingress))
		outside := &http.Client{Transport: bearer{token: token(ctx, ns, audience(agent)), next: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: proxy.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "example.com"},
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if address != host+":443" {
					return nil, fmt.Errorf("%s is an address inside of the cluster", address)
				}
				return (&net.Dialer{}).DialContext(ctx, network, proxy.Listener.Addr().String())
			},
		}}}
		url := agent.Spec.Exposure.URL
		Eventually(ctx, func() string {
			_, body := get(ctx, outside, url+"/.well-known/agent-card.json")
			return body
		}).WithTimeout(150 * time.Second).Should(And(ContainSubstring(`"`+url+`/"`), Not(ContainSubstring(".svc"))))
		one, err := newSDKV1(ctx, outside, url)
		Expect(err).NotTo(HaveOccurred())
		Expect(one.send(ctx, "hello")).To(And(HaveField("State", "completed"), HaveField("Text", "hello")))
		var arrivals []time.Time
		for e, err := range one.stream(ctx, "stream 10 50ms") {
			Expect(err).NotTo(HaveOccurred())
			if e.Text != "" {
				arrivals = append(arrivals, time.Now())
			}
		}
		Expect(arrivals).To(HaveLen(10))
		Expect(arrivals[9].Sub(arrivals[0])).To(BeNumerically(">", 300*time.Millisecond), "chunks arrive while the agent writes")
	})
})

// documented returns the object of the page on exposure whose YAML contains a text.
func documented[T any](text string) *T {
	GinkgoHelper()
	all, err := blocks.Read("../..", "docs/how-to/exposure.md")
	Expect(err).NotTo(HaveOccurred())
	for _, b := range all {
		if b.Language == "yaml" && strings.Contains(b.Text, text) {
			object := new(T)
			Expect(yaml.UnmarshalStrict([]byte(b.Text), object)).To(Succeed(), b.String())
			return object
		}
	}
	Fail("the page has no block with " + text)
	return nil
}

// serveIngress serves an Ingress with TLS until the end of the test, as a controller does that removes the path of the rule.
func serveIngress(key client.ObjectKey) *httptest.Server {
	server := httptest.NewTLSServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Transport:     &http.Transport{DialContext: dialService},
		Rewrite: func(r *httputil.ProxyRequest) {
			ingress := &networkingv1.Ingress{}
			if err := cluster.Get(r.In.Context(), key, ingress); err != nil {
				GinkgoWriter.Println(err)
			}
			r.Out.Host = r.In.Host
			r.Out.URL.Scheme = "http"
			r.Out.URL.Host = ""
			for _, rule := range ingress.Spec.Rules {
				for _, path := range rule.HTTP.Paths {
					rest, found := strings.CutPrefix(r.In.URL.Path, path.Path)
					if rule.Host == r.In.Host && found && (rest == "" || rest[0] == '/') {
						r.Out.URL.Path = "/" + strings.TrimPrefix(rest, "/")
						r.Out.URL.RawPath = ""
						r.Out.URL.Host = fmt.Sprintf("%s.%s.svc:%d", path.Backend.Service.Name, key.Namespace, path.Backend.Service.Port.Number)
					}
				}
			}
			r.SetXForwarded()
		},
	})
	DeferCleanup(server.Close)
	return server
}
