// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Query selects tasks of one owner, in the order of their places.
type Query struct {
	Owner a2a.Owner
	// ContextID is "" for all contexts.
	ContextID string
	// State is StateUnknown for all states.
	State a2a.State
	// Since excludes tasks whose status is older; the zero time excludes none.
	Since time.Time
	// After is the place at which the previous page ended: the page begins after it. Nil for
	// the first page.
	After *Place
	// Limit bounds the page. It is at least 1.
	Limit int
}

// Page is a part of the tasks that match a query.
type Page struct {
	Tasks []*a2a.Task
	// Total counts the tasks on all pages.
	Total int
	// Next is the place at which this page ends; nil on the last page.
	Next *Place
}

// Place is the position of a task in a list: the newest status comes first, and of
// equal times the highest id.
type Place struct {
	Time   time.Time
	TaskID string
}

// PlaceOf returns the place of a task.
func PlaceOf(t *a2a.Task) Place { return Place{Time: t.Status.Time, TaskID: t.ID} }

// Compare returns a negative number when p comes before o.
func (p Place) Compare(o Place) int {
	if c := o.Time.Compare(p.Time); c != 0 {
		return c
	}
	return strings.Compare(o.TaskID, p.TaskID)
}

// Matches reports whether a task matches the query, on any page.
func (q *Query) Matches(contextID string, s a2a.State, at time.Time) bool {
	return (q.ContextID == "" || q.ContextID == contextID) &&
		(q.State == a2a.StateUnknown || q.State == s) &&
		!at.Before(q.Since)
}
