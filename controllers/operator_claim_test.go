// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/operatorclaim"
)

var _ = Describe("an Agent that two operators watch", func() {
	var first, second *fixture
	var agent *a2av1alpha1.Agent
	var lease *coordinationv1.Lease
	BeforeEach(func(ctx context.Context) {
		first = newFixture(ctx)
		second = newFixture(ctx)
		second.namespace = first.namespace
		first.clock = second.clock
		first.reconciler.config.Clock = second.clock
		first.reconciler.config.Operators = operatorclaim.New(first.namespace, "first", cluster, second.clock)
		second.reconciler.config.Operators = operatorclaim.New(first.namespace, "second", cluster, second.clock)
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: first.namespace, Name: operatorclaim.LeaseName("first")}}
		expectApplied(ctx, lease)
		agent = makeAgent(first.namespace, "echo")
		expectApplied(ctx, agent)
	})
	renew := func(ctx context.Context) {
		expectEdited(ctx, lease, func(l *coordinationv1.Lease) {
			l.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		})
	}
	left := func() bool {
		return meta.IsStatusConditionTrue(agent.Status.Conditions, a2av1alpha1.ConditionManagedByAnotherOperator)
	}

	It("is managed by the one that claims it first", func(ctx context.Context) {
		stale := agent.DeepCopy()
		first.expectReconciled(ctx, agent)
		Expect(first.requests[0]).To(Equal("apply Agent/status"), "the claim comes before the first object")
		Expect(agent.Status.Operator).To(Equal(first.namespace + "/first"))

		By("a second operator that has not seen the claim")
		second.requests = nil
		result, err := second.reconciler.Reconcile(ctx, stale)
		Expect(err).NotTo(HaveOccurred())
		Expect(second.requests).To(Equal([]string{"apply Agent/status"}), "the API server refuses the second claim")
		Expect(result.RequeueAfter).To(Equal(time.Second))

		By("a second operator that has seen it")
		seen := agent.DeepCopy()
		result = second.expectReconciled(ctx, agent)
		Expect(second.requests).To(Equal([]string{"apply Agent/status"}))
		Expect(result.RequeueAfter).To(Equal(operatorclaim.Recheck))
		expectCondition(agent, a2av1alpha1.ConditionManagedByAnotherOperator, "True ManagedByAnotherOperator",
			"Operator "+first.namespace+"/second", first.namespace+"/first manages it", a2av1alpha1.AnnotationOperator)
		Expect(second.newEvents()).To(ConsistOf(HavePrefix("Warning ManagedByAnotherOperator")))
		second.requests = nil
		_, err = second.reconciler.Reconcile(ctx, seen)
		Expect(err).NotTo(HaveOccurred())
		Expect(second.requests).To(BeEmpty(), "a cache that does not show the condition yet costs no write")
		second.expectInSync(ctx, agent)
		first.expectReconciled(ctx, agent)
		Expect(first.requests).To(BeEmpty(), "the condition of the second operator costs the first one no write")
		Expect(left()).To(BeTrue())

		By("the end of the second operator")
		for range 6 {
			first.expectReconciled(ctx, agent)
			second.clock.SetTime(second.clock.Now().Add(operatorclaim.Recheck))
		}
		Expect(left()).To(BeFalse())
		Expect(agent.Status.Operator).To(Equal(first.namespace + "/first"))
	})

	It("moves to the operator that its annotation names", func(ctx context.Context) {
		first.expectReconciled(ctx, agent)
		second.expectReconciled(ctx, agent)
		Expect(left()).To(BeTrue())
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Annotations = map[string]string{a2av1alpha1.AnnotationOperator: first.namespace + "/second"}
		})
		second.newEvents()
		second.expectReconciled(ctx, agent)
		Expect(agent.Status.Operator).To(Equal(first.namespace + "/second"))
		Expect(left()).To(BeFalse(), "the condition was of the operator that manages the Agent now")
		Expect(second.newEvents()).To(ContainElement(HavePrefix("Normal TakenOver")))
		first.expectReconciled(ctx, agent)
		Expect(first.requests).To(Equal([]string{"apply Agent/status"}), "the former operator leaves it alone, and says so")
		expectCondition(agent, a2av1alpha1.ConditionManagedByAnotherOperator, "True ManagedByAnotherOperator", "/first watches", "/second manages it")
	})

	It("is taken over five minutes after the last renewal of its operator's Lease", func(ctx context.Context) {
		first.expectReconciled(ctx, agent)
		for range 10 {
			renew(ctx)
			second.clock.SetTime(second.clock.Now().Add(operatorclaim.Recheck))
			second.expectReconciled(ctx, agent)
			Expect(agent.Status.Operator).To(Equal(first.namespace + "/first"))
		}
		for range 4 {
			second.clock.SetTime(second.clock.Now().Add(operatorclaim.Recheck))
			second.expectReconciled(ctx, agent)
			Expect(agent.Status.Operator).To(Equal(first.namespace + "/first"))
		}
		second.clock.SetTime(second.clock.Now().Add(operatorclaim.Recheck))
		second.expectReconciled(ctx, agent)
		Expect(agent.Status.Operator).To(Equal(first.namespace + "/second"))
		Expect(second.requests).To(ContainElement("apply Agent/status"))
	})

	It("is one of several whose AgentSkill has one operator, too", func(ctx context.Context) {
		skill := makeSkill(first.namespace, "echo", nil)
		expectApplied(ctx, skill)
		reconcile := func(f *fixture) {
			GinkgoHelper()
			f.requests = nil
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(skill), skill)).To(Succeed())
			_, err := NewAgentSkillReconciler(f.reconciler.config.Client, nil, &f.reconciler.config.Gather, f.clock, f.reconciler.config.Operators).Reconcile(ctx, skill.DeepCopy())
			Expect(err).NotTo(HaveOccurred())
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(skill), skill)).To(Succeed())
		}
		reconcile(first)
		Expect(skill.Status.Operator).To(Equal(first.namespace + "/first"))
		reconcile(second)
		Expect(second.requests).To(BeEmpty())
		Expect(skill.Status.Operator).To(Equal(first.namespace + "/first"))
	})
})
