// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// descriptionAnnotation is the annotation with which Kubernetes describes an object.
const descriptionAnnotation = "kubernetes.io/description"

// ProtocolChatCompletions is the protocol of a container that is a model server. Its Agent has spec.model.
const ProtocolChatCompletions a2av1alpha1.BackendProtocol = "ChatCompletions"

// Deployment is the input of FromDeployment: a Deployment, and the known properties of its pods.
type Deployment struct {
	Object *appsv1.Deployment
	// Unknown are the paths of the fields of the object that the Go type does not have, as Decode returns them.
	Unknown []string
	// Target is the container and port of the agent.
	Target *Target
	// Name is the name of the Agent, "" for the name of the Deployment with the suffix "-agent": the operator makes a
	// Deployment of the Agent's name, and the source has its name. Description is the description of the Agent, "" for
	// the description of the card or of the Deployment.
	Name, Description string
	// Protocol is the protocol of the container, or ProtocolChatCompletions.
	Protocol a2av1alpha1.BackendProtocol
	// Card is the card of the container, nil for none.
	Card *card.Card
	// Guessed is true if the container answered HTTP and the answer did not identify the protocol.
	Guessed bool
}

// FromDeployment returns the Agent for a Deployment.
func FromDeployment(in *Deployment) *Result {
	d := in.Object
	result := &Result{}
	s := NewSource("Deployment "+d.Namespace+"/"+d.Name, d, in.Unknown, &result.Report)
	agent := NewAgent(d.Namespace, AgentName(cmp.Or(in.Name, d.Name+"-agent")))
	if agent.Name == d.Name {
		s.Check("the operator makes a Deployment and a Service of the same name, and does not take over yours", "delete the Deployment and the Service before you apply the Agent, or import with --name", "metadata", "name")
	} else if in.Name == "" {
		s.note(Changed, Path("metadata", "name"), "the operator makes a Deployment and a Service with the name of the Agent, and yours stay", "delete yours when no client calls them; --name sets another name")
	}
	agent.Spec.Description = d.Annotations[descriptionAnnotation]
	workload := &a2av1alpha1.AgentWorkload{Backend: a2av1alpha1.AgentBackend{Protocol: in.Protocol, Port: in.Target.Port}}
	s.restarts(workload, d.Annotations)
	s.Metadata(descriptionAnnotation)
	isModel := in.Protocol == ProtocolChatCompletions
	if isModel {
		workload.Backend.Protocol = ""
	}
	agent.Spec.Workload = workload
	if isModel {
		agent.Spec.Model = &a2av1alpha1.AgentModel{}
	}
	workload.Template = s.template(&d.Spec.Template, in.Target.Container, in.Target.selectors(d))
	s.Replicas(workload, d.Spec.Replicas, "spec", "replicas")
	s.rollout(workload, &d.Spec.Strategy)
	s.describe(agent, in)
	s.Close()
	in.Target.report(agent, &result.Report)
	result.Agents = append(result.Agents, agent)
	return result
}

// NewAgent returns an Agent with a name and an empty spec.
func NewAgent(namespace, name string) *a2av1alpha1.Agent {
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	agent.SetGroupVersionKind(a2av1alpha1.GroupVersion.WithKind(a2av1alpha1.AgentKind))
	return agent
}

// Metadata reports the metadata of the source except for the annotations in keep. The Agent receives no labels and
// annotations of the source, because tools such as Helm and Argo CD find their objects by labels and annotations.
func (s *Source) Metadata(keep ...string) {
	for _, name := range []string{"kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision"} {
		s.Drop("metadata", "annotations", name)
	}
	const why = "tools such as Helm and Argo CD use it to find their objects"
	for _, name := range []string{"labels", "annotations"} {
		for _, key := range s.Names("metadata", name) {
			if !slices.Contains(keep, key) {
				s.LeftOut(why, "add it to the Agent if no such tool manages the Deployment", "metadata", name, key)
			}
		}
	}
	s.LeftOut("the Agent has no owner, and nothing waits for its deletion", NothingToDo, "metadata", "ownerReferences")
	s.LeftOut("the Agent has no owner, and nothing waits for its deletion", NothingToDo, "metadata", "finalizers")
	s.LeftOut("the Agent has a name", NothingToDo, "metadata", "generateName")
}

