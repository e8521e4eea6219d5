// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cachedlabels"
	"github.com/a2a-operator/a2a-operator/internal/cacheinterning"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

const (
	// maxOwned bounds the memory of an object that the operator wrote for an Agent, in bytes, except
	// for ConfigMaps. The objects of an Agent without large texts are smaller. A larger object loses its
	// spec in the cache, and the operator applies it again where it would otherwise compare it.
	maxOwned = 32 << 10
	// maxPod bounds the memory of a pod without the signatures of its card, in bytes. A larger pod
	// loses the states of its containers in the cache.
	maxPod = 32 << 10
	// maxGateway bounds the memory of a Gateway, in bytes. A larger Gateway has no listeners and
	// no addresses in the cache.
	maxGateway = 64 << 10
	// maxLabels bounds the memory of the labels of a Namespace or an AgentSkill, in bytes.
	maxLabels = 16 << 10
	// maxName is the length of the longest name that a transform keeps, in bytes. Names of
	// objects that exist are not longer, but the API server accepts longer ones in references.
	maxName = 253
	// maxAnnotation is the length of the longest digest in an annotation, and of the longest label of the
	// operator, in bytes.
	maxAnnotation = 128
	// maxMessage is the length of the longest message in a status, in bytes. A condition of an Agent,
	// to which messages are copied, has room for 1024 bytes.
	maxMessage = 1024
	// maxSpecDigest is the length of the longest digest of a spec in a status, in bytes (the CRDs).
	maxSpecDigest = 16 << 10
	// maxStatusItems bounds the lists in a status: conditions, containers, and parents of a route.
	maxStatusItems = 32
)

// StripForeign is a transform for the kinds that Agents own. From an object that the operator
// writes for an Agent, it keeps the fields that the operator reads. From any other object, it keeps
// only the identity. Such other objects are also the objects that an Agent controls and that have
// another name than the operator gives, and the objects that the operator did not write: everyone
// who may create objects may create any number of them.
//
// Everyone may also forge the managed fields by which StripForeign recognizes a write of the
// operator. The size of what it keeps is therefore bounded, whatever the object holds: by maxOwned,
// and for a ConfigMap by sidecarconfig.MaxSize.
//
// From an object that is being deleted, it keeps the identity and the deletion timestamp (see
// LacksData), and from a Deployment also the number of its pods.
func StripForeign(obj any) (any, error) {
	object, ok := obj.(client.Object)
	if !ok {
		return obj, nil
	}
	if !maybeByOperator(object) {
		kept := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
		*metadataOf(kept) = foreignIdentity(*metadataOf(object))
		if account, is := kept.(*corev1.ServiceAccount); is {
			// The pods of an Agent may use a ServiceAccount of another owner.
			account.CreationTimestamp = object.GetCreationTimestamp()
		}
		return kept, nil
	}
	if object.GetDeletionTimestamp() != nil {
		kept := withoutSpec(object)
		*metadataOf(kept) = identity(*metadataOf(object))
		metadataOf(kept).DeletionTimestamp = object.GetDeletionTimestamp()
		return kept, nil
	}
	if kept := owned(object); sizeOf(kept) <= maxOwned || isConfigMap(kept) {
		return kept, nil
	}
	return withoutSpec(object), nil
}

// maybeByOperator reports whether an object has the name and the controller of an Agent's object
// and whether the operator may have written it. It treats an object without managed fields as one
// of the operator, because the transform may have removed them before.
func maybeByOperator(object client.Object) bool {
	fields := object.GetManagedFields()
	return hasNameForAgent(object) && (len(fields) == 0 || slices.ContainsFunc(fields, isByOperator))
}

func isConfigMap(object client.Object) bool {
	_, is := object.(*corev1.ConfigMap)
	return is
}

