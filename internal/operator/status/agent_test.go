// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// agentCase is an Agent with a workload, and its conditions.
type agentCase struct {
	in Inputs
	// want lists the conditions that differ from those of a healthy Agent.
	want map[string]string
	// message is a part of the message of Ready. If it is not empty, each condition has a message.
	message string
	// recheck is the expected RecheckAfter.
	recheck time.Duration
}

// agentCases returns an Agent in each state.
func agentCases() map[string]agentCase {
	sidecar := func(p corev1.Pod, s corev1.ContainerStatus) corev1.Pod {
		s.Name = a2av1alpha1.ContainerSidecar
		p.Status.InitContainerStatuses[0] = s
		return p
	}
	return map[string]agentCase{
		"ready": {in: healthy()},
		"a cured spec while a pod of the former one fails": {
			in:   healthy(rollingOutTo(former(failing("echo-2"))), currentTemplate),
			want: map[string]string{"Ready": "False RolloutInProgress"}, message: "a pod of an earlier spec fails until it is replaced: Container \"agent\"",
		},
		"a cured spec whose pod starts beside the failed one": {
			in:   healthy(onlyPod(former(failing("echo-1"))), rollingOutTo(of("new", pod("echo-2", false, waiting("ContainerCreating", "")))), currentTemplate),
			want: map[string]string{"Available": "False RolloutInProgress", "CardPublished": "False NoPodReady", "Ready": "False RolloutInProgress"},
		},
		"one of two pods of the current spec fails": {
			in: healthy(rollingOutTo(of("new", failing("echo-2"))), currentTemplate, func(in *Inputs) {
				in.Observed.Pods[0] = of("new", in.Observed.Pods[0])
			}),
			want: map[string]string{"Available": "True ContainerCrashing", "Ready": "False ContainerCrashing"},
		},
		"paused": {
			in: healthy(func(in *Inputs) {
				in.Observed.Children.Deployment.Spec.Paused = true
				in.Observed.Children.Deployment.Status.UpdatedReplicas = 0
			}, currentTemplate),
			want:    map[string]string{"Available": "True RolloutPaused", "Ready": "False RolloutPaused"},
			message: "kubectl rollout resume deployment -n agents echo",
		},
		"paused, but complete": {in: healthy(func(in *Inputs) { in.Observed.Children.Deployment.Spec.Paused = true })},
		"node that does not report": {
			in: healthy(onlyPod(func() corev1.Pod {
				p := pod("echo-1", false, ready(runningSince(now.Add(-time.Hour))))
				p.Spec.NodeName = "node-7"
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
				return p
			}())),
			want: map[string]string{"Available": "False NodeNotReady", "CardPublished": "False NoPodReady", "Ready": "False NodeNotReady"}, message: `Node "node-7" of pod "echo-1"`,
		},
		"foreign pod": {
			in:   healthy(func(in *Inputs) { in.Observed.ForeignPods = []corev1.Pod{pod("intruder", true, runningSince(now))} }),
			want: map[string]string{"Available": "True ForeignPodServes", "Ready": "True ForeignPodServes"}, message: `Pod "intruder"`,
		},
		"foreign pod without an own one": {
			in:   healthy(onlyPod(failing("echo-1")), func(in *Inputs) { in.Observed.ForeignPods = []corev1.Pod{pod("intruder", true, runningSince(now))} }),
			want: map[string]string{"Available": "False ContainerCrashing", "CardPublished": "False NoPodReady", "Ready": "False ContainerCrashing"},
		},
		"new card that waits for its program": {
			in:   healthy(rollingOutTo(pod("echo-2", false, runningSince(now))), func(in *Inputs) { in.CardAwaitsPod = true }),
			want: map[string]string{"Ready": "False AgentStarting"}, recheck: 20 * time.Second,
		},
		"pod that has not reported": {
			in: healthy(func(in *Inputs) {
				in.Reports = true
				in.Observed.Pods[0].Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-2 * time.Minute))
			}),
			want: map[string]string{"Available": "True RegistryUnreachable", "Ready": "True RegistryUnreachable"}, message: `Pod "echo-1" has been ready for two minutes`,
			recheck: reportRecheck,
		},
		"pod that may still report": {
			in: healthy(func(in *Inputs) {
				in.Reports = true
				in.Observed.Pods[0].Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-90 * time.Second))
			}),
			recheck: 30 * time.Second,
		},
		"pod that has reported": {
			in: healthy(func(in *Inputs) {
				in.Reports = true
				in.Observed.Pods[0].Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-time.Hour))
				in.Observed.Pods[0].Status.Conditions = append(in.Observed.Pods[0].Status.Conditions,
					corev1.PodCondition{Type: a2av1alpha1.PodConditionPrefix + "Registry", Status: corev1.ConditionTrue})
			}),
		},
		"pod that reports no more": {
			in: healthy(func(in *Inputs) {
				in.Reports = true
				in.Observed.Pods[0].UID = "uid-1"
				in.Observed.Pods[0].Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-time.Hour))
				in.Observed.Pods[0].Status.Conditions = append(in.Observed.Pods[0].Status.Conditions,
					corev1.PodCondition{Type: a2av1alpha1.PodConditionPrefix + "Registry", Status: corev1.ConditionTrue})
				in.Observed.LastReports = map[types.UID]time.Time{"uid-1": now.Add(-2 * time.Minute)}
			}),
			want:    map[string]string{"Available": "True RegistryUnreachable", "Ready": "True RegistryUnreachable"},
			message: `Pod "echo-1" has reached the registry before, and its sidecar has not reported to it for two minutes`, recheck: reportRecheck,
		},
		"pod that reports": {
			in: healthy(func(in *Inputs) {
				in.Reports = true
				in.Observed.Pods[0].UID = "uid-1"
				in.Observed.Pods[0].Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-time.Hour))
				in.Observed.LastReports = map[types.UID]time.Time{"uid-1": now.Add(-30 * time.Second)}
			}),
			recheck: 90 * time.Second,
		},
		"fields that others set": {
			in: healthy(func(in *Inputs) {
				in.Remarks = Outcome{Contests: []state.Contest{
					{Kind: "Deployment", Name: "echo", Field: "spec.replicas", Manager: "kube-controller-manager (scale)"}, {Kind: "Service", Name: "echo", Field: "spec.ports[a2a].appProtocol"},
				}}.Remarks()
			}),
			want:    map[string]string{"Programmed": "True FieldsContested", "Ready": "True FieldsContested"},
			message: `spec.replicas of Deployment "echo" by manager "kube-controller-manager (scale)", spec.ports[a2a].appProtocol of Service "echo" by an admission webhook, a policy or another program; delete the HorizontalPodAutoscaler`,
		},
		"fields that a policy changes in each write": {
			in: healthy(func(in *Inputs) {
				in.Remarks = Outcome{Contests: []state.Contest{{Kind: "Deployment", Name: "echo", Field: "spec.template.spec.containers[agent].image", Undone: true}}}.Remarks()
			}),
			want: map[string]string{"Programmed": "True FieldsContested"},
		},
		"pod that has not started for 5 s": {
			in:   healthy(onlyPod(scheduled(now.Add(-5*time.Second))), warned),
			want: map[string]string{"Available": "False RolloutInProgress", "CardPublished": "False NoPodReady", "Ready": "False RolloutInProgress"}, recheck: 15 * time.Second,
		},
		"pod that has not started, without a warning": {
			in:   healthy(onlyPod(scheduled(now.Add(-time.Minute)))),
			want: map[string]string{"Available": "False RolloutInProgress", "CardPublished": "False NoPodReady", "Ready": "False RolloutInProgress"}, recheck: time.Minute,
		},
		"pod that does not start": {
			in: healthy(onlyPod(scheduled(now.Add(-time.Minute))), warned, func(in *Inputs) {
				in.Observed.Agent.Spec.Workload.Template.Spec.Volumes = []corev1.Volume{
					{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "keys"}}},
					{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
					{VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "csi.example"}}},
				}
				in.Observed.Agent.Spec.Workload.Template.Spec.RuntimeClassName = new("gvisor")
			}),
			want: map[string]string{"Available": "False PodNotStarting", "CardPublished": "False NoPodReady", "Ready": "False PodNotStarting"}, recheck: time.Minute,
			message: `FailedMount: secret "keys" not found; create what is missing, or correct spec.workload.template.spec, which names RuntimeClass "gvisor", Secret "keys", PersistentVolumeClaim "data", CSIDriver "csi.example"`,
		},
		"pod whose node has no driver for its client certificate": {
			in: healthy(onlyPod(scheduled(now.Add(-time.Minute))), func(in *Inputs) {
				in.Observed.PodWarnings = map[types.UID]string{"uid-of-pod": `FailedMount: MountVolume.SetUp failed for volume "a2a-client-certificate" : driver name spiffe.csi.cert-manager.io not found in the list of registered CSI drivers`}
			}),
			want: map[string]string{"Available": "False PodNotStarting", "CardPublished": "False NoPodReady", "Ready": "False PodNotStarting"}, recheck: time.Minute,
			message: "not found in the list of registered CSI drivers; ask the administrator to install the CSI driver on the node, or to correct the chart's sidecar.clientCertificate",
		},
		"pod whose client certificate is not issued": {
			in: healthy(onlyPod(scheduled(now.Add(-time.Minute))), func(in *Inputs) {
				in.Observed.PodWarnings = map[types.UID]string{"uid-of-pod": `FailedMount: MountVolume.SetUp failed for volume "a2a-client-certificate" : rpc error: code = DeadlineExceeded`}
			}),
			want: map[string]string{"Available": "False PodNotStarting", "CardPublished": "False NoPodReady", "Ready": "False PodNotStarting"}, recheck: time.Minute,
			message: "DeadlineExceeded; ask the administrator to check the driver of the chart's sidecar.clientCertificate",
		},
		"port conflict": {
			in: healthy(func(in *Inputs) {
				in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionAccepted, Reason: a2av1alpha1.ReasonPortConflict, Message: "field x"}, {Condition: a2av1alpha1.ConditionAccepted, Reason: a2av1alpha1.ReasonNameConflict, Message: "field y"}}
				in.Applied, in.Card = false, nil
			}),
			want:    map[string]string{"Accepted": "False PortConflict", "Programmed": "False Blocked", "CardPublished": "False NotProgrammed", "Ready": "False PortConflict"},
			message: "field x; field y",
		},
		"name conflict": {
			in: healthy(func(in *Inputs) {
				in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionAccepted, Reason: a2av1alpha1.ReasonNameConflict}}
				in.Applied, in.Card = false, nil
			}),
			want: map[string]string{"Accepted": "False NameConflict", "Programmed": "False Blocked", "CardPublished": "False NotProgrammed", "Ready": "False NameConflict"},
		},
		"missing skill": {
			in: healthy(func(in *Inputs) {
				in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionSkillsResolved, Reason: a2av1alpha1.ReasonSkillNotFound, Message: "field x"}}
				in.Applied, in.Card = false, nil
			}),
			want:    map[string]string{"SkillsResolved": "False SkillNotFound", "Programmed": "False Blocked", "CardPublished": "False NotProgrammed", "Ready": "False SkillNotFound"},
			message: "field x",
		},
		"missing skill, the rest applied": {
			in: healthy(func(in *Inputs) {
				in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionSkillsResolved, Reason: a2av1alpha1.ReasonSkillNotFound, Message: "field x"}}
				in.CardKept = true
			}),
			want:    map[string]string{"SkillsResolved": "False SkillNotFound", "Programmed": "True CardKept", "CardPublished": "False CardKept", "Ready": "False SkillNotFound"},
			message: "field x; the operator keeps the published card, and applies the rest of the spec",
		},
		"missing skill, the rest not written": {
			in: healthy(func(in *Inputs) {
				in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionSkillsResolved, Reason: a2av1alpha1.ReasonSkillNotFound, Message: "field x"}}
				in.CardKept, in.Applied = true, false
			}),
			want: map[string]string{"SkillsResolved": "False SkillNotFound", "Programmed": "Unknown ApplyFailed", "CardPublished": "False NotProgrammed", "Ready": "False SkillNotFound"},
		},
		"missing skill, the rest on its way": {
			in: healthy(func(in *Inputs) {
				in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionSkillsResolved, Reason: a2av1alpha1.ReasonSkillNotFound, Message: "field x"}}
				in.CardKept = true
				in.Observed.Pods[0].Annotations = nil
			}),
			want: map[string]string{"SkillsResolved": "False SkillNotFound", "Programmed": "True CardKept", "CardPublished": "False Publishing", "Ready": "False SkillNotFound"},
		},
		"missing skill and a rule that cannot be evaluated": {
			in: healthy(func(in *Inputs) {
				in.Problems = []state.Problem{
					{Condition: a2av1alpha1.ConditionAccepted, Reason: a2av1alpha1.ReasonInvalidAuthorization, Message: "rule x"},
					{Condition: a2av1alpha1.ConditionSkillsResolved, Reason: a2av1alpha1.ReasonSkillNotFound, Message: "field x"},
				}
				in.Applied, in.Card = false, nil
			}),
			want: map[string]string{
				"Accepted": "False InvalidAuthorization", "SkillsResolved": "False SkillNotFound", "Programmed": "False Blocked",
				"CardPublished": "False NotProgrammed", "Ready": "False InvalidAuthorization",
			},
		},
		"default skill": {
			in: healthy(func(in *Inputs) {
				in.Remarks = []state.Problem{{Condition: a2av1alpha1.ConditionSkillsResolved, Reason: a2av1alpha1.ReasonDefaultSkill}}
			}),
			want: map[string]string{"SkillsResolved": "True DefaultSkill"},
		},
		"own preStop hook": {
			in: healthy(func(in *Inputs) {
				in.Remarks = []state.Problem{{Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonPreStopKept}}
			}),
			want: map[string]string{"Programmed": "True PreStopKept"},
		},
		"conflict": {
			in: healthy(func(in *Inputs) {
				in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonConflict, Message: "Service"}}
				in.Applied = false
			}),
			want:    map[string]string{"Programmed": "False Conflict", "CardPublished": "False NotProgrammed", "Ready": "False Conflict"},
			message: "Service",
		},
		"foreign Deployment": {
			in: healthy(func(in *Inputs) {
				in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonConflict, Message: "Deployment"}}
				in.Observed.Children.Deployment.OwnerReferences = nil
				in.Observed.Pods = nil
				in.Applied = false
			}),
			want: map[string]string{"Programmed": "False Conflict", "Available": "False RolloutInProgress", "CardPublished": "False NotProgrammed", "Ready": "False Conflict"},
		},
		"write failed": {
			in:   healthy(func(in *Inputs) { in.Applied = false }),
			want: map[string]string{"Programmed": "Unknown ApplyFailed", "CardPublished": "False NotProgrammed", "Ready": "Unknown ApplyFailed"},
		},
		"no issuer yet": {
			in: healthy(func(in *Inputs) {
				in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionProgrammed, Reason: a2av1alpha1.ReasonWaitingForIssuerKeys}}
				in.Applied, in.Card = false, nil
				in.Observed.Pods, in.Observed.Children.Deployment = nil, nil
			}),
			want: map[string]string{"Programmed": "False WaitingForIssuerKeys", "Available": "Unknown Pending", "CardPublished": "False NotProgrammed", "Ready": "False WaitingForIssuerKeys"},
		},
		"just applied": {
			in: healthy(func(in *Inputs) {
				in.DeploymentChanged = true
				in.Observed.Pods, in.Observed.Children.Deployment = nil, nil
			}),
			want: map[string]string{"Available": "False RolloutInProgress", "CardPublished": "False NoPodReady", "Ready": "False RolloutInProgress"},
		},
		"changed while running": {
			in:   healthy(func(in *Inputs) { in.DeploymentChanged = true }),
			want: map[string]string{"Ready": "False RolloutInProgress"},
		},
		"scaled to zero": {
			in: healthy(func(in *Inputs) {
				in.Observed.Agent.Spec.Workload.Replicas = new(int32(0))
				in.Observed.Children.Deployment.Spec.Replicas = new(int32(0))
				in.Observed.Children.Deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 3}
				in.Observed.Pods = nil
			}),
			want:    map[string]string{"Available": "False ScaledToZero", "CardPublished": "False NoPodReady", "Ready": "False ScaledToZero"},
			message: "spec.workload.replicas",
		},
		"image cannot be pulled": {
			in:      healthy(onlyPod(pod("echo-1", false, waiting(waitingImagePullBackOff, "Back-off pulling")))),
			want:    map[string]string{"Available": "False ImagePullFailed", "CardPublished": "False NoPodReady", "Ready": "False ImagePullFailed"},
			message: `The image "example/echo:1" of container "agent" cannot be pulled; correct spec.workload.template.spec.containers[0].image`,
		},
		"image of a skill cannot be pulled": {
			in: healthy(onlyPod(pod("echo-1", false, waiting(waitingImagePullBackOff, `Back-off pulling image "example/skill@sha256:1": ErrImagePull: no such manifest`))), func(in *Inputs) {
				in.Observed.Pods[0].Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "example/skill@sha256:1"}}}}
			}),
			want:    map[string]string{"Available": "False ImagePullFailed", "CardPublished": "False NoPodReady", "Ready": "False ImagePullFailed"},
			message: `The image "example/skill@sha256:1" of a skill cannot be pulled: no such manifest; correct the image of the skill in spec.skills or in its AgentSkill, or set spec.workload.template.spec.imagePullSecrets`,
		},
		"image name is nonsense": {
			in:      healthy(onlyPod(pod("echo-1", false, waiting(waitingInvalidImageName, "")))),
			want:    map[string]string{"Available": "False ImagePullFailed", "CardPublished": "False NoPodReady", "Ready": "False ImagePullFailed"},
			message: "correct spec.workload.template.spec.containers[0].image",
		},
		"sidecar's image cannot be pulled": {
			in:      healthy(onlyPod(sidecar(pod("echo-1", false, waiting("PodInitializing", "")), waiting(waitingErrImagePull, "")))),
			want:    map[string]string{"Available": "False ImagePullFailed", "CardPublished": "False NoPodReady", "Ready": "False ImagePullFailed"},
			message: "--sidecar-image",
		},
		"runs as root": {
			in:      healthy(onlyPod(pod("echo-1", false, waiting(waitingConfigError, "container has runAsNonRoot and image will run as root (pod: ...)")))),
			want:    map[string]string{"Available": "False RunsAsRoot", "CardPublished": "False NoPodReady", "Ready": "False RunsAsRoot"},
			message: "set spec.workload.template.spec.containers[0].securityContext.runAsUser",
		},
		"names a missing Secret": {
			in:      healthy(onlyPod(pod("echo-1", false, waiting(waitingConfigError, `secret "x" not found`)))),
			want:    map[string]string{"Available": "False ContainerConfigInvalid", "CardPublished": "False NoPodReady", "Ready": "False ContainerConfigInvalid"},
			message: `secret "x" not found; create it, or correct spec.workload.template.spec.containers[0]`,
		},
		"command does not exist": {
			in:      healthy(onlyPod(pod("echo-1", false, waiting(waitingRunError, "no such file")))),
			want:    map[string]string{"Available": "False ContainerCannotStart", "CardPublished": "False NoPodReady", "Ready": "False ContainerCannotStart"},
			message: "correct spec.workload.template.spec.containers[0].command, .args or the image",
		},
		"command does not exist, seen between two tries": {
			in: healthy(onlyPod(pod("echo-1", false, func() corev1.ContainerStatus {
				s := afterCrash(waiting(waitingCrashLoopBackOff, "back-off 10s"))
				s.LastTerminationState.Terminated.Reason = terminatedStartError
				s.LastTerminationState.Terminated.Message = "no such file"
				return s
			}()))),
			want:    map[string]string{"Available": "False ContainerCannotStart", "CardPublished": "False NoPodReady", "Ready": "False ContainerCannotStart"},
			message: "cannot be started: no such file; correct spec.workload.template.spec.containers[0].command",
		},
		"user is root": {
			in:   healthy(onlyPod(pod("echo-1", false, waiting(waitingConfigError, "container's runAsUser breaks non-root policy")))),
			want: map[string]string{"Available": "False RunsAsRoot", "CardPublished": "False NoPodReady", "Ready": "False RunsAsRoot"},
		},
		"crash loop": {
			in:      healthy(onlyPod(pod("echo-1", false, afterCrash(waiting(waitingCrashLoopBackOff, "back-off 10s"))))),
			want:    map[string]string{"Available": "False ContainerCrashing", "CardPublished": "False NoPodReady", "Ready": "False ContainerCrashing"},
			message: "exits repeatedly with exit code 2 (Error); kubectl logs -n agents echo-1 -c agent --previous",
		},
		"out of memory": {
			in:      healthy(onlyPod(pod("echo-1", false, afterOOMKill(waiting(waitingCrashLoopBackOff, "back-off 10s"))))),
			want:    map[string]string{"Available": "False ContainerCrashing", "CardPublished": "False NoPodReady", "Ready": "False ContainerCrashing"},
			message: "is killed at its memory limit (OOMKilled); raise spec.workload.template.spec.containers[0].resources.limits.memory, or let",
		},
		"no key to sign the card": {
			in: healthy(onlyPod(ending(sidecarconfig.ExitCardKey, pod("echo-1", false, waiting("PodInitializing", "")))), func(in *Inputs) {
				in.Observed.Agent.Spec.CardSigning = &a2av1alpha1.AgentCardSigning{SecretRef: a2av1alpha1.SecretReference{Name: "card-key"}}
			}),
			want:    map[string]string{"Available": "False CardSigningKeyUnusable", "CardPublished": "False NoPodReady", "Ready": "False CardSigningKeyUnusable"},
			message: `put a private key without a password (EC P-256 or P-384, Ed25519, RSA) into Secret "card-key" (spec.cardSigning.secretRef) under "tls.key"`,
		},
		"no API keys": {
			in: healthy(onlyPod(ending(sidecarconfig.ExitAPIKeys, pod("echo-1", false, waiting("PodInitializing", "")))), func(in *Inputs) {
				in.Observed.Agent.Spec.Access.Authentication = []a2av1alpha1.Authentication{
					{Type: a2av1alpha1.AuthenticationKubernetes},
					{Type: a2av1alpha1.AuthenticationAPIKey, APIKey: &a2av1alpha1.APIKeyAuthentication{SecretRef: a2av1alpha1.SecretReference{Name: "keys"}}},
				}
			}),
			want:    map[string]string{"Available": "False APIKeysUnusable", "CardPublished": "False NoPodReady", "Ready": "False APIKeysUnusable"},
			message: `into Secret "keys" (spec.access.authentication[1].apiKey.secretRef)`,
		},
		"no certificate": {
			in: healthy(onlyPod(ending(sidecarconfig.ExitTLS, pod("echo-1", false, waiting("PodInitializing", "")))), func(in *Inputs) {
				in.Observed.Agent.Spec.Access.TLS = &a2av1alpha1.AccessTLS{SecretRef: a2av1alpha1.SecretReference{Name: "cert"}}
			}),
			want:    map[string]string{"Available": "False TLSUnusable", "CardPublished": "False NoPodReady", "Ready": "False TLSUnusable"},
			message: `put a valid PEM certificate under tls.crt, and its private key without a password under tls.key, into Secret "cert" (spec.access.tls.secretRef)`,
		},
		"no authority of clients": {
			in: healthy(onlyPod(ending(sidecarconfig.ExitClientCA, pod("echo-1", false, waiting("PodInitializing", "")))), func(in *Inputs) {
				in.Observed.Agent.Spec.Access.Authentication = []a2av1alpha1.Authentication{
					{Type: a2av1alpha1.AuthenticationMTLS, MTLS: &a2av1alpha1.MTLSAuthentication{CABundle: a2av1alpha1.CABundleReference{Name: "ca"}}},
				}
			}),
			want:    map[string]string{"Available": "False CABundleUnusable", "CardPublished": "False NoPodReady", "Ready": "False CABundleUnusable"},
			message: `put PEM certificates, and nothing else, into ConfigMap "ca" (spec.access.authentication[0].mtls.caBundle) under "ca.crt"`,
		},
		"no authority of servers": {
			in: healthy(onlyPod(ending(sidecarconfig.ExitTrust, pod("echo-1", false, waiting("PodInitializing", "")))), func(in *Inputs) {
				in.Observed.Agent.Spec.TrustBundle = &a2av1alpha1.CABundleReference{Kind: a2av1alpha1.CABundleSecret, Name: "ca", Key: "x.pem"}
			}),
			want:    map[string]string{"Available": "False CABundleUnusable", "CardPublished": "False NoPodReady", "Ready": "False CABundleUnusable"},
			message: `into Secret "ca" (spec.trustBundle) under "x.pem"`,
		},
		"crashed and starting again": {
			in:      healthy(onlyPod(pod("echo-1", false, afterCrash(runningSince(now.Add(-5*time.Second)))))),
			want:    map[string]string{"Available": "False ContainerCrashing", "CardPublished": "False NoPodReady", "Ready": "False ContainerCrashing"},
			recheck: 15 * time.Second,
		},
		"crashed long ago and does not listen now": {
			in:   healthy(onlyPod(pod("echo-1", false, afterCrash(runningSince(now.Add(-time.Minute)))))),
			want: map[string]string{"Available": "False AgentNotListening", "CardPublished": "False NoPodReady", "Ready": "False AgentNotListening"},
		},
		"does not listen yet": {
			in:      healthy(onlyPod(pod("echo-1", false, runningSince(now.Add(-19*time.Second))))),
			want:    map[string]string{"Available": "False AgentStarting", "CardPublished": "False NoPodReady", "Ready": "False AgentStarting"},
			message: "127.0.0.1:8080",
			recheck: time.Second,
		},
		"does not listen": {
			in:      healthy(onlyPod(pod("echo-1", false, runningSince(now.Add(-20*time.Second))))),
			want:    map[string]string{"Available": "False AgentNotListening", "CardPublished": "False NoPodReady", "Ready": "False AgentNotListening"},
			message: "or set spec.workload.backend.port to the port of the program",
		},
		"own readiness probe fails": {
			in: healthy(onlyPod(sidecar(pod("echo-1", false, runningSince(now.Add(-20*time.Second))), func() corev1.ContainerStatus {
				s := runningSince(now.Add(-20 * time.Second))
				s.Ready = true
				return s
			}()))),
			want:    map[string]string{"Available": "False ContainerNotReady", "CardPublished": "False NoPodReady", "Ready": "False ContainerNotReady"},
			message: "spec.workload.template.spec.containers[0].readinessProbe",
		},
		"the image of a container that others have added cannot be pulled": {
			in:      healthy(onlyPod(injected(pod("echo-1", false, runningSince(now.Add(-time.Hour))), waiting(waitingImagePullBackOff, "")))),
			want:    map[string]string{"Available": "False ImagePullFailed", "CardPublished": "False NoPodReady", "Ready": "False ImagePullFailed"},
			message: `of container "mesh" cannot be pulled; correct the admission webhook or other program`,
		},
		"a container that others have added cannot be set up": {
			in:      healthy(onlyPod(injected(pod("echo-1", false, runningSince(now.Add(-time.Hour))), waiting(waitingConfigError, "no secret")))),
			want:    map[string]string{"Available": "False ContainerConfigInvalid", "CardPublished": "False NoPodReady", "Ready": "False ContainerConfigInvalid"},
			message: "no secret; correct the admission webhook or other program that added the container to the pod",
		},
		"a container that others have added is not ready": {
			in: healthy(onlyPod(injected(sidecar(pod("echo-1", false, ready(runningSince(now.Add(-time.Hour)))), ready(runningSince(now.Add(-time.Hour)))),
				runningSince(now.Add(-time.Hour))))),
			want:    map[string]string{"Available": "False ContainerNotReady", "CardPublished": "False NoPodReady", "Ready": "False ContainerNotReady"},
			message: `"mesh" runs, and its readinessProbe fails; correct the admission webhook`,
		},
		"a readiness gate is not met": {
			in: healthy(onlyPod(func() corev1.Pod {
				p := sidecar(pod("echo-1", false, ready(runningSince(now.Add(-time.Hour)))), ready(runningSince(now.Add(-time.Hour))))
				p.Status.Conditions[0].Reason = "ReadinessGatesNotReady"
				p.Status.Conditions[0].Message = `corresponding condition of pod readiness gate "example.com/lb" does not exist.`
				return p
			}())),
			want:    map[string]string{"Available": "False ReadinessGateNotMet", "CardPublished": "False NoPodReady", "Ready": "False ReadinessGateNotMet"},
			message: `readiness gate "example.com/lb" does not exist; check that the controller that sets the gate runs`,
		},
		"no room": {
			in: healthy(onlyPod(corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes"},
			}}})),
			want:    map[string]string{"Available": "False Unschedulable", "CardPublished": "False NoPodReady", "Ready": "False Unschedulable"},
			message: "0/1 nodes",
		},
		"evicted": {
			in:      healthy(onlyPod(corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "echo-1"}, Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."}})),
			want:    map[string]string{"Available": "False PodFailed", "CardPublished": "False NoPodReady", "Ready": "False PodFailed"},
			message: "(Evicted: The node was low on resource: memory), and",
		},
		"pods refused": {
			in: healthy(func(in *Inputs) {
				in.Observed.Pods = nil
				in.Observed.Children.Deployment.Status = appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "violates PodSecurity"},
				}}
			}),
			want:    map[string]string{"Available": "False PodsRejected", "CardPublished": "False NoPodReady", "Ready": "False PodsRejected"},
			message: "violates PodSecurity; correct spec.workload.template, or ask the administrator of the namespace",
		},
		"a quota asks for limits": {
			in: healthy(func(in *Inputs) {
				in.Observed.Pods = nil
				in.Observed.Children.Deployment.Status = appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "failed quota: q: must specify limits.cpu for: a2a-sidecar"},
				}}
			}),
			want:    map[string]string{"Available": "False PodsRejected", "CardPublished": "False NoPodReady", "Ready": "False PodsRejected"},
			message: "must specify limits.cpu for: a2a-sidecar; set spec.workload.sidecar.resources.limits.cpu",
		},
		"reports no cause": {
			in: healthy(func(in *Inputs) {
				in.Observed.Pods = nil
				in.Observed.Children.Deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 3, Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse},
				}}
			}),
			want:    map[string]string{"Available": "False ProgressDeadlineExceeded", "CardPublished": "False NoPodReady", "Ready": "False ProgressDeadlineExceeded"},
			message: "kubectl describe pods -n agents -l a2a-operator.dev/agent=echo",
		},
		"rollout in progress": {
			in:      healthy(rollingOutTo(pod("echo-2", false, runningSince(now)))),
			want:    map[string]string{"Ready": "False AgentStarting"},
			message: "Pods of an earlier spec serve calls",
			recheck: 20 * time.Second,
		},
		"rollout fails while the earlier spec serves": {
			in:      healthy(rollingOutTo(pod("echo-2", false, waiting(waitingImagePullBackOff, "")))),
			want:    map[string]string{"Available": "True ImagePullFailed", "Ready": "False ImagePullFailed"},
			message: "Pods of an earlier spec serve calls",
		},
		"the pod does not report the card yet": {
			in:   healthy(func(in *Inputs) { in.Observed.Pods[0].Annotations = nil }),
			want: map[string]string{"CardPublished": "False Publishing", "Ready": "False Publishing"},
		},
		"only a pod that is not ready lacks the card": {
			in: healthy(func(in *Inputs) {
				old := pod("echo-0", false, runningSince(now.Add(-time.Hour)))
				old.Annotations = nil
				in.Observed.Pods = append(in.Observed.Pods, old)
			}),
		},
		"the pod is ready, and the Deployment does not count it yet": {
			in: healthy(func(in *Inputs) { in.Observed.Children.Deployment.Status.AvailableReplicas = 0 }),
		},
		"one pod is ready, and another one is not": {
			in: healthy(func(in *Inputs) {
				d := in.Observed.Children.Deployment
				d.Spec.Replicas, d.Status.Replicas, d.Status.UpdatedReplicas = new(int32(2)), 2, 2
			}),
			want: map[string]string{"Ready": "False RolloutInProgress"},
		},
		"the pod is terminating": {
			in: healthy(func(in *Inputs) {
				in.Observed.Pods[0].DeletionTimestamp = new(metav1.NewTime(now))
				in.Observed.Children.Deployment.Status.AvailableReplicas = 0
			}),
			want: map[string]string{"Available": "False RolloutInProgress", "CardPublished": "False NoPodReady", "Ready": "False RolloutInProgress"},
		},
		"exposed": {
			in:   healthy(exposed),
			want: map[string]string{"Exposed": "True Exposed"},
		},
		"the route is not accepted": {
			in: healthy(exposed, func(in *Inputs) {
				in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionExposed, Reason: a2av1alpha1.ReasonRouteNotAccepted, Message: "Gateway"}}
			}),
			want:    map[string]string{"Exposed": "False RouteNotAccepted", "Ready": "False RouteNotAccepted"},
			message: "Gateway",
		},
		"the routes are those of an earlier spec": {
			in: healthy(exposed, func(in *Inputs) { in.Applied = false }),
			want: map[string]string{
				"Programmed": "Unknown ApplyFailed", "CardPublished": "False NotProgrammed", "Exposed": "False NotProgrammed", "Ready": "Unknown ApplyFailed",
			},
		},
	}
}

