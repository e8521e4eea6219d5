//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("The registry", func() {
	It("finds an agent by skill for callers who may see it, on every replica", func(ctx SpecContext) {
		ns := namespace(ctx)
		agent := create(ctx, newAgent(ns, "findable", withSkill("needle")))
		expectReady(ctx, agent)
		found := func(base, token string) []string {
			GinkgoHelper()
			return agentsAt(ctx, Default, caller(token), base+"/v1/agents?skill=needle&namespace="+ns)
		}
		own := token(ctx, ns, a2av1alpha1.Audience)
		foreign := token(ctx, operatorNamespace, a2av1alpha1.Audience)

		// Another test may have just replaced the replicas, so wait until both are ready.
		var replicas []corev1.Pod
		Eventually(ctx, func() []corev1.Pod {
			replicas = managers(ctx)
			return replicas
		}).Should(HaveLen(2))
		for _, pod := range replicas {
			base := "http://" + net.JoinHostPort(pod.Status.PodIP, "8444")
			Eventually(ctx, found).WithArguments(base, own).Should(ConsistOf(ns + "/findable"))
			Expect(found(base, foreign)).To(BeEmpty(), "callers of other namespaces need RBAC")
		}

		By("serving the same bytes of the card")
		base := "http://" + net.JoinHostPort(replicas[0].Status.PodIP, "8444")
		_, served := get(ctx, caller(""), serviceURL(agent)+"/.well-known/agent-card.json")
		_, passed := get(ctx, caller(own), base+"/v1/agents/"+ns+"/findable/card")
		Expect(passed).To(Equal(served))

		response, _ := get(ctx, caller(""), base+"/v1/agents")
		Expect(response.StatusCode).To(Equal(http.StatusUnauthorized))
	})

	It("lets the researcher find the echo agent and call it", func(ctx SpecContext) {
		ns := namespace(ctx)
		run(ctx, "kubectl", "apply", "--server-side", "--namespace", ns, "-k", setting("SAMPLES"))
		for _, name := range []string{"echo", "researcher"} {
			agent := &a2av1alpha1.Agent{}
			agent.Namespace, agent.Name = ns, name
			expectReady(ctx, agent)
		}
		researcher := &a2av1alpha1.Agent{}
		researcher.Namespace, researcher.Name = ns, "researcher"
		Eventually(ctx, func(g Gomega) {
			got, err := sendText(ctx, researcher, "Please research the history of tea in detail")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.State).To(Equal("completed"))
			g.Expect(strings.ToLower(got.Text)).To(ContainSubstring("echo"))
		}).Should(Succeed())
	})
})

// managers returns the operator's pods that are ready and not being deleted.
func managers(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(cluster.List(ctx, list, client.InNamespace(operatorNamespace))).To(Succeed())
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
}