// owned returns the parts of an Agent's object that the operator reads.
func owned(object client.Object) client.Object {
	kept := withoutSpec(object)
	switch o := object.(type) {
	case *appsv1.Deployment:
		kept.(*appsv1.Deployment).Spec = o.Spec
	case *corev1.Service:
		kept.(*corev1.Service).Spec = o.Spec
	case *corev1.ConfigMap:
		kept.(*corev1.ConfigMap).Data = configurationOf(o)
	case *networkingv1.NetworkPolicy:
		kept.(*networkingv1.NetworkPolicy).Spec = o.Spec
	case *autoscalingv2.HorizontalPodAutoscaler:
		kept.(*autoscalingv2.HorizontalPodAutoscaler).Spec = o.Spec
	case *policyv1.PodDisruptionBudget:
		kept.(*policyv1.PodDisruptionBudget).Spec = o.Spec
	case *gatewayv1.HTTPRoute:
		kept.(*gatewayv1.HTTPRoute).Spec = o.Spec
		kept.(*gatewayv1.HTTPRoute).Status.Parents = routeParents(o.Status.Parents)
	case *gatewayv1.GRPCRoute:
		kept.(*gatewayv1.GRPCRoute).Spec = o.Spec
		kept.(*gatewayv1.GRPCRoute).Status.Parents = routeParents(o.Status.Parents)
	default:
	}
	return kept
}

// withoutSpec returns the metadata of an Agent's object, and the parts of small size that the status
// of the Agent depends on.
func withoutSpec(object client.Object) client.Object {
	kept := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	*metadataOf(kept) = ownedMetadata(*metadataOf(object))
	switch o := object.(type) {
	case *appsv1.Deployment:
		kept := kept.(*appsv1.Deployment)
		kept.Spec.Replicas = o.Spec.Replicas
		kept.Spec.Paused = o.Spec.Paused
		kept.Spec.Template.Annotations = only(o.Spec.Template.Annotations, a2av1alpha1.AnnotationTemplateDigest, a2av1alpha1.AnnotationServiceAccountUID)
		kept.Status = appsv1.DeploymentStatus{
			ObservedGeneration: o.Status.ObservedGeneration,
			Replicas:           o.Status.Replicas,
			UpdatedReplicas:    o.Status.UpdatedReplicas,
			ReadyReplicas:      o.Status.ReadyReplicas,
			AvailableReplicas:  o.Status.AvailableReplicas,
			Conditions: some(o.Status.Conditions, func(c appsv1.DeploymentCondition) (appsv1.DeploymentCondition, bool) {
				return appsv1.DeploymentCondition{Type: c.Type, Status: cut(c.Status, maxName), Reason: cut(c.Reason, maxName), Message: cut(c.Message, maxMessage)},
					c.Type == appsv1.DeploymentProgressing || c.Type == appsv1.DeploymentReplicaFailure
			}),
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		kept.(*autoscalingv2.HorizontalPodAutoscaler).Status.Conditions = some(o.Status.Conditions,
			func(c autoscalingv2.HorizontalPodAutoscalerCondition) (autoscalingv2.HorizontalPodAutoscalerCondition, bool) {
				return autoscalingv2.HorizontalPodAutoscalerCondition{Type: c.Type, Status: cut(c.Status, maxName), Reason: cut(c.Reason, maxName)},
					c.Type == autoscalingv2.ScalingActive || c.Type == autoscalingv2.AbleToScale
			})
	case *corev1.ServiceAccount:
		kept.(*corev1.ServiceAccount).AutomountServiceAccountToken = o.AutomountServiceAccountToken
	default:
	}
	return kept
}

// some returns the results of keep for the items for which keep also returns true, at most
// maxStatusItems, or nil if there are none.
func some[T any](items []T, keep func(T) (T, bool)) []T {
	var kept []T
	for _, item := range items {
		if part, is := keep(item); is && len(kept) < maxStatusItems {
			kept = append(kept, part)
		}
	}
	return kept
}

// conditions returns the conditions of the given types, or of all types if none is given, with
// bounded texts.
func conditions(all []metav1.Condition, types ...string) []metav1.Condition {
	return some(all, func(c metav1.Condition) (metav1.Condition, bool) {
		c.Type, c.Status = cut(c.Type, maxName), cut(c.Status, maxName)
		c.Reason, c.Message = cut(c.Reason, maxName), cut(c.Message, maxMessage)
		return c, len(types) == 0 || slices.Contains(types, c.Type)
	})
}

// routeParents returns the parts of the status of a route that show whether Gateways accept it.
func routeParents(parents []gatewayv1.RouteParentStatus) []gatewayv1.RouteParentStatus {
	return some(parents, func(p gatewayv1.RouteParentStatus) (gatewayv1.RouteParentStatus, bool) {
		return gatewayv1.RouteParentStatus{
			ParentRef:  p.ParentRef,
			Conditions: conditions(p.Conditions, string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs)),
		}, true
	})
}

