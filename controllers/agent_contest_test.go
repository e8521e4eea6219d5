// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	It("names the autoscaler of others that scales the Deployment", func(ctx context.Context) {
		agent := makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
		Expect(cluster.Create(ctx, &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "scaler"},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "echo"}, MaxReplicas: 9,
			},
		})).To(Succeed())
		for range 3 {
			scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 7}}
			Expect(cluster.SubResource("scale").Update(ctx, deploymentOf(ctx, agent), client.WithSubResourceBody(scale), client.FieldOwner("kube-controller-manager"))).To(Succeed())
			f.expectReconciled(ctx, agent)
		}
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True FieldsContested",
			`spec.replicas of Deployment "echo" by HorizontalPodAutoscaler "scaler" (manager "kube-controller-manager (scale)")`)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True FieldsContested", "delete the HorizontalPodAutoscaler")
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
