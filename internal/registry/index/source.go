// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/agentstate"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Source reads agents from the manager's cache.
type Source struct {
	Reader client.Reader
	// ReadDeleted returns a ConfigMap of an Agent that is being deleted and has no data in the cache, with its data. It
	// returns nil if the ConfigMap does not exist any more. If ReadDeleted is nil, the cache has the data.
	ReadDeleted func(ctx context.Context, agent metav1.Object, cached *corev1.ConfigMap) (*corev1.ConfigMap, error)
}

// Read implements ReadFunc. It reuses the unchanged parts of last, which may be nil. If the card
// cannot be read, Read returns an error and, if last is not nil, also an entry with the card of
// last.
func (s *Source) Read(ctx context.Context, key Key, last *Entry, asOf Revision) (*Entry, error) {
	agent := &a2av1alpha1.Agent{}
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	// The cache need not copy the object, because Read does not change it.
	if err := s.Reader.Get(ctx, name, agent, client.UnsafeDisableDeepCopy); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	source, configMap, failure := s.card(ctx, agent, last)
	if failure != nil {
		if last == nil {
			return nil, failure
		}
		source = last.source
		configMap = last.Revision.ConfigMaps
	}
	if configMap == 0 { // there is no ConfigMap; it may have been deleted at any revision until asOf
		configMap = asOf.ConfigMaps
	}
	revision := Revision{Agents: parseResourceVersion(agent.ResourceVersion), ConfigMaps: configMap}
	facts := factsOf(agent)
	facts.limitAudience(agent, last)
	if last != nil && last.source == source && last.facts == facts.digest() {
		if last.Revision == revision {
			return last, failure
		}
		// Between last.Revision and revision, the agent may have had another state, which another
		// replica may have shown to a reader. The entry therefore gets the new revision, so that a
		// reader that resumes receives it.
		e := *last
		e.Revision = revision
		e.source = source // the texts are equal, but only the new one shares its memory with the cache
		return &e, failure
	}
	e, err := entryOf(facts, source, last)
	if err != nil {
		return nil, err
	}
	e.Revision = revision
	return e, failure
}

// entryOf returns the entry of an agent. If last, which may be nil, has the same card, entryOf
// reuses the parts of last that depend on the card.
func entryOf(facts Facts, source CardSource, last *Entry) (*Entry, error) {
	if last == nil || last.source != source {
		e, err := NewEntry(facts, source)
		if err == nil {
			return e, nil
		}
		// Usually, another version of the operator has written the sidecar configuration, and this
		// version will replace it. Until then, the registry shows the last card that it could read. Nobody replaces a card with too many
		// empty members: the last card would stay for as long as the agent.
		if last == nil || last.source.Text == "" || errors.Is(err, errEmptyMembers) {
			return NewEntry(facts, CardSource{})
		}
		return last.withFacts(facts)
	}
	e, err := last.withFacts(facts)
	if err != nil {
		return nil, err
	}
	e.source = source // the texts are equal, but only the new one shares its memory with the cache
	return e, nil
}

func factsOf(agent *a2av1alpha1.Agent) Facts {
	f := Facts{
		Key:         Key{Namespace: agent.Namespace, Name: agent.Name},
		DisplayName: agent.Spec.DisplayName,
		Description: agent.Spec.Description,
		Version:     agent.Spec.Version,
		URL:         agent.Status.URL,
		ExternalURL: agent.Status.ExternalURL,
		Remote:      agent.Spec.Remote != nil,
		UpdatedAt:   agent.CreationTimestamp.Time,
		Visibility:  access.VisibilityOf(agent),
		Admitted:    access.AdmittedBy(agent),
	}
	state := agentstate.Of(&agent.Status)
	f.Ready = state.Serves
	f.Reason = state.Problem()
	for i := range agent.Status.Conditions {
		c := &agent.Status.Conditions[i]
		if c.LastTransitionTime.After(f.UpdatedAt) {
			f.UpdatedAt = c.LastTransitionTime.Time
		}
	}
	if f.DisplayName == "" {
		f.DisplayName = agent.Name
	}
	return f
}

