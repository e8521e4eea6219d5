// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// operatorOf returns a function that returns the operator of an Agent.
func operatorOf(agent *a2av1alpha1.Agent) func(context.Context) string {
	return func(ctx context.Context) string {
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
			return err.Error()
		}
		return agent.Status.Operator
	}
}

var _ = It("leaves the Agents of another operator alone until their annotations name it", Serial, func(ctx context.Context) {
	number := 5
	if text := os.Getenv("A2A_TWO_OPERATORS"); text != "" {
		var err error
		number, err = strconv.Atoi(text)
		Expect(err).NotTo(HaveOccurred())
	}
	namespace := createNamespace(ctx, "contested-")
	own, other := leaseNamespace+"/"+Defaults().Name, leaseNamespace+"/second"
	var agents []*a2av1alpha1.Agent
	for i := range number {
		agents = append(agents, createAgent(ctx, namespace, fmt.Sprintf("echo-%d", i)))
	}
	for _, agent := range agents {
		Eventually(operatorOf(agent)).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(own))
	}

	By("a second operator that watches the same Agents")
	second := &writes{}
	config := managerConfig()
	config.Name = "second"
	config.RegistryBindAddress = off
	credentials := second.recording(environment.Config)
	run := func() (end func()) {
		running, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- Run(running, credentials, config, GinkgoLogr) }()
		return func() {
			cancel()
			Expect(<-done).To(Succeed())
		}
	}
	end := run()
	defer func() { end() }()
	for _, agent := range agents {
		Eventually(reason(agent, a2av1alpha1.ConditionManagedByAnotherOperator)).WithContext(ctx).WithTimeout(2 * time.Minute).
			Should(Equal(a2av1alpha1.ReasonManagedByAnotherOperator))
		editAgent(ctx, agent, func(spec *a2av1alpha1.AgentSpec) { spec.Description = "Edited." })
	}
	for _, agent := range agents {
		Eventually(func(ctx context.Context) int64 {
			_ = operatorOf(agent)(ctx)
			return agent.Status.ObservedGeneration
		}).WithContext(ctx).WithTimeout(time.Minute).Should(BeEquivalentTo(2), "the first operator goes on")
		Expect(agent.Status.Operator).To(Equal(own))
	}
	Expect(second.of(namespace)).To(HaveLen(number), "the second operator writes one condition for each Agent")
	for _, request := range second.of(namespace) {
		Expect(request).To(And(HavePrefix("PATCH "), HaveSuffix("/status")))
	}

	if text := os.Getenv("A2A_TWO_OPERATORS_FOR"); text != "" {
		duration, err := time.ParseDuration(text)
		Expect(err).NotTo(HaveOccurred())
		By("edits, and operators that stop and start")
		edits := 0
		restarts := 0
		for begin := time.Now(); time.Since(begin) < duration; restarts++ {
			for i := range min(20, number) {
				agent := agents[(edits+i)%number]
				editAgent(ctx, agent, func(spec *a2av1alpha1.AgentSpec) { spec.Description = fmt.Sprintf("Edit %d.", edits+i) })
			}
			edits += min(20, number)
			if restarts%2 == 0 {
				end()
				end = run()
			} else {
				stop()
				stop = start()
			}
		}
		for _, agent := range agents {
			Eventually(func(ctx context.Context) bool {
				_ = operatorOf(agent)(ctx)
				return agent.Status.ObservedGeneration == agent.Generation && agent.Status.Operator == own
			}).WithContext(ctx).WithTimeout(2*time.Minute).Should(BeTrue(), "the first operator goes on")
		}
		GinkgoWriter.Printf("%d Agents, %d edits, %d restarts: %d writes of the second operator\n", number, edits, restarts, len(second.of(namespace)))
		Expect(second.of(namespace)).To(HaveLen(number), "the second operator writes nothing more")
	}

	By("one Agent that moves")
	moved := agents[0]
	Expect(cluster.Get(ctx, client.ObjectKeyFromObject(moved), moved)).To(Succeed())
	before := moved.DeepCopy()
	moved.Annotations = map[string]string{a2av1alpha1.AnnotationOperator: other}
	Expect(cluster.Patch(ctx, moved, client.MergeFrom(before))).To(Succeed())
	Eventually(operatorOf(moved)).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(other))
	Eventually(message(moved, a2av1alpha1.ConditionManagedByAnotherOperator)).WithContext(ctx).WithTimeout(time.Minute).
		Should(ContainSubstring("Operator " + own + " watches"))
	Consistently(func(ctx context.Context) string { return operatorOf(moved)(ctx) }).WithContext(ctx).WithTimeout(2 * time.Second).Should(Equal(other))
	Expect(operatorOf(agents[1])(ctx)).To(Equal(own))
})
