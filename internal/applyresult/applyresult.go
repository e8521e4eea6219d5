// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package applyresult holds the results of writing the objects of an Agent, as values.
//
// internal/apply returns them and internal/status makes conditions from them. The package
// has no client, so that status can be tested with literals.
package applyresult

import (
	"strings"
	"time"
)

// Result is the result of writing some objects.
type Result struct {
	// Changed lists the kinds of the objects that were written, now or by an earlier
	// reconcile, and whose new state the cache does not show yet.
	Changed []string
	// Conflicts lists the objects that exist and belong to another owner. If there is
	// one, nothing was written.
	Conflicts []Conflict
	// Rejection is the write that the API server rejected, now or within the last
	// minute; nil for none. Later objects were not written.
	Rejection *Rejection
	// NotDeleted lists the objects that are no longer desired and whose deletion the API
	// server rejected.
	NotDeleted []Rejection
	// RecheckAfter is the delay after which to reconcile again if no event comes first;
	// zero for none.
	RecheckAfter time.Duration
}

// Complete reports whether no object is in conflict or rejected.
func (r Result) Complete() bool { return len(r.Conflicts) == 0 && r.Rejection == nil }

// InSync reports whether every object was in its desired state before the reconcile,
// and no write is pending.
func (r Result) InSync() bool {
	return r.Complete() && len(r.Changed) == 0 && len(r.NotDeleted) == 0 && r.RecheckAfter == 0
}

// Conflict is an object that exists and belongs to another owner.
type Conflict struct {
	Kind string
	Name string
	// Former reports that the object belongs to a deleted owner of the same name. The
	// garbage collector deletes it.
	Former bool
}

// Rejection is a write that the API server rejected.
type Rejection struct {
	Kind string
	Name string
	// Forbidden reports that the operator lacks a right, or that a quota or a policy denies
	// the write. Both can change without a change of the object. Otherwise the content
	// is invalid.
	Forbidden bool
	// Message is the API server's message.
	Message string
}

// UndeclaredField reports that the API server's schema lacks a field of the object, as
// that of an older version of a CRD does.
func (r Rejection) UndeclaredField() bool {
	return strings.Contains(r.Message, "field not declared in schema")
}
