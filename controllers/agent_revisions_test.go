// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// keptRevisions returns the numbers of the kept revisions of an Agent.
func keptRevisions(ctx context.Context, agent *a2av1alpha1.Agent) []int64 {
	GinkgoHelper()
	kept, err := gather.KeptRevisions(ctx, cluster, agent, 1)
	Expect(err).NotTo(HaveOccurred())
	var numbers []int64
	for i := range kept {
		numbers = append(numbers, kept[i].Revision)
	}
	return numbers
}

func setImage(image string) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Image = image }
}

// imageOf returns the image of the agent's container in the Deployment.
func imageOf(ctx context.Context, agent *a2av1alpha1.Agent) string {
	GinkgoHelper()
	return deploymentOf(ctx, agent).Spec.Template.Spec.Containers[0].Image
}

// expectRolledOut replaces the pods of an Agent by a ready one of its present template.
func (f *fixture) expectRolledOut(ctx context.Context, agent *a2av1alpha1.Agent, pod string) {
	GinkgoHelper()
	Expect(cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(agent.Namespace), client.GracePeriodSeconds(0))).To(Succeed())
	runDeployment(ctx, agent, pod, true, f.runningNow())
	f.expectReconciled(ctx, agent)
}

// exceedDeadline reports for the Deployment that its rollout makes no progress.
func exceedDeadline(ctx context.Context, agent *a2av1alpha1.Agent) {
	GinkgoHelper()
	deployment := deploymentOf(ctx, agent)
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 2, UpdatedReplicas: 1, AvailableReplicas: 1, ReadyReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}},
	}
	Expect(cluster.Status().Update(ctx, deployment)).To(Succeed())
}

var _ = Describe("the revisions of an agent without code", func() {
	var f *fixture
	BeforeEach(func(ctx context.Context) { f = newFixture(ctx) })
	model := func(name string, m *a2av1alpha1.AgentModel) *a2av1alpha1.Agent {
		m.URL = "http://vllm.models:8000/v1"
		return &a2av1alpha1.Agent{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
			Spec:       a2av1alpha1.AgentSpec{Description: "Helps engineers on call.", Model: m},
		}
	}
	// expectRollback sets the revision as kubectl a2a rollback does, and removes it for 0.
	expectRollback := func(ctx context.Context, agent *a2av1alpha1.Agent, number int64) {
		GinkgoHelper()
		body := fmt.Appendf(nil, `{"spec":{"workload":{"revision":%d}}}`, number)
		if number == 0 {
			body = []byte(`{"spec":{"workload":null}}`)
		}
		pin := client.RawPatch(types.MergePatchType, body)
		Expect(cluster.Patch(ctx, agent, pin)).To(Succeed())
		f.expectReconciled(ctx, agent)
	}

	It("have the instructions of the spec", func(ctx context.Context) {
		agent := model("oncall", &a2av1alpha1.AgentModel{Instructions: "Look first."})
		f.expectReady(ctx, agent)
		template := deploymentOf(ctx, agent).Spec.Template
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Model.Instructions = "Restart everything." })
		f.expectReconciled(ctx, agent)
		f.expectReconciled(ctx, agent)
		Expect(keptRevisions(ctx, agent)).To(Equal([]int64{1, 2}))

		expectRollback(ctx, agent, 1)
		Expect(configurationOf(ctx, agent).Backend.Model.Instructions).To(Equal("Look first."))
		Expect(deploymentOf(ctx, agent).Spec.Template).To(Equal(template), "instructions restart no pod")
		expectRollback(ctx, agent, 0)
		Expect(configurationOf(ctx, agent).Backend.Model.Instructions).To(Equal("Restart everything."))
	})

	It("have the text of their ConfigMap as it was", func(ctx context.Context) {
		prompts := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "prompts"}, Data: map[string]string{"oncall": "Look first."}}
		expectApplied(ctx, prompts)
		agent := model("oncall", &a2av1alpha1.AgentModel{InstructionsFrom: &a2av1alpha1.ConfigMapKeyReference{Name: "prompts", Key: "oncall"}})
		f.expectReady(ctx, agent)
		template := deploymentOf(ctx, agent).Spec.Template
		f.expectInSync(ctx, agent)

		By("keeping a revision for an edit of the ConfigMap")
		expectEdited(ctx, prompts, func(c *corev1.ConfigMap) { c.Data["oncall"] = "Restart everything." })
		f.expectReconciled(ctx, agent)
		f.expectInSync(ctx, agent)
		Expect(keptRevisions(ctx, agent)).To(Equal([]int64{1, 2}))
		Expect(agent.Status.Revisions.LastGood).To(BeEquivalentTo(2))
		Expect(deploymentOf(ctx, agent).Spec.Template).To(Equal(template))

		By("going back while the ConfigMap is bad, and gone")
		expectRollback(ctx, agent, 1)
		f.expectRolledOut(ctx, agent, "oncall-2")
		f.expectReconciled(ctx, agent)
		Expect(configurationOf(ctx, agent).Backend.Model.Instructions).To(Equal("Look first."))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True RevisionPinned", "Revision 1")
		Expect(cluster.Delete(ctx, prompts)).To(Succeed())
		f.expectReconciled(ctx, agent)
		f.expectInSync(ctx, agent)
		Expect(configurationOf(ctx, agent).Backend.Model.Instructions).To(Equal("Look first."))

		By("running the spec with a corrected ConfigMap")
		expectApplied(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "prompts"}, Data: map[string]string{"oncall": "Look first."}})
		expectRollback(ctx, agent, 0)
		Expect(deploymentOf(ctx, agent).Spec.Template).To(Equal(template))
		f.expectRolledOut(ctx, agent, "oncall-3")
		Expect(keptRevisions(ctx, agent)).To(Equal([]int64{2, 3}), "the first one is the newest one now")
	})

	It("leave out a text that sidecars refuse", func(ctx context.Context) {
		prompts := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "prompts"}, Data: map[string]string{"oncall": strings.Repeat("x", 64<<10+1)}}
		expectApplied(ctx, prompts)
		agent := model("oncall", &a2av1alpha1.AgentModel{InstructionsFrom: &a2av1alpha1.ConfigMapKeyReference{Name: "prompts", Key: "oncall"}})
		f.expectReady(ctx, agent)
		kept, err := gather.KeptRevisions(ctx, cluster, agent, 1)
		Expect(err).NotTo(HaveOccurred())
		Expect(kept).To(HaveLen(1))
		Expect(string(kept[0].Data.Raw)).To(ContainSubstring(`"instructionsFrom"`))
	})
})

