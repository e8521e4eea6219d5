// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/memo"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// maxSecretVersions bounds the versions of Secrets in memory.
const maxSecretVersions = 4 << 10

// SecretVersions reads the resource versions of Secrets that Agents name in spec.workload.restartOn, each at most once
// in state.RestartAge. It requests only their metadata. It is safe for concurrent use.
type SecretVersions struct {
	live  client.Reader
	clock clock.PassiveClock
	known *memo.Memo[types.NamespacedName, struct{}, state.RestartObject]
}

// NewSecretVersions returns a SecretVersions that reads from the API server by live.
func NewSecretVersions(live client.Reader, passive clock.PassiveClock) *SecretVersions {
	return &SecretVersions{live: live, clock: passive, known: memo.New[types.NamespacedName, struct{}, state.RestartObject](maxSecretVersions, passive)}
}

// of returns the version of a Secret.
func (s *SecretVersions) of(ctx context.Context, key types.NamespacedName) state.RestartObject {
	if object, known := s.known.Get(key, struct{}{}); known {
		return object
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	object := state.RestartObject{}
	switch err := s.live.Get(ctx, key, secret); {
	case err == nil:
		object.Version = secret.ResourceVersion
	case apierrors.IsNotFound(err):
	case apierrors.IsForbidden(err):
		object.Forbidden = true
	default:
		log.FromContext(ctx).Error(err, "reading the version of a Secret failed", "secret", key)
		object.Failed = true
	}
	s.known.Put(key, struct{}{}, object, s.clock.Now().Add(state.RestartAge))
	return object
}

// restartObjects returns the objects of spec.workload.restartOn, in their order.
func (g *Gatherer) restartObjects(ctx context.Context, agent *a2av1alpha1.Agent) ([]state.RestartObject, error) {
	if agent.Spec.Remote != nil {
		return nil, nil
	}
	var objects []state.RestartObject
	for _, ref := range agent.Spec.Workload.RestartOn {
		if ref.Kind == a2av1alpha1.RestartSecret {
			objects = append(objects, g.Secrets.of(ctx, types.NamespacedName{Namespace: agent.Namespace, Name: ref.Name}))
			continue
		}
		configMap, err := Read[corev1.ConfigMap](ctx, g.Reader, agent.Namespace, ref.Name)
		if err != nil {
			return nil, fmt.Errorf("read spec.workload.restartOn: %w", err)
		}
		object := state.RestartObject{}
		if configMap != nil {
			object.Version = configMap.ResourceVersion
		}
		objects = append(objects, object)
	}
	return objects, nil
}
