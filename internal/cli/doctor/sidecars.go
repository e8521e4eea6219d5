// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

// checkSidecars finds pods without a sidecar, with an old sidecar or configuration, with containers
// of a service mesh, and with a DNS policy that resolves no names of the cluster.
func checkSidecars(shared *SharedFacts, f *AgentFacts) []Finding {
	if isUnread(f.Unread, partPods) || len(f.Pods) == 0 {
		return nil
	}
	var findings []Finding
	for i := range f.Pods {
		pod := &f.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		for _, find := range []func(*SharedFacts, *AgentFacts, *corev1.Pod) (Finding, bool){sidecarAge, configurationAge, injectedContainers, dnsPolicy} {
			if finding, found := find(shared, f, pod); found && !slices.ContainsFunc(findings, func(x Finding) bool { return x.Check == finding.Check }) {
				findings = append(findings, finding)
			}
		}
	}
	return orOkay(findings, "sidecars", "the sidecars have the current image and configuration")
}

// sidecarAge compares the image of a pod's sidecar with the image in the manager's flag --sidecar-image.
func sidecarAge(shared *SharedFacts, f *AgentFacts, pod *corev1.Pod) (Finding, bool) {
	image := imageOf(&pod.Spec, a2av1alpha1.ContainerSidecar)
	restart := "kubectl rollout status deployment -n " + pod.Namespace + " " + names.Deployment(f.Agent.Name)
	if image == "" {
		return Finding{
			Level: LevelProblem, Check: "sidecar image", Seen: []string{fmt.Sprintf("pod %s has no container %s", pod.Name, a2av1alpha1.ContainerSidecar)},
			Cause:   "The pod has the label " + a2av1alpha1.LabelAgent + " and is not a pod of the operator, so the Service sends calls to a pod that speaks no A2A.",
			Cure:    "Remove the label from the pod, or delete the pod.",
			Command: fmt.Sprintf("kubectl label pod -n %s %s %s-", pod.Namespace, pod.Name, a2av1alpha1.LabelAgent),
		}, true
	}
	want := sidecarImageFlag(shared.Manager)
	if want == "" || want == image {
		return Finding{}, false
	}
	return Finding{
		Level: LevelWarning, Check: "sidecar image", Seen: []string{fmt.Sprintf("pod %s runs %s, and the manager's --sidecar-image is %s", pod.Name, image, want)},
		Cause:   "The rollout to the new sidecar is not complete, or the operator does not apply the Deployment.",
		Cure:    "Wait for the rollout. If it does not proceed, correct the causes that the conditions name.",
		Command: restart,
	}, true
}

func imageOf(spec *corev1.PodSpec, container string) string {
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

// sidecarImageFlag returns the sidecar image in the flags of the manager, "" if it is unknown.
func sidecarImageFlag(manager *appsv1.Deployment) string {
	if manager == nil {
		return ""
	}
	for _, c := range manager.Spec.Template.Spec.Containers {
		for _, arg := range c.Args {
			if image, ok := strings.CutPrefix(arg, "--sidecar-image="); ok {
				return image
			}
		}
	}
	return ""
}

// configurationAge compares the digest of the configuration that the operator announced to a pod with the digest of the
// ConfigMap.
func configurationAge(_ *SharedFacts, f *AgentFacts, pod *corev1.Pod) (Finding, bool) {
	if f.ConfigMap == nil || !isReady(pod) {
		return Finding{}, false
	}
	want, got := f.ConfigMap.Annotations[a2av1alpha1.AnnotationConfigDigest], pod.Annotations[a2av1alpha1.AnnotationConfigDigest]
	if want == "" || want == got {
		return Finding{}, false
	}
	return Finding{
		Level: LevelWarning, Check: "sidecar configuration", Seen: []string{fmt.Sprintf("pod %s has the configuration %q, and the ConfigMap %q", pod.Name, got, want)},
		Cause:   "The operator announces a new configuration to the pod by an annotation, and has not done so yet. The kubelet reads the ConfigMap after about a minute without it.",
		Cure:    "Wait a minute. If the difference persists, check that the manager runs and may patch pods.",
		Command: fmt.Sprintf("kubectl logs -n %s %s -c %s --tail 50", pod.Namespace, pod.Name, a2av1alpha1.ContainerSidecar),
	}, true
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// meshes are the names of service meshes, by the names of their containers.
var meshes = map[string]string{
	"istio-proxy": "Istio", "istio-init": "Istio", "istio-validation": "Istio", "linkerd-proxy": "Linkerd", "linkerd-init": "Linkerd",
	"kuma-sidecar": "Kuma", "kuma-init": "Kuma", "consul-dataplane": "Consul", "consul-connect-inject-init": "Consul", "envoy-sidecar": "App Mesh",
}

// injectedContainers finds containers of a service mesh, which neither the pod template nor the operator added.
func injectedContainers(_ *SharedFacts, f *AgentFacts, pod *corev1.Pod) (Finding, bool) {
	if f.Agent.Spec.Workload == nil {
		return Finding{}, false
	}
	known := []string{a2av1alpha1.ContainerSidecar}
	template := &f.Agent.Spec.Workload.Template.Spec
	for _, c := range slices.Concat(template.InitContainers, template.Containers) {
		known = append(known, c.Name)
	}
	var injected []string
	product := ""
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if slices.Contains(known, c.Name) {
			continue
		}
		injected = append(injected, c.Name)
		if name, ok := meshes[c.Name]; ok {
			product = name
		}
	}
	if product == "" { // other injected containers do not intercept traffic
		return Finding{}, false
	}
	return Finding{
		Level: LevelWarning, Check: "service mesh", Seen: []string{fmt.Sprintf("pod %s has the containers %s", pod.Name, strings.Join(injected, ", "))},
		Cause: fmt.Sprintf("A webhook of %s added a proxy to the pod. The proxy may require mutual TLS of callers, deny calls by its own policies, "+
			"end streams by its timeouts, and intercept calls of the sidecar before the proxy has started.", product),
		Cure: "If calls fail, let the mesh admit plain traffic to port 8641 and 8642, remove its timeout for this Service, and start its proxy as a native sidecar; " +
			"or exclude the pods with an annotation in spec.workload.template.metadata.",
		Command: "kubectl get pod -n " + pod.Namespace + " " + pod.Name + " -o yaml",
	}, true
}

// dnsPolicy finds pods that do not use the DNS of the cluster.
func dnsPolicy(_ *SharedFacts, f *AgentFacts, pod *corev1.Pod) (Finding, bool) {
	if policy := pod.Spec.DNSPolicy; policy != corev1.DNSDefault && (policy != corev1.DNSNone || pod.Spec.DNSConfig != nil && len(pod.Spec.DNSConfig.Nameservers) > 0) {
		return Finding{}, false
	}
	return Finding{
		Level: LevelWarning, Check: "DNS policy", Seen: []string{fmt.Sprintf("pod %s has dnsPolicy %s", pod.Name, pod.Spec.DNSPolicy)},
		Cause:   "The pod does not use the DNS of the cluster, so the sidecar cannot find the registry and other agents.",
		Cure:    "Remove dnsPolicy from spec.workload.template.spec, or set it to ClusterFirst.",
		Command: "kubectl edit agent -n " + f.Agent.Namespace + " " + f.Agent.Name,
	}, true
}