var _ = Describe("the revisions of an Agent", func() {
	var f *fixture
	var agent *a2av1alpha1.Agent
	BeforeEach(func(ctx context.Context) {
		f = newFixture(ctx)
		agent = makeAgent(f.namespace, "echo")
		f.expectReady(ctx, agent)
	})

	It("are kept once for each template with which the agent is ready, and ten of them", func(ctx context.Context) {
		Expect(keptRevisions(ctx, agent)).To(Equal([]int64{1}))
		Expect(agent.Status.Revisions.LastGood).To(BeEquivalentTo(1))
		f.expectInSync(ctx, agent)
		for i := 2; i <= 12; i++ {
			expectEdited(ctx, agent, setImage(fmt.Sprintf("example/echo:%d", i)))
			f.expectReconciled(ctx, agent)
			Expect(agent.Status.Revisions.LastGood).To(BeEquivalentTo(i-1), "the new template is not good yet")
			f.expectRolledOut(ctx, agent, fmt.Sprintf("echo-%d", i))
		}
		Expect(keptRevisions(ctx, agent)).To(Equal([]int64{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}))
		f.expectInSync(ctx, agent)

		By("not adding one for a template that is kept")
		expectEdited(ctx, agent, setImage("example/echo:5"))
		f.expectReconciled(ctx, agent)
		f.expectRolledOut(ctx, agent, "echo-again")
		Expect(keptRevisions(ctx, agent)).To(Equal([]int64{3, 4, 6, 7, 8, 9, 10, 11, 12, 13}), "it is the newest one now")
	})

	It("run in place of the spec when the spec names one", func(ctx context.Context) {
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			setImage("example/echo:2")(a)
			a.Spec.Description = "Says something else."
		})
		f.expectReconciled(ctx, agent)
		f.expectRolledOut(ctx, agent, "echo-2")
		Expect(keptRevisions(ctx, agent)).To(Equal([]int64{1, 2}))

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Revision = 1
			a.Spec.Access.Authorization = []a2av1alpha1.AuthorizationRule{}
		})
		f.expectReconciled(ctx, agent)
		Expect(imageOf(ctx, agent)).To(Equal("example/echo:1"))
		f.expectRolledOut(ctx, agent, "echo-3")
		f.expectReconciled(ctx, agent)
		Expect(configurationOf(ctx, agent).Card.Description).To(Equal("Repeats what it is told."))
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True RevisionPinned", "Revision 1", "spec.workload.revision")
		Expect(agent.Status.Revisions.Running).To(BeEquivalentTo(1))
		f.expectInSync(ctx, agent)

		By("reading no revision again while the pods change")
		setRollout(ctx, agent, 1, 1, 0)
		f.expectReconciled(ctx, agent)
		Expect(f.requests).NotTo(ContainElement(ContainSubstring("ControllerRevision")))
		Expect(keptRevisions(ctx, agent)).To(Equal([]int64{1, 2}), "what runs is not kept again")

		By("running the spec again")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Revision = 0 })
		f.expectReconciled(ctx, agent)
		Expect(imageOf(ctx, agent)).To(Equal("example/echo:2"))
		Expect(agent.Status.Revisions.Running).To(BeZero())
	})

	It("name the Secret that is gone, and keep the pods of the spec, if the spec names one that needs it", func(ctx context.Context) {
		withKey := func(a *a2av1alpha1.Agent) {
			a.Spec.Workload.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "KEY", ValueFrom: &corev1.EnvVarSource{
				SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "former-key"}, Key: "key"},
			}}}
		}
		expectEdited(ctx, agent, withKey)
		f.expectReconciled(ctx, agent)
		f.expectRolledOut(ctx, agent, "echo-2")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Template.Spec.Containers[0].Env = nil })
		f.expectReconciled(ctx, agent)
		f.expectRolledOut(ctx, agent, "echo-3")
		good := agent.Status.Revisions.LastGood

		// Nobody has created the Secret: the kubelet refuses to create the container.
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Revision = 2 })
		f.expectReconciled(ctx, agent)
		setRollout(ctx, agent, 2, 1, 1)
		runDeployment(ctx, agent, "echo-4", false, waiting("CreateContainerConfigError", `secret "former-key" not found`))
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True ContainerConfigInvalid", "Revision 2 runs in place of the spec", `secret "former-key" not found`)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True RevisionPinned")
		Expect(agent.Status.Revisions.LastGood).To(Equal(good), "the revision that does not start is not good")
		Expect(deploymentOf(ctx, agent).Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue()).To(BeZero(), "the pods of the earlier template serve")

		By("going back to the spec")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Revision = 0 })
		f.expectReconciled(ctx, agent)
		Expect(deploymentOf(ctx, agent).Spec.Template.Spec.Containers[0].Env).NotTo(ContainElement(HaveField("Name", "KEY")))
	})

	It("keep what runs if the spec names one that is not kept", func(ctx context.Context) {
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			setImage("example/echo:2")(a)
			a.Spec.Workload.Revision = 7
		})
		f.expectReconciled(ctx, agent)
		Expect(imageOf(ctx, agent)).To(Equal("example/echo:1"))
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False RevisionNotFound", "spec.workload.revision is 7", "the kept revisions are 1;")
		expectCondition(agent, a2av1alpha1.ConditionStalled, "True RevisionNotFound")
	})

	It("are neither kept nor run if a tenant has created too many", func(ctx context.Context) {
		By("creating as many as the Agent may control, which others than the operator do")
		for i := range state.MaxKeptRevisions {
			Expect(cluster.Create(ctx, &appsv1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: agent.Namespace, Name: fmt.Sprintf("foreign-%d", i), Labels: names.Labels(agent.Name),
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))},
				},
				Data: runtime.RawExtension{Raw: []byte(`{}`)}, Revision: 1,
			})).To(Succeed())
		}
		good := agent.Status.Revisions.LastGood
		expectEdited(ctx, agent, setImage("example/echo:2"))
		f.expectReconciled(ctx, agent)
		f.expectRolledOut(ctx, agent, "echo-2")
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "True TooManyRevisions", "controls more than 32", "delete those that it does not need")
		Expect(agent.Status.Revisions.LastGood).To(Equal(good))

		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Revision = 1 })
		result := f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False TooManyRevisions")
		Expect(imageOf(ctx, agent)).To(Equal("example/echo:2"), "what runs stays")
		Expect(result.RequeueAfter).To(BeNumerically("~", gather.RevisionsRecheck, gather.RevisionsRecheck))
	})

	It("are those of the status if a tenant has created others with their numbers", func(ctx context.Context) {
		kept, err := gather.KeptRevisions(ctx, cluster, agent, 1)
		Expect(err).NotTo(HaveOccurred())
		forge := func(name string, number int64, image string) {
			GinkgoHelper()
			content := &state.RevisionContent{}
			Expect(json.Unmarshal(kept[0].Data.Raw, content)).To(Succeed())
			content.Spec.Workload.Template.Spec.Containers[0].Image = image
			raw, digest, err := content.Encode()
			Expect(err).NotTo(HaveOccurred())
			Expect(cluster.Create(ctx, &appsv1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: agent.Namespace, Name: name, Labels: names.Labels(agent.Name), Annotations: map[string]string{a2av1alpha1.AnnotationRevisionDigest: digest},
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))},
				},
				Data: runtime.RawExtension{Raw: raw}, Revision: number,
			})).To(Succeed())
		}
		forge("a-forged", 1, "example/forged:1")
		forge("z-forged", 1, "example/forged:2")

		By("running the one of the status")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			setImage("example/echo:2")(a)
			a.Spec.Workload.Revision = 1
		})
		f.expectReconciled(ctx, agent)
		Expect(imageOf(ctx, agent)).To(Equal("example/echo:1"))

		By("running none if the status names another one")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Revision = 0 })
		forge("max", math.MaxInt64, "example/forged:3")
		f.expectReconciled(ctx, agent)
		f.expectRolledOut(ctx, agent, "echo-2")
		Expect(agent.Status.Revisions.LastGood).To(BeEquivalentTo(2))
		f.reconciler.config.Gather.Revisions = gather.NewRevisions(f.clock) // the manager starts anew
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Revision = 1 })
		f.expectReconciled(ctx, agent)
		Expect(imageOf(ctx, agent)).To(Equal("example/echo:2"))
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False RevisionNotFound", "several ControllerRevisions")
	})

	It("count only if the operator wrote them", func(ctx context.Context) {
		kept, err := gather.KeptRevisions(ctx, cluster, agent, 1)
		Expect(err).NotTo(HaveOccurred())
		expectEdited(ctx, &kept[0], func(r *appsv1.ControllerRevision) {
			r.Annotations[a2av1alpha1.AnnotationRevisionDigest] = "0123456789abcdef"
		})
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Workload.Revision = 1 })
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionAccepted, "False RevisionNotFound")
	})

	It("return by themselves after a failed rollout, if the spec asks for it", func(ctx context.Context) {
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) {
			setImage("example/echo:broken")(a)
			a.Spec.Workload.OnFailure = a2av1alpha1.FailureRollBack
			a.Spec.Workload.ProgressDeadline = "90s"
		})
		f.expectReconciled(ctx, agent)
		Expect(*deploymentOf(ctx, agent).Spec.ProgressDeadlineSeconds).To(BeEquivalentTo(90))
		runDeployment(ctx, agent, "echo-broken", false, waiting("ImagePullBackOff", "not found"))
		f.expectReconciled(ctx, agent)
		Expect(imageOf(ctx, agent)).To(Equal("example/echo:broken"), "the deadline is not exceeded yet")

		exceedDeadline(ctx, agent)
		result := f.expectReconciled(ctx, agent)
		Expect(agent.Status.Revisions.FailedTemplate).NotTo(BeEmpty())
		Expect(result.RequeueAfter).NotTo(BeZero())
		f.expectReconciled(ctx, agent)
		Expect(imageOf(ctx, agent)).To(Equal("example/echo:1"))
		Expect(cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(agent.Namespace), client.GracePeriodSeconds(0))).To(Succeed())
		runDeployment(ctx, agent, "echo-good", true, f.runningNow())
		f.expectReconciled(ctx, agent)
		expectCondition(agent, a2av1alpha1.ConditionProgrammed, "False RolledBack", "Revision 1", "example/echo:broken", "90s")
		expectCondition(agent, a2av1alpha1.ConditionReady, "False RolledBack")
		expectCondition(agent, a2av1alpha1.ConditionStalled, "True RolledBack")
		expectCondition(agent, a2av1alpha1.ConditionAvailable, "True Available")
		Expect(agent.Status.Revisions.Running).To(BeEquivalentTo(1))
		f.expectInSync(ctx, agent)

		By("not trying the same template again after another edit")
		expectEdited(ctx, agent, func(a *a2av1alpha1.Agent) { a.Spec.Description = "Repeats it." })
		f.expectReconciled(ctx, agent)
		Expect(imageOf(ctx, agent)).To(Equal("example/echo:1"))

		By("trying another template")
		expectEdited(ctx, agent, setImage("example/echo:2"))
		f.expectReconciled(ctx, agent)
		Expect(imageOf(ctx, agent)).To(Equal("example/echo:2"))
		Expect(agent.Status.Revisions.FailedTemplate).To(BeEmpty())
		f.expectRolledOut(ctx, agent, "echo-2")
		expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
		Expect(keptRevisions(ctx, agent)).To(Equal([]int64{1, 2}))
	})

	It("do not return by themselves without that, and without a good one", func(ctx context.Context) {
		expectEdited(ctx, agent, setImage("example/echo:broken"))
		f.expectReconciled(ctx, agent)
		exceedDeadline(ctx, agent)
		f.expectReconciled(ctx, agent)
		Expect(agent.Status.Revisions.FailedTemplate).To(BeEmpty())

		other := makeAgent(f.namespace, "other", func(a *a2av1alpha1.Agent) { a.Spec.Workload.OnFailure = a2av1alpha1.FailureRollBack })
		expectApplied(ctx, other)
		f.expectReconciled(ctx, other)
		exceedDeadline(ctx, other)
		f.expectReconciled(ctx, other)
		Expect(other.Status.Revisions).To(BeNil())
	})
})
