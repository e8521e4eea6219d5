// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"
)

// The rate limit for the events of one namespace. The recorder of client-go keeps each event in memory for 6
// to 12 minutes, so that a user who edits objects again and again would fill the memory of the manager.
const (
	perSecond = 5
	burst     = 2000
)

// maxNamespaces bounds the namespaces whose rate is remembered.
const maxNamespaces = 4096

// limited drops the events of a namespace beyond its rate.
type limited struct {
	events.EventRecorder
	now func() time.Time

	mu       sync.Mutex
	limiters *lru.Cache
}

// Limit returns a recorder that records the events of recorder's callers, and drops those of a namespace
// beyond 2,000 at once and 5 a second. It is safe for concurrent use.
func Limit(recorder events.EventRecorder, now func() time.Time) events.EventRecorder {
	return &limited{EventRecorder: recorder, now: now, limiters: lru.New(maxNamespaces)}
}

// Eventf implements events.EventRecorder.
func (l *limited) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	namespace := ""
	if object, err := meta.Accessor(regarding); err == nil {
		namespace = object.GetNamespace()
	}
	if l.of(namespace).AllowN(l.now(), 1) {
		l.EventRecorder.Eventf(regarding, related, eventType, reason, action, note, args...)
	}
}

func (l *limited) of(namespace string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.limiters.Get(namespace); ok {
		return known.(*rate.Limiter) // the cache holds nothing else
	}
	limiter := rate.NewLimiter(perSecond, burst)
	l.limiters.Add(namespace, limiter)
	return limiter
}
