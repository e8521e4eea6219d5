//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("The life of an agent", func() {
	It("becomes Ready, and reports the time on a warm node", func(ctx SpecContext) {
		ns := namespace(ctx)
		expectReady(ctx, create(ctx, newAgent(ns, "first")))
		start := time.Now()
		agent := create(ctx, newAgent(ns, "second"))
		expectReady(ctx, agent)
		took := time.Since(start)
		AddReportEntry("apply to Ready", took.Round(10*time.Millisecond).String())
		GinkgoWriter.Println("apply to Ready:", took)
	})

	It("starts without a warning", func(ctx SpecContext) {
		agent := create(ctx, newAgent(namespace(ctx), "calm"))
		expectReady(ctx, agent)
		events := &corev1.EventList{}
		Expect(cluster.List(ctx, events, client.InNamespace(agent.Namespace))).To(Succeed())
		Expect(events.Items).To(ContainElement(HaveField("Reason", "Started")), "the kubelet has sent its events")
		for _, e := range events.Items {
			if hasForm(formRewrite) && e.Reason == a2av1alpha1.ReasonFieldsContested {
				continue // the policy
			}
			Expect(e.Type).To(Equal(corev1.EventTypeNormal), "%s %s: %s", e.InvolvedObject.Name, e.Reason, e.Message)
		}
	})

	It("leaves no objects when the Agent is deleted", func(ctx SpecContext) {
		agent := create(ctx, newAgent(namespace(ctx), "mortal"))
		expectReady(ctx, agent)
		Expect(cluster.Delete(ctx, agent)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			for _, list := range []client.ObjectList{
				&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}, &corev1.ServiceList{},
				&corev1.ConfigMapList{}, &corev1.ServiceAccountList{}, &networkingv1.NetworkPolicyList{},
			} {
				g.Expect(cluster.List(ctx, list, client.InNamespace(agent.Namespace), client.MatchingLabels{a2av1alpha1.LabelAgent: agent.Name})).To(Succeed())
				g.Expect(list).To(HaveField("Items", BeEmpty()))
			}
		}).WithTimeout(90 * time.Second).Should(Succeed())
	})

	It("serves an edited skill on the card without a restart", func(ctx SpecContext) {
		ns := namespace(ctx)
		skill := &a2av1alpha1.AgentSkill{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sing", Labels: map[string]string{"kind": "music"}},
			Spec:       skillSpec("Sing", "Sings a song."),
		}
		Expect(cluster.Create(ctx, skill)).To(Succeed())
		agent := create(ctx, newAgent(ns, "singer", func(a *a2av1alpha1.Agent) {
			a.Spec.SkillSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "music"}}
		}))
		expectReady(ctx, agent)
		before := pods(ctx, agent)

		start := time.Now()
		Expect(cluster.Patch(ctx, skill, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"description":"Sings an aria."}}`)))).To(Succeed())
		Eventually(ctx, func() string {
			_, body := get(ctx, caller(""), serviceURL(agent)+"/.well-known/agent-card.json")
			return body
		}).Should(ContainSubstring("Sings an aria."))
		AddReportEntry("skill edit to served card", time.Since(start).Round(10*time.Millisecond).String())

		after := pods(ctx, agent)
		Expect(after).To(HaveLen(1))
		Expect(after[0].UID).To(Equal(before[0].UID))
		for _, status := range append(after[0].Status.ContainerStatuses, after[0].Status.InitContainerStatuses...) {
			Expect(status.RestartCount).To(BeZero(), status.Name)
		}
	})

	It("serves an edited skill on the cards of many agents, and reports the time", func(ctx SpecContext) {
		ns := namespace(ctx)
		skill := &a2av1alpha1.AgentSkill{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sing"}, Spec: skillSpec("Sing", "Sings a song.")}
		Expect(cluster.Create(ctx, skill)).To(Succeed())
		many := 5
		if text := os.Getenv("A2A_E2E_AGENTS"); text != "" {
			var err error
			many, err = strconv.Atoi(text)
			Expect(err).NotTo(HaveOccurred())
		}
		var agents []*a2av1alpha1.Agent
		for i := range many {
			agents = append(agents, create(ctx, newAgent(ns, fmt.Sprintf("singer-%d", i), func(a *a2av1alpha1.Agent) {
				a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "sing"}}
			})))
		}
		for _, agent := range agents {
			expectReady(ctx, agent)
		}

		start := time.Now()
		Expect(cluster.Patch(ctx, skill, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"description":"Sings an aria."}}`)))).To(Succeed())
		readers := caller("")
		waits := map[string]time.Duration{}
		Eventually(ctx, func(g Gomega) {
			for _, agent := range agents {
				if waits[agent.Name] > 0 {
					continue
				}
				if _, body := get(ctx, readers, serviceURL(agent)+"/.well-known/agent-card.json"); strings.Contains(body, "Sings an aria.") {
					waits[agent.Name] = time.Since(start)
				}
			}
			g.Expect(waits).To(HaveLen(many))
		}).Should(Succeed())
		sorted := slices.Sorted(maps.Values(waits))
		took := fmt.Sprintf("%d agents: p50 %s, last %s", many, sorted[many/2].Round(10*time.Millisecond), sorted[many-1].Round(10*time.Millisecond))
		AddReportEntry("skill edit to served cards", took)
		GinkgoWriter.Println("skill edit to served cards,", took)
	})

	DescribeTable("recovers when a container is killed", func(ctx SpecContext, container string) {
		agent := create(ctx, newAgent(namespace(ctx), "phoenix"))
		expectReady(ctx, agent)
		pod := pods(ctx, agent)[0]
		run(ctx, setting("CLUSTER_TOOL"), "kill-container", "--namespace", pod.Namespace, "--pod", pod.Name, "--container", container)
		Eventually(ctx, func(g Gomega) {
			g.Expect(cluster.Get(ctx, client.ObjectKeyFromObject(&pod), &pod)).To(Succeed())
			g.Expect(restarts(&pod, container)).To(BeNumerically(">=", 1))
		}).Should(Succeed())
		expectReady(ctx, agent)
		Eventually(ctx, func() (task, error) { return sendText(ctx, agent, "still there?") }).
			Should(HaveField("Text", "still there?"))
	},
		Entry("the agent's", "agent"),
		Entry("the sidecar's", a2av1alpha1.ContainerSidecar),
	)

	It("fails the task of an agent that crashes, with the reason", func(ctx SpecContext) {
		agent := create(ctx, newAgent(namespace(ctx), "fragile"))
		expectReady(ctx, agent)
		Expect(sendText(ctx, agent, "crash")).To(HaveField("State", "failed"))
		Eventually(ctx, func() (task, error) { return sendText(ctx, agent, "again") }).Should(HaveField("State", "completed"))
	})

	It("completes a running turn before its pod ends", func(ctx SpecContext) {
		agent := create(ctx, newAgent(namespace(ctx), "patient"))
		expectReady(ctx, agent)
		client := connect(ctx, agent)
		var text, final string
		for e, err := range client.stream(ctx, "stream 60 100ms") {
			Expect(err).NotTo(HaveOccurred(), "after %q", text)
			if text == "" && e.Text != "" {
				Expect(cluster.Delete(ctx, &pods(ctx, agent)[0])).To(Succeed())
			}
			text += e.Text
			if e.State != "" {
				final = e.State
			}
		}
		Expect(final).To(Equal("completed"))
		Expect(strings.Fields(text)).To(HaveLen(60))
		expectReady(ctx, agent)
	})

	It("works while the operator is down, and is not restarted when it returns", func(ctx SpecContext) {
		agent := create(ctx, newAgent(namespace(ctx), "steady"))
		expectReady(ctx, agent)
		before := pods(ctx, agent)[0]
		stopOperator(ctx)
		Expect(sendText(ctx, agent, "alone?")).To(HaveField("State", "completed"))
		scaleOperator(ctx, 2)
		update(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Description = "Does what the operator's absence shows." })
		expectReady(ctx, agent)
		Expect(pods(ctx, agent)[0].UID).To(Equal(before.UID))
	})
})

func restarts(pod *corev1.Pod, container string) int32 {
	for _, status := range append(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses...) {
		if status.Name == container {
			return status.RestartCount
		}
	}
	return 0
}

// connect returns a 1.0 client of the agent with a token of the agent's namespace.
func connect(ctx context.Context, agent *a2av1alpha1.Agent) sdk {
	GinkgoHelper()
	client, err := newSDKV1(ctx, caller(token(ctx, agent.Namespace, audience(agent))), serviceURL(agent))
	Expect(err).NotTo(HaveOccurred())
	return client
}

// sendText sends one message and returns the task. It returns errors, so that callers can retry.
func sendText(ctx context.Context, agent *a2av1alpha1.Agent, text string) (task, error) {
	client, err := newSDKV1(ctx, caller(token(ctx, agent.Namespace, audience(agent))), serviceURL(agent))
	if err != nil {
		return task{}, err
	}
	return client.send(ctx, text)
}
