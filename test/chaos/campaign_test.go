// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/controlplane"
	"github.com/a2a-operator/a2a-operator/internal/operator"
)

// full runs every plan, and waits longer for writes that must not come.
var full = os.Getenv("CHAOS") == "full"

const (
	// patience is how long a run may take to come to its end.
	patience = 30 * time.Second
	// poll is how often the end is looked for.
	poll = 20 * time.Millisecond
)

// stillness is how long nothing may be written at the end.
func stillness() time.Duration {
	if full {
		return 2 * time.Second
	}
	return 300 * time.Millisecond
}

var (
	cluster client.Client
	config  *rest.Config
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	environment := controlplane.New()
	var err error
	if config, err = environment.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "start control plane:", err)
		return 1
	}
	defer func() { _ = environment.Stop() }()
	config.QPS = -1
	scheme, err := operator.NewScheme()
	if err == nil {
		cluster, err = client.New(config, client.Options{Scheme: scheme})
	}
	if err == nil {
		err = cluster.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// namespace is the same for all runs, one after the other: its name is in the
// cards, and so in their digests.
const namespace = "chaos"

// bench is one run: a cluster, an operator that may die, and a user.
type bench struct {
	t    *testing.T
	user *user
	// transport is that of the operator that runs now.
	transport *transport
	stopped   chan struct{}
	stop      context.CancelFunc
	// crashed is told when the operator dies.
	crashed chan struct{}
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, user: &user{cluster: cluster, namespace: namespace}}
	b.clean()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&kubelet{cluster: cluster, namespace: namespace}).run(ctx)
	}()
	b.start()
	t.Cleanup(func() {
		b.kill()
		cancel()
		<-done
	})
	return b
}

// clean removes what an earlier run left.
func (b *bench) clean() {
	b.t.Helper()
	ctx := b.t.Context()
	all := append([]client.Object{&a2av1alpha1.Agent{}, &a2av1alpha1.AgentSkill{}}, kinds()...)
	for _, kind := range all {
		err := cluster.DeleteAllOf(ctx, kind, client.InNamespace(namespace), client.GracePeriodSeconds(0))
		if err != nil {
			b.t.Fatal(err)
		}
	}
	services := &corev1.ServiceList{}
	if err := cluster.List(ctx, services, client.InNamespace(namespace)); err != nil {
		b.t.Fatal(err)
	}
	for i := range services.Items {
		_ = cluster.Delete(ctx, &services.Items[i])
	}
	b.eventually("an empty namespace", func() string {
		state, err := stateOf(ctx, cluster, namespace)
		return cmp.Diff("", state) + text(err)
	})
}

// start runs an operator that nothing happens to yet.
func (b *bench) start() {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	crashed := make(chan struct{})
	t := &transport{crash: func() {
		close(crashed)
		cancel()
	}}
	own := rest.CopyConfig(config)
	own.Wrap(func(next http.RoundTripper) http.RoundTripper {
		t.next = next
		return t
	})
	settings := operator.Defaults()
	settings.SidecarImage = "example/sidecar:1"
	settings.RegistryBindAddress, settings.MetricsBindAddress, settings.HealthProbeBindAddress = "0", "0", "0"
	settings.MaxConcurrentReconciles = 1
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := operator.Run(ctx, own, settings, logr.Discard()); err != nil && ctx.Err() == nil {
			b.t.Errorf("operator: %v", err)
		}
	}()
	b.transport, b.stop, b.stopped, b.crashed = t, cancel, stopped, crashed
}

// kill ends the operator, and waits until nothing of it is left.
func (b *bench) kill() {
	b.transport.mu.Lock()
	b.transport.dead = true
	b.transport.mu.Unlock()
	b.stop()
	<-b.stopped
}

// eventually waits until check has nothing to complain of.
func (b *bench) eventually(what string, check func() string) {
	b.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for complaint := "?"; ; {
		select {
		case <-deadline.C:
			b.t.Fatalf("waited %s for %s:\n%s", patience, what, complaint)
		case <-ticker.C:
			if complaint = check(); complaint == "" {
				return
			}
		}
	}
}

