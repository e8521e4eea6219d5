// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/agentskill"
	"github.com/a2a-operator/a2a-operator/internal/operator/exposure"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// InputDigest is a comparable digest of all inputs of rendering and comparing the objects of
// an Agent. If a reconcile has found every object in sync, every object is still in sync
// while the digest is the same. The digest omits pods (see state.FormerServes), and the statuses of the Agent and of
// its Deployment, because they change often and no object depends on them.
type InputDigest struct {
	sum [sha256.Size]byte
	// These values are compared by pointer. This suffices, because their sources never modify a
	// value and replace it by a new one instead.
	issuer      *state.Issuer
	registryCA  *state.RegistryCA
	remote      *state.Remote
	tokenIssuer *state.Issuer
	revision    *state.Revision
}

// DigestInputs returns the InputDigest of the state that a reconcile has read.
func DigestInputs(in state.Agent) InputDigest {
	e, _ := encoders.Get().(*inputEncoder)
	defer encoders.Put(e)
	e.bytes = e.bytes[:0]
	e.string(string(in.Agent.UID))
	e.number(in.Agent.Generation)
	if in.Revision != nil && in.Agent.Status.Revisions != nil {
		e.string(in.Agent.Status.Revisions.FailedTemplate)
	}
	// The spec may lose fields, and get them back, without another generation.
	e.observed(in.Observed)
	e.string(in.Schemas.Outdated)
	e.skills(in)
	e.skillFiles(in)
	if in.Instructions != nil {
		e.string(string(in.Instructions.UID))
		e.string(in.Instructions.Version)
	}
	children := &in.Children
	e.deployment(children.Deployment)
	version(e, children.ServiceAccount)
	version(e, in.Account)
	e.string(in.Agent.Annotations[a2av1alpha1.AnnotationRestartedAt])
	for _, object := range in.RestartOn {
		e.string(object.Version)
		e.flag(object.Forbidden)
		e.flag(object.Failed)
	}
	// The card depends on whether the pods of the present template serve. Other changes of pods affect no object.
	if d := children.Deployment; d != nil {
		e.flag(state.FormerServes(in.Pods, d.Spec.Template.Annotations[a2av1alpha1.AnnotationTemplateDigest]))
	}
	version(e, children.ConfigMap)
	version(e, children.SkillFiles)
	version(e, children.Service)
	version(e, children.NetworkPolicy)
	version(e, children.Autoscaler)
	version(e, children.Budget)
	version(e, children.HTTPRoute)
	version(e, children.GRPCRoute)
	e.flag(in.GatewayAPI.HTTPRoutes)
	e.flag(in.GatewayAPI.GRPCRoutes)
	e.string(in.GatewayAPI.Unreadable.Gateways)
	e.string(in.GatewayAPI.Unreadable.HTTPRoutes)
	e.string(in.GatewayAPI.Unreadable.GRPCRoutes)
	if in.Agent.Spec.Exposure != nil {
		for _, ref := range in.Agent.Spec.Exposure.ParentRefs {
			e.gateway(in.GatewayAPI.Gateways[names.Gateway(in.Agent, ref)], in.NamespaceLabels)
		}
		e.claims(in.GatewayAPI.Claims)
		e.permissions(in.Exposure)
	}
	return InputDigest{sum: sha256.Sum256(e.bytes), issuer: in.Issuer, tokenIssuer: in.TokenIssuer, registryCA: in.RegistryCA, remote: in.Remote, revision: in.Revision}
}

var encoders = sync.Pool{New: func() any { return &inputEncoder{} }}

// inputEncoder encodes the inputs of an InputDigest. It writes the length before each string
// and the count before each list, so that different inputs have different encodings.
type inputEncoder struct{ bytes []byte }

func (e *inputEncoder) string(s string) {
	e.number(int64(len(s)))
	e.bytes = append(e.bytes, s...)
}

func (e *inputEncoder) number(n int64) {
	e.bytes = binary.BigEndian.AppendUint64(e.bytes, uint64(n)) //nolint:gosec // the encoding of a negative number is unique, too
}

func (e *inputEncoder) flag(f bool) {
	if f {
		e.number(1)
	} else {
		e.number(0)
	}
}

func (e *inputEncoder) list(texts []string) {
	e.number(int64(len(texts)))
	for _, text := range texts {
		e.string(text)
	}
}

// observed encodes why a spec must not be applied.
func (e *inputEncoder) observed(o crdschema.Observed) {
	e.list(o.Lost)
	e.list(o.Unknown)
}

func (e *inputEncoder) entries(m map[string]string) {
	e.number(int64(len(m)))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		e.string(key)
		e.string(m[key])
	}
}

