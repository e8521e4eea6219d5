//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = Describe("A mistake", func() {
	It("in the manifest is refused with the field and the fix", func(ctx SpecContext) {
		ns := namespace(ctx)
		two := int32(2)
		err := cluster.Create(ctx, newAgent(ns, "twin", func(a *a2av1alpha1.Agent) { a.Spec.Workload.Replicas = &two }))
		Expect(err).To(MatchError(ContainSubstring("spec.workload.replicas above 1 needs spec.workload.tasks.store.type Redis")))
	})

	It("in an image is reported, keeps the working pod, and is repaired by a correction", func(ctx SpecContext) {
		agent := create(ctx, newAgent(namespace(ctx), "careful"))
		expectReady(ctx, agent)
		before := pods(ctx, agent)[0]
		image := func(name string) func(*a2av1alpha1.Agent) {
			return func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Image = name }
		}
		update(ctx, agent, image("a2a-operator.invalid/no-such-image:v1"))
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionAvailable).
			Should(And(ContainSubstring(a2av1alpha1.ReasonImagePullFailed), ContainSubstring("no-such-image")))
		Expect(describe(ctx, agent, a2av1alpha1.ConditionReady)).To(HavePrefix("False"))
		Expect(sendText(ctx, agent, "still there?")).To(HaveField("State", "completed"))
		Expect(pods(ctx, agent)).To(ContainElement(HaveField("UID", before.UID)))

		update(ctx, agent, image(testAgentImage))
		expectReady(ctx, agent)
	})

	It("in the container's port is reported as an agent that does not listen", func(ctx SpecContext) {
		agent := create(ctx, newAgent(namespace(ctx), "deaf", func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A2A_TEST_DEAF", Value: "1"}}
		}))
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionAvailable).WithTimeout(2 * time.Minute).
			Should(And(HavePrefix("False "+a2av1alpha1.ReasonAgentNotListening), ContainSubstring("8080")))
	})

	It("in the skills is reported, keeps the card, and is repaired by a correction", func(ctx SpecContext) {
		ns := namespace(ctx)
		agent := create(ctx, newAgent(ns, "skilled"))
		expectReady(ctx, agent)
		update(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "missing"}} })
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionSkillsResolved).
			Should(And(HavePrefix("False "+a2av1alpha1.ReasonSkillNotFound), ContainSubstring("spec.skillRefs[0]"), ContainSubstring("missing")))
		Expect(sendText(ctx, agent, "still there?")).To(HaveField("State", "completed"))

		Expect(cluster.Create(ctx, &a2av1alpha1.AgentSkill{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "missing"},
			Spec:       skillSpec("Found", "No longer missing."),
		})).To(Succeed())
		expectReady(ctx, agent)

		update(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Skills = []a2av1alpha1.Skill{{ID: "missing", SkillDetails: skillSpec("Twice", "The same id.").SkillDetails}}
		})
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionSkillsResolved).
			Should(HavePrefix("False " + a2av1alpha1.ReasonDuplicateSkillID))
	})

	It("in the skills does not delay a new Deny rule", func(ctx SpecContext) {
		ns := namespace(ctx)
		agent := create(ctx, newAgent(ns, "revoked", func(a *a2av1alpha1.Agent) {
			a.Spec.Skills = []a2av1alpha1.Skill{{ID: "pay", SkillDetails: skillSpec("Pay", "Pays a bill.").SkillDetails}}
		}))
		expectReady(ctx, agent)
		Expect(sendText(ctx, agent, "may I?")).To(HaveField("State", "completed"))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
		published := agent.Status.Skills

		update(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.SkillRefs = []a2av1alpha1.AgentSkillRef{{Name: "missing"}}
			a.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{
				{Action: a2av1alpha1.AuthorizationDeny, Namespaces: []string{ns}}, {Action: a2av1alpha1.AuthorizationAllow},
			}
		})
		revoked := caller(token(ctx, ns, audience(agent)))
		Eventually(ctx, func() int { return post(ctx, revoked, agent).StatusCode }).Should(Equal(http.StatusForbidden))
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionProgrammed).Should(HavePrefix("True " + a2av1alpha1.ReasonCardKept))
		Expect(describe(ctx, agent, a2av1alpha1.ConditionReady)).To(HavePrefix("False " + a2av1alpha1.ReasonSkillNotFound))
		Expect(agent.Status.Skills).To(Equal(published))
		Consistently(ctx, func() int { return len(pods(ctx, agent)) }).WithTimeout(time.Second).Should(Equal(1), "a rule restarts no pod")
	})

	It("in the address of a remote agent is False, with its reason, in the column that kubectl shows", func(ctx SpecContext) {
		ns := namespace(ctx)
		for name, url := range map[string]string{
			a2av1alpha1.ReasonRemoteForbidden:   "https://127.0.0.1:6443",
			a2av1alpha1.ReasonRemoteUnreachable: "https://nobody.a2a-operator.invalid",
		} {
			agent := create(ctx, &a2av1alpha1.Agent{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: strings.ToLower(name)},
				Spec:       a2av1alpha1.AgentSpec{Description: "Runs elsewhere.", Remote: &a2av1alpha1.AgentRemote{URL: url}},
			})
			Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionReady).Should(HavePrefix("False " + name + ":"))
		}
		out, err := exec.CommandContext(ctx, "kubectl", "get", "agents", "--namespace", ns, "--no-headers").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", out)
		for row := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
			Expect(row).To(MatchRegexp(`(?i)^(remote\w+) .*\bFalse\b.*\bRemote\w+`))
			Expect(row).NotTo(ContainSubstring("Pending"))
		}
	})

	It("in a name changes no Service of another owner", func(ctx SpecContext) {
		ns := namespace(ctx)
		foreign := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "taken"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 9}}, Selector: map[string]string{"app": "mine"}},
		}
		Expect(cluster.Create(ctx, foreign)).To(Succeed())
		agent := create(ctx, newAgent(ns, "taken"))
		Eventually(ctx, describe).WithArguments(ctx, agent, a2av1alpha1.ConditionProgrammed).
			Should(And(HavePrefix("False "+a2av1alpha1.ReasonConflict), ContainSubstring("taken")))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
		Expect(foreign.Spec.Selector).To(Equal(map[string]string{"app": "mine"}))
		Expect(foreign.OwnerReferences).To(BeEmpty())

		Expect(cluster.Delete(ctx, foreign)).To(Succeed())
		expectReady(ctx, agent)
	})
})
