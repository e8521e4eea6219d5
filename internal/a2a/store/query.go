// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Query asks for tasks of one owner, in the order of their places.
type Query struct {
	Owner a2a.Owner
	// ContextID is "" for all contexts.
	ContextID string
	// State is StateUnknown for all states.
	State a2a.State
	// Since leaves out tasks whose status is older; the zero time leaves out none.
	Since time.Time
	// After leaves out tasks up to a place, which is where the page before ended;
	// nil for the first page.
	After *Place
	// Limit bounds the page. It is at least 1.
	Limit int
}

// Page is a part of the tasks that meet a query.
type Page struct {
	Tasks []*a2a.Task
	// Total counts the tasks on all pages.
	Total int
	// Next is where the next page begins; nil on the last one.
	Next *Place
}

// Place is where a task stands in a list: the newest status comes first, and
// among those of one moment the highest id.
type Place struct {
	Time   time.Time
	TaskID string
}

// PlaceOf returns the place of a task.
func PlaceOf(t *a2a.Task) Place { return Place{Time: t.Status.Time, TaskID: t.ID} }

// Compare is negative when p comes before o.
func (p Place) Compare(o Place) int {
	if c := o.Time.Compare(p.Time); c != 0 {
		return c
	}
	return strings.Compare(o.TaskID, p.TaskID)
}

// Admits reports whether a task meets the conditions, whatever the page.
func (q *Query) Admits(contextID string, s a2a.State, at time.Time) bool {
	return (q.ContextID == "" || q.ContextID == contextID) &&
		(q.State == a2a.StateUnknown || q.State == s) &&
		!at.Before(q.Since)
}
