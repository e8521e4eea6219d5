// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// hostileSpecs are the specs that cost most, each in an own Agent. number makes the texts of each
// Agent different, so that no cache helps.
func hostileSpecs(number int) []func(*a2av1alpha1.AgentSpec) {
	schema := func(text string) func(*a2av1alpha1.AgentSpec) {
		return func(spec *a2av1alpha1.AgentSpec) {
			spec.Skills = []a2av1alpha1.Skill{{ID: "s", SkillDetails: a2av1alpha1.SkillDetails{
				Name: "s", Description: "S.", Tags: []string{"s"}, InputSchema: &runtime.RawExtension{Raw: []byte(text)},
			}}}
		}
	}
	rules := func(expression string) func(*a2av1alpha1.AgentSpec) {
		return func(spec *a2av1alpha1.AgentSpec) {
			for i := range 32 {
				spec.Access.Authorization = append(spec.Access.Authorization, a2av1alpha1.AuthorizationRule{
					Action: a2av1alpha1.AuthorizationAllow, Expression: fmt.Sprintf("%d==%d||%s", number, i, expression),
				})
			}
		}
	}
	return []func(*a2av1alpha1.AgentSpec){
		schema(fmt.Sprintf(`{"$comment":"%d","items":%s{}%s}`, number, strings.Repeat(`{"items":`, 2700), strings.Repeat("}", 2700))),
		schema(fmt.Sprintf(`{"$comment":"%d","multipleOf":1e-999999999}`, number)),
		schema(fmt.Sprintf(`{"$comment":"%d","properties":{"%s":{"enum":[0%s]}}}`, number, strings.Repeat("k", 20_000), strings.Repeat(",{}", 1900))),
		rules(strings.Repeat("type({1:", 95) + "1" + strings.Repeat("})", 95) + "==1"),
		rules("[1]" + strings.Repeat(".map(a,{a:a})", 70) + "==[]"),
	}
}

var _ = It("gives each namespace its share, also while another one costs as much as it can", func(ctx context.Context) {
	hostile, quiet := createNamespace(ctx, "hostile-"), createNamespace(ctx, "quiet-")
	refused := map[string]*a2av1alpha1.Agent{}
	for number := range 6 {
		for kind, change := range hostileSpecs(number) {
			agent := makeAgent(hostile, fmt.Sprintf("costly-%d-%d", kind, number))
			change(&agent.Spec)
			Expect(cluster.Create(ctx, agent)).To(Succeed())
			refused[agent.Name] = agent
		}
	}
	agent := createAgent(ctx, quiet, "echo")
	began := time.Now()
	Eventually(func(ctx context.Context) error {
		return cluster.Get(ctx, client.ObjectKeyFromObject(agent), &appsv1.Deployment{})
	}).WithContext(ctx).Should(Succeed())
	GinkgoWriter.Println("the Deployment of the other namespace exists after", time.Since(began))

	for name, agent := range refused {
		condition := a2av1alpha1.ConditionSkillsResolved
		want := a2av1alpha1.ReasonInvalidSchema
		if len(agent.Spec.Skills) == 0 {
			condition = a2av1alpha1.ConditionAccepted
			want = a2av1alpha1.ReasonInvalidAuthorization
		}
		Eventually(currentReason(agent, condition)).WithContext(ctx).Should(Equal(want), name)
	}
})
