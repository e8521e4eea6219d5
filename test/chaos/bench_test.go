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
	// poll is the interval of checks for changes that cause no event.
	poll = 50 * time.Millisecond
	// idleFor is the time without a request after which an operator counts as idle.
	idleFor = 200 * time.Millisecond
	// longestDelay is longer than every delay of the operator: it delays the status of an AgentSkill by a
	// second.
	longestDelay = 1500 * time.Millisecond
)

// quietPeriod returns the time at the end of a run in which no write may happen.
func quietPeriod() time.Duration {
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
	// json makes the operator use JSON, which the transport can decode.
	json bool
	// settings changes the configuration of the operators.
	settings func(*operator.Config)
	// runTimeout is the timeout of a run that may take longer than others; zero for the default.
	runTimeout time.Duration

	// transport is the transport of the running operator.
	transport *transport
	stop      context.CancelFunc
	stopped   chan struct{}
}

// newBench starts an operator in an empty namespace.
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

// runKubelet runs a kubelet until the test ends.
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

// useJSON makes the operator use JSON, so that the transport can decode its requests.
func useJSON(b *bench) { b.json = true }

// clean deletes the objects of an earlier run.
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
				if !createdByKubernetes(object) {
					complaint += fmt.Sprintf("%T %s is there\n", object, object.GetName())
					_ = cluster.Delete(ctx, object, client.GracePeriodSeconds(0))
				}
			}
		}
		return complaint + b.state()
	})
}

// start starts an operator. Its transport causes no faults until it is armed. staleView is the stale state that the
// operator sees first, nil for the current state.
func (b *bench) start(staleView *staleView) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t := &transport{crash: cancel, staleView: staleView, decodedWatch: b.json}
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

// kill stops the operator and waits until its goroutines have ended.
func (b *bench) kill() {
	b.transport.die()
	if b.transport.staleView != nil {
		b.transport.staleView.end()
	}
	b.stop()
	<-b.stopped
}

// restartIfDead starts the operator again if it has died.
func (b *bench) restartIfDead() {
	if b.transport.gone() {
		b.kill()
		b.start(nil)
	}
}

// eventually waits until check returns no complaint.
func (b *bench) eventually(what string, check func() string) {
	b.t.Helper()
	runTimeout := max(runTimeout, b.runTimeout)
	deadline := time.NewTimer(runTimeout)
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
				runTimeout, what, complaint, strings.Join(b.transport.writesSince(0), "\n"))
		case <-ticker.C:
		case <-changed:
		}
	}
}

// state returns the objects of the namespace, or an error.
func (b *bench) state() string {
	state, err := stateOf(b.t.Context(), b.namespace)
	if err != nil {
		return err.Error()
	}
	return state
}

// waitStable waits until the operator is idle, the state is stable and every status is current. It
// returns the state.
func (b *bench) waitStable(check func(state string) string) string {
	b.t.Helper()
	var state string
	b.eventually("a stable state", func() string {
		var err error
		if state, err = stateOf(b.t.Context(), b.namespace); err != nil {
			return err.Error()
		}
		if complaint := check(state); complaint != "" {
			return complaint + "\n" + state
		}
		quiet := min(time.Since(seen.lastChange(b.namespace)), b.transport.idle())
		if quiet < longestDelay {
			return "still moving:\n" + state
		}
		return ""
	})
	return state
}

// waitForEnd waits for the expected state. If the operator dies in the meantime, waitForEnd restarts it.
func (b *bench) waitForEnd(want string) {
	b.t.Helper()
	b.eventually("the end of the undisturbed run", func() string {
		b.restartIfDead()
		return cmp.Diff(want, b.state())
	})
}

// waitIdle waits until a running operator is idle.
func (b *bench) waitIdle() {
	b.t.Helper()
	b.eventually("an idle operator", func() string {
		b.restartIfDead()
		if b.transport.idle() < idleFor {
			return "it sent something a moment ago, or does not watch everything yet"
		}
		return ""
	})
}

// changesWhileIdle returns the writes of an idle operator and the changes of the state within a duration.
func (b *bench) changesWhileIdle(want string, pause time.Duration) string {
	b.t.Helper()
	before := len(b.transport.writesSince(0))
	timer := time.NewTimer(pause)
	<-timer.C
	return strings.Join(b.transport.writesSince(before), "\n") + cmp.Diff(want, b.state())
}

// expectQuiet waits until the operator is idle, and then expects no writes and the expected state for a
// while. One late write is allowed: an operator that lost an answer writes again if its cache does
// not show the result.
func (b *bench) expectQuiet(want string, pause time.Duration) {
	b.t.Helper()
	for late := false; ; late = true {
		b.waitForEnd(want)
		b.waitIdle()
		moved := b.changesWhileIdle(want, pause)
		if moved == "" {
			return
		}
		if late {
			b.t.Fatalf("changes after the end: %s", moved)
		}
		b.t.Logf("one more write after the end: %s", moved)
	}
}
