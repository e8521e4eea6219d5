// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply writes the objects of an Agent to the cluster.
//
// No other package writes them. It knows nothing of Agents: it takes apply configurations
// and an owner. It never changes an object of another owner, and sends no request that
// would change nothing.
package apply

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/applyresult"
	"github.com/a2a-operator/a2a-operator/internal/memo"
)

const (
	// maxPendingWrites bounds the memo of pending writes. A lost entry costs an apply that
	// changes nothing.
	maxPendingWrites = 16 << 10
	// createdTimeout is how long a created object is taken to exist while the cache does
	// not show it. The object may have been deleted before the cache could show it.
	createdTimeout = 5 * time.Second
	// maxRejections bounds the memo of rejections. A lost entry costs a write that the
	// API server rejects.
	maxRejections = 4 << 10
	// rejectedFor is how long a rejected write is not sent again. Quotas and policies may
	// allow it by then, and their changes cause no event.
	rejectedFor = time.Minute
)

// Writer sends writes to the API server.
type Writer interface {
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
	Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error
}

// Config configures an Applier. All fields are required.
type Config struct {
	Writer Writer
	// FieldOwner is the field manager of what is applied.
	FieldOwner string
	// DigestAnnotation is the annotation that holds the digest of the applied content.
	DigestAnnotation string
	// OwnerLabel is the label that holds the owner's name.
	OwnerLabel string
	// OwnerExists asks the API server, by a live read, whether an owner exists and is not
	// being deleted.
	OwnerExists func(ctx context.Context, namespace string, owner Owner) (bool, error)
	Clock       clock.PassiveClock
}

// Owner is the controller owner of the objects.
type Owner struct {
	Kind schema.GroupVersionKind
	Name string
	UID  types.UID
	// Programmed reports that all objects existed in their current desired state once. A
	// missing object was deleted since. Without it, only an object that this process
	// wrote is known to have existed.
	Programmed bool
}

// Applier writes objects to the cluster. Its methods are safe for concurrent use with
// different owners.
type Applier struct {
	config Config
	// written holds the writes that the cache may not show yet, by object and by the
	// cached resource version before the write, "" for none (see package memo).
	written *memo.Memo[target, string, write]
	// rejected holds the writes that the API server rejected (see package memo).
	rejected *memo.Memo[target, attempt, rejection]
}

// write is an object that was written.
type write struct {
	digest string
	uid    types.UID
	owner  types.UID
}

// attempt identifies a write by its content and by the object that it changes. The
// generation stands for the object's content: unlike the resource version, a change of
// the status does not change it.
type attempt struct {
	digest     string
	uid        types.UID // "" for a new object
	generation int64
}

// rejection is a write that the API server rejected.
type rejection struct {
	applyresult.Rejection
	until time.Time
}

// New returns an Applier.
func New(config Config) *Applier {
	return &Applier{
		config:   config,
		written:  memo.New[target, string, write](maxPendingWrites, config.Clock),
		rejected: memo.New[target, attempt, rejection](maxRejections, config.Clock),
	}
}

// ForgetRejections makes the next reconcile send rejected writes again. Call it after a
// change that may have been the reason of rejections.
func (a *Applier) ForgetRejections() { a.rejected.Clear() }
