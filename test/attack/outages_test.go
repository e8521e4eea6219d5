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

	"k8s.io/client-go/rest"
)

// TestAttackWhileTheAPIServerThrottles attacks the registry of a manager while the API server answers a half of all requests with 429.
func TestAttackWhileTheAPIServerThrottles(t *testing.T) {
	c := startCluster(t)
	proxy := newThrottle(t, c)
	manager := startManager(t, c, proxy.kubeconfig)
	good := &tenant{cluster: c, namespace: c.namespace(t, "throttled-")}
	manager.withstands(t, "registry: all attacks while the API server answers 429", 2*lasts, func(ctx context.Context) string {
		proxy.throttles.Store(true)
		defer proxy.throttles.Store(false)
		return fmt.Sprintf("%s, %d answers 429", everything(manager.listeners[2], 2*lasts).run(ctx), proxy.answered.Load())
	})
	good.works(t.Context(), t)
	good.inTime(t, "after the attack")
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
	leader := startManager(t, c, c.kubeconfig)
	good := &tenant{cluster: c, namespace: c.namespace(t, "leaders-")}
	good.works(t.Context(), t)
	standby := startManager(t, c, c.kubeconfig)
	good.deployed, good.edited = nil, nil
	standby.withstands(t, "registry: all attacks while the leader changes", 2*lasts, func(ctx context.Context) string {
		var attacked string
		var group sync.WaitGroup
		group.Go(func() { attacked = everything(standby.listeners[2], 2*lasts).run(ctx) })
		if err := syscall.Kill(leader.PID, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		good.works(context.WithoutCancel(ctx), t)
		group.Wait()
		return attacked + ", " + good.String()
	})
	for _, took := range good.deployed {
		if took > 2*deploymentWithin {
			t.Errorf("the new leader acts after %v", took)
		}
	}
}
