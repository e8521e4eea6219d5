// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/operator"
)

const (
	// poll is how often is looked for what comes without an event.
	poll = 50 * time.Millisecond
	// breath is how long an operator at rest sends nothing.
	breath = 200 * time.Millisecond
	// calm is longer than everything that the operator puts off: the status of
	// an AgentSkill, by a second.
	calm = 1500 * time.Millisecond
)

// stillness is how long nothing may be written at the end.
func stillness() time.Duration {
	if full {
		return 2 * time.Second
	}
	return 300 * time.Millisecond
}

// bench is one run: a namespace, an operator that may die, and a user.
type bench struct {
	t         *testing.T
	namespace string
	user      *user
	// json makes the operator speak JSON, which the transport can read.
	json bool
	// settings changes those of the operators.
	settings func(*operator.Config)
	// patience is how long something may take where that is longer than it is
	// for others.
	patience time.Duration

	// transport is that of the operator that runs now.
	transport *transport
	stop      context.CancelFunc
	stopped   chan struct{}
}

// newBench runs an operator in an empty namespace.
func newBench(t *testing.T, namespace string, options ...func(*bench)) *bench {
	t.Helper()
	b := &bench{t: t, namespace: namespace, user: &user{cluster: cluster, namespace: namespace}}
	for _, option := range options {
		option(b)
	}
	ensureNamespace(t, namespace)
	b.clean()
	runKubelet(t, namespace)
	b.start(nil)
	t.Cleanup(b.kill)
	return b
}

// runKubelet plays the rest of the cluster until the test is over.
func runKubelet(t *testing.T, namespace string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&kubelet{namespace: namespace}).run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// speaksJSON lets the transport read what the operator is told.
func speaksJSON(b *bench) { b.json = true }

// clean removes what an earlier run left.
func (b *bench) clean() {
	b.t.Helper()
	ctx := b.t.Context()
	b.eventually("an empty namespace", func() string {
		complaint := ""
		for _, kind := range append(written(), owned()...) {
			list := listOf(kind)
			if err := cluster.List(ctx, list, client.InNamespace(b.namespace)); err != nil {
				return err.Error()
			}
			for _, object := range objects(list) {
				if !ofNobody(object) {
					complaint += fmt.Sprintf("%T %s is there\n", object, object.GetName())
					_ = cluster.Delete(ctx, object, client.GracePeriodSeconds(0))
				}
			}
		}
		return complaint + b.state()
	})
}

// start runs an operator that nothing happens to yet, but that it may see the
// past.
func (b *bench) start(past *past) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t := &transport{crash: cancel, past: past, tapped: b.json}
	own := rest.CopyConfig(config)
	own.Wrap(func(next http.RoundTripper) http.RoundTripper {
		t.next = next
		return t
	})
	if b.json {
		own.ContentType = "application/json"
	}
	settings := operator.Defaults()
	settings.SidecarImage = "example/sidecar:1"
	settings.RegistryBindAddress, settings.MetricsBindAddress, settings.HealthProbeBindAddress = "0", "0", "0"
	settings.MaxConcurrentReconciles = 1
	settings.WatchNamespaces = []string{b.namespace}
	if b.settings != nil {
		b.settings(&settings)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := operator.Run(ctx, own, settings, logr.Discard()); err != nil && ctx.Err() == nil {
			b.t.Errorf("operator: %v", err)
		}
	}()
	b.transport, b.stop, b.stopped = t, cancel, stopped
}

// kill ends the operator, and waits until nothing of it is left.
func (b *bench) kill() {
	b.transport.die()
	if b.transport.past != nil {
		b.transport.past.end()
	}
	b.stop()
	<-b.stopped
}

// revive starts the operator again if it has died.
func (b *bench) revive() {
	if b.transport.gone() {
		b.kill()
		b.start(nil)
	}
}

// eventually waits until check has nothing to complain of.
func (b *bench) eventually(what string, check func() string) {
	b.t.Helper()
	patience := max(patience, b.patience)
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		changed := seen.next(b.namespace)
		complaint := check()
		if complaint == "" {
			return
		}
		select {
		case <-deadline.C:
			b.t.Fatalf("waited %s for %s:\n%s\nthe operator wrote:\n%s",
				patience, what, complaint, strings.Join(b.transport.writesSince(0), "\n"))
		case <-ticker.C:
		case <-changed:
		}
	}
}

// state is what is in the namespace, or what is wrong with it.
func (b *bench) state() string {
	state, err := stateOf(b.t.Context(), b.namespace)
	if err != nil {
		return err.Error()
	}
	return state
}

// settles waits until an operator at rest has left the namespace as it is for
// a while, and has said something of everything in it. It returns the state.
func (b *bench) settles(check func(state string) string) string {
	b.t.Helper()
	var state string
	b.eventually("the cluster to be still", func() string {
		var err error
		if state, err = stateOf(b.t.Context(), b.namespace); err != nil {
			return err.Error()
		}
		if complaint := check(state); complaint != "" {
			return complaint + "\n" + state
		}
		quiet := min(time.Since(seen.lastChange(b.namespace)), b.transport.idle())
		if quiet < calm {
			return "still moving:\n" + state
		}
		return ""
	})
	return state
}

// reaches waits until the cluster is as it should be, starting the operator
// again when it dies on the way.
func (b *bench) reaches(want string) {
	b.t.Helper()
	b.eventually("the end of the undisturbed run", func() string {
		b.revive()
		return cmp.Diff(want, b.state())
	})
}

// rested waits until an operator that runs has nothing to do.
func (b *bench) rested() {
	b.t.Helper()
	b.eventually("the operator to rest", func() string {
		b.revive()
		if b.transport.idle() < breath {
			return "it sent something a moment ago, or does not watch everything yet"
		}
		return ""
	})
}

// moves tells what an operator at rest writes in a while, and what changes.
func (b *bench) moves(want string, pause time.Duration) string {
	b.t.Helper()
	before := len(b.transport.writesSince(0))
	timer := time.NewTimer(pause)
	<-timer.C
	return strings.Join(b.transport.writesSince(before), "\n") + cmp.Diff(want, b.state())
}

// rests waits until the operator has nothing to do, and then for a while that
// it writes nothing and that all is as it should be. It may be late once: one
// whose answer was lost writes again when it has not seen what became of it.
func (b *bench) rests(want string, pause time.Duration) {
	b.t.Helper()
	for late := false; ; late = true {
		b.reaches(want)
		b.rested()
		moved := b.moves(want, pause)
		if moved == "" {
			return
		}
		if late {
			b.t.Fatalf("after the end: %s", moved)
		}
		b.t.Logf("once more after the end: %s", moved)
	}
}
