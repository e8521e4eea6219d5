// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/operator"
	"github.com/a2a-operator/a2a-operator/test/controlplane"
	"github.com/a2a-operator/a2a-operator/test/programs"
)

// full runs every plan and waits longer for unexpected writes.
var full = os.Getenv("CHAOS") == "full"

// runTimeout is the timeout of a run. A run reaches it only if something is wrong; a busy machine is
// not enough.
const runTimeout = 2 * time.Minute

// parallelRuns is the number of workloads that run at the same time, each in a namespace and with an
// operator of its own. Most of a run is waiting.
const parallelRuns = "5"

var (
	// cluster is the client of the users and of the rest of the cluster.
	cluster client.Client
	config  *rest.Config
	seen    *watcher
)

func TestMain(m *testing.M) { os.Exit(programs.Built(tests{m}, "cmd/manager").Run()) }

// tests runs the tests of this package with a control plane.
type tests struct{ m *testing.M }

func (t tests) Run() int { return run(t.m) }

func run(m *testing.M) int {
	flag.Parse()
	if err := flag.Set("test.parallel", parallelRuns); err != nil {
		panic(err)
	}
	ctrl.SetLogger(logr.Discard())
	environment := controlplane.New()
	var err error
	if config, err = environment.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "start control plane:", err)
		return 1
	}
	defer func() {
		stopRestarted()
		_ = environment.Stop()
	}()
	config.QPS = -1
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	scheme, err := operator.NewScheme()
	if err == nil {
		cluster, err = client.New(config, client.Options{Scheme: scheme})
	}
	if err == nil {
		seen, err = watch(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// watcher watches the cluster, so that the tests do not poll.
type watcher struct {
	cache cache.Cache

	mu sync.Mutex
	// changed is closed with the next change in a namespace.
	changed map[string]chan struct{}
	last    map[string]time.Time
}

func watch(ctx context.Context) (*watcher, error) {
	objects, err := cache.New(config, cache.Options{Scheme: cluster.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	w := &watcher{cache: objects, changed: map[string]chan struct{}{}, last: map[string]time.Time{}}
	note := func(object any) {
		if gone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if o, ok := object.(client.Object); ok {
			w.note(o.GetNamespace())
		}
	}
	for _, kind := range append(written(), owned()...) {
		informer, err := objects.GetInformer(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: note, UpdateFunc: func(_, now any) { note(now) }, DeleteFunc: note,
		}); err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind, err)
		}
	}
	go func() { _ = objects.Start(ctx) }()
	objects.WaitForCacheSync(ctx)
	return w, nil
}

func (w *watcher) note(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[namespace] = time.Now()
	if next, ok := w.changed[namespace]; ok {
		close(next)
		delete(w.changed, namespace)
	}
}

// next returns a channel that is closed with the next change in a namespace.
func (w *watcher) next(namespace string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed[namespace] == nil {
		w.changed[namespace] = make(chan struct{})
	}
	return w.changed[namespace]
}

// lastChange returns the time of the last change in a namespace.
func (w *watcher) lastChange(namespace string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last[namespace]
}

// ensureNamespace creates a namespace if it does not exist.
func ensureNamespace(t *testing.T, name string) {
	t.Helper()
	err := cluster.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}
