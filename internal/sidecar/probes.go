// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// probes answers what the kubelet, Prometheus and the preStop hooks ask. None
// of it needs a credential, none tells anything of a task, and what changes
// anything is for callers inside the pod.
type probes struct {
	started atomic.Bool
	hold    readyHold
	agent   *agentProbe
	// model is asked first: an agent elsewhere does not listen in the pod.
	model   func() (elsewhere bool, err error)
	health  *health.Tracker
	drain   *drainer
	metrics *metrics
	grace   func() time.Duration
}

// handler serves at an address. It is for no web page.
func (p *probes) handler(address net.Addr) http.Handler {
	nobody := func() *sidecarconfig.Access { return &sidecarconfig.Access{} }
	return chain(checkHost(address, nil, forbid), origins(nobody, forbid))(p.routes())
}

func (p *probes) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+sidecarconfig.LivezPath, func(w http.ResponseWriter, _ *http.Request) { answer(w, nil) })
	mux.HandleFunc("GET "+sidecarconfig.StartedPath, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, p.startedErr())
	})
	mux.HandleFunc("GET "+sidecarconfig.ReadyzPath, func(w http.ResponseWriter, r *http.Request) {
		answer(w, p.hold.wait(r, p.ready, p.drain.draining))
	})
	mux.HandleFunc("POST "+sidecarconfig.DrainPath, func(w http.ResponseWriter, r *http.Request) {
		if host, _, err := net.SplitHostPort(r.RemoteAddr); err != nil || !loopback(host) {
			http.Error(w, "only callers inside the pod may start the drain", http.StatusForbidden)
			return
		}
		p.drain.begin(p.grace(), propagation) //nolint:contextcheck // a drain outlives the request that asks for it
		p.drain.wait(r.Context())
		answer(w, nil)
	})
	mux.HandleFunc("GET "+sidecarconfig.DrainedPath, func(w http.ResponseWriter, r *http.Request) {
		p.drain.waitIfBegun(r.Context())
		answer(w, nil)
	})
	mux.Handle("GET "+sidecarconfig.MetricsPath, p.metrics.handler())
	return mux
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// startedErr never waits for the agent, whose container starts only after this
// probe has succeeded.
func (p *probes) startedErr() error {
	if !p.started.Load() {
		return errors.New("listeners are not open yet")
	}
	return nil
}

func (p *probes) ready(ctx context.Context) error {
	if err := p.startedErr(); err != nil {
		return err
	}
	if p.drain.active() {
		return errors.New("draining")
	}
	if err := p.health.Ready(); err != nil {
		return err
	}
	if elsewhere, err := p.model(); elsewhere {
		return err
	}
	return p.agent.check(ctx)
}

// agentProbe tells whether the agent listens. What it found is good for a
// second, so that many probes cost few connections; for a tenth of one until the
// agent has listened once, so that a pod that starts is ready at once.
type agentProbe struct {
	address func() string
	now     func() time.Time

	mu   sync.Mutex
	last error
	at   time.Time
	// found tells that the agent has listened.
	found bool
}

const (
	probeAge     = time.Second
	startAge     = 100 * time.Millisecond
	probeTimeout = 800 * time.Millisecond
)

func (p *agentProbe) check(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	age := startAge
	if p.found {
		age = probeAge
	}
	if !p.at.IsZero() && p.now().Sub(p.at) < age {
		return p.last
	}
	// What is found is told to others too: an asker who leaves must not make it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	address := p.address()
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		err = fmt.Errorf("agent does not listen on %s: its container must listen on $PORT", address)
	} else {
		_ = connection.Close()
	}
	p.last, p.at, p.found = err, p.now(), p.found || err == nil
	return err
}
