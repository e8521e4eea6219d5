// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply writes the objects of an Agent to the cluster.
//
// No other package writes these objects. The package does not depend on Agents: its input
// is apply configurations and an owner. It never changes an object of another owner, and
// skips writes that would change nothing.
package apply

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/operator/memo"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

const (
	// maxPendingWrites bounds each memo of pending writes. If an entry is dropped, the next
	// reconcile may send a write that changes nothing.
	maxPendingWrites = 16 << 10
	// createdTimeout is how long the Applier assumes that a created object exists while the
	// cache does not show it. The time is bounded, because the cache may never show an object
	// that was deleted soon after its creation.
	createdTimeout = 5 * time.Second
	// maxRejections bounds the memo of rejections. If an entry is dropped, the next
	// reconcile may send a write that the API server rejects again.
	maxRejections = 4 << 10
	// rejectedFor is how long the Applier does not repeat a rejected write (negative cache).
	// After this time it tries again, because quotas and policies may allow the write by then,
	// and their changes cause no event. A rejection that can end is retried after rejectedFirst for
	// the first time, and after twice the time for each further one: a user who raises a quota at
	// once sees the result within seconds.
	rejectedFirst = 5 * time.Second
	rejectedFor   = time.Minute
)

// Writer sends writes to the API server.
type Writer interface {
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
	Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error
}

// Config configures an Applier. All fields are required except for Live.
type Config struct {
	Writer Writer
	// FieldOwner is the field manager of the applied fields.
	FieldOwner string
	// DigestAnnotation is the annotation that holds the digest of the applied content.
	DigestAnnotation string
	// OwnerLabel is the label that holds the owner's name.
	OwnerLabel string
	// OwnerExists asks the API server, by a live read, whether an owner exists and is not
	// being deleted.
	OwnerExists func(ctx context.Context, namespace string, owner Owner) (bool, error)
	Clock       clock.PassiveClock
	// Live reads the managers of contested fields from the API server. It may be nil.
	Live client.Reader
}

// Owner is the controller owner of the objects.
type Owner struct {
	Kind schema.GroupVersionKind
	Name string
	UID  types.UID
	// Programmed reports that all objects once existed in their current desired state, so that
	// a missing object must have been deleted since. If Programmed is false, a missing object
	// counts as deleted only if this process wrote it for the same owner.
	Programmed bool
}

// Applier writes objects to the cluster. Its methods are safe for concurrent use with
// different owners.
type Applier struct {
	config Config
	// written, annotated and scaled contain the writes that the cache may not show yet (see
	// package memo). annotated holds the written values of the annotation, and scaled the written
	// numbers of replicas.
	written   *memo.Writes[target, write]
	annotated *memo.Writes[types.UID, string]
	scaled    *memo.Writes[types.UID, int32]
	// rejected contains the writes that the API server rejected (see package memo).
	rejected *memo.Memo[target, attempt, rejection]
	// undone contains the writes whose values the API server did not keep (see package memo).
	undone *memo.Memo[target, string, state.Contest]
	// repeats counts the writes of the same content (see package memo).
	repeats *memo.Repeats[target]
	// contests contains the fields that others set, by owner (see package memo).
	contests *memo.Memo[types.UID, struct{}, []contest]
}

// write describes an object as the operator wrote it.
type write struct {
	digest string
	uid    types.UID
	owner  types.UID
}

// attempt identifies a write by its content and by the object that the write changes. The
// generation identifies the content of that object. Unlike the resource version, the
// generation does not change with the status.
type attempt struct {
	digest     string
	uid        types.UID // "" for a new object
	generation int64
}

// rejection is a write that the API server rejected.
type rejection struct {
	state.Rejection
	// terminating is the error of a write that created an object in a namespace that is being deleted; nil
	// for other writes.
	terminating error
	// wait is the time until the write is sent again, and until its end.
	wait  time.Duration
	until time.Time
}

// New returns an Applier.
func New(config Config) *Applier {
	return &Applier{
		config:    config,
		written:   memo.NewWrites[target, write](maxPendingWrites, config.Clock),
		annotated: memo.NewWrites[types.UID, string](maxPendingWrites, config.Clock),
		scaled:    memo.NewWrites[types.UID, int32](maxPendingWrites, config.Clock),
		rejected:  memo.New[target, attempt, rejection](maxRejections, config.Clock),
		undone:    memo.New[target, string, state.Contest](maxContests, config.Clock),
		repeats:   memo.NewRepeats[target](config.Clock),
		contests:  memo.New[types.UID, struct{}, []contest](maxContests, config.Clock),
	}
}

// ForgetRejections makes the next reconcile repeat writes that were rejected. Call it
// after a change that may have removed the reason for rejections.
func (a *Applier) ForgetRejections() {
	a.rejected.Clear()
	a.undone.Clear()
	a.repeats.Clear()
}