// Replicas converts a number of pods. It copies 0 to the Agent. For any other number, the Agent keeps the default of 1.
// Replicas reports a number above 1, because several pods need a shared task store.
func (s *Source) Replicas(workload *a2av1alpha1.AgentWorkload, replicas *int32, path ...any) {
	if replicas == nil || *replicas == 1 {
		s.Drop(path...)
		return
	}
	if *replicas == 0 {
		workload.Replicas = replicas
		s.Drop(path...)
		return
	}
	s.Changed("several pods need a task store that they share, and the Agent has one pod", "set spec.workload.tasks.store to a Redis, and then spec.workload.replicas", path...)
}

// rollout converts how the Deployment replaces its pods. The Agent keeps the default of a Deployment for the default of
// Agents, which adds a pod before it removes one.
func (s *Source) rollout(workload *a2av1alpha1.AgentWorkload, strategy *appsv1.DeploymentStrategy) {
	s.Drop("spec", "selector")
	s.DropDefault(10, "spec", "revisionHistoryLimit")
	s.DropDefault(600, "spec", "progressDeadlineSeconds")
	s.DropDefault(map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": "25%", "maxSurge": "25%"}}, "spec", "strategy")
	s.DropDefault(map[string]any{}, "spec", "strategy")
	standard := intstr.FromString("25%")
	numbers := strategy.RollingUpdate
	switch {
	case strategy.Type == appsv1.RecreateDeploymentStrategyType && numbers == nil:
		workload.Strategy.Type = a2av1alpha1.StrategyRecreate
		s.Drop("spec", "strategy")
	case strategy.Type == appsv1.RollingUpdateDeploymentStrategyType && numbers != nil:
		if ptr.Deref(numbers.MaxSurge, standard) != standard || ptr.Deref(numbers.MaxUnavailable, standard) != standard {
			workload.Strategy.RollingUpdate = &a2av1alpha1.AgentRollingUpdate{MaxSurge: numbers.MaxSurge, MaxUnavailable: numbers.MaxUnavailable}
		}
		s.Drop("spec", "strategy")
	}
	for _, name := range []string{"strategy", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"} {
		s.LeftOut("the operator replaces the pods of an Agent so that no turn is lost", NothingToDo, "spec", name)
	}
	s.LeftOut("an Agent has spec.suspend instead", "set spec.suspend: true if no pod may run", "spec", "paused")
}

// describe sets the fields of the Agent that become texts of the card.
func (s *Source) describe(agent *a2av1alpha1.Agent, in *Deployment) {
	spec := &agent.Spec
	var report []Note
	texts := NewSource(s.object, map[string]any{}, nil, &report)
	if c := in.Card; c != nil {
		spec.DisplayName = Clip(c.Name, maxName)
		spec.Version = Clip(c.Version, maxVersion)
		spec.Description = cmp.Or(Clip(c.Description, maxDescription), spec.Description)
		spec.DefaultInputModes = mediaTypes(c.DefaultInputModes)
		spec.DefaultOutputModes = mediaTypes(c.DefaultOutputModes)
		spec.Skills = texts.Skills(cardSkills(c), "card", "skills")
		if p := c.Provider; p != nil && p.Organization != "" && IsWebURL(p.URL) {
			spec.Provider = &a2av1alpha1.AgentProvider{Organization: Clip(p.Organization, 256), URL: p.URL}
		}
		if IsWebURL(c.DocumentationURL) {
			spec.DocumentationURL = c.DocumentationURL
		}
		if IsWebURL(c.IconURL) {
			spec.IconURL = c.IconURL
		}
		if len(c.SecuritySchemes) > 0 {
			s.Check("the card of the container requires credentials, and the sidecar sends it none", "turn authentication of the program off: the sidecar authenticates callers", "card", "securitySchemes")
		}
	}
	if in.Description != "" {
		spec.Description = in.Description
	}
	spec.Description = s.Description(spec.Description, in.Object.Name+" of Deployment "+in.Object.Name+".", "metadata", "annotations", descriptionAnnotation)
	if in.Guessed {
		s.Check("the container answers HTTP, and has neither a card nor models at the usual paths, so the import assumed Events",
			"let the program answer a POST as https://github.com/a2a-operator/a2a-operator/blob/main/docs/reference/events-protocol.md describes, or set spec.workload.backend.path and protocol", "spec", "template", "spec", "containers", in.Target.Container)
	}
	if in.Protocol == a2av1alpha1.BackendProtocolEvents && !in.Guessed {
		s.Check("the program must answer one POST for each turn", "see https://github.com/a2a-operator/a2a-operator/blob/main/docs/reference/events-protocol.md; spec.workload.backend.path is the path, / by default", "spec", "template", "spec", "containers", in.Target.Container)
	}
	*s.report = append(*s.report, report...)
}

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
	out.ObjectMeta = metav1.ObjectMeta{Labels: out.Labels, Annotations: out.Annotations}
}

