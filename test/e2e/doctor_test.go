//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// finding is a finding of kubectl a2a doctor.
type finding struct {
	Level, Check, Reason, Cause, Cure, Command string
	Seen                                       []string
}

// fault is a fault of an agent or of an object that it needs, and the finding with which kubectl a2a doctor describes it.
type fault struct {
	// change makes the fault in the Agent before it is created. seed makes the fault in the environment of a ready Agent. Each
	// may be nil.
	change func(*a2av1alpha1.Agent)
	seed   func(ctx context.Context, agent *a2av1alpha1.Agent)
	// arguments returns the arguments after the name of the Agent. It may be nil.
	arguments func(ctx context.Context, agent *a2av1alpha1.Agent) []string
	// environment returns environment variables of the command.
	environment func(ctx context.Context, agent *a2av1alpha1.Agent) []string
	// reason is the reason of the condition that shows the fault, "" if no condition shows it. seen and cure are parts of the
	// finding's texts.
	reason, seen, cure string
}

var _ = Describe("kubectl a2a doctor", func() {
	DescribeTable("names a fault with its cure", func(ctx SpecContext, f fault) {
		ns := namespace(ctx)
		user := newPerson(ctx, view(ns), grant{ns, forwardPorts}, grant{ns, requestToken},
			view(operatorNamespace), grant{operatorNamespace, forwardPorts}, view("kube-system"))
		agent := newAgent(ns, "patient")
		if f.change != nil {
			f.change(agent)
		}
		create(ctx, agent)
		if f.seed != nil {
			expectReady(ctx, agent)
			f.seed(ctx, agent)
		}
		var all []finding
		Eventually(ctx, func(g Gomega) {
			args := []string{"doctor", agent.Name, "-o", "json"}
			if f.arguments != nil {
				args = append(args, f.arguments(ctx, agent)...)
			}
			command := user.command(ctx, args...)
			if f.environment != nil {
				command.Env = append(command.Env, f.environment(ctx, agent)...)
			}
			got := finish(command)
			g.Expect(got.status).To(Equal(1), got.stderr)
			all = findings(g, got.stdout)
			g.Expect(slices.IndexFunc(all, f.isIn)).To(BeNumerically(">=", 0))
		}).WithTimeout(2*time.Minute).WithPolling(time.Second).Should(Succeed(), func() string { return fmt.Sprintf("%+v", all) })
		for _, each := range all {
			Expect(each.Cause).NotTo(BeEmpty(), "%+v", each)
			Expect(each.Cure).NotTo(BeEmpty(), "%+v", each)
			Expect(each.Check).NotTo(HavePrefix("read "), "the documented rights suffice: %+v", each)
		}
	},
		Entry("an image that does not exist", fault{
			change: func(a *a2av1alpha1.Agent) {
				a.Spec.Workload.Template.Spec.Containers[0].Image = "a2a-operator.invalid/no-such-image:v1"
			},
			reason: a2av1alpha1.ReasonImagePullFailed, seen: "no-such-image", cure: "imagePullSecrets",
		}),
		Entry("a port on which nothing listens", fault{
			change: func(a *a2av1alpha1.Agent) { a.Spec.Workload.Backend.Port = 9999; setEnv(a, "A2A_TEST_DEAF", "1") },
			reason: a2av1alpha1.ReasonAgentNotListening, seen: "9999", cure: "PORT",
		}),
		Entry("a container that exits", fault{
			change: func(a *a2av1alpha1.Agent) { setEnv(a, "A2A_TEST_EXIT", "3") },
			reason: a2av1alpha1.ReasonContainerCrashing, seen: "CrashLoopBackOff", cure: "log",
		}),
		Entry("a Secret that a container needs and that does not exist", fault{
			change: func(a *a2av1alpha1.Agent) {
				a.Spec.Workload.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "absent"}}}}
			},
			reason: a2av1alpha1.ReasonContainerConfigInvalid, seen: `secret "absent" not found`, cure: "Create the object",
		}),
		Entry("a Redis that does not answer", fault{
			change: func(a *a2av1alpha1.Agent) {
				a.Spec.Workload.Tasks.Store = a2av1alpha1.AgentTaskStore{Type: a2av1alpha1.TaskStoreRedis, Redis: &a2av1alpha1.AgentRedis{Addresses: []string{"redis.invalid:6379"}}}
			},
			reason: a2av1alpha1.ReasonTaskStoreUnavailable, seen: "redis.invalid", cure: "spec.workload.tasks.store.redis.addresses",
		}),
		Entry("a pod that no node has room for", fault{
			change: func(a *a2av1alpha1.Agent) {
				a.Spec.Workload.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("100Ti")}
			},
			reason: a2av1alpha1.ReasonUnschedulable, seen: "Insufficient memory", cure: "Add capacity",
		}),
		Entry("a NetworkPolicy that blocks the caller", fault{
			seed: func(ctx context.Context, agent *a2av1alpha1.Agent) {
				// With management Managed, the operator's policy admits every caller, and another policy could not restrict this.
				update(ctx, agent, func(a *a2av1alpha1.Agent) {
					a.Spec.NetworkPolicy.Management = a2av1alpha1.NetworkPolicyNone
				})
				Expect(cluster.Create(ctx, &networkingv1.NetworkPolicy{
					ObjectMeta: metav1.ObjectMeta{Namespace: agent.Namespace, Name: "friends-only"},
					Spec: networkingv1.NetworkPolicySpec{
						PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
						Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{
							PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"friend": "yes"}},
						}}}},
					},
				})).To(Succeed())
				stranger := newAgent(agent.Namespace, "stranger")
				expectReady(ctx, create(ctx, stranger))
			},
			arguments: func(ctx context.Context, agent *a2av1alpha1.Agent) []string {
				stranger := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: agent.Namespace, Name: "stranger"}}
				return []string{"--from", pods(ctx, stranger)[0].Name}
			},
			seen: "friends-only: no rule admits ingress from pod", cure: "Add an ingress rule for TCP port 8641",
		}),
		Entry("a token for another agent", fault{
			seed: func(context.Context, *a2av1alpha1.Agent) {},
			environment: func(ctx context.Context, agent *a2av1alpha1.Agent) []string {
				return []string{"A2ACLI_BEARER=" + token(ctx, agent.Namespace, "other."+agent.Namespace+"."+a2av1alpha1.Audience)}
			},
			seen: "the token has audience other.", cure: "Request a token for the audience of this agent",
		}),
		Entry("a caller that no rule admits", fault{
			change: func(a *a2av1alpha1.Agent) {
				a.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{{Action: a2av1alpha1.AuthorizationAllow, Namespaces: []string{"elsewhere"}}}
			},
			seed: func(context.Context, *a2av1alpha1.Agent) {},
			cure: "spec.access.authorization",
		}),
		Entry("a selector of the Service that another program changed", fault{
			seed: func(ctx context.Context, agent *a2av1alpha1.Agent) {
				stopOperator(ctx)
				service := &corev1.Service{}
				Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), service)).To(Succeed())
				service.Spec.Selector = map[string]string{"app": "other"}
				Expect(cluster.Update(ctx, service)).To(Succeed())
			},
			seen: "selects the pods with app=other", cure: "restores the selector",
		}),
		Entry("an operator that does not run", fault{
			seed: func(ctx context.Context, _ *a2av1alpha1.Agent) { stopOperator(ctx) },
			seen: "has 0 replicas", cure: "Scale the Deployment",
		}),
	)
})

// isIn reports whether a finding is about the fault.
func (f *fault) isIn(each finding) bool {
	return each.Level == "problem" && each.Reason == f.reason && strings.Contains(strings.Join(each.Seen, "\n"), f.seen) && strings.Contains(each.Cure, f.cure)
}

// findings returns the problems and warnings of a report.
func findings(g Gomega, text string) (all []finding) {
	GinkgoHelper()
	var report struct {
		Shared []finding
		Agents []struct{ Findings []finding }
	}
	g.Expect(json.Unmarshal([]byte(text), &report)).To(Succeed(), text)
	all = report.Shared
	for _, agent := range report.Agents {
		all = append(all, agent.Findings...)
	}
	return slices.DeleteFunc(all, func(f finding) bool { return f.Level == "ok" })
}

// setEnv adds a variable of the agent's container.
func setEnv(agent *a2av1alpha1.Agent, name, value string) {
	container := &agent.Spec.Workload.Template.Spec.Containers[0]
	container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
}
