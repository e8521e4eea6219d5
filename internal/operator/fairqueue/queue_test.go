// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// of returns the request for an object, such as "team/echo".
func of(name string) reconcile.Request {
	namespace, name, _ := strings.Cut(name, "/")
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func newQueue(workers int) priorityqueue.PriorityQueue[reconcile.Request] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
	return New(workers)("", limiter).(priorityqueue.PriorityQueue[reconcile.Request])
}

func add(q priorityqueue.PriorityQueue[reconcile.Request], priority int, names ...string) {
	for _, name := range names {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, of(name))
	}
}

// drain returns the names of all requests that wait, in the order of one worker.
func drain(q priorityqueue.PriorityQueue[reconcile.Request]) []string {
	var names []string
	for q.Len() > 0 {
		request, _ := q.Get()
		names = append(names, request.String())
		q.Done(request)
	}
	return names
}

func TestOrder(t *testing.T) {
	tests := map[string]struct {
		add  func(q priorityqueue.PriorityQueue[reconcile.Request])
		want string
	}{
		"one namespace": {
			func(q priorityqueue.PriorityQueue[reconcile.Request]) { add(q, 0, "a/1", "a/2", "a/3") },
			"a/1 a/2 a/3",
		},
		"namespaces take turns": {
			func(q priorityqueue.PriorityQueue[reconcile.Request]) {
				add(q, 0, "a/1", "a/2", "a/3", "a/4", "b/1", "c/1", "b/2")
			},
			"a/1 b/1 c/1 a/2 b/2 a/3 a/4",
		},
		"priorities in a namespace": {
			func(q priorityqueue.PriorityQueue[reconcile.Request]) {
				add(q, -100, "a/1", "a/2")
				add(q, 0, "a/3")
				add(q, 1, "a/4")
			},
			"a/4 a/3 a/1 a/2",
		},
		"every other request has the highest priority": {
			func(q priorityqueue.PriorityQueue[reconcile.Request]) {
				add(q, -100, "a/1", "a/2", "a/3", "b/1", "b/2")
				add(q, 0, "c/1", "c/2", "c/3")
			},
			"a/1 c/1 b/1 c/2 a/2 c/3 b/2 a/3",
		},
		"a request that waits is raised": {
			func(q priorityqueue.PriorityQueue[reconcile.Request]) {
				add(q, -100, "a/1", "a/2", "a/3")
				add(q, 0, "a/3")
				add(q, -50, "a/3", "a/2")
			},
			"a/3 a/2 a/1",
		},
		"the default is 0": {
			func(q priorityqueue.PriorityQueue[reconcile.Request]) {
				add(q, -1, "a/1")
				q.Add(of("a/2"))
				q.AddWithOpts(priorityqueue.AddOpts{}, of("a/3"))
				add(q, 1, "a/4")
			},
			"a/4 a/2 a/3 a/1",
		},
		"objects without a namespace": {
			func(q priorityqueue.PriorityQueue[reconcile.Request]) { add(q, 0, "/1", "/2", "a/1") },
			"/1 a/1 /2",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			q := newQueue(4)
			defer q.ShutDown()
			test.add(q)
			if got := strings.Join(drain(q), " "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestNamespaceNeverHasAllWorkers lets a namespace have many requests that never end. The requests
// of another one run.
func TestNamespaceNeverHasAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 4
		q := newQueue(workers)
		var mu sync.Mutex
		running := map[string]int{}
		stuck := make(chan struct{})
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for {
					request, shutdown := q.Get()
					if shutdown {
						return
					}
					mu.Lock()
					running[request.Namespace]++
					mu.Unlock()
					if request.Namespace == "hostile" {
						<-stuck
					}
					q.Done(request)
				}
			})
		}
		for i := range 100 {
			add(q, 1, fmt.Sprintf("hostile/%d", i))
		}
		synctest.Wait()
		for i := range 20 {
			add(q, -100, fmt.Sprintf("quiet/%d", i))
		}
		synctest.Wait()
		if running["hostile"] != workers-1 || running["quiet"] != 20 {
			t.Errorf("running %v", running)
		}
		if q.Len() != 0 { // nothing that may run
			t.Errorf("%d requests may run", q.Len())
		}
		for range 97 {
			stuck <- struct{}{}
		}
		synctest.Wait()
		if running["hostile"] != 100 {
			t.Errorf("after some ended: %v", running)
		}
		close(stuck)
		synctest.Wait()
		q.ShutDown()
		wg.Wait()
	})
}

func TestOneWorkerServesAll(t *testing.T) {
	q := newQueue(1)
	defer q.ShutDown()
	add(q, 0, "a/1", "a/2")
	if got := drain(q); !slices.Equal(got, []string{"a/1", "a/2"}) {
		t.Errorf("got %v", got)
	}
}

// TestRequestThatRuns checks that a request never runs twice at a time, and runs again with its
// priority if it was added while it ran.
func TestRequestThatRuns(t *testing.T) {
	q := newQueue(4)
	defer q.ShutDown()
	add(q, 0, "a/1")
	request, _ := q.Get()
	add(q, -50, "a/1")
	add(q, -60, "a/2")
	add(q, -40, "a/3")
	if q.Len() != 2 {
		t.Errorf("%d requests may run while one of them runs", q.Len())
	}
	q.Done(request)
	if got := strings.Join(drain(q), " "); got != "a/3 a/1 a/2" {
		t.Errorf("got %s", got)
	}
}

// TestDelays checks that a delayed request keeps its priority, and that a request that is added at
// once does not wait for its delay.
func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(4)
		defer q.ShutDown()
		low := -100
		q.AddWithOpts(priorityqueue.AddOpts{After: time.Minute, Priority: &low}, of("a/1"), of("a/2"))
		q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, of("a/3"))
		if q.Len() != 0 || q.NumRequeues(of("a/3")) != 1 {
			t.Errorf("%d requests at once", q.Len())
		}
		q.Add(of("a/2"))
		synctest.Wait()
		request, priority, _ := q.GetWithPriority()
		if request != of("a/2") || priority != 0 {
			t.Errorf("got %v with priority %d", request, priority)
		}
		q.Done(request)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		request, priority, _ = q.GetWithPriority()
		if request != of("a/3") || priority != 0 {
			t.Errorf("got %v with priority %d", request, priority)
		}
		q.Done(request)
		time.Sleep(time.Minute)
		synctest.Wait()
		for q.Len() > 0 {
			request, priority, _ = q.GetWithPriority()
			if request == of("a/1") && priority != low {
				t.Errorf("got %v with priority %d", request, priority)
			}
			q.Done(request)
		}
	})
}

// TestShutDownLeavesRequests checks that workers stop at once, and do not first run all requests
// that wait.
func TestShutDownLeavesRequests(t *testing.T) {
	q := newQueue(4)
	add(q, 0, "a/1", "a/2", "b/1")
	q.ShutDown()
	for range 3 {
		if request, _, shutdown := q.GetWithPriority(); !shutdown {
			t.Errorf("got %v after ShutDown", request)
		}
	}
}
