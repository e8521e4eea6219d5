// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

const (
	// recentRefusals bounds how many are known. A forgotten one costs a request
	// that is refused.
	recentRefusals = 4 << 10
	// refusedFor is how long what was refused is not sent again. Quotas and
	// policies, which may decide otherwise by then, tell nobody when they change.
	refusedFor = time.Minute
)

// refusals knows what the API server refused. An owner that it happens to has
// events like any other, and each would have the same refused again.
type refusals struct {
	recent *lru.Cache
	clock  clock.PassiveClock
}

// refusal is an object that the API server refused.
type refusal struct {
	rejection Rejection
	digest    string
	// over is the object that was to be changed.
	over  form
	until time.Time
	// known tells that it was not asked again.
	known bool
}

// Error makes it what a write has failed with.
func (r *refusal) Error() string { return r.rejection.Message }

// form is what of an object counts in the judgement of a change: its status,
// which counts for nothing, makes another version of it, and no other generation.
type form struct {
	uid        types.UID
	generation int64
}

func formOf(o Object) form {
	if o.current == nil {
		return form{}
	}
	return form{o.current.GetUID(), o.current.GetGeneration()}
}

func newRefusals(passive clock.PassiveClock) refusals {
	return refusals{recent: lru.New(recentRefusals), clock: passive}
}

// of is the refusal that would come again, nil for none.
func (r refusals) of(o Object, digest string) *refusal {
	value, ok := r.recent.Get(o.target)
	if !ok {
		return nil
	}
	last := value.(refusal)
	if last.digest != digest || last.over != formOf(o) || !r.clock.Now().Before(last.until) {
		return nil
	}
	last.known = true
	return &last
}

// remember returns the refusal that it remembers.
func (r refusals) remember(o Object, digest string, rejection Rejection) *refusal {
	last := refusal{rejection: rejection, digest: digest, over: formOf(o), until: r.clock.Now().Add(refusedFor)}
	r.recent.Add(o.target, last)
	return &last
}

// Forget has everything that was refused sent again when it is next asked for:
// something has changed that it may have been refused for.
func (a *Applier) Forget() { a.refused.recent.Clear() }

// Undeclared tells that the API server's schema lacks a field. It may be one
// of a version that is about to come.
func (r Rejection) Undeclared() bool {
	return strings.Contains(r.Message, "field not declared in schema")
}

// recheckAfter is when to try again if nothing happens before. What is invalid
// stays so, but what has happened meanwhile has not been tried.
func (r refusals) recheckAfter(last *refusal) time.Duration {
	if !last.rejection.Forbidden && !last.rejection.Undeclared() && !last.known {
		return 0
	}
	return last.until.Sub(r.clock.Now())
}
