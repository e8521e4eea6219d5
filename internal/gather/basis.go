// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/skillsharing"
)

// Basis is a digest of the inputs from which the objects of an Agent are rendered
// and with which they are compared. While it equals the Basis of a reconcile that
// found every object in sync, every object is still in sync, and a reconcile
// neither renders nor compares them. The digest leaves out pods and the statuses of
// the Agent and its Deployment: they change often, and no object depends on them.
type Basis struct {
	sum [sha256.Size]byte
	// The sources replace these values and never change them, so comparing the
	// pointers is enough.
	issuer *clusterstate.Issuer
	remote *clusterstate.Remote
}

// BasisOf returns the Basis of what one reconcile has read.
func BasisOf(in clusterstate.Agent) Basis {
	b, _ := bases.Get().(*basis)
	defer bases.Put(b)
	b.bytes = b.bytes[:0]
	b.text(string(in.Agent.UID))
	b.number(in.Agent.Generation)
	b.skills(in)
	children := &in.Children
	b.deployment(children.Deployment)
	version(b, children.ServiceAccount)
	version(b, children.ConfigMap)
	version(b, children.Service)
	version(b, children.NetworkPolicy)
	version(b, children.Autoscaler)
	version(b, children.Budget)
	version(b, children.HTTPRoute)
	version(b, children.GRPCRoute)
	b.flag(in.GatewayAPI.HTTPRoutes)
	b.flag(in.GatewayAPI.GRPCRoutes)
	b.text(in.GatewayAPI.Unreadable.Gateways)
	b.text(in.GatewayAPI.Unreadable.HTTPRoutes)
	b.text(in.GatewayAPI.Unreadable.GRPCRoutes)
	if in.Agent.Spec.Exposure != nil {
		for _, ref := range in.Agent.Spec.Exposure.ParentRefs {
			b.gateway(in.GatewayAPI.Gateways[names.Gateway(in.Agent, ref)], in.NamespaceLabels)
		}
		b.number(int64(len(in.GatewayAPI.Rivals)))
		for _, rival := range in.GatewayAPI.Rivals {
			b.text(string(rival.Agent.UID))
			b.number(rival.Agent.Generation)
			version(b, rival.HTTPRoute)
			version(b, rival.GRPCRoute)
		}
	}
	return Basis{sum: sha256.Sum256(b.bytes), issuer: in.Issuer, remote: in.Remote}
}

var bases = sync.Pool{New: func() any { return &basis{} }}

// basis serializes the inputs of a Basis. It writes a length before each text and a
// count before each list, so that different inputs never give the same bytes.
type basis struct{ bytes []byte }

func (b *basis) text(s string) {
	b.number(int64(len(s)))
	b.bytes = append(b.bytes, s...)
}

func (b *basis) number(n int64) {
	b.bytes = binary.BigEndian.AppendUint64(b.bytes, uint64(n)) //nolint:gosec // any number is as good as another
}

func (b *basis) flag(f bool) {
	if f {
		b.number(1)
	} else {
		b.number(0)
	}
}

func (b *basis) entries(m map[string]string) {
	b.number(int64(len(m)))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		b.text(key)
		b.text(m[key])
	}
}

// version writes the UID and the resource version of an object; the API server
// changes the latter with every write.
func version[T any, O interface {
	*T
	metav1.Object
}](b *basis, object O) {
	b.flag(object != nil)
	if object != nil {
		b.text(string(object.GetUID()))
		b.text(object.GetResourceVersion())
	}
}

// gateway writes a Gateway that the Agent refers to and, if one of its listeners
// selects namespaces by label, the labels of the Agent's namespace.
func (b *basis) gateway(gateway *gatewayv1.Gateway, namespaceLabels map[string]string) {
	version(b, gateway)
	if gateway != nil && slices.ContainsFunc(gateway.Spec.Listeners, selects) {
		b.entries(namespaceLabels)
	}
}

func selects(listener gatewayv1.Listener) bool {
	allowed := listener.AllowedRoutes
	return allowed != nil && allowed.Namespaces != nil && allowed.Namespaces.From != nil &&
		*allowed.Namespaces.From == gatewayv1.NamespacesFromSelector
}

// deployment writes a Deployment without its status, which changes with each of
// its pods.
func (b *basis) deployment(d *appsv1.Deployment) {
	b.flag(d != nil)
	if d == nil {
		return
	}
	b.text(string(d.UID))
	b.number(d.Generation)
	b.entries(d.Labels)
	b.entries(d.Annotations)
	b.flag(d.DeletionTimestamp != nil)
	b.number(int64(len(d.OwnerReferences)))
	for i := range d.OwnerReferences {
		owner := &d.OwnerReferences[i]
		b.text(owner.APIVersion)
		b.text(owner.Kind)
		b.text(owner.Name)
		b.text(string(owner.UID))
		b.flag(owner.Controller != nil && *owner.Controller)
		b.flag(owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion)
	}
}

// skills writes the AgentSkills that were found and, for those of other namespaces,
// whether the Agent may use them. Nothing else of the skills depends on the labels
// of the Agent's namespace.
func (b *basis) skills(in clusterstate.Agent) {
	for _, ref := range in.Agent.Spec.SkillRefs {
		skill := in.Skills.Referenced[skillsharing.Target(in.Agent, ref)]
		b.flag(skill != nil)
		if skill != nil {
			b.text(string(skill.UID))
			b.number(skill.Generation)
			b.flag(skillsharing.Admits(skill, in.Agent.Namespace, in.NamespaceLabels))
		}
	}
	b.number(int64(len(in.Skills.Selected)))
	for _, skill := range in.Skills.Selected {
		b.text(string(skill.UID))
		b.number(skill.Generation)
	}
}