// card returns the text with the agent's card, and the resource version of the ConfigMap that
// contains it, or 0 if there is no ConfigMap. If the ConfigMap is being deleted and is the one that
// last (may be nil) was made from, card returns the text of last without a read from the API server.
func (s *Source) card(ctx context.Context, agent *a2av1alpha1.Agent, last *Entry) (CardSource, uint64, error) {
	config := &corev1.ConfigMap{}
	remote := agent.Spec.Remote != nil
	name := types.NamespacedName{Namespace: agent.Namespace, Name: names.ConfigMap(agent.Name)}
	err := s.Reader.Get(ctx, name, config, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(config, agent) {
		return CardSource{}, 0, nil
	}
	if err != nil {
		return CardSource{}, 0, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	version := parseResourceVersion(config.ResourceVersion)
	if s.ReadDeleted != nil && config.DeletionTimestamp != nil && config.Data == nil {
		if last != nil && last.Revision.ConfigMaps == version && last.source.Remote == remote {
			return last.source, version, nil
		}
		if config, err = s.ReadDeleted(ctx, agent, config); err != nil {
			return CardSource{}, 0, err
		}
		if config == nil || !metav1.IsControlledBy(config, agent) {
			return CardSource{}, 0, nil
		}
		version = parseResourceVersion(config.ResourceVersion)
	}
	if remote {
		return CardSource{Text: config.Data[sidecarconfig.CardFileName], Remote: true}, version, nil
	}
	return CardSource{Text: config.Data[sidecarconfig.FileName]}, version, nil
}

// Watch registers the feed with the informers of Agents and ConfigMaps. The feed then receives a
// notification if an agent or its sidecar configuration changes. The returned channels are closed
// after the notifications for all objects that existed at the start.
func Watch(ctx context.Context, informers cache.Informers, feed *Feed) ([]<-chan struct{}, error) {
	kinds := []struct {
		object client.Object
		handle toolscache.ResourceEventHandler
	}{
		{&a2av1alpha1.Agent{}, feed.AgentHandler()},
		{&corev1.ConfigMap{}, feed.ConfigMapHandler()},
	}
	var synced []<-chan struct{}
	for _, kind := range kinds {
		informer, err := informers.GetInformer(ctx, kind.object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("get informer for %T: %w", kind.object, err)
		}
		registration, err := informer.AddEventHandler(kind.handle)
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind.object, err)
		}
		synced = append(synced, registration.HasSyncedChecker().Done())
	}
	return synced, nil
}

// AgentHandler returns the handler of events of Agents.
func (f *Feed) AgentHandler() toolscache.ResourceEventHandler {
	return f.handler(keyOf, func(version uint64) Revision { return Revision{Agents: version} })
}

// ConfigMapHandler returns the handler of events of ConfigMaps.
func (f *Feed) ConfigMapHandler() toolscache.ResourceEventHandler {
	return f.handler(ownerOf, func(version uint64) Revision { return Revision{ConfigMaps: version} })
}

func (f *Feed) handler(agentOf func(metav1.Object) (Key, bool), at func(version uint64) Revision) toolscache.ResourceEventHandler {
	notify := func(object any, report func(Revision, ...Key)) {
		accessor, err := meta.Accessor(object)
		if err != nil {
			return
		}
		revision := at(parseResourceVersion(accessor.GetResourceVersion()))
		if key, ok := agentOf(accessor); ok {
			report(revision, key)
		} else {
			report(revision)
		}
	}
	missed := func(_ Revision, keys ...Key) { f.Missed(keys...) }
	withdrawn := func(before any) func(Revision, ...Key) {
		return func(r Revision, keys ...Key) { f.Withdrawn(r, visibilityOf(before), keys...) }
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { notify(object, f.Touch) },
		UpdateFunc: func(before, after any) {
			notify(before, f.Touch)
			switch {
			case missesVisibility(before, after):
				notify(after, missed)
			case visibilityOf(after) < visibilityOf(before):
				notify(after, withdrawn(before))
			}
			notify(after, f.Touch)
		},
		DeleteFunc: func(object any) {
			if gone, unknown := object.(toolscache.DeletedFinalStateUnknown); unknown {
				notify(gone.Obj, missed)
				return
			}
			if _, isAgent := object.(*a2av1alpha1.Agent); isAgent {
				notify(object, withdrawn(object))
			} else { // the agent remains, without its card
				notify(object, f.Touch)
			}
		},
	}
}

// visibilityOf returns the Visibility of an Agent, and VisibilityCluster for other objects.
func visibilityOf(object any) access.Visibility {
	if agent, ok := object.(*a2av1alpha1.Agent); ok {
		return access.VisibilityOf(agent)
	}
	return access.VisibilityCluster
}

// missesVisibility reports whether, between two states that the informer has reported, the Agent
// possibly had another Visibility: the Agent was created again, or its specification changed more
// than once. This occurs if the informer has lost its watch.
func missesVisibility(before, after any) bool {
	from, ok := before.(*a2av1alpha1.Agent)
	to, same := after.(*a2av1alpha1.Agent)
	return ok && same && (to.UID != from.UID || to.Generation-from.Generation > 1)
}

func keyOf(o metav1.Object) (Key, bool) {
	return Key{Namespace: o.GetNamespace(), Name: o.GetName()}, true
}

// ownerOf returns the key of the Agent whose card a ConfigMap has, and false for other ConfigMaps. Whoever writes a ConfigMap chooses
// the owner, whose name may be any text. Only the owner whose ConfigMap has this name can be an Agent.
func ownerOf(o metav1.Object) (Key, bool) {
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil || owner.Kind != a2av1alpha1.AgentKind || owner.APIVersion != a2av1alpha1.GroupVersion.String() ||
		o.GetName() != names.ConfigMap(owner.Name) {
		return Key{}, false
	}
	return Key{Namespace: o.GetNamespace(), Name: owner.Name}, true
}
