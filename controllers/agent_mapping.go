// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/agentskill"
	"github.com/a2a-operator/a2a-operator/internal/operator/desired"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// agentMapping maps objects to the Agents that depend on them. It reads from the cache, and keeps
// the index of claims up to date.
type agentMapping struct {
	cache  client.Reader
	claims *addressClaims
}

// ofChild maps an object to the Agent that owns it. If no Agent owns the object, ofChild maps it
// to the existing Agent that would create an object of this name. agentName returns the name of
// this Agent for the name of the object, "" for none.
func (m agentMapping) ofChild(agentName func(string) string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		owner := metav1.GetControllerOfNoCopy(obj)
		if owner != nil && owner.Kind == a2av1alpha1.AgentKind && owner.APIVersion == a2av1alpha1.GroupVersion.String() {
			return request(obj.GetNamespace(), owner.Name)
		}
		name := agentName(obj.GetName())
		if name == "" {
			return nil
		}
		agent := &a2av1alpha1.Agent{}
		if err := m.cache.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: name}, agent, client.UnsafeDisableDeepCopy); err != nil {
			return nil
		}
		return request(obj.GetNamespace(), name)
	}
}

// ofAccount maps a ServiceAccount to its Agent, and to the Agents whose templates name it.
func (m agentMapping) ofAccount(ctx context.Context, account client.Object) []reconcile.Request {
	return append(m.ofChild(sameName)(ctx, account), fanOut(kindAccount, account.GetNamespace(), account.GetName())...)
}

// ofConfigMap maps a ConfigMap to its Agent, and to the Agents whose skills have files of it or whose model has its instructions
// in it.
func (m agentMapping) ofConfigMap(ctx context.Context, configMap client.Object) []reconcile.Request {
	requests := m.ofChild(func(name string) string { return cmp.Or(names.AgentOfConfigMap(name), names.AgentOfSkillFiles(name)) })(ctx, configMap)
	return append(requests, fanOut(kindConfigMap, configMap.GetNamespace(), configMap.GetName())...)
}

// ofPod maps a pod to the Agent that the pod's label names.
func (agentMapping) ofPod(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[a2av1alpha1.LabelAgent]
	if name == "" {
		return nil
	}
	return request(pod.GetNamespace(), name)
}

// ofObject returns a function that maps an object to a fan-out.
func ofObject(kind string) handler.MapFunc {
	return func(_ context.Context, obj client.Object) []reconcile.Request {
		return fanOut(kind, obj.GetNamespace(), obj.GetName())
	}
}

// competitorsOf updates the claims of an Agent in the index. It maps the Agent to the addresses whose oldest claim has changed by this
// update.
func (m agentMapping) competitorsOf(ctx context.Context, obj client.Object) []reconcile.Request {
	key := client.ObjectKeyFromObject(obj)
	if agent, ok := obj.(*a2av1alpha1.Agent); ok && agent.Spec.Exposure == nil && !m.claims.has(key) {
		return nil // true for most Agents: they request no address, and have no claim in the index
	}
	return m.ofClaims(ctx, key)
}

// ofRoute maps a route to its Agent and to the addresses of the Agent's competitors, because after a change of the
// route, a Gateway may route the Agent's addresses to a competitor.
func (m agentMapping) ofRoute(ctx context.Context, route client.Object) []reconcile.Request {
	requests := m.ofChild(sameName)(ctx, route)
	for _, each := range requests {
		requests = append(requests, m.ofClaims(ctx, each.NamespacedName)...)
	}
	return requests
}

// ofClaims updates the claims of an Agent in the index, and returns fan-outs for the addresses whose oldest claim has changed. If the update
// fails, it logs the error and returns no requests.
func (m agentMapping) ofClaims(ctx context.Context, agent types.NamespacedName) []reconcile.Request {
	changed, err := m.claims.refresh(ctx, agent)
	if err != nil {
		log.FromContext(ctx).Error(err, "reading the claims of an Agent failed", "agent", agent)
	}
	var requests []reconcile.Request
	for _, key := range keysOf(changed) {
		requests = append(requests, fanOut(kindAddress, agent.Namespace, key)...)
	}
	return requests
}

