// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("an Agent that others interfere with", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })

	It("names a field that another program sets again and again, and its manager", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		for range 3 {
			deployment := deploymentOf(ctx, agent)
			before := deployment.DeepCopy()
			deployment.Spec.Replicas = new(int32(7))
			Expect(cluster.Patch(ctx, deployment, client.MergeFrom(before), client.FieldOwner("scaler-of-others"))).To(Succeed())
			f.expectReconciled(ctx, agent)
			Expect(*deploymentOf(ctx, agent).Spec.Replicas).To(BeEquivalentTo(1))
		}
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True FieldsContested", `spec.replicas of Deployment "echo" by manager "scaler-of-others"`)
		Expect(f.newEvents()).To(ContainElement(HavePrefix("Warning FieldsContested")))
	})

	It("leaves a pod of others alone, and names it", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		foreign := runDeployment(ctx, agent, "intruder", true, f.runningNow())
		foreign.OwnerReferences = nil
		Expect(cluster.Update(ctx, foreign)).To(Succeed())
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True ForeignPodServes", `"intruder"`)
		expectCondition(agent, a2av1alpha1.ConditionReady, "True ForeignPodServes")
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
		Expect(foreign.Annotations).NotTo(HaveKey(a2av1alpha1.AnnotationConfigDigest))
	})
})
