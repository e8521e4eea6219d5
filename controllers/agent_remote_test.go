// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

var _ = Describe("an Agent that runs elsewhere", func() {
	var b *bench
	BeforeEach(func(ctx context.Context) { b = newBench(ctx) })

	published := func(ctx context.Context, agent *a2av1alpha1.Agent) card.Card {
		GinkgoHelper()
		var c card.Card
		text := read[corev1.ConfigMap](ctx, agent, names.ConfigMap(agent.Name)).Data[sidecarconfig.CardFileName]
		Expect(json.Unmarshal([]byte(text), &c)).To(Succeed())
		return c
	}

	It("may be where the installation allows, which sidecars of others are told", func(ctx context.Context) {
		caller := makeAgent(b.namespace, "caller")
		expectApplied(ctx, caller)
		b.expectReconciled(ctx, caller)
		Expect(contractOf(ctx, caller).Gateway.RemoteAllow).To(Equal([]string{"10.20.0.0/16"}))

		By("another operator, which allows nothing")
		b.reconciler.platform.RemoteAllow = nil
		b.expectReconciled(ctx, caller)
		Expect(contractOf(ctx, caller).Gateway.RemoteAllow).To(BeEmpty())
	})

	It("has its card published, and nothing else", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "far", func(a *a2av1alpha1.Agent) {
			a.Spec = a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: "https://far.example"}}
		})
		expectApplied(ctx, agent)
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionReady, "Unknown Pending", "Waiting for the agent's card")
		expectCondition(agent, a2av1alpha1.ConditionExposed, "True ClusterOnly")
		b.expectConverged(ctx, agent)

		By("a card that was read")
		b.cards.known = &clusterstate.Remote{Card: &card.Card{Name: "Far", Skills: []card.Skill{{ID: "a"}, {ID: "b"}}}}
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply ConfigMap", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
		Expect(agent.Status.URL).To(Equal("https://far.example"))
		Expect(agent.Status.Skills).To(HaveValue(BeEquivalentTo(2)))
		Expect(published(ctx, agent).Name).To(Equal("Far"))
		b.expectConverged(ctx, agent)

		By("an agent that cannot be reached any more")
		b.cards.known = &clusterstate.Remote{Card: b.cards.known.Card, Failure: &usererror.Problem{
			Condition: a2av1alpha1.ConditionAvailable, Reason: a2av1alpha1.ReasonRemoteUnreachable, Message: "Nobody answers",
		}}
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionReady, "False RemoteUnreachable", "Nobody answers")
		Expect(b.happened()).To(ContainElement(HavePrefix("Warning RemoteUnreachable")))
		b.expectConverged(ctx, agent)

		By("another operator, which has read nothing yet")
		b.cards.known = nil
		b.expectConverged(ctx, agent)
		Expect(published(ctx, agent).Name).To(Equal("Far"))

		By("a card that changes")
		b.cards.known = &clusterstate.Remote{Card: &card.Card{Name: "Farther"}}
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply ConfigMap", "apply Agent/status"}))
		Expect(published(ctx, agent).Name).To(Equal("Farther"))

		By("suspend")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = true })
		b.expectReconciled(ctx, agent)
		Expect(b.requests).To(Equal([]string{"apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionReady, "False Suspended")
		b.expectConverged(ctx, agent)
	})

	It("cannot become one with a workload", func(ctx context.Context) {
		agent := makeAgent(b.namespace, "echo")
		expectApplied(ctx, agent)
		agent.Spec = a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: "https://far.example"}}
		Expect(cluster.Update(ctx, agent)).To(MatchError(ContainSubstring("delete it and create another")))
	})
})