func TestAgent(t *testing.T) {
	for name, test := range agentCases() {
		t.Run(name, func(t *testing.T) {
			want := map[string]string{
				"Accepted": "True Accepted", "SkillsResolved": "True Resolved", "Programmed": "True Programmed",
				"Available": "True Available", "CardPublished": "True Published", "Exposed": "True ClusterOnly", "Ready": "True Ready",
			}
			maps.Copy(want, test.want)
			result := Agent(test.in)
			got := map[string]string{}
			always := withoutStalled(result.Status.Conditions)
			for _, c := range always {
				got[c.Type] = string(c.Status) + " " + c.Reason
				if c.ObservedGeneration != 7 || c.Message == "" && test.message != "" {
					t.Errorf("condition %s has generation %d and message %q", c.Type, c.ObservedGeneration, c.Message)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Agent() (-want +got):\n%s", diff)
			}
			checkDocumented(t, result.Status.Conditions)
			ready := meta.FindStatusCondition(result.Status.Conditions, a2av1alpha1.ConditionReady)
			if !strings.Contains(ready.Message, test.message) {
				t.Errorf("Ready says %q, want it to contain %q", ready.Message, test.message)
			}
			if result.RecheckAfter != test.recheck {
				t.Errorf("RecheckAfter = %s, want %s", result.RecheckAfter, test.recheck)
			}
		})
	}
}

// TestBlockedMessageListsAppliedChanges: if a spec is not accepted, the operator applies only its number of pods. If the
// Agent never had a card, the operator applies nothing.
func TestBlockedMessageListsAppliedChanges(t *testing.T) {
	for condition, part := range map[string]string{
		a2av1alpha1.ConditionAccepted:       "applies only the number of pods",
		a2av1alpha1.ConditionSkillsResolved: "applies no object",
	} {
		in := healthy(func(in *Inputs) {
			in.Problems = []state.Problem{{Condition: condition, Reason: "x", Message: "x"}}
			in.Applied, in.Card = false, nil
		})
		programmed := meta.FindStatusCondition(Agent(in).Status.Conditions, a2av1alpha1.ConditionProgrammed)
		if programmed.Reason != a2av1alpha1.ReasonBlocked || !strings.Contains(programmed.Message, part) {
			t.Errorf("%s is false: Programmed is %s: %s", condition, programmed.Reason, programmed.Message)
		}
	}
}

// TestShortenedMessageKeepsTheAppliedSentence: a shortened message still ends with the sentence that the rest of the spec
// is applied.
func TestShortenedMessageKeepsTheAppliedSentence(t *testing.T) {
	in := healthy(func(in *Inputs) {
		in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionSkillsResolved, Reason: "x", Message: strings.Repeat("é", maxMessage)}}
		in.CardKept = true
	})
	message := meta.FindStatusCondition(Agent(in).Status.Conditions, a2av1alpha1.ConditionSkillsResolved).Message
	if len(message) > maxMessage || !strings.HasSuffix(message, restIsApplied) {
		t.Errorf("%d bytes: %q", len(message), message)
	}
}