// The kinds of fan-outs of the controller of Agents.
const (
	kindAccount   = "serviceaccount"
	kindAddress   = "address"
	kindConfigMap = "configmap"
	kindGateway   = "gateway"
	kindNamespace = "namespace"
	kindSkill     = "skill"
)

// fanOuts returns the fan-outs of the controller of Agents.
func (m agentMapping) fanOuts() *fanOuts {
	return &fanOuts{dependents: map[string]func(context.Context, types.NamespacedName) []reconcile.Request{
		kindAccount: func(ctx context.Context, account types.NamespacedName) []reconcile.Request {
			return m.agents(ctx, every, client.InNamespace(account.Namespace), client.MatchingFields{agentsByAccount: account.Name})
		},
		kindAddress: func(ctx context.Context, address types.NamespacedName) []reconcile.Request {
			return m.agents(ctx, every, client.MatchingFields{agentsByAddress: address.Name})
		},
		kindConfigMap: m.usingConfigMap,
		kindGateway: func(ctx context.Context, gateway types.NamespacedName) []reconcile.Request {
			return m.agents(ctx, every, client.MatchingFields{agentsByGateway: gateway.String()})
		},
		kindNamespace: m.dependingOnNamespace,
		kindSkill:     m.usingSkill,
	}}
}

// usingConfigMap returns requests for the Agents whose skills have files of a ConfigMap or whose model has its instructions in it.
func (m agentMapping) usingConfigMap(ctx context.Context, configMap types.NamespacedName) []reconcile.Request {
	named := []client.ListOption{client.InNamespace(configMap.Namespace), client.MatchingFields{byConfigMap: configMap.Name}}
	using := sets.New(m.agents(ctx, every, named...)...)
	skills := &a2av1alpha1.AgentSkillList{}
	if err := m.cache.List(ctx, skills, append(named, client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "listing AgentSkills failed")
	}
	for i := range skills.Items {
		using.Insert(m.agents(ctx, every, client.MatchingFields{agentsBySkill: skillKey(configMap.Namespace, skills.Items[i].Name)})...)
	}
	if len(skills.Items) > 0 {
		using.Insert(m.agents(ctx, every, client.MatchingFields{agentsBySkill: skillKey(configMap.Namespace, anySkill)})...)
	}
	return using.UnsortedList()
}

// usingSkill returns requests for the Agents that refer to an AgentSkill, whether they may use it or not, and for all that select
// skills in its namespace: an AgentSkill that has just lost a label was selected by its old labels.
func (m agentMapping) usingSkill(ctx context.Context, skill types.NamespacedName) []reconcile.Request {
	return append(
		m.agents(ctx, every, client.MatchingFields{agentsBySkill: skillKey(skill.Namespace, skill.Name)}),
		m.agents(ctx, every, client.MatchingFields{agentsBySkill: skillKey(skill.Namespace, anySkill)})...)
}

// dependingOnNamespace returns requests for those Agents of a Namespace that depend on its labels: Agents that refer to skills of other
// namespaces, and Agents with an exposure. AgentSkills, Gateways and rules of exposure may admit namespaces by label.
func (m agentMapping) dependingOnNamespace(ctx context.Context, namespace types.NamespacedName) []reconcile.Request {
	depends := func(agent *a2av1alpha1.Agent) bool {
		return agentskill.LeavesNamespace(agent) || agent.Spec.Exposure != nil
	}
	return m.agents(ctx, depends, client.InNamespace(namespace.Name))
}

// exposed returns requests for the Agents with spec.exposure.
func (m agentMapping) exposed(ctx context.Context) []reconcile.Request {
	return m.agents(ctx, func(agent *a2av1alpha1.Agent) bool { return agent.Spec.Exposure != nil })
}

// all returns requests for all Agents.
func (m agentMapping) all(ctx context.Context) []reconcile.Request { return m.agents(ctx, every) }

// agents returns requests for the cached Agents that match. If the list fails, which only a
// missing index can cause, it logs the error and returns no requests.
func (m agentMapping) agents(ctx context.Context, matches func(*a2av1alpha1.Agent) bool, options ...client.ListOption) []reconcile.Request {
	list := &a2av1alpha1.AgentList{}
	if err := m.cache.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "listing Agents failed")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if matches(&list.Items[i]) {
			requests = append(requests, request(list.Items[i].Namespace, list.Items[i].Name)...)
		}
	}
	return requests
}