// configurationOf returns the data of an Agent's ConfigMap that the operator reads: at most
// sidecarconfig.MaxSize bytes. The operator writes one of the two values.
func configurationOf(configMap *corev1.ConfigMap) map[string]string {
	for _, key := range []string{sidecarconfig.FileName, sidecarconfig.CardFileName} {
		if value, found := configMap.Data[key]; found && len(value) <= sidecarconfig.MaxSize {
			return map[string]string{key: value}
		}
	}
	return nil
}

// metadataOf returns the metadata of an object of a kind that Agents own.
func metadataOf(object client.Object) *metav1.ObjectMeta {
	return object.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// StripGateway is a transform for Gateways. It keeps what the operator needs to find the addresses
// at which a Gateway serves a route. It omits among others the numbers of attached routes. These
// numbers change with each Agent that is created or deleted, and each change would reconcile all
// other Agents of the Gateway.
func StripGateway(obj any) (any, error) {
	gateway, ok := obj.(*gatewayv1.Gateway)
	if !ok {
		return obj, nil
	}
	kept := &gatewayv1.Gateway{ObjectMeta: identity(gateway.ObjectMeta)}
	for i := range gateway.Spec.Listeners {
		l := &gateway.Spec.Listeners[i]
		kept.Spec.Listeners = append(kept.Spec.Listeners, gatewayv1.Listener{
			Name: l.Name, Hostname: l.Hostname, Port: l.Port, Protocol: l.Protocol, AllowedRoutes: l.AllowedRoutes,
		})
	}
	kept.Status.Addresses = some(gateway.Status.Addresses, func(a gatewayv1.GatewayStatusAddress) (gatewayv1.GatewayStatusAddress, bool) { return a, a.Value != "" })
	for i := range gateway.Status.Listeners {
		l := &gateway.Status.Listeners[i]
		kept.Status.Listeners = append(kept.Status.Listeners, gatewayv1.ListenerStatus{
			Name: l.Name, SupportedKinds: l.SupportedKinds,
			Conditions: conditions(l.Conditions, string(gatewayv1.ListenerConditionAccepted), string(gatewayv1.ListenerConditionProgrammed), string(gatewayv1.ListenerConditionConflicted)),
		})
	}
	if sizeOf(kept) > maxGateway {
		return &gatewayv1.Gateway{ObjectMeta: kept.ObjectMeta}, nil
	}
	return kept, nil
}

// stripPod is a transform for pods. It keeps the fields that show whether a pod serves, and
// why not.
func stripPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	kept := &corev1.Pod{
		ObjectMeta: identity(pod.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName:       cut(pod.Spec.NodeName, maxName),
			InitContainers: namesAndImages(pod.Spec.InitContainers),
			Containers:     namesAndImages(pod.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			Reason:                cut(pod.Status.Reason, maxName),
			Conditions:            podConditions(pod.Status.Conditions),
			InitContainerStatuses: containerStatuses(pod.Status.InitContainerStatuses),
			ContainerStatuses:     containerStatuses(pod.Status.ContainerStatuses),
		},
	}
	kept.Labels = only(pod.Labels, a2av1alpha1.LabelAgent)
	kept.Annotations = only(pod.Annotations, a2av1alpha1.AnnotationConfigDigest, a2av1alpha1.AnnotationTemplateDigest)
	if signatures := pod.Annotations[a2av1alpha1.AnnotationCardSignatures]; signatures != "" && len(signatures) <= sidecarconfig.MaxCardSignatures {
		metav1.SetMetaDataAnnotation(&kept.ObjectMeta, a2av1alpha1.AnnotationCardSignatures, signatures)
	}
	kept.CreationTimestamp = pod.CreationTimestamp
	kept.DeletionTimestamp = pod.DeletionTimestamp
	if sizeOf(kept) > maxPod+sidecarconfig.MaxCardSignatures {
		// The rest shows whether the pod serves, and not why.
		kept.Spec = corev1.PodSpec{}
		kept.Status.InitContainerStatuses = nil
		kept.Status.ContainerStatuses = nil
	}
	return kept, nil
}

func podConditions(all []corev1.PodCondition) []corev1.PodCondition {
	return some(all, func(c corev1.PodCondition) (corev1.PodCondition, bool) {
		c.Status, c.Reason, c.Message = cut(c.Status, maxName), cut(c.Reason, maxName), cut(c.Message, maxMessage)
		return c, len(c.Type) <= maxName
	})
}

// containerStatuses returns the parts of statuses that show whether containers run, and why not.
func containerStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	return some(all, func(c corev1.ContainerStatus) (corev1.ContainerStatus, bool) {
		return corev1.ContainerStatus{
			Name: cut(c.Name, maxName), Ready: c.Ready, RestartCount: c.RestartCount,
			State: containerState(c.State), LastTerminationState: containerState(c.LastTerminationState),
		}, true
	})
}

