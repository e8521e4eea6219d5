// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("the NetworkPolicy of an Agent", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	policyOf := func(ctx context.Context, agent *a2av1alpha1.Agent) (*networkingv1.NetworkPolicy, error) {
		policy := &networkingv1.NetworkPolicy{}
		return policy, cluster.Get(ctx, client.ObjectKeyFromObject(agent), policy)
	}

	It("allows the sidecar's ports and is repaired", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		policy, err := policyOf(ctx, agent)
		Expect(err).NotTo(HaveOccurred())
		Expect(metav1.IsControlledBy(policy, agent)).To(BeTrue())
		ports := []int{}
		for _, p := range policy.Spec.Ingress[0].Ports {
			ports = append(ports, p.Port.IntValue())
		}
		Expect(ports).To(Equal([]int{8641, 8642}))

		expectEdited(ctx, policy, func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress = nil })
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply NetworkPolicy"}))
		policy, err = policyOf(ctx, agent)
		Expect(err).NotTo(HaveOccurred())
		Expect(policy.Spec.Ingress).To(HaveLen(1))
		f.expectInSync(ctx, agent)
	})

	It("is deleted and created with spec.networkPolicy.management", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.NetworkPolicy.Management = a2av1alpha1.NetworkPolicyNone })
		f.expectReconciled(ctx, agent)
		_, err := policyOf(ctx, agent)
		Expect(apierrors.IsNotFound(err)).To(BeTrue())
		f.expectInSync(ctx, agent)

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.NetworkPolicy.Management = a2av1alpha1.NetworkPolicyManaged })
		f.expectReconciled(ctx, agent)
		_, err = policyOf(ctx, agent)
		Expect(err).NotTo(HaveOccurred())
	})

	It("is not deleted if a user owns it", func(ctx context.Context) {
		own := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "echo"}}
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) {
			a.Spec.NetworkPolicy.Management = a2av1alpha1.NetworkPolicyNone
		})
		expectApplied(ctx, own, agent)
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True Programmed")
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(own), own)).To(Succeed())
	})
})

var _ = Describe("a suspended Agent", func() {
	It("has no pods, keeps its objects, reports it and resumes", func(ctx context.Context) {
		f := newFixture(ctx)
		agent := makeAgent(f.namespace, "echo", func(a *a2av1alpha1.Agent) { a.Spec.Suspend = true })
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Replicas).To(HaveValue(BeZero()))
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "False Suspended", "spec.suspend")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False Suspended")
		f.expectInSync(ctx, agent)

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = false })
		f.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "False RolloutInProgress")
	})
})
