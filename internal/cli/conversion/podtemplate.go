// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// FirstSidecarPort and LastSidecarPort are the ports of the sidecar, which no container of an Agent may use.
const (
	FirstSidecarPort = 8641
	LastSidecarPort  = 8643
)

// IsSidecarPort reports whether the sidecar listens at a port.
func IsSidecarPort(port int32) bool { return port >= FirstSidecarPort && port <= LastSidecarPort }

// template converts the pod template at spec.template of the source. It moves the container with the index agent to the
// front, and leaves out the labels by which selectors select the pods.
func (s *Source) template(template *corev1.PodTemplateSpec, agent int, selectors map[string]string) corev1.PodTemplateSpec {
	out := *template.DeepCopy()
	s.templateMetadata(&out, selectors)
	s.dropPodDefaults(&out.Spec)
	s.refusedByOperator(&out.Spec)
	for i := range out.Spec.Containers {
		s.Container(&out.Spec.Containers[i], "spec", "template", "spec", "containers", i)
	}
	for i := range out.Spec.InitContainers {
		s.Container(&out.Spec.InitContainers[i], "spec", "template", "spec", "initContainers", i)
	}
	s.Converted(out, "spec", "template")
	s.ownDefaults(&out.Spec, agent)
	if agent > 0 {
		s.Check("the first container of an Agent is the agent, and the import moved this one to the front", NothingToDo, "spec", "template", "spec", "containers", agent)
		main := out.Spec.Containers[agent]
		out.Spec.Containers = slices.Insert(slices.Delete(out.Spec.Containers, agent, agent+1), 0, main)
	}
	return out
}

func (s *Source) templateMetadata(out *corev1.PodTemplateSpec, selectors map[string]string) {
	meta := []any{"spec", "template", "metadata"}
	for _, name := range slices.Sorted(maps.Keys(out.Labels)) {
		path := append(slices.Clone(meta), "labels", name)
		switch value, selected := selectors[name]; {
		case selected && value == out.Labels[name]:
			s.LeftOut("the Deployment or its Service selects pods by this label, and would select those of the Agent", "select by a label of your own, or by "+a2av1alpha1.LabelAgent, path...)
		case name == a2av1alpha1.LabelAgent:
			s.LeftOut("the operator sets this label", NothingToDo, path...)
		default:
			continue
		}
		delete(out.Labels, name)
	}
	const restarted = "kubectl.kubernetes.io/restartedAt"
	s.LeftOut("it is the time of a restart of the Deployment", NothingToDo, append(slices.Clone(meta), "annotations", restarted)...)
	delete(out.Annotations, restarted)
	for _, name := range []string{"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields"} {
		s.LeftOut("pods get only the labels and annotations of the template's metadata", NothingToDo, append(slices.Clone(meta), name)...)
	}
	kept := out.ObjectMeta
	out.ObjectMeta.Reset()
	out.Labels, out.Annotations = kept.Labels, kept.Annotations
	if len(out.Labels) == 0 {
		out.Labels = nil
	}
	if len(out.Annotations) == 0 {
		out.Annotations = nil
	}
}

// dropPodDefaults removes the values that the API server sets in every Deployment.
func (s *Source) dropPodDefaults(pod *corev1.PodSpec) {
	spec := []any{"spec", "template", "spec"}
	field := func(name string) []any { return append(slices.Clone(spec), name) }
	if pod.RestartPolicy == corev1.RestartPolicyAlways {
		pod.RestartPolicy = ""
		s.Drop(field("restartPolicy")...)
	}
	if pod.DNSPolicy == corev1.DNSClusterFirst {
		pod.DNSPolicy = ""
		s.Drop(field("dnsPolicy")...)
	}
	if pod.SchedulerName == corev1.DefaultSchedulerName {
		pod.SchedulerName = ""
		s.Drop(field("schedulerName")...)
	}
	if grace := pod.TerminationGracePeriodSeconds; grace != nil && *grace == corev1.DefaultTerminationGracePeriodSeconds {
		pod.TerminationGracePeriodSeconds = nil
		s.Drop(field("terminationGracePeriodSeconds")...)
	}
	if pod.SecurityContext != nil && reflect.ValueOf(*pod.SecurityContext).IsZero() {
		pod.SecurityContext = nil
		s.Drop(field("securityContext")...)
	}
	if pod.DeprecatedServiceAccount == pod.ServiceAccountName {
		pod.DeprecatedServiceAccount = ""
		s.Drop(field("serviceAccount")...)
	}
}