func containerState(s corev1.ContainerState) corev1.ContainerState {
	kept := corev1.ContainerState{Running: s.Running}
	if w := s.Waiting; w != nil {
		kept.Waiting = &corev1.ContainerStateWaiting{Reason: cut(w.Reason, maxName), Message: cut(w.Message, maxMessage)}
	}
	if t := s.Terminated; t != nil {
		kept.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: t.ExitCode, Reason: cut(t.Reason, maxName), Message: cut(t.Message, maxMessage), StartedAt: t.StartedAt, FinishedAt: t.FinishedAt,
		}
	}
	return kept
}

// stripAgent is a transform for Agents. It keeps the spec, unless it is larger than
// clusterstate.MaxAgentSpec, and the status. Of labels and annotations it keeps AnnotationAcceptSpec.
func stripAgent(obj any) (any, error) {
	agent, ok := obj.(*a2av1alpha1.Agent)
	if !ok {
		return obj, nil
	}
	kept := &a2av1alpha1.Agent{
		ObjectMeta: ownKindMetadata(agent.ObjectMeta),
		Spec:       agent.Spec,
		Status: a2av1alpha1.AgentStatus{
			Conditions:         conditions(agent.Status.Conditions),
			URL:                cut(agent.Status.URL, maxMessage),
			ExternalURL:        cut(agent.Status.ExternalURL, maxMessage),
			CardDigest:         cut(agent.Status.CardDigest, maxMessage),
			Skills:             agent.Status.Skills,
			Replicas:           agent.Status.Replicas,
			Selector:           cut(agent.Status.Selector, maxMessage),
			ObservedGeneration: agent.Status.ObservedGeneration,

			ObservedSpecDigest:       cut(agent.Status.ObservedSpecDigest, maxSpecDigest),
			ObservedSchemaGeneration: agent.Status.ObservedSchemaGeneration,
		},
	}
	switch size := sizeOf(&kept.Spec); {
	case size > clusterstate.MaxAgentSpec:
		kept.Spec = reducedSpec(&agent.Spec)
		clusterstate.MarkTooLarge(kept, size)
	default:
		keepMark(kept, agent)
	}
	return kept, nil
}

// reducedSpec returns what the cache keeps of a spec that is too large: what determines whether and
// where the Agent runs, and who sees it in the registry. If this is too large, too, reducedSpec
// returns a spec that no one sees.
func reducedSpec(spec *a2av1alpha1.AgentSpec) a2av1alpha1.AgentSpec {
	kept := a2av1alpha1.AgentSpec{
		DisplayName: spec.DisplayName,
		Description: spec.Description,
		Version:     spec.Version,
		Suspend:     spec.Suspend,
		Discovery:   spec.Discovery,
		Exposure:    spec.Exposure,
		Remote:      spec.Remote,
	}
	if sizeOf(&kept) > clusterstate.MaxAgentSpec/2 {
		kept = a2av1alpha1.AgentSpec{Suspend: spec.Suspend}
	}
	if workload := spec.Workload; workload != nil {
		kept.Workload = &a2av1alpha1.AgentWorkload{Replicas: workload.Replicas}
	}
	return kept
}

