// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/agentskill"
	"github.com/a2a-operator/a2a-operator/internal/operator/cachedlabels"
	"github.com/a2a-operator/a2a-operator/internal/operator/exposure"
	"github.com/a2a-operator/a2a-operator/internal/operator/informercache"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// Agent reads the state on which an Agent depends.
func (g *Gatherer) Agent(ctx context.Context, agent *a2av1alpha1.Agent) (state.Agent, error) {
	skills, err := g.skills(ctx, agent)
	if err != nil {
		return state.Agent{}, err
	}
	namespaceLabels, err := g.namespaceLabels(ctx, agent)
	if err != nil {
		return state.Agent{}, err
	}
	files, noImageVolumes, err := g.skillFiles(ctx, agent, skills, namespaceLabels)
	if err != nil {
		return state.Agent{}, err
	}
	children, err := g.children(ctx, agent)
	if err != nil {
		return state.Agent{}, err
	}
	gatewayAPI, err := g.gatewayAPI(ctx, agent, &children)
	if err != nil {
		return state.Agent{}, err
	}
	pods, foreign, err := g.pods(ctx, agent)
	if err != nil {
		return state.Agent{}, err
	}
	account, err := g.account(ctx, agent, children.ServiceAccount)
	if err != nil {
		return state.Agent{}, err
	}
	restartOn, err := g.restartObjects(ctx, agent)
	if err != nil {
		return state.Agent{}, err
	}
	var exposure []exposure.Permission
	if agent.Spec.Exposure != nil {
		exposure = currentOf(g.Exposure).For(agent.Namespace, namespaceLabels)
	}
	schemas := g.CurrentSchemas()
	observed, err := g.ObserveAgent(ctx, agent, schemas)
	if err != nil {
		return state.Agent{}, err
	}
	skills.Untrusted, err = g.untrusted(ctx, skills, schemas)
	if err != nil {
		return state.Agent{}, err
	}
	var remote *state.Remote
	switch {
	case agent.Spec.Suspend, agent.Spec.Remote == nil && state.DiscoveredIssuer(agent) == "":
	case observed.Trusted():
		remote = g.Remote.LastRead(agent)
	default:
		remote = g.Remote.LastResult(client.ObjectKeyFromObject(agent))
	}
	revision, err := g.revision(ctx, agent)
	if err != nil {
		return state.Agent{}, err
	}
	instructions, err := g.instructions(ctx, agent)
	if err != nil {
		return state.Agent{}, err
	}
	return state.Agent{
		Remote:          remote,
		Revision:        revision,
		Agent:           agent,
		Schemas:         schemas,
		Observed:        observed,
		NamespaceLabels: namespaceLabels,
		Skills:          skills,
		SkillFiles:      files,
		NoImageVolumes:  noImageVolumes,
		Instructions:    instructions,
		Children:        children,
		GatewayAPI:      gatewayAPI,
		Exposure:        exposure,
		Pods:            pods,
		ForeignPods:     foreign,
		RestartOn:       restartOn,
		PodWarnings:     g.Warnings.of(ctx, pods),
		LastReports:     g.lastReports(pods),
		Account:         account,
		Issuer:          currentOf(g.Issuer),
		RegistryCA:      currentOf(g.RegistryCA),
		TokenIssuer:     currentOf(g.TokenIssuer),
	}, nil
}

// namespaceLabels returns the labels of an Agent's namespace if the Agent refers to a skill of
// another namespace or to a Gateway: a skill, a Gateway or a rule of exposure may admit namespaces by
// label.
// Otherwise it returns nil.
func (g *Gatherer) namespaceLabels(ctx context.Context, agent *a2av1alpha1.Agent) (map[string]string, error) {
	if !agentskill.LeavesNamespace(agent) && agent.Spec.Exposure == nil {
		return nil, nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := g.Reader.Get(ctx, client.ObjectKey{Name: agent.Namespace}, namespace, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			return cachedlabels.Unknown(), nil
		}
		return nil, fmt.Errorf("get Namespace %s: %w", agent.Namespace, err)
	}
	return namespace.Labels, nil
}