// dropPodDefaults removes the values that the API server sets in every Deployment.
func (s *Source) dropPodDefaults(pod *corev1.PodSpec) {
	field := func(name string) []any { return []any{"spec", "template", "spec", name} }
	dropDefault(s, &pod.RestartPolicy, corev1.RestartPolicyAlways, field("restartPolicy"))
	dropDefault(s, &pod.DNSPolicy, corev1.DNSClusterFirst, field("dnsPolicy"))
	dropDefault(s, &pod.SchedulerName, corev1.DefaultSchedulerName, field("schedulerName"))
	dropDefault(s, &pod.DeprecatedServiceAccount, pod.ServiceAccountName, field("serviceAccount"))
	if grace := pod.TerminationGracePeriodSeconds; grace != nil && *grace == corev1.DefaultTerminationGracePeriodSeconds {
		pod.TerminationGracePeriodSeconds = nil
		s.Drop(field("terminationGracePeriodSeconds")...)
	}
	if pod.SecurityContext != nil && reflect.ValueOf(*pod.SecurityContext).IsZero() {
		pod.SecurityContext = nil
		s.Drop(field("securityContext")...)
	}
}

// dropDefault clears a field that has its default, and marks it as handled.
func dropDefault[T ~string](s *Source, value *T, standard T, path []any) {
	if *value == standard {
		*value = ""
		s.Drop(path...)
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
	pod.RestartPolicy = ""
	pod.HostNetwork = false
	pod.HostPID = false
	pod.ShareProcessNamespace = nil
	pod.EphemeralContainers = nil
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
	a2av1alpha1.VolumeStoreTLS, a2av1alpha1.VolumeModelKey, a2av1alpha1.VolumeModelSecrets, a2av1alpha1.VolumeInstructions, a2av1alpha1.VolumeEgressProxy, a2av1alpha1.VolumeHook, a2av1alpha1.VolumeClientCertificate,
}

// Container removes defaults of the API server from a container, renames it if it has the sidecar's name, and leaves out
// ports that the sidecar needs.
func (s *Source) Container(c *corev1.Container, path ...any) {
	field := func(names ...any) []any { return slices.Concat(path, names) }
	dropDefault(s, &c.TerminationMessagePath, corev1.TerminationMessagePathDefault, field("terminationMessagePath"))
	dropDefault(s, &c.TerminationMessagePolicy, corev1.TerminationMessageReadFile, field("terminationMessagePolicy"))
	s.DropDefault(map[string]any{}, field("resources")...)
	if c.Name == a2av1alpha1.ContainerSidecar {
		s.Changed("the operator adds a container of this name", NothingToDo, field("name")...)
		c.Name = "imported-" + c.Name
	}
	var kept []corev1.ContainerPort
	for i := range c.Ports {
		if isSidecarPort(c.Ports[i].ContainerPort) {
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
		pod.AutomountServiceAccountToken = new(true)
		s.Check("the Deployment mounts the token of its ServiceAccount by default, and the import keeps that", "remove automountServiceAccountToken from the Agent if the program does not call the API server", field("automountServiceAccountToken")...)
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