// TestReadyIsFalseForAKnownCause combines the problems of an Agent with a workload in every way,
// and those of a remote agent. It checks that Ready is Unknown only if no other condition is False
// for a reason that is not one of consequences.
func TestReadyIsFalseForAKnownCause(t *testing.T) {
	wrong := func(condition, reason string) func(*Inputs) {
		return func(in *Inputs) {
			in.Problems = append(in.Problems, state.Problem{Condition: condition, Reason: reason, Message: "m"})
		}
	}
	nothing := func(*Inputs) {}
	axes := [][]func(*Inputs){
		{nothing, wrong(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonPortConflict)},
		{nothing, wrong(a2av1alpha1.ConditionSkillsResolved, a2av1alpha1.ReasonSkillNotFound)},
		{nothing, wrong(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonWaitingForIssuerKeys)},
		{nothing, wrong(a2av1alpha1.ConditionExposed, a2av1alpha1.ReasonGatewayNotFound), wrong(a2av1alpha1.ConditionCardPublished, a2av1alpha1.ReasonForbidden)},
		{nothing, func(in *Inputs) { in.Applied = false }, func(in *Inputs) { in.Applied, in.Card = false, nil }, func(in *Inputs) { in.CardKept = true }},
		{nothing, func(in *Inputs) { in.Observed.Agent.Spec.Suspend = true }},
		{
			nothing, func(in *Inputs) {
				in.Observed.Remote, in.Observed.Pods, in.Observed.Children.Deployment = nil, nil, nil
			},
			func(in *Inputs) {
				in.Observed.Pods = []corev1.Pod{pod("echo-1", false, waiting(waitingImagePullBackOff, ""))}
				in.Observed.Remote = &state.Remote{Failure: &state.Problem{Condition: a2av1alpha1.ConditionAvailable, Reason: a2av1alpha1.ReasonRemoteForbidden, Message: "m"}}
			},
		},
	}
	check := func(t *testing.T, in Inputs) {
		t.Helper()
		var causes []string
		conditions := Agent(in).Status.Conditions
		for _, c := range conditions {
			if c.Type != a2av1alpha1.ConditionReady && c.Status == metav1.ConditionFalse && !slices.Contains(consequences, c.Reason) {
				causes = append(causes, c.Reason)
			}
		}
		ready := meta.FindStatusCondition(conditions, a2av1alpha1.ConditionReady)
		switch {
		case len(causes) > 0 && ready.Status != metav1.ConditionFalse:
			t.Errorf("Ready is %s %s, and the causes %v are known", ready.Status, ready.Reason, causes)
		case len(causes) > 0 && slices.Contains(consequences, ready.Reason):
			t.Errorf("Ready has the reason %s, and the causes %v are known", ready.Reason, causes)
		}
	}
	var combine func(axis int, changes []func(*Inputs))
	combine = func(axis int, changes []func(*Inputs)) {
		if axis < len(axes) {
			for _, change := range axes[axis] {
				combine(axis+1, append(slices.Clip(changes), change))
			}
			return
		}
		check(t, healthy(changes...))
		check(t, remoteInputs(changes...))
	}
	combine(0, nil)
}

