// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/a2a-operator/a2a-operator/internal/operator/fairqueue"
)

// fanOuts are the fan-outs of a controller. A fan-out is a request for all that depends on one object.
//
// An informer calls a handler for the objects of all tenants, one after the other, and a controller starts when its handlers have handled
// all objects. So the work of a handler must not grow with the objects of a tenant: the handler enqueues a fan-out, which has the
// namespace of the object. A worker, which takes the namespaces in turn, then enqueues what depends on the object. Many events of one
// object are one fan-out.
type fanOuts struct {
	// dependents return the requests of a fan-out, by its kind.
	dependents map[string]func(context.Context, types.NamespacedName) []reconcile.Request
	queue      requestQueue
}

// fanOutMark separates the kind of a fan-out from the name of its object. The name of no object contains it, and request refuses it.
const fanOutMark = "/"

// fanOut returns a list with a fan-out.
func fanOut(kind, namespace, name string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: kind + fanOutMark + name}}}
}

// newQueue is the option NewQueue of the controller.
func (f *fanOuts) newQueue(workers int) func(string, fairqueue.RateLimiter) requestQueue {
	return func(name string, limiter fairqueue.RateLimiter) requestQueue {
		f.queue = fairqueue.New(workers)(name, limiter)
		return f.queue
	}
}

// reconciler returns the reconciler of the controller. next reconciles the requests that are no fan-outs.
func (f *fanOuts) reconciler(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		kind, name, isFanOut := strings.Cut(r.Name, fanOutMark)
		if !isFanOut {
			return next.Reconcile(ctx, r)
		}
		if dependents := f.dependents[kind]; dependents != nil {
			enqueue(f.queue, 0, dependents(ctx, types.NamespacedName{Namespace: r.Namespace, Name: name})...)
		}
		return reconcile.Result{}, nil
	})
}

// notInitial ignores the objects that exist when a controller starts. It is for objects on which only Agents or AgentSkills depend that
// the controller reconciles at its start anyway.
var notInitial = predicate.Funcs{CreateFunc: func(created event.CreateEvent) bool { return !created.IsInInitialList }}
