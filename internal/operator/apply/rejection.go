// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// Transient reports whether the reconcile for the next event about the object resolves an
// error. This is so if another client wrote the object at the same time or created an
// object of the same name, or if the namespace is being deleted.
func Transient(err error) bool {
	return apierrors.IsConflict(err) || isTerminating(err)
}

// conflictDelay is the delay of the retry after a conflict. Usually the watch event of the conflicting
// write starts a reconcile earlier.
const conflictDelay = time.Second

// RetryDelay returns the delay of the retry after a transient error. A namespace that is being deleted
// refuses all new objects until it is gone, so the retry only covers a deletion that hangs.
func RetryDelay(err error) time.Duration {
	if isTerminating(err) {
		return rejectedFor
	}
	return conflictDelay
}

// isTerminating reports whether the API server refused a new object because its namespace is being deleted.
func isTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// attemptOf returns the attempt that writes content with this digest to the object.
func attemptOf(o Object, digest string) attempt {
	if o.current == nil {
		return attempt{digest: digest}
	}
	return attempt{digest: digest, uid: o.current.GetUID(), generation: o.current.GetGeneration()}
}

// send sends a write, unless the API server rejected the same write shortly before (rejectedFor).
// It returns the rejection, if there is one, and the delay after which to try again; 0 for
// no retry. It returns all other errors unchanged, and repeats the error about a namespace that is being
// deleted as it repeats a rejection.
func (a *Applier) send(o Object, digest string, write func() error) (*state.Rejection, time.Duration, error) {
	try := attemptOf(o, digest)
	known, again := a.rejected.Get(o.target, try)
	if left := known.until.Sub(a.config.Clock.Now()); again && left > 0 {
		// Retry when the rejection expires: the cause of the rejection may have ended since then,
		// and the reconcile for that event comes here and does not send the write.
		if known.terminating != nil {
			return nil, left, known.terminating
		}
		return &known.Rejection, left, nil
	}
	err := write()
	if isTerminating(err) {
		until := a.config.Clock.Now().Add(rejectedFor)
		a.rejected.Put(o.target, try, rejection{terminating: err, until: until}, until)
		return nil, rejectedFor, err
	}
	rejected := rejectionOf(o, err)
	if rejected == nil {
		return nil, 0, err
	}
	mayEnd := rejected.Forbidden || rejected.Webhook != "" || rejected.UndeclaredField()
	wait := rejectedFor
	if mayEnd {
		wait = min(max(2*known.wait, rejectedFirst), rejectedFor)
	}
	until := a.config.Clock.Now().Add(wait)
	a.rejected.Put(o.target, try, rejection{Rejection: *rejected, wait: wait, until: until}, until.Add(rejectedFor))
	if !mayEnd {
		// The write is invalid, so the same write fails again. An event starts the reconcile that
		// sends a corrected write.
		return rejected, 0, nil
	}
	return rejected, wait, nil
}

// rejectionOf converts an error into a Rejection if an immediate retry would not resolve it.
// It returns nil for all other errors.
func rejectionOf(o Object, err error) *state.Rejection {
	if err == nil {
		return nil
	}
	if errors.Is(err, pagedlist.ErrTooLarge) {
		return &state.Rejection{Kind: o.kind(), Name: o.name, TooLarge: true, Message: err.Error()}
	}
	message := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		message = status.Status().Message
	}
	// The API server names no field in messages about a whole object.
	message = strings.ReplaceAll(message, "<nil>: ", "")
	if webhook := failing.FindStringSubmatch(message); webhook != nil {
		return &state.Rejection{Kind: o.kind(), Name: o.name, Webhook: webhook[1], Message: message}
	}
	forbidden := apierrors.IsForbidden(err) || denied.MatchString(message)
	if !forbidden && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !apierrors.IsRequestEntityTooLargeError(err) && !untyped(err) {
		return nil
	}
	return &state.Rejection{Kind: o.kind(), Name: o.name, Forbidden: forbidden, Message: message}
}

// denied matches the message of a denial by an admission webhook or a
// ValidatingAdmissionPolicy. The status code does not identify a denial, because the
// webhook or the policy chooses it.
var denied = regexp.MustCompile(`(?:^admission webhook .*|ValidatingAdmissionPolicy .*) denied (?:the )?request`)

// failing matches the message about an admission webhook that does not answer, and whose failure policy is Fail.
// The API server reports it as an internal error (500).
var failing = regexp.MustCompile(`failed calling webhook "([^"]+)"`)

// untyped reports whether the API server could not match an object with its schema. The
// object has a field that the API server does not know, such as a field of a newer version,
// or it has two list elements with the same key. The API server reports this as an internal
// error (500), so untyped recognizes it by its text.
func untyped(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError &&
		strings.Contains(status.Status().Message, "failed to create typed patch object")
}