func TestAgentReportsThePublishedCard(t *testing.T) {
	got := Agent(healthy()).Status
	got.Conditions = nil
	want := a2av1alpha1.AgentStatus{
		URL: "http://echo.agents.svc.cluster.local/", CardDigest: "card", Skills: new(int32(2)),
		Replicas: 1, Selector: "a2a-operator.dev/agent=echo", ObservedGeneration: 7,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Agent() (-want +got):\n%s", diff)
	}

	in := healthy(func(in *Inputs) {
		in.Observed.Agent.Status = want
		in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionSkillsResolved, Reason: "x"}}
		in.Card, in.Applied = nil, false
	})
	got = Agent(in).Status
	got.Conditions = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Agent() with a problem forgets what is published (-want +got):\n%s", diff)
	}
}

func TestUnchangedConditionsKeepTheirTimes(t *testing.T) {
	first := healthy()
	status := Agent(first).Status
	second := healthy(func(in *Inputs) {
		in.Observed.Agent.Status = status
		in.Now = now.Add(time.Hour)
	})
	if diff := cmp.Diff(status, Agent(second).Status); diff != "" {
		t.Errorf("Agent() an hour later (-first +second):\n%s", diff)
	}
}

func TestForeignConditionsAreKept(t *testing.T) {
	in := healthy(func(in *Inputs) {
		in.Observed.Agent.Status.Conditions = []metav1.Condition{{Type: "example.com/Checked", Status: metav1.ConditionTrue, Reason: "Checked"}}
	})
	if meta.FindStatusCondition(Agent(in).Status.Conditions, "example.com/Checked") == nil {
		t.Error("Agent() removed somebody else's condition")
	}
}

func TestMessagesAreBounded(t *testing.T) {
	in := healthy(func(in *Inputs) {
		in.Problems = []state.Problem{{Condition: a2av1alpha1.ConditionAccepted, Reason: "x", Message: strings.Repeat("é", maxMessage)}}
	})
	for _, c := range Agent(in).Status.Conditions {
		if len(c.Message) > maxMessage || strings.ContainsRune(c.Message, '\uFFFD') {
			t.Errorf("condition %s has a message of %d bytes: %q", c.Type, len(c.Message), c.Message)
		}
	}
}