// stripAgentSkill is a transform for AgentSkills. It keeps the spec, unless it is larger than
// clusterstate.MaxAgentSkillSpec, the status, and the labels, which Agents select.
func stripAgentSkill(obj any) (any, error) {
	skill, ok := obj.(*a2av1alpha1.AgentSkill)
	if !ok {
		return obj, nil
	}
	kept := &a2av1alpha1.AgentSkill{
		ObjectMeta: ownKindMetadata(skill.ObjectMeta),
		Spec:       skill.Spec,
		Status: a2av1alpha1.AgentSkillStatus{
			Conditions:         conditions(skill.Status.Conditions),
			Agents:             skill.Status.Agents,
			ObservedGeneration: skill.Status.ObservedGeneration,

			ObservedSpecDigest:       cut(skill.Status.ObservedSpecDigest, maxSpecDigest),
			ObservedSchemaGeneration: skill.Status.ObservedSchemaGeneration,
		},
	}
	kept.Labels = boundedLabels(skill.Labels)
	switch size := sizeOf(&kept.Spec); {
	case size > clusterstate.MaxAgentSkillSpec:
		kept.Spec = a2av1alpha1.AgentSkillSpec{}
		clusterstate.MarkTooLarge(kept, size)
	default:
		keepMark(kept, skill)
	}
	return kept, nil
}

// ownKindMetadata returns the metadata of an Agent or AgentSkill that the operator reads.
func ownKindMetadata(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
		Annotations: only(m.Annotations, a2av1alpha1.AnnotationAcceptSpec),
	}
}

// keepMark keeps the mark of an object whose spec an earlier call of the transform has reduced. Objects of
// the API server have managed fields, and users cannot set the mark on them.
func keepMark(kept, object client.Object) {
	if size, marked := clusterstate.TooLarge(object); marked && len(object.GetManagedFields()) == 0 {
		clusterstate.MarkTooLarge(kept, size)
	}
}

// boundedLabels returns labels, or labels that match no selector if they need more than maxLabels bytes.
func boundedLabels(labels map[string]string) map[string]string {
	if referencedBy(reflect.ValueOf(labels)) > maxLabels {
		return cachedlabels.Unknown()
	}
	return labels
}

// only returns the entries of a map that have one of the keys and a value of at most maxAnnotation bytes, or
// nil if there are none.
func only(all map[string]string, keys ...string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		if value, found := all[key]; found && len(value) <= maxAnnotation {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	return kept
}

// stripNamespace is a transform for the metadata of Namespaces. It keeps the labels, because
// AgentSkills and Gateways select namespaces by label.
func stripNamespace(obj any) (any, error) {
	namespace, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	kept := &metav1.PartialObjectMetadata{TypeMeta: namespace.TypeMeta, ObjectMeta: identity(namespace.ObjectMeta)}
	kept.Labels = boundedLabels(namespace.Labels)
	return kept, nil
}

// hasNameForAgent reports whether an Agent controls an object and the object has the name that
// the operator gives to this Agent's object.
func hasNameForAgent(object client.Object) bool {
	if !controlledByAgent(object) {
		return false
	}
	agent := metav1.GetControllerOfNoCopy(object).Name
	if isConfigMap(object) {
		return object.GetName() == names.ConfigMap(agent)
	}
	return object.GetName() == agent // the name of every other kind, see package names
}

func controlledByAgent(object client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner != nil && owner.Kind == a2av1alpha1.AgentKind && owner.APIVersion == a2av1alpha1.GroupVersion.String()
}

// identity returns the metadata that identifies an object and its controller. The API server does not
// bound the texts of an owner reference, so identity cuts them: a cut text names no object, and the
// object still has a controller.
func identity(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
	if controller := metav1.GetControllerOfNoCopy(&m); controller != nil {
		owner := *controller
		owner.APIVersion, owner.Kind = cut(owner.APIVersion, maxName), cut(owner.Kind, maxName)
		owner.Name, owner.UID = cut(owner.Name, maxName), cut(owner.UID, maxName)
		kept.OwnerReferences = []metav1.OwnerReference{owner}
	}
	return kept
}

// ownedLabels are the labels that the operator sets on the objects of an Agent.
var ownedLabels = slices.Sorted(maps.Keys(names.Labels("")))

// ownedMetadata returns the metadata of an object of an Agent that the operator sets or reads.
func ownedMetadata(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := identity(m)
	kept.Generation = m.Generation
	kept.CreationTimestamp = m.CreationTimestamp
	kept.Labels = only(m.Labels, ownedLabels...)
	kept.Annotations = only(m.Annotations, a2av1alpha1.AnnotationAppliedDigest, a2av1alpha1.AnnotationConfigDigest)
	return kept
}

// foreignIdentity returns the identity of an object for which maybeByOperator is false. If the
// operator wrote the object, the identity also contains the data that an adoption of the orphan
// needs: the Agent's name, the field manager and the deletion timestamp.
func foreignIdentity(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := identity(m)
	agent, labelled := m.Labels[a2av1alpha1.LabelAgent]
	if labelled && slices.ContainsFunc(m.ManagedFields, isByOperator) {
		kept.Labels = map[string]string{a2av1alpha1.LabelAgent: agent}
		kept.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}
		kept.DeletionTimestamp = m.DeletionTimestamp
	}
	return kept
}

