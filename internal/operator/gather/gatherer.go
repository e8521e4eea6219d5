// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gather reads the state that a reconcile of an Agent needs. It reads from the informer
// caches, with six exceptions. It reads the data of a ConfigMap that is being deleted from the API
// server, because the caches do not keep this data. It also reads an Agent or AgentSkill there whose spec
// seems to have lost fields, and while its CRD is newer than the operator. It reads a kept revision of an Agent there if the
// revision runs in place of the spec. It reads the data of ConfigMaps with files of skills and with instructions there, for
// a reconcile that renders them.
//
// No other package reads the cluster for a reconcile, except that package apply asks the API
// server whether an owner exists. The package contains no decisions and writes nothing. The
// objects that it returns belong to the caches and must not be modified: copies were most of the
// cost of reading.
package gather

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/exposure"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// Source has a value that changes. A nil Source has no value.
type Source[T any] interface {
	// Current returns the value, or nil while there is none.
	Current() *T
}

func currentOf[T any](source Source[T]) *T {
	if source == nil {
		return nil
	}
	return source.Current()
}

// RemoteSource returns the cards of remote agents.
type RemoteSource interface {
	// LastRead returns the result of the last read of an Agent's card, or nil before the first
	// read.
	LastRead(agent *a2av1alpha1.Agent) *state.Remote
	// LastResult returns the result of the last read, nil for none, and schedules no read.
	LastResult(types.NamespacedName) *state.Remote
	// AgentDeleted allows the source to drop what it stores for an Agent.
	AgentDeleted(key types.NamespacedName)
}

// OptionalKinds reads kinds of optional APIs, which a cluster may not have.
type OptionalKinds interface {
	// Reader returns nil while the cluster does not have the kind or its objects cannot be
	// read.
	Reader(kind schema.GroupResource) client.Reader
	// Unreadable returns the reason why the objects of a kind cannot be read, "" for none.
	Unreadable(kind schema.GroupResource) string
}

// The optional kinds.
var (
	Gateways   = schema.GroupResource{Group: gatewayv1.GroupName, Resource: "gateways"}
	HTTPRoutes = schema.GroupResource{Group: gatewayv1.GroupName, Resource: "httproutes"}
	GRPCRoutes = schema.GroupResource{Group: gatewayv1.GroupName, Resource: "grpcroutes"}
)

// Gatherer reads the state on which an Agent depends.
type Gatherer struct {
	// Reader is a cache with the index names.PodsByAgent.
	Reader client.Reader
	// Live reads from the API server. The Gatherer uses it only for ConfigMaps that are being
	// deleted, and for Agents and AgentSkills whose specs seem to have lost fields or whose CRD is newer
	// than the operator. See also Warnings.
	Live client.Reader
	// Claims returns the oldest claims of the addresses of an Agent, or nil if the Agent requests no
	// address.
	Claims func(*a2av1alpha1.Agent) map[state.Address]state.Claim
	// Issuer has the issuer of ServiceAccount tokens, when it is known.
	Issuer Source[state.Issuer]
	// TokenIssuer is nil if the manager issues no tokens.
	TokenIssuer Source[state.Issuer]
	// RegistryCA may be nil; sidecars then verify the registry with the authorities of their
	// image.
	RegistryCA Source[state.RegistryCA]
	Remote     RemoteSource
	// Exposure may be nil; no hostname is allowed to exposures then.
	Exposure Source[exposure.Rules]
	Optional OptionalKinds
	// Warnings may be nil; no warnings of pods are read then.
	Warnings *PodWarnings
	// ImageVolumes may be nil; the API server then counts as one that supports image volumes.
	ImageVolumes *ImageVolumes
	// Secrets reads the versions of Secrets of spec.workload.restartOn.
	Secrets *SecretVersions
	// LastReport returns the time of the last health report of a pod, or the time since which reports are
	// counted. It may be nil; reports are not counted then.
	LastReport func(pod types.UID) time.Time
	// Revisions may be nil; every read of a kept revision then reads from the API server.
	Revisions *Revisions
	// Schemas has the state of the operator's CRDs. It may be nil; the CRDs then never change.
	Schemas Source[state.Schemas]
	// NewFields may be nil only if Schemas is nil.
	NewFields *NewFields
	// Namespaces lists the namespaces whose objects are cached; empty means all.
	Namespaces []string
}

// watched reports whether the objects of a namespace are cached. Objects of other namespaces
// count as missing.
func (g *Gatherer) watched(namespace string) bool {
	return len(g.Namespaces) == 0 || slices.Contains(g.Namespaces, namespace)
}

// Read returns a cached object. It returns nil and no error if there is no such object, or if
// reader is nil.
func Read[T any, O interface {
	*T
	client.Object
}](ctx context.Context, reader client.Reader, namespace, name string) (O, error) {
	if reader == nil {
		return nil, nil
	}
	obj := O(new(T))
	if err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("get %T %s/%s: %w", obj, namespace, name, err)
	}
	return obj, nil
}
