// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// managerAttack attacks a manager until ctx ends, and returns a summary.
type managerAttack struct {
	name string
	run  func(ctx context.Context, t *testing.T, manager *subject) string
}

// form is a manager with the listeners that are attacked during a fault. isTenant is true if a hostile tenant attacks it, too.
type form struct {
	name      string
	start     func(*testing.T, *cluster, []byte) *subject
	listeners []string
	isTenant  bool
}

// forms are a manager whose registry is attacked; in the long form all of its listeners, those that can have a certificate also with one.
func forms() []form {
	if !full {
		return []form{{name: "manager", start: startManager, listeners: []string{"registry"}}}
	}
	return []form{
		{name: "manager", start: startManager, listeners: []string{"health", "metrics", "registry", "catalog outside", "page", "pprof"}, isTenant: true},
		{name: "manager over TLS", start: startManagerOverTLS, listeners: []string{"registry", "page"}},
	}
}

// attacks returns all attacks on each listener of the form.
func (f *form) attacks(c *cluster) []managerAttack {
	var all []managerAttack
	for _, name := range f.listeners {
		all = append(all, managerAttack{name + ": all attacks", func(ctx context.Context, _ *testing.T, manager *subject) string {
			return everything(*manager.listener(name), 2*lasts).run(ctx)
		}})
	}
	if f.isTenant {
		all = append(all, managerAttack{"hostile tenant", func(ctx context.Context, t *testing.T, _ *subject) string {
			return newHostile(t, c).everything(ctx, t, 10)
		}})
	}
	return all
}

// TestAttackWhileTheAPIServerThrottles attacks a manager while the API server answers a half of all requests with 429.
func TestAttackWhileTheAPIServerThrottles(t *testing.T) {
	c := startCluster(t)
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			proxy := newThrottle(t, c)
			manager := f.start(t, c, proxy.kubeconfig)
			good := newTenant(t, c)
			for _, attack := range f.attacks(c) {
				manager.withstands(t, attack.name+" while the API server answers 429", 2*lasts, func(ctx context.Context) string {
					proxy.throttles.Store(true)
					defer proxy.throttles.Store(false)
					return fmt.Sprintf("%s, %d answers 429", attack.run(ctx, t, manager), proxy.answered.Swap(0))
				})
			}
			good.works(t.Context(), t)
			good.inTime(t, "after the attack")
		})
	}
}

// throttle is a proxy in front of the API server.
type throttle struct {
	kubeconfig []byte
	throttles  atomic.Bool
	answered   atomic.Int64
}

func newThrottle(t *testing.T, c *cluster) *throttle {
	t.Helper()
	p := &throttle{}
	next, err := rest.TransportFor(c.environment.Config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(c.environment.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: next, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.throttles.Load() && rand.IntN(2) == 0 {
			p.answered.Add(1)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	p.kubeconfig = fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}],
contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}]}`, server.URL)
	return p
}

// TestAttackWhileTheLeaderChanges attacks the standby manager while the leader ends. The standby becomes the leader, and acts.
func TestAttackWhileTheLeaderChanges(t *testing.T) {
	c := startCluster(t)
	good := newTenant(t, c)
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			leader := f.start(t, c, c.kubeconfig)
			good.works(t.Context(), t)
			for _, attack := range f.attacks(c) {
				standby := f.start(t, c, c.kubeconfig)
				good.forget()
				standby.withstands(t, attack.name+" while the leader changes", 2*lasts, func(ctx context.Context) string {
					var attacked string
					var group sync.WaitGroup
					group.Go(func() { attacked = attack.run(ctx, t, standby) })
					if err := syscall.Kill(leader.PID, syscall.SIGTERM); err != nil {
						t.Error(err)
					}
					good.works(context.WithoutCancel(ctx), t)
					group.Wait()
					return attacked + ", " + good.String()
				})
				for _, took := range good.deployed {
					if took > 2*deploymentWithin {
						t.Errorf("%s: the new leader acts after %v", attack.name, took)
					}
				}
				leader = standby
			}
		})
	}
}

// TestAttackDuringADrainOfTheManager attacks a manager that gets SIGTERM. It ends in time.
func TestAttackDuringADrainOfTheManager(t *testing.T) {
	if !full {
		t.Skip("a manager for each listener: ATTACK=full")
	}
	c := startCluster(t)
	for _, f := range forms() {
		for _, attack := range f.attacks(c) {
			manager := f.start(t, c, c.kubeconfig)
			ctx, cancel := context.WithCancel(t.Context())
			var attacked string
			var group sync.WaitGroup
			group.Go(func() { attacked = attack.run(ctx, t, manager) })
			select {
			case <-manager.Exited:
			case <-time.After(lasts):
			}
			took := manager.Terminate(t, endWithin)
			cancel()
			group.Wait()
			report(t, row{program: manager.name, attack: attack.name + " during a drain", attempts: attacked, kills: manager.Kills(), verdict: fmt.Sprintf("ended %s after SIGTERM", brief(took))})
			if manager.Kills() > 0 {
				t.Errorf("%s: killed: %s", attack.name, manager.Failure())
			}
		}
	}
}