// refusedByOperator leaves out the pod fields that the operator refuses in an Agent.
func (s *Source) refusedByOperator(pod *corev1.PodSpec) {
	field := func(name string) []any { return []any{"spec", "template", "spec", name} }
	s.LeftOut("pods of an Agent always restart", NothingToDo, field("restartPolicy")...)
	s.LeftOut("the sidecar needs ports of the pod", "let the program listen on a port of the pod", field("hostNetwork")...)
	s.LeftOut("the agent could read the token of the sidecar", "run the program without it", field("hostPID")...)
	s.LeftOut("the agent could read the token of the sidecar", "run the program without it", field("shareProcessNamespace")...)
	s.LeftOut("a template has no ephemeral containers", "use kubectl debug with a pod of the Agent", field("ephemeralContainers")...)
	pod.RestartPolicy, pod.HostNetwork, pod.HostPID, pod.ShareProcessNamespace, pod.EphemeralContainers = "", false, false, nil, nil
	s.Volumes(pod.Volumes, field("volumes")...)
}

// Volumes reports volumes that have the name of a volume of the sidecar.
func (s *Source) Volumes(volumes []corev1.Volume, path ...any) {
	for i := range volumes {
		if slices.Contains(sidecarVolumes, volumes[i].Name) {
			s.Check("the operator adds a volume of this name, and does not accept a second one", "rename the volume and its mounts in the Agent", append(slices.Clone(path), i, "name")...)
		}
	}
}

// sidecarVolumes are the names of the volumes of the sidecar.
var sidecarVolumes = []string{
	a2av1alpha1.VolumeConfig, a2av1alpha1.VolumeToken, a2av1alpha1.VolumeCardSigning, a2av1alpha1.VolumeAPIKeys,
	a2av1alpha1.VolumeTLS, a2av1alpha1.VolumeClientCA, a2av1alpha1.VolumeTrust, a2av1alpha1.VolumeStorePassword,
	a2av1alpha1.VolumeStoreTLS, a2av1alpha1.VolumeChatKey,
}

// Container removes defaults of the API server from a container, renames it if it has the sidecar's name, and leaves out
// ports that the sidecar needs.
func (s *Source) Container(c *corev1.Container, path ...any) {
	field := func(names ...any) []any { return append(slices.Clone(path), names...) }
	if c.TerminationMessagePath == corev1.TerminationMessagePathDefault {
		c.TerminationMessagePath = ""
		s.Drop(field("terminationMessagePath")...)
	}
	if c.TerminationMessagePolicy == corev1.TerminationMessageReadFile {
		c.TerminationMessagePolicy = ""
		s.Drop(field("terminationMessagePolicy")...)
	}
	s.DropDefault(map[string]any{}, field("resources")...)
	if c.Name == a2av1alpha1.ContainerSidecar {
		s.Changed("the operator adds a container of this name", NothingToDo, field("name")...)
		c.Name = "imported-" + c.Name
	}
	var kept []corev1.ContainerPort
	for i := range c.Ports {
		if IsSidecarPort(c.Ports[i].ContainerPort) {
			s.LeftOut("the sidecar listens on 8641, 8642 and 8643", "let the program listen on another port", field("ports", i)...)
			continue
		}
		s.Converted(c.Ports[i], field("ports", i)...)
		kept = append(kept, c.Ports[i])
	}
	c.Ports = kept
}

// ownDefaults reports the defaults of the operator that differ from the defaults of a Deployment.
func (s *Source) ownDefaults(pod *corev1.PodSpec, agent int) {
	field := func(names ...any) []any { return append([]any{"spec", "template", "spec"}, names...) }
	if pod.ServiceAccountName != "" && pod.AutomountServiceAccountToken == nil {
		s.Check("the operator mounts no token of the ServiceAccount unless the template requests it", "set automountServiceAccountToken: true if the program calls the API server", field("automountServiceAccountToken")...)
	}
	c := &pod.Containers[agent]
	user := pod.SecurityContext != nil && (pod.SecurityContext.RunAsUser != nil || pod.SecurityContext.RunAsNonRoot != nil)
	if !user && (c.SecurityContext == nil || c.SecurityContext.RunAsUser == nil && c.SecurityContext.RunAsNonRoot == nil) {
		s.Check("the operator runs containers without root", "set runAsUser if the image has no user of its own", field("containers", agent, "securityContext", "runAsUser")...)
	}
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
		s.Check("the hook replaces that of the operator, which waits for running turns", "remove it, or let it wait for the response of port 8642 at /drained", field("containers", agent, "lifecycle", "preStop")...)
	}
}
