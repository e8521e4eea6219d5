// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply brings the objects of an Agent into the cluster.
//
// It is the only package that writes them. It knows nothing of Agents: it
// takes apply configurations and an owner. It never takes over an object that
// the owner does not control, and sends nothing that would change nothing.
package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Owner is who the objects belong to.
type Owner struct {
	Kind schema.GroupVersionKind
	Name string
	UID  types.UID
	// Programmed tells that the objects were there once, as it wants them now: one
	// that is missing has been deleted since. Without, only what was written
	// lately is known to have been there.
	Programmed bool
}

// ErrOwnerGone is what comes of an owner that the API server does not have any
// more, or is deleting. Nothing was written; the cache shows it soon.
var ErrOwnerGone = errors.New("the owner is gone")

// Writer is what it takes to write.
type Writer interface {
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error
	Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error
	Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error
}

// Config is how an Applier works.
type Config struct {
	// Writer writes.
	Writer Writer
	// FieldOwner owns what is applied.
	FieldOwner string
	// DigestAnnotation is where the digest of what was applied stands.
	DigestAnnotation string
	// OwnerLabel is where the name of the owner stands.
	OwnerLabel string
	// Lives asks the API server itself whether an owner is there and stays.
	Lives func(ctx context.Context, namespace string, owner Owner) (bool, error)
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Applier brings objects into the cluster.
type Applier struct {
	config  Config
	written writes
	refused refusals
}

// New returns an Applier.
func New(config Config) *Applier {
	return &Applier{config: config, written: newWrites(config.Clock), refused: newRefusals(config.Clock)}
}

// Outcome is what became of the objects.
type Outcome struct {
	// Changed are the kinds of which the cache does not show yet what was
	// written, now or a moment ago.
	Changed []string
	// Conflicts are objects that exist and belong to somebody else. With one
	// of them, nothing was written.
	Conflicts []Conflict
	// Rejection is the object that the API server refused, the last one that
	// was tried, now or a moment ago.
	Rejection *Rejection
	// Kept are objects that are no longer desired, and that the API server does
	// not let go.
	Kept []Rejection
	// RecheckAfter is when to look again if nothing happens before, zero for
	// never.
	RecheckAfter time.Duration
}

// Complete tells whether every object is as desired.
func (o Outcome) Complete() bool {
	return len(o.Conflicts) == 0 && o.Rejection == nil
}

// Conflict is an object that exists and belongs to somebody else.
type Conflict struct {
	Kind string
	Name string
	// Former tells that it belongs to an owner of the same name that is no
	// more, and will go away by itself.
	Former bool
}

// Rejection is an object that the API server refused.
type Rejection struct {
	Kind string
	Name string
	// Forbidden tells that the operator may not write it, which others decide and
	// may decide otherwise; else its content is invalid.
	Forbidden bool
	// Message is the API server's.
	Message string
}

// Set writes those objects that are not as desired, in their order. It stops
// at the first one that cannot be written. A rejection is a value, since
// trying again would not help; so is a conflict. What was refused is not sent
// again for a while, whatever else happens to the owner. It is ErrOwnerGone
// where the cache shows less than there was, and the owner is why.
func (a *Applier) Set(ctx context.Context, owner Owner, objects ...Object) (Outcome, error) {
	var outcome Outcome
	var orphans bool
	if outcome.Conflicts, orphans = a.conflicts(owner, objects); len(outcome.Conflicts) > 0 {
		return outcome, nil
	}
	if orphans || a.misses(owner, objects) {
		// Its deletion may be what the cache does not show yet.
		lives, err := a.config.Lives(ctx, objects[0].namespace, owner)
		if err != nil {
			return outcome, err
		}
		if !lives {
			return outcome, ErrOwnerGone
		}
	}
	for _, object := range objects {
		changed, err := a.set(ctx, owner, object)
		if refused, ok := errors.AsType[*refusal](err); ok {
			a.refuse(&outcome, refused)
			return outcome, nil
		}
		if err != nil {
			return outcome, err
		}
		if changed {
			outcome.Changed = append(outcome.Changed, object.kind)
		}
		if changed && object.current == nil {
			outcome.RecheckAfter = unseenFor
		}
	}
	return outcome, nil
}

// refuse puts a refusal into an outcome.
func (a *Applier) refuse(outcome *Outcome, last *refusal) {
	outcome.Rejection, outcome.RecheckAfter = &last.rejection, a.refused.recheckAfter(last)
}

// absent is the version of no object: etcd counts from 1, and the first write
// makes it 2. An apply with it makes an object and changes none: of an object
// that appeared while the cache did not show it, the API server says that it is
// of another version. So a foreign one is never taken over, and nobody has to
// ask first (docs/adr/0022-created-without-a-read.md).
const absent = "1"

// set writes one object if it is not as desired.
func (a *Applier) set(ctx context.Context, owner Owner, object Object) (bool, error) {
	object.own(ownerReference(owner))
	digest, err := digest(object.desired)
	if err != nil {
		return false, fmt.Errorf("encode %s %s/%s: %w", object.kind, object.namespace, object.name, err)
	}
	last := a.written.of(object)
	switch {
	case last.digest == digest:
		return true, nil
	case object.current != nil:
		if object.current.GetAnnotations()[a.config.DigestAnnotation] == digest && converged(object.desired, object.current) {
			return false, nil
		}
		// The API server then refuses to write another object of the name.
		object.identify(object.current.GetUID())
		if metav1.GetControllerOfNoCopy(object.current) == nil {
			// Nobody else may have become its owner meanwhile.
			object.version(object.currentVersion())
		}
	case last.uid != "":
		object.identify(last.uid)
	default:
		object.version(absent)
	}
	if refused := a.refused.of(object, digest); refused != nil {
		return false, refused
	}
	object.annotate(map[string]string{a.config.DigestAnnotation: digest})
	err = a.config.Writer.Apply(ctx, object.desired, client.FieldOwner(a.config.FieldOwner), client.ForceOwnership)
	if rejection := rejectionOf(object, err); rejection != nil {
		return false, a.refused.remember(object, digest, *rejection)
	}
	if err != nil {
		return false, fmt.Errorf("apply %s %s/%s: %w", object.kind, object.namespace, object.name, err)
	}
	// What an admission webhook changes back each time differs for ever, and
	// is as good as it gets: the object is not waited for.
	version, uid, err := identityOf(object.desired)
	if err != nil {
		return false, fmt.Errorf("read answer about %s %s/%s: %w", object.kind, object.namespace, object.name, err)
	}
	if version == object.currentVersion() {
		return false, nil
	}
	a.written.remember(object, digest, uid, owner.UID)
	return true, nil
}

// ownerReference makes the garbage collector delete an object with its owner.
func ownerReference(owner Owner) *metav1ac.OwnerReferenceApplyConfiguration {
	apiVersion, kind := owner.Kind.ToAPIVersionAndKind()
	return metav1ac.OwnerReference().
		WithAPIVersion(apiVersion).
		WithKind(kind).
		WithName(owner.Name).
		WithUID(owner.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// rejectionOf turns the errors that trying again would not help into a value.
func rejectionOf(object Object, err error) *Rejection {
	if err == nil || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	message := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		message = status.Status().Message
	}
	forbidden := apierrors.IsForbidden(err) || denied.MatchString(message)
	if !forbidden && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !apierrors.IsRequestEntityTooLargeError(err) && !untyped(err) {
		return nil
	}
	return &Rejection{Kind: object.kind, Name: object.name, Forbidden: forbidden, Message: message}
}

// denied is what the API server says of an object that an admission webhook or a
// ValidatingAdmissionPolicy refuses. Of which kind the error is, is for these to
// choose: it may be any.
var denied = regexp.MustCompile(`(?:^admission webhook .*|ValidatingAdmissionPolicy .*) denied (?:the )?request`)

// untyped tells of an object with a field that the API server does not know,
// such as one of a newer version, or with two elements of one name. Of that it
// says no more than a text, under the status of a fault of its own.
func untyped(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError &&
		strings.Contains(status.Status().Message, "failed to create typed patch object")
}

// Ephemeral tells whether an error is of a kind that the next event about the
// object settles: somebody else wrote at the same moment, or has made an object
// of the name, or the namespace is going away.
func Ephemeral(err error) bool {
	return apierrors.IsConflict(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
