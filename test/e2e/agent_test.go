//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// newAgent returns an Agent with the image of the test agent. It does not create it.
func newAgent(namespace, name string, change ...func(*a2av1alpha1.Agent)) *a2av1alpha1.Agent {
	agent := &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: a2av1alpha1.AgentSpec{
			Description: "Does what the tests tell it.",
			Workload: &a2av1alpha1.AgentWorkload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "agent", Image: testAgentImage, ImagePullPolicy: corev1.PullIfNotPresent}},
			}}},
		},
	}
	for _, c := range change {
		c(agent)
	}
	return agent
}

// skillSpec returns a skill with one tag.
func skillSpec(name, description string) a2av1alpha1.AgentSkillSpec {
	return a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{
		Name: name, Description: description, Tags: []string{"test"},
	}}
}

// create creates an Agent and returns it.
func create(ctx context.Context, agent *a2av1alpha1.Agent) *a2av1alpha1.Agent {
	GinkgoHelper()
	Expect(cluster.Create(ctx, agent)).To(Succeed())
	return agent
}

// update changes an Agent, and retries conflicts.
func update(ctx context.Context, agent *a2av1alpha1.Agent, change func(*a2av1alpha1.Agent)) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
			return err
		}
		change(agent)
		return cluster.Update(ctx, agent)
	}).Should(Succeed())
}

// expectReady waits until the current generation is Ready and kube-proxy routes to its pods. Before that, another pod may
// answer at the address.
func expectReady(ctx context.Context, agent *a2av1alpha1.Agent) {
	GinkgoHelper()
	Eventually(ctx, func() string {
		return describe(ctx, agent, a2av1alpha1.ConditionReady)
	}).Should(HavePrefix("True"), func() string { return conditions(ctx, agent) })
	once := &http.Client{Transport: &http.Transport{DialContext: dialService, DisableKeepAlives: true}}
	Eventually(ctx, func() (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodHead, serviceURL(agent)+"/.well-known/agent-card.json", nil)
		if err != nil {
			return "", err
		}
		response, err := once.Do(request)
		if err != nil {
			return "", err
		}
		return response.Status, response.Body.Close()
	}).Should(Equal("200 OK"), "the Service of %s", agent.Name)
}

// describe returns a condition of the agent's current generation as "Status Reason: Message", or "" if the
// status is of an older generation.
func describe(ctx context.Context, agent *a2av1alpha1.Agent, condition string) string {
	if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
		return err.Error()
	}
	c := meta.FindStatusCondition(agent.Status.Conditions, condition)
	if c == nil || c.ObservedGeneration != agent.Generation {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

// conditions returns all conditions, for the message of a failure.
func conditions(ctx context.Context, agent *a2av1alpha1.Agent) string {
	out := ""
	for _, name := range a2av1alpha1.AgentConditions() {
		out += name + " " + describe(ctx, agent, name) + "\n"
	}
	return out
}

// pods returns the pods of an agent that are not being deleted.
func pods(ctx context.Context, agent *a2av1alpha1.Agent) []corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(cluster.List(ctx, list, client.InNamespace(agent.Namespace), client.MatchingLabels{a2av1alpha1.LabelAgent: agent.Name})).To(Succeed())
	var live []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			live = append(live, pod)
		}
	}
	return live
}
