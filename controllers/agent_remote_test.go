// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

var _ = Describe("a remote Agent", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	published := func(ctx context.Context, agent *a2av1alpha1.Agent) card.Card {
		GinkgoHelper()
		var c card.Card
		text := read[corev1.ConfigMap](ctx, agent, names.ConfigMap(agent.Name)).Data[sidecarconfig.CardFileName]
		Expect(json.Unmarshal([]byte(text), &c)).To(Succeed())
		return c
	}

	It("may have the addresses that the installation allows, which other sidecars know", func(ctx context.Context) {
		caller := makeAgent(f.namespace, "caller")
		expectApplied(ctx, caller)
		f.expectReconciled(ctx, caller)
		Expect(configurationOf(ctx, caller).Gateway.RemoteAllow).To(Equal([]string{"10.20.0.0/16"}))

		By("an operator that allows none")
		f.reconciler.config.Platform.RemoteAllow = nil
		f.expectReconciled(ctx, caller)
		Expect(configurationOf(ctx, caller).Gateway.RemoteAllow).To(BeEmpty())
	})

	It("has its card published and no other objects", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "far", func(a *a2av1alpha1.Agent) {
			a.Spec = a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: "https://far.example"}}
		})
		expectApplied(ctx, agent)
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionReady, "Unknown Pending", "The operator has not read the agent's card yet")
		expectCondition(agent, a2av1alpha1.ConditionExposed, "True ClusterOnly")
		f.expectInSync(ctx, agent)

		By("reading its card")
		f.cards.known = &state.Remote{Card: &state.RemoteCard{Text: `{"name":"Far"}`, Digest: "1", Skills: 2}}
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply ConfigMap", "apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
		Expect(agent.Status.URL).To(Equal("https://far.example"))
		Expect(agent.Status.Skills).To(HaveValue(BeEquivalentTo(2)))
		Expect(published(ctx, agent).Name).To(Equal("Far"))
		f.expectInSync(ctx, agent)

		By("losing its connection")
		f.cards.known = &state.Remote{Card: f.cards.known.Card, Failure: &state.Problem{
			Condition: a2av1alpha1.ConditionAvailable, Reason: a2av1alpha1.ReasonRemoteUnreachable, Message: "No answer",
		}}
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionReady, "False RemoteUnreachable", "No answer")
		Expect(f.newEvents()).To(ContainElement(HavePrefix("Warning RemoteUnreachable")))
		f.expectInSync(ctx, agent)

		By("an operator that has not read the card yet")
		f.cards.known = nil
		f.expectInSync(ctx, agent)
		Expect(published(ctx, agent).Name).To(Equal("Far"))

		By("a changed card")
		f.cards.known = &state.Remote{Card: &state.RemoteCard{Text: `{"name":"Farther"}`, Digest: "2"}}
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply ConfigMap", "apply Agent/status"}))
		Expect(published(ctx, agent).Name).To(Equal("Farther"))

		By("suspend")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Suspend = true })
		f.expectReconciled(ctx, agent)
		Expect(f.requests).To(Equal([]string{"apply Agent/status"}))
		expectCondition(agent, a2av1alpha1.ConditionReady, "False Suspended")
		f.expectInSync(ctx, agent)

		By("delete")
		Expect(f.cards.deleted).To(BeEmpty())
		Expect(cluster.Delete(ctx, agent)).To(Succeed())
		_, err := f.reconciler.ReconcileRequest(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(agent)})
		Expect(err).NotTo(HaveOccurred())
		Expect(f.cards.deleted).To(ConsistOf(client.ObjectKeyFromObject(agent)))
	})

	It("cannot replace an Agent with a workload", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		expectApplied(ctx, agent)
		agent.Spec = a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: "https://far.example"}}
		Expect(cluster.Update(ctx, agent)).To(MatchError(ContainSubstring("delete the Agent and create another")))
	})
})