// maxSelected bounds the AgentSkills that an Agent selects, as the CRD bounds those to which it
// refers: the reconcile of an Agent copies them, and each can have schemas of 128 KiB.
const maxSelected = 64

func (g *Gatherer) skills(ctx context.Context, agent *a2av1alpha1.Agent) (state.Skills, error) {
	skills := state.Skills{Referenced: map[types.NamespacedName]*a2av1alpha1.AgentSkill{}}
	for _, ref := range agent.Spec.SkillRefs {
		target := agentskill.Target(agent, ref)
		if !g.watched(target.Namespace) {
			if skills.Unwatched == nil {
				skills.Unwatched = map[string]bool{}
			}
			skills.Unwatched[target.Namespace] = true
			continue
		}
		skill, err := Read[a2av1alpha1.AgentSkill](ctx, g.Reader, target.Namespace, target.Name)
		if err == nil {
			skill, err = g.FreshSkill(ctx, skill)
		}
		if err != nil {
			return state.Skills{}, err
		}
		if skill != nil {
			skills.Referenced[target] = skill
		}
	}
	if agent.Spec.SkillSelector == nil {
		return skills, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(agent.Spec.SkillSelector)
	if err != nil {
		skills.SelectorError = err.Error()
		return skills, nil //nolint:nilerr // a user error is a value
	}
	list := &a2av1alpha1.AgentSkillList{}
	err = g.Reader.List(ctx, list, client.InNamespace(agent.Namespace), client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return state.Skills{}, fmt.Errorf("list AgentSkills in %s: %w", agent.Namespace, err)
	}
	if len(list.Items) > maxSelected {
		skills.SelectorError = fmt.Sprintf("it selects %d AgentSkills, the limit is %d", len(list.Items), maxSelected)
		return skills, nil
	}
	for i := range list.Items {
		skill, err := g.FreshSkill(ctx, &list.Items[i])
		if err != nil {
			return state.Skills{}, err
		}
		skills.Selected = append(skills.Selected, skill)
	}
	slices.SortFunc(skills.Selected, func(a, b *a2av1alpha1.AgentSkill) int { return cmp.Compare(a.Name, b.Name) })
	return skills, nil
}

func (g *Gatherer) children(ctx context.Context, agent *a2av1alpha1.Agent) (children state.Children, err error) {
	from := g.Reader
	err = errors.Join(
		readChild(ctx, from, agent, names.ServiceAccount, &children.ServiceAccount),
		readChild(ctx, from, agent, names.ConfigMap, &children.ConfigMap),
		readChild(ctx, from, agent, names.SkillFiles, &children.SkillFiles),
		readChild(ctx, from, agent, names.Service, &children.Service),
		readChild(ctx, from, agent, names.Deployment, &children.Deployment),
		readChild(ctx, from, agent, names.NetworkPolicy, &children.NetworkPolicy),
		readChild(ctx, from, agent, names.HorizontalPodAutoscaler, &children.Autoscaler),
		readChild(ctx, from, agent, names.PodDisruptionBudget, &children.Budget),
	)
	if err == nil {
		children.ConfigMap, err = informercache.WithData(ctx, g.Live, agent, children.ConfigMap)
	}
	return children, err
}

// account returns the ServiceAccount of an Agent's pods, or nil if there is none. own is the one that the
// operator makes for the Agent.
func (g *Gatherer) account(ctx context.Context, agent *a2av1alpha1.Agent, own *corev1.ServiceAccount) (*corev1.ServiceAccount, error) {
	switch {
	case agent.Spec.Remote != nil:
		return nil, nil
	case names.ServiceAccountOfPods(agent) == names.ServiceAccount(agent.Name):
		return own, nil
	default:
		return Read[corev1.ServiceAccount](ctx, g.Reader, agent.Namespace, names.ServiceAccountOfPods(agent))
	}
}

// readChild sets child to the cached object whose name is name(agent.Name), or to nil if there is
// none.
func readChild[T any, O interface {
	*T
	client.Object
}](ctx context.Context, from client.Reader, agent *a2av1alpha1.Agent, name func(string) string, child *O) (err error) {
	*child, err = Read[T, O](ctx, from, agent.Namespace, name(agent.Name))
	return err
}

// pods returns the pods with an Agent's label: those that its Deployment made, and the foreign ones.
func (g *Gatherer) pods(ctx context.Context, agent *a2av1alpha1.Agent) (own, foreign []corev1.Pod, err error) {
	list := &corev1.PodList{}
	err = g.Reader.List(ctx, list, client.InNamespace(agent.Namespace), client.MatchingFields{names.PodsByAgent: agent.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, nil, fmt.Errorf("list Pods of Agent %s/%s: %w", agent.Namespace, agent.Name, err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	isOwn := func(pod corev1.Pod) bool { return names.OwnsPod(agent.Name, &pod) }
	if !slices.ContainsFunc(list.Items, func(pod corev1.Pod) bool { return !isOwn(pod) }) {
		return list.Items, nil, nil // true for nearly all Agents
	}
	for _, pod := range list.Items {
		if isOwn(pod) {
			own = append(own, pod)
		} else {
			foreign = append(foreign, pod)
		}
	}
	return own, foreign, nil
}

// lastReports returns the times of the last reports of pods, nil if reports are not counted.
func (g *Gatherer) lastReports(pods []corev1.Pod) map[types.UID]time.Time {
	if g.LastReport == nil || len(pods) == 0 {
		return nil
	}
	last := make(map[types.UID]time.Time, len(pods))
	for i := range pods {
		last[pods[i].UID] = g.LastReport(pods[i].UID)
	}
	return last
}

// gatewayAPI reads the Gateways to which an Agent refers, and the routes with the Agent's
// name. It also reads routes of an Agent without spec.exposure, because the routes of an
// earlier spec must be deleted.
func (g *Gatherer) gatewayAPI(ctx context.Context, agent *a2av1alpha1.Agent, children *state.Children) (state.GatewayAPI, error) {
	var api state.GatewayAPI
	var err error
	if reader := g.Optional.Reader(HTTPRoutes); reader != nil {
		api.HTTPRoutes = true
		err = readChild(ctx, reader, agent, names.HTTPRoute, &children.HTTPRoute)
	}
	if reader := g.Optional.Reader(GRPCRoutes); reader != nil {
		api.GRPCRoutes = true
		err = errors.Join(err, readChild(ctx, reader, agent, names.GRPCRoute, &children.GRPCRoute))
	}
	if err != nil {
		return state.GatewayAPI{}, err
	}
	if agent.Spec.Exposure != nil {
		api.Unreadable = state.Unreadable{
			Gateways:   g.Optional.Unreadable(Gateways),
			HTTPRoutes: g.Optional.Unreadable(HTTPRoutes),
			GRPCRoutes: g.Optional.Unreadable(GRPCRoutes),
		}
	}
	api.Claims = g.Claims(agent)
	api.Gateways, err = g.gateways(ctx, agent)
	return api, err
}

func (g *Gatherer) gateways(ctx context.Context, agent *a2av1alpha1.Agent) (map[types.NamespacedName]*gatewayv1.Gateway, error) {
	reader := g.Optional.Reader(Gateways)
	if reader == nil || agent.Spec.Exposure == nil {
		return nil, nil
	}
	gateways := map[types.NamespacedName]*gatewayv1.Gateway{}
	for _, ref := range agent.Spec.Exposure.ParentRefs {
		key := names.Gateway(agent, ref)
		if !g.watched(key.Namespace) {
			continue
		}
		gateway, err := Read[gatewayv1.Gateway](ctx, reader, key.Namespace, key.Name)
		if err != nil {
			return nil, err
		}
		if gateway != nil {
			gateways[key] = gateway
		}
	}
	return gateways, nil
}
