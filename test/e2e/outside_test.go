//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/test/controlplane"
)

// outsideURL is the URL of the listener that serves the catalog for clients outside of the cluster. The node has no Gateway,
// so the test calls the Service to which the HTTPRoute of the chart leads.
const outsideURL = "http://" + release + "-registry." + operatorNamespace + ".svc:8445"

var _ = Describe("The catalog outside of the cluster", func() {
	It("has the public agents with an external URL, and nothing else", func(ctx SpecContext) {
		installGatewayAPI(ctx)
		ns := namespace(ctx)
		gateway := &gatewayv1.Gateway{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "public"},
			Spec: gatewayv1.GatewaySpec{GatewayClassName: "none", Listeners: []gatewayv1.Listener{
				{Name: "web", Port: 80, Protocol: gatewayv1.HTTPProtocolType},
			}},
		}
		Eventually(ctx, func() error { return cluster.Create(ctx, gateway) }).Should(Succeed(), "the API server serves the new kind")
		DeferCleanup(func(ctx SpecContext) { installChart(ctx) })
		installChart(ctx, "--set", "registry.publisher=agents.example.com", "--set", "registry.outside.enabled=true",
			"--set", "registry.outside.hostnames={catalog.example.com}", "--set", "registry.outside.parentRefs[0].name=public",
			"--set", "registry.outside.parentRefs[0].namespace="+ns,
			"--set", "exposure.allowed[0].namespaces={"+ns+"}", "--set", "exposure.allowed[0].hostnames={agents.example.com}")

		exposed := func(path string) func(*a2av1alpha1.Agent) {
			return func(a *a2av1alpha1.Agent) {
				a.Spec.Exposure = &a2av1alpha1.AgentExposure{
					ParentRefs: []a2av1alpha1.GatewayRef{{Name: "public"}}, Hostnames: []a2av1alpha1.Hostname{"agents.example.com"}, Path: path,
				}
			}
		}
		visible := func(visibility a2av1alpha1.Visibility) func(*a2av1alpha1.Agent) {
			return func(a *a2av1alpha1.Agent) { a.Spec.Discovery.Visibility = visibility }
		}
		open := create(ctx, newAgent(ns, "open", withSkill("paint"), exposed("/open"), visible(a2av1alpha1.VisibilityPublic)))
		shared := create(ctx, newAgent(ns, "shared", withSkill("paint"), exposed("/shared"), visible(a2av1alpha1.VisibilityFederated)))
		hidden := create(ctx, newAgent(ns, "hidden", withSkill("paint"), exposed("/hidden")))
		inside := create(ctx, newAgent(ns, "inside", withSkill("paint"), visible(a2av1alpha1.VisibilityPublic)))
		for _, agent := range []*a2av1alpha1.Agent{open, shared, hidden} {
			acceptRoute(ctx, agent)
		}
		for _, agent := range []*a2av1alpha1.Agent{open, shared, hidden, inside} {
			expectReady(ctx, agent)
		}

		service := &corev1.Service{}
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(open), service)).To(Succeed())
		client := caller("")
		read := func(path string) string {
			GinkgoHelper()
			response, body := get(ctx, client, outsideURL+path)
			Expect(response.StatusCode).To(Equal(http.StatusOK), body)
			return body
		}
		catalogURL := "https://catalog.example.com/ard/catalogs/" + ns
		Eventually(ctx, func() string { return read("/.well-known/ard.json") }).Should(ContainSubstring(`"` + catalogURL + `"`))
		entries, found := read("/ard/catalogs/"+ns), searchOutside(ctx, client, "painting")
		for _, text := range []string{entries, found} {
			Expect(text).To(ContainSubstring(":" + ns + ":open"))
			Expect(text).NotTo(Or(ContainSubstring(":shared"), ContainSubstring(":hidden"), ContainSubstring(":inside")))
			Expect(text).NotTo(Or(ContainSubstring(".svc"), ContainSubstring(pods(ctx, open)[0].Status.PodIP), ContainSubstring(service.Spec.ClusterIP)), "no address of the cluster")
		}
		Expect(found).To(ContainSubstring("http://agents.example.com/open/.well-known/agent-card.json"))

		By("serving no other path, and taking no credentials")
		for _, path := range []string{"/v1/agents", "/.well-known/agent-card.json", "/metrics", "/ui"} {
			response, _ := get(ctx, client, outsideURL+path)
			Expect(response.StatusCode).To(Equal(http.StatusNotFound), path)
		}
		response, body := get(ctx, caller(token(ctx, ns, a2av1alpha1.Audience)), outsideURL+"/.well-known/ard.json")
		Expect(response.StatusCode).To(Equal(http.StatusBadRequest), body)

		By("withdrawing an agent that is no longer public")
		update(ctx, open, visible(a2av1alpha1.VisibilityCluster))
		Eventually(ctx, func() string { return read("/.well-known/ard.json") }).ShouldNot(ContainSubstring(catalogURL))
	})
})

// installGatewayAPI installs the CRDs of the Gateway API until the end of the test.
func installGatewayAPI(ctx context.Context) {
	GinkgoHelper()
	files, err := controlplane.GatewayAPI(ctx)
	Expect(err).NotTo(HaveOccurred())
	arguments := []string{"--filename", strings.Join(files, ",")}
	DeferCleanup(func(ctx SpecContext) {
		run(ctx, "kubectl", append([]string{"delete", "--ignore-not-found", "--wait"}, arguments...)...)
	})
	run(ctx, "kubectl", append([]string{"apply", "--server-side"}, arguments...)...)
	run(ctx, "kubectl", append([]string{"wait", "--for", "condition=Established", "--timeout", "30s"}, arguments...)...)
}

// acceptRoute sets the status of an agent's HTTPRoute to accepted, like the controller of a Gateway.
func acceptRoute(ctx context.Context, agent *a2av1alpha1.Agent) {
	GinkgoHelper()
	route := &gatewayv1.HTTPRoute{}
	Eventually(ctx, func() error {
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), route); err != nil {
			return err
		}
		route.Status.Parents = []gatewayv1.RouteParentStatus{{
			ParentRef: route.Spec.ParentRefs[0], ControllerName: "example.com/test",
			Conditions: []metav1.Condition{{
				Type: string(gatewayv1.RouteConditionAccepted), Status: metav1.ConditionTrue, Reason: string(gatewayv1.RouteReasonAccepted),
				LastTransitionTime: metav1.NewTime(time.Now()), ObservedGeneration: route.Generation,
			}},
		}}
		return cluster.Status().Update(ctx, route)
	}).Should(Succeed(), "HTTPRoute of %s", agent.Name)
}

// searchOutside returns the answer to a search by words.
func searchOutside(ctx context.Context, client *http.Client, words string) string {
	GinkgoHelper()
	query, err := json.Marshal(map[string]any{"query": map[string]any{"text": words}})
	Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, outsideURL+"/ard/search", strings.NewReader(string(query)))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	Expect(response.StatusCode).To(Equal(http.StatusOK))
	var answer json.RawMessage
	Expect(json.NewDecoder(response.Body).Decode(&answer)).To(Succeed())
	return string(answer)
}