// still waits until nobody has written for a while, and returns the state.
func (b *bench) still(pause time.Duration) string {
	b.t.Helper()
	var state string
	since := time.Now()
	b.eventually("the cluster to be still", func() string {
		now, err := stateOf(b.t.Context(), cluster, namespace)
		if err != nil {
			since = time.Now()
			return err.Error()
		}
		if now != state {
			state, since = now, time.Now()
		}
		if time.Since(since) < pause {
			return "still moving"
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
		select {
		case <-b.crashed:
			b.kill()
			b.start()
		default:
		}
		state, err := stateOf(b.t.Context(), cluster, namespace)
		if err != nil {
			return err.Error()
		}
		return cmp.Diff(want, state)
	})
}

// staysPut waits whether the operator writes, though all is as it should be.
func (b *bench) staysPut() {
	b.t.Helper()
	// A fault may still be on its way to somebody who tries again.
	b.eventually("the operator to rest", func() string {
		b.transport.mu.Lock()
		defer b.transport.mu.Unlock()
		if time.Since(b.transport.last) < 200*time.Millisecond {
			return "it wrote a moment ago"
		}
		return ""
	})
	before := len(b.transport.writesSince(0))
	pause := time.NewTimer(stillness())
	<-pause.C
	if late := b.transport.writesSince(before); len(late) > 0 {
		b.t.Errorf("%d writes after the end: %s", len(late), strings.Join(late, ", "))
	}
}

// reference is an undisturbed run.
type reference struct {
	state string
	// writes and requests are how many the operator made.
	writes, requests int
}

// refer runs a workload with nothing in the way.
func refer(t *testing.T, w workload) reference {
	t.Helper()
	b := prepare(t, w)
	b.transport.arm(plan{reads: true})
	written := len(b.transport.writesSince(0))
	if err := w.act(t.Context(), b.user); err != nil {
		t.Fatal(err)
	}
	state := b.still(500 * time.Millisecond)
	b.staysPut()
	return reference{state: state, writes: len(b.transport.writesSince(written)), requests: b.transport.requests()}
}

// prepare comes to where the user acts.
func prepare(t *testing.T, w workload) *bench {
	t.Helper()
	b := newBench(t)
	if w.made {
		if err := b.user.create(t.Context()); err != nil {
			t.Fatal(err)
		}
		agent := b.user.agent()
		b.eventually("an agent that is ready", func() string {
			if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(agent), agent); err != nil {
				return err.Error()
			}
			for _, c := range agent.Status.Conditions {
				if c.Type == a2av1alpha1.ConditionReady && c.Status == metav1.ConditionTrue {
					return ""
				}
			}
			return fmt.Sprint(agent.Status.Conditions)
		})
	}
	b.still(150 * time.Millisecond)
	return b
}

// disturb runs a workload under a plan and compares. It reports whether the
// fault met a request.
func disturb(t *testing.T, w workload, p plan, want reference) bool {
	t.Helper()
	b := prepare(t, w)
	first := b.transport
	first.arm(p)
	if err := w.act(t.Context(), b.user); err != nil {
		t.Fatal(err)
	}
	b.reaches(want.state)
	b.staysPut()
	return first.hitBy() != ""
}

func text(err error) string {
	if err == nil || errors.Is(err, context.Canceled) {
		return ""
	}
	return err.Error()
}

// campaign runs plans of a kind at every request of every workload, or at every
// nth in the short form, and says how many met one.
func campaign(t *testing.T, faults []fault, reads bool, nth int) {
	t.Helper()
	ran, met := 0, 0
	for _, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			var want reference
			t.Run("undisturbed", func(t *testing.T) { want = refer(t, w) })
			count := want.writes
			if reads {
				count = want.requests
			}
			for at := range count {
				for n, f := range faults {
					if !full && (at*len(faults)+n)%nth != 0 {
						continue
					}
					t.Run(fmt.Sprintf("%s %d", f, at), func(t *testing.T) {
						ran++
						if disturb(t, w, plan{fault: f, at: at, reads: reads}, want) {
							met++
						}
					})
				}
			}
		})
	}
	t.Logf("%d plans, of which %d met a request", ran, met)
	if met == 0 {
		t.Error("no fault met a request")
	}
}

// TestCrashAtEveryWrite: C1 of the reliability plan.
func TestCrashAtEveryWrite(t *testing.T) {
	campaign(t, []fault{crashBefore, crashAfter}, false, 9)
}

// TestEveryRequestFails: C2 of the reliability plan.
func TestEveryRequestFails(t *testing.T) {
	campaign(t, []fault{conflict, throttled, broken, lost}, true, 31)
}
