// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"encoding/json"
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
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Source reads agents from the manager's cache.
type Source struct{ Reader client.Reader }

// Read returns the present entry of an agent, nil if it is gone. It reuses the
// unchanged parts of last, which may be nil.
func (s *Source) Read(ctx context.Context, key Key, last *Entry) (*Entry, error) {
	agent := &a2av1alpha1.Agent{}
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	if err := s.Reader.Get(ctx, name, agent); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	rendered, err := s.card(ctx, agent, last)
	if err != nil {
		return nil, err
	}
	facts := factsOf(agent)
	if last != nil && last.facts == facts && last.card == rendered {
		return last, nil
	}
	return NewEntry(facts, rendered)
}

func factsOf(agent *a2av1alpha1.Agent) Facts {
	f := Facts{
		Key:         Key{Namespace: agent.Namespace, Name: agent.Name},
		DisplayName: agent.Spec.DisplayName,
		Description: agent.Spec.Description,
		Version:     agent.Spec.Version,
		URL:         agent.Status.URL,
		Remote:      agent.Spec.Remote != nil,
		Admitted:    access.AdmittedBy(agent),
		Ready:       meta.IsStatusConditionTrue(agent.Status.Conditions, a2av1alpha1.ConditionAvailable),
	}
	if f.DisplayName == "" {
		f.DisplayName = agent.Name
	}
	return f
}

// card reads the card from the sidecar configuration. It returns the last card if it
// cannot decode the configuration, which another version of the operator has
// written and this one is about to replace.
func (s *Source) card(ctx context.Context, agent *a2av1alpha1.Agent, last *Entry) (*Card, error) {
	config := &corev1.ConfigMap{}
	name := types.NamespacedName{Namespace: agent.Namespace, Name: names.ConfigMap(agent.Name)}
	err := s.Reader.Get(ctx, name, config)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(config, agent) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s: %w", name, err)
	}
	content, decode := []byte(config.Data[sidecarconfig.FileName]), decodeConfig
	if agent.Spec.Remote != nil {
		content, decode = []byte(config.Data[sidecarconfig.CardFileName]), decodeCard
	}
	var kept *Card
	if last != nil {
		kept = last.card
	}
	if kept != nil && kept.source == sidecarconfig.Digest(content) {
		return kept, nil
	}
	decoded, err := decode(content)
	if err != nil {
		return kept, nil //nolint:nilerr // the operator replaces the configuration, which is another event
	}
	return NewCard(decoded.Card, decoded.Bases, sidecarconfig.Digest(content))
}

func decodeConfig(content []byte) (*sidecarconfig.Config, error) {
	return sidecarconfig.Decode(content)
}

// decodeCard reads the card of a remote agent.
func decodeCard(content []byte) (*sidecarconfig.Config, error) {
	c := &sidecarconfig.Config{}
	if err := json.Unmarshal(content, &c.Card); err != nil {
		return nil, fmt.Errorf("decode card: %w", err)
	}
	return c, nil
}

// Watch calls touch for each agent that changes or whose sidecar configuration
// changes. The channels are closed after the calls for all present objects.
func Watch(ctx context.Context, informers cache.Informers, touch func(...Key)) ([]<-chan struct{}, error) {
	watched := map[client.Object]func(metav1.Object) (Key, bool){
		&a2av1alpha1.Agent{}: func(o metav1.Object) (Key, bool) {
			return Key{Namespace: o.GetNamespace(), Name: o.GetName()}, true
		},
		&corev1.ConfigMap{}: ownerOf,
	}
	var synced []<-chan struct{}
	for object, keyOf := range watched {
		informer, err := informers.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("get informer for %T: %w", object, err)
		}
		registration, err := informer.AddEventHandler(handler(keyOf, touch))
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", object, err)
		}
		synced = append(synced, registration.HasSyncedChecker().Done())
	}
	return synced, nil
}

func handler(keyOf func(metav1.Object) (Key, bool), touch func(...Key)) toolscache.ResourceEventHandler {
	seen := func(object any) {
		if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if accessor, err := meta.Accessor(object); err == nil {
			if key, ok := keyOf(accessor); ok {
				touch(key)
			}
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    seen,
		UpdateFunc: func(before, after any) { seen(before); seen(after) },
		DeleteFunc: seen,
	}
}

// ownerOf returns the key of the Agent that controls an object.
func ownerOf(o metav1.Object) (Key, bool) {
	owner := metav1.GetControllerOf(o)
	if owner == nil || owner.Kind != a2av1alpha1.AgentKind || owner.APIVersion != a2av1alpha1.GroupVersion.String() {
		return Key{}, false
	}
	return Key{Namespace: o.GetNamespace(), Name: owner.Name}, true
}
