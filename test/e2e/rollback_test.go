//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("An agent that got worse", func() {
	// rollback goes back by one command.
	rollback := func(ctx context.Context, agent *a2av1alpha1.Agent, flags ...string) {
		GinkgoHelper()
		run(ctx, "kubectl", append([]string{"a2a", "rollback", agent.Name, "--namespace", agent.Namespace}, flags...)...)
	}
	image := func(name string) func(*a2av1alpha1.Agent) {
		return func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Image = name }
	}
	// awaitPinned waits until the operator runs a revision in place of the spec. A policy that rewrites gives the condition another reason.
	awaitPinned := func(ctx context.Context, agent *a2av1alpha1.Agent) {
		GinkgoHelper()
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionProgrammed).
			Should(And(HavePrefix("True"), ContainSubstring("because spec.workload.revision names it")))
	}
	awaitReady := func(ctx context.Context, agent *a2av1alpha1.Agent, prefix string) {
		GinkgoHelper()
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionReady).WithTimeout(2 * time.Minute).Should(HavePrefix(prefix))
	}

	It("goes back from a bad image and a bad sidecar by one command, and by itself where asked, and keeps its tasks", func(ctx SpecContext) {
		agent := create(ctx, newAgent(namespace(ctx), "echo"))
		expectReady(ctx, agent)
		one := connect(ctx, agent)
		kept, err := one.send(ctx, "kept")
		Expect(err).NotTo(HaveOccurred())
		turn := make(chan string, 1)
		running, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			state := "no end"
			for e, err := range one.stream(running, "stream 100000 100ms") {
				if err != nil {
					state = err.Error()
					break
				}
				if e.State != "" {
					state = e.State
				}
			}
			turn <- state
		}()

		By("going back from a bad image by one command")
		update(ctx, agent, image("a2a-operator/nobody-built-it:dev"))
		awaitReady(ctx, agent, "False")
		rollback(ctx, agent)
		awaitPinned(ctx, agent)
		awaitReady(ctx, agent, "True")
		update(ctx, agent, image(testAgentImage))
		rollback(ctx, agent, "--clear")
		expectReady(ctx, agent)

		By("going back from a bad sidecar by one command")
		DeferCleanup(func(ctx SpecContext) { installChart(ctx) })
		installChart(ctx, "--set", "sidecar.image.tag=nobody-built-it")
		awaitReady(ctx, agent, "False")
		rollback(ctx, agent)
		awaitPinned(ctx, agent)
		awaitReady(ctx, agent, "True")
		installChart(ctx)
		rollback(ctx, agent, "--clear")
		expectReady(ctx, agent)

		By("going back from a bad image by itself")
		update(ctx, agent, func(a *a2av1alpha1.Agent) {
			image("a2a-operator/nobody-built-it:dev")(a)
			a.Spec.Workload.OnFailure = a2av1alpha1.FailureRollBack
			a.Spec.Workload.ProgressDeadline = "10s"
		})
		awaitReady(ctx, agent, "False RolledBack")
		Expect(sendText(ctx, agent, "hello")).To(HaveField("State", "completed"))

		By("keeping the tasks")
		Expect(turn).NotTo(Receive(), "the turn of before runs")
		Expect(one.get(ctx, kept.ID)).To(HaveField("State", "completed"))
	})

	It("gets its former prompt back by one command", func(ctx SpecContext) {
		ns := namespace(ctx)
		labels := map[string]string{"app": "models"}
		pod := restrictedPod(ns)
		pod.Name = "models"
		pod.Labels = labels
		pod.Spec.InitContainers = nil
		pod.Spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A2A_TEST_MODEL", Value: "yes"}}
		Expect(cluster.Create(ctx, pod)).To(Succeed())
		Expect(cluster.Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "models"},
			Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
		})).To(Succeed())
		agent := create(ctx, &a2av1alpha1.Agent{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "prompted"},
			Spec: a2av1alpha1.AgentSpec{
				Description: "Answers questions.",
				Model:       &a2av1alpha1.AgentModel{URL: "http://models." + ns + ".svc/v1", Instructions: "Answer with care."},
			},
		})
		instructions := func() string {
			configurations := &corev1.ConfigMapList{}
			if err := cluster.List(ctx, configurations, client.InNamespace(ns), client.MatchingLabels{a2av1alpha1.LabelAgent: agent.Name}); err != nil {
				return err.Error()
			}
			text := ""
			for i := range configurations.Items {
				text += configurations.Items[i].Data["config.json"]
			}
			return text
		}
		expectReady(ctx, agent)
		Expect(instructions()).To(ContainSubstring("Answer with care."))
		update(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Model.Instructions = "Answer at once." })
		Eventually(ctx, instructions).Should(ContainSubstring("Answer at once."))
		expectReady(ctx, agent)
		rollback(ctx, agent)
		Eventually(ctx, instructions).Should(ContainSubstring("Answer with care."))
		awaitReady(ctx, agent, "True")
	})
})