// isByOperator reports whether a managed fields entry was made by an apply of the operator.
func isByOperator(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == a2av1alpha1.FieldOwner && e.Operation == metav1.ManagedFieldsOperationApply
}

func namesAndImages(containers []corev1.Container) []corev1.Container {
	return some(containers, func(c corev1.Container) (corev1.Container, bool) {
		return corev1.Container{Name: cut(c.Name, maxName), Image: cut(c.Image, maxMessage)}, true
	})
}

const (
	// maxParts bounds the pool of the parts that many Agents share. Agents of the same kind
	// share some dozens of parts.
	maxParts = 4 << 10
	// maxPart is the size, in bytes, of the largest part that Agents share. The pod spec of an
	// Agent without a template of its own is smaller.
	maxPart = 8 << 10
	// maxOwnerMetadata bounds the pool of labels and owner references, which the objects of
	// one Agent share. It has room for two entries for each of the last eight thousand Agents.
	maxOwnerMetadata = 16 << 10
	// maxOwnerPart is the size, in bytes, of the largest labels or owner references that the
	// objects of an Agent share.
	maxOwnerPart = 1 << 10
	// maxPoolBytes bounds the content of a half of each pool, in bytes. Without this bound, the pools
	// would hold 100 MiB of texts of deleted objects.
	maxPoolBytes = 8 << 20
)

// interner stores equal parts of cached objects once.
type interner struct{ parts, ownerMetadata *cacheinterning.Pool }

func newInterner() interner {
	return interner{parts: cacheinterning.New(maxParts, maxPart, maxPoolBytes), ownerMetadata: cacheinterning.New(maxOwnerMetadata, maxOwnerPart, maxPoolBytes)}
}

// after returns a transform that interns the result of the transform strip. An informer that
// fills its cache transforms each object twice. The second time, the object has no managed
// fields any more, and strip finds nothing to remove. after then returns the object itself, whose
// parts are interned.
func (i interner) after(strip toolscache.TransformFunc) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		object, ok := obj.(client.Object)
		first := ok && len(object.GetManagedFields()) > 0
		kept, err := strip(obj)
		if err != nil {
			return nil, err
		}
		if !first && reflect.DeepEqual(kept, obj) {
			return obj, nil
		}
		if object, ok := kept.(client.Object); ok && first && len(object.GetManagedFields()) == 0 {
			i.intern(object)
		}
		return kept, nil
	}
}

// intern interns an object. The labels and owner references of an Agent's objects have a
// separate pool, because the caches receive the objects of one Agent at different times, with
// the parts of many other Agents in between.
func (i interner) intern(object client.Object) {
	if !controlledByAgent(object) {
		i.parts.Intern(object)
		return
	}
	metadata := &struct {
		Labels map[string]string
		Owners []metav1.OwnerReference
	}{object.GetLabels(), object.GetOwnerReferences()}
	object.SetLabels(nil)
	object.SetOwnerReferences(nil)
	i.parts.Intern(object)
	i.ownerMetadata.Intern(metadata)
	object.SetLabels(metadata.Labels)
	object.SetOwnerReferences(metadata.Owners)
}