// version encodes the UID and the resource version of an object, which represent its
// content: the API server changes the resource version with every write.
func version[T any, O interface {
	*T
	metav1.Object
}](e *inputEncoder, object O) {
	e.flag(object != nil)
	if object != nil {
		e.string(string(object.GetUID()))
		e.string(object.GetResourceVersion())
	}
}

// gateway encodes a Gateway to which the Agent refers. If one of its listeners selects
// namespaces by label, gateway also encodes the labels of the Agent's namespace.
func (e *inputEncoder) gateway(gateway *gatewayv1.Gateway, namespaceLabels map[string]string) {
	version(e, gateway)
	if gateway != nil && slices.ContainsFunc(gateway.Spec.Listeners, selectsNamespaces) {
		e.entries(namespaceLabels)
	}
}

// claims encodes the claims of the Agent's addresses, ordered by address.
func (e *inputEncoder) claims(claims map[state.Address]state.Claim) {
	e.number(int64(len(claims)))
	for _, at := range slices.SortedFunc(maps.Keys(claims), compareAddresses) {
		claim := claims[at]
		for _, s := range []string{
			at.Gateway.Namespace, at.Gateway.Name, at.Listener, string(at.Kind), string(at.Host), at.Path, claim.Agent.Namespace, claim.Agent.Name,
		} {
			e.string(s)
		}
		e.number(claim.Created.UnixNano())
	}
}

func (e *inputEncoder) permissions(permissions []exposure.Permission) {
	e.number(int64(len(permissions)))
	for _, p := range permissions {
		e.list(p.Hostnames)
		e.list(p.Paths)
		e.number(int64(len(p.Gateways)))
		for _, gateway := range p.Gateways {
			e.string(gateway.Namespace)
			e.string(gateway.Name)
		}
	}
}

func compareAddresses(a, b state.Address) int {
	return cmp.Or(
		cmp.Compare(a.Gateway.Namespace, b.Gateway.Namespace), cmp.Compare(a.Gateway.Name, b.Gateway.Name), cmp.Compare(a.Listener, b.Listener),
		cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Path, b.Path))
}

func selectsNamespaces(listener gatewayv1.Listener) bool {
	allowed := listener.AllowedRoutes
	return allowed != nil && allowed.Namespaces != nil && allowed.Namespaces.From != nil &&
		*allowed.Namespaces.From == gatewayv1.NamespacesFromSelector
}

// deployment encodes a Deployment without its status, which changes with each of its pods.
func (e *inputEncoder) deployment(d *appsv1.Deployment) {
	e.flag(d != nil)
	if d == nil {
		return
	}
	e.string(string(d.UID))
	e.number(d.Generation)
	e.entries(d.Labels)
	e.entries(d.Annotations)
	e.flag(d.DeletionTimestamp != nil)
	e.number(int64(len(d.OwnerReferences)))
	for i := range d.OwnerReferences {
		owner := &d.OwnerReferences[i]
		e.string(owner.APIVersion)
		e.string(owner.Kind)
		e.string(owner.Name)
		e.string(string(owner.UID))
		e.flag(owner.Controller != nil && *owner.Controller)
		e.flag(owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion)
	}
}

// skillFiles encodes the versions of the ConfigMaps with files of the skills.
func (e *inputEncoder) skillFiles(in state.Agent) {
	e.flag(in.NoImageVolumes)
	e.number(int64(len(in.SkillFiles.ConfigMaps)))
	for _, key := range slices.SortedFunc(maps.Keys(in.SkillFiles.ConfigMaps), compareNames) {
		configMap := in.SkillFiles.ConfigMaps[key]
		e.string(key.String())
		e.string(string(configMap.UID))
		e.string(configMap.Version)
	}
}

// skills encodes the AgentSkills of the Agent and, for each referenced skill, whether the Agent
// may use it. This decision is the only effect that the labels of the Agent's namespace have on
// skills, so skills does not encode the labels.
func (e *inputEncoder) skills(in state.Agent) {
	for _, ref := range in.Agent.Spec.SkillRefs {
		skill := in.Skills.Referenced[agentskill.Target(in.Agent, ref)]
		e.flag(skill != nil)
		if skill != nil {
			e.string(string(skill.UID))
			e.number(skill.Generation)
			e.observed(in.Skills.Untrusted[agentskill.Target(in.Agent, ref)])
			e.flag(agentskill.Admits(skill, in.Agent.Namespace, in.NamespaceLabels))
		}
	}
	e.number(int64(len(in.Skills.Selected)))
	for _, skill := range in.Skills.Selected {
		e.string(string(skill.UID))
		e.number(skill.Generation)
		e.observed(in.Skills.Untrusted[types.NamespacedName{Namespace: skill.Namespace, Name: skill.Name}])
	}
}
