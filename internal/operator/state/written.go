// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strings"
	"time"
)

// Written is the result of writing some objects. Package apply returns it, and package status computes
// conditions from it.
type Written struct {
	// Changed lists the kinds of the objects with a pending write: this reconcile or an
	// earlier one wrote the object, and the cache does not show the new state yet.
	Changed []string
	// Conflicts lists the objects that exist and belong to another owner or to none. If the list
	// is not empty, nothing was written.
	Conflicts []Conflict
	// Rejection is the write that the API server rejected in this reconcile or within the
	// last minute; nil for none. The objects after it were not written.
	Rejection *Rejection
	// NotDeleted lists the rejected deletions of objects that are no longer desired.
	NotDeleted []Rejection
	// Undone reports that an admission webhook or a policy changes what the operator writes, and that the
	// operator has left an object with the changed values.
	Undone bool
	// RecheckAfter is the delay after which to reconcile again if no event starts a
	// reconcile earlier; 0 for none.
	RecheckAfter time.Duration
}

// Complete reports whether no object is in conflict or rejected.
func (r Written) Complete() bool { return len(r.Conflicts) == 0 && r.Rejection == nil }

// InSync reports whether every object was in its desired state before the reconcile,
// and no write is pending.
func (r Written) InSync() bool {
	return r.Complete() && len(r.Changed) == 0 && len(r.NotDeleted) == 0 && !r.Undone && r.RecheckAfter == 0
}

// Conflict is an object that has the name of an object of the Agent, and that the Agent does not
// control. An orphan of the Agent is no conflict: the operator adopts it.
type Conflict struct {
	Kind string
	Name string
	// Former reports that the object belongs to a deleted owner of the same name. The
	// garbage collector will delete the object.
	Former bool
}

// Contest is a field of an object that others set again and again to another value than the operator.
type Contest struct {
	Kind string
	Name string
	// Field is the path of the field, such as spec.replicas.
	Field string
	// Manager is the field manager that sets the field, "" if it is not known. If an admission webhook or a policy
	// changes the writes of the operator, there is no such manager.
	Manager string
	// Undone is true if an admission webhook or a policy changes the field in each write of the operator.
	Undone bool
	// Autoscaler is the HorizontalPodAutoscaler of others that scales the Deployment, "" for none.
	Autoscaler string
}

// Rejection is a write that the API server rejected.
type Rejection struct {
	Kind string
	Name string
	// Forbidden reports that the operator lacks a right, or that a quota or a policy denies
	// the write. Both causes can end without a change of the object. If Forbidden is false,
	// the content of the object is invalid.
	Forbidden bool
	// Webhook is the name of the admission webhook that the API server could not call, "" if this is not the
	// cause. It can end without a change of the object.
	Webhook string
	// TooLarge reports that the metadata of the object is too large for the operator. The API server has written the object.
	TooLarge bool
	// Message is the API server's message.
	Message string
}

// Immutable reports that the object has to be created again, because the API server does not change a field of
// it. An example is a ConfigMap that someone made immutable.
func (r Rejection) Immutable() bool { return strings.Contains(r.Message, "field is immutable") }

// UndeclaredField reports that the API server's schema lacks a field of the object. For
// example, the CRD of the object has an older version.
func (r Rejection) UndeclaredField() bool {
	return strings.Contains(r.Message, "field not declared in schema")
}