func every(*a2av1alpha1.Agent) bool { return true }

// sameName returns the name of the Agent that owns an object. It is for the kinds whose objects
// have the name of their Agent.
func sameName(object string) string { return object }

const (
	// agentsBySkill is the index of Agents by the skills to which they refer. An Agent that
	// selects skills has the key of anySkill in its namespace.
	agentsBySkill = "spec.skillRefs"
	// agentsByGateway is the index of Agents by the Gateways to which they refer.
	agentsByGateway = "spec.exposure.parentRefs"
	// agentsByAddress is the index of Agents by the addresses that they request at Gateways. Two
	// Agents with the same key may be in conflict.
	agentsByAddress = "spec.exposure.addresses"
	// agentsByAccount is the index of Agents by the ServiceAccount that their template names.
	agentsByAccount = "spec.workload.template.spec.serviceAccountName"
	// byConfigMap is the index of Agents and of AgentSkills by the ConfigMaps with files of their skills or with the
	// instructions of their model, in their namespace.
	byConfigMap = "configMap.name"
	// anySkill is the name in the key of Agents that select skills. It is not a valid name
	// of an AgentSkill, and a reference that has it is not in the index.
	anySkill = "*"
)

func accountKeys(obj client.Object) []string {
	agent, ok := obj.(*a2av1alpha1.Agent)
	if !ok || agent.Spec.Remote != nil || names.ServiceAccountOfPods(agent) == names.ServiceAccount(agent.Name) {
		return nil
	}
	return []string{names.ServiceAccountOfPods(agent)}
}

func configMapKeys(obj client.Object) []string {
	var keys []string
	add := func(skill *a2av1alpha1.SkillDetails) {
		for i := range skill.Resources {
			keys = append(keys, skill.Resources[i].ConfigMap.Name)
		}
	}
	switch o := obj.(type) {
	case *a2av1alpha1.Agent:
		for i := range o.Spec.Skills {
			add(&o.Spec.Skills[i].SkillDetails)
		}
		if o.Spec.Model != nil && o.Spec.Model.InstructionsFrom != nil {
			keys = append(keys, o.Spec.Model.InstructionsFrom.Name)
		}
	case *a2av1alpha1.AgentSkill:
		add(&o.Spec.SkillDetails)
	default:
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func gatewayKeys(obj client.Object) []string {
	agent, ok := obj.(*a2av1alpha1.Agent)
	if !ok || agent.Spec.Exposure == nil {
		return nil
	}
	var keys []string
	for _, ref := range agent.Spec.Exposure.ParentRefs {
		keys = append(keys, names.Gateway(agent, ref).String())
	}
	return keys
}

func addressKeys(obj client.Object) []string {
	agent, ok := obj.(*a2av1alpha1.Agent)
	if !ok {
		return nil
	}
	return keysOf(desired.Addresses(agent))
}

// keysOf returns the keys of addresses in the index agentsByAddress, without repetitions. A key
// does not contain the listener, because an Agent that names no listener requests the address at
// all listeners: it is in conflict with each Agent that names one of the listeners.
func keysOf(addresses []state.Address) []string {
	var keys []string
	for _, at := range addresses {
		keys = append(keys, fmt.Sprintf("%s %s %s%s", at.Gateway, at.Kind, at.Host, at.Path))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func skillKeys(obj client.Object) []string {
	agent, ok := obj.(*a2av1alpha1.Agent)
	if !ok {
		return nil
	}
	var keys []string
	for _, ref := range agent.Spec.SkillRefs {
		target := agentskill.Target(agent, ref)
		if target.Name != anySkill {
			keys = append(keys, skillKey(target.Namespace, target.Name))
		}
	}
	if agent.Spec.SkillSelector != nil {
		keys = append(keys, skillKey(agent.Namespace, anySkill))
	}
	return keys
}

func skillKey(namespace, name string) string { return namespace + "/" + name }
