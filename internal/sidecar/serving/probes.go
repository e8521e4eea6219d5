// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// ProbeOptions configure the health port.
type ProbeOptions struct {
	// Ready returns nil if the sidecar and its agent can serve, and otherwise the reason. It
	// is called only after Started and before the drain begins.
	Ready   func(context.Context) error
	Drain   *Drainer
	Metrics http.Handler
	// Profiling reports whether profiles are served.
	Profiling func() bool
	// GracePeriod returns the grace period of the pod.
	GracePeriod func() time.Duration
	// Now is the clock of deadlines.
	Now func() time.Time
}

// Probes serves the health port: the probes of the kubelet, the preStop hooks, the
// metrics and the profiles. They require no credential and contain no data of tasks. Only
// callers inside the pod may start the drain and read profiles.
type Probes struct {
	options ProbeOptions
	started atomic.Bool
	hold    readyHold
}

// NewProbes returns Probes of a sidecar that has not started.
func NewProbes(o ProbeOptions) *Probes { return &Probes{options: o} }

// Started records that the sidecar listens at all of its addresses. The startup probe
// then succeeds.
func (p *Probes) Started() { p.started.Store(true) }

// Handler returns the handler of the health port. It refuses requests of web pages.
// address is the address of the port.
func (p *Probes) Handler(address net.Addr) http.Handler {
	noPages := func() *sidecarconfig.Access { return &sidecarconfig.Access{} }
	return chain(limitTime(p.options.Now), checkHost(address, nil, forbid), checkOrigin(noPages, forbid))(p.routes())
}

// forbid denies a request that does not belong to a binding.
func forbid(w http.ResponseWriter, _ *http.Request, problem *a2a.Error) {
	http.Error(w, problem.Message, http.StatusForbidden)
}

func (p *Probes) routes() http.Handler {
	mux := http.NewServeMux()
	drain := p.options.Drain
	mux.HandleFunc("GET "+sidecarconfig.LivezPath, func(w http.ResponseWriter, _ *http.Request) { answerProbe(w, nil) })
	mux.HandleFunc("GET "+sidecarconfig.StartedPath, func(w http.ResponseWriter, _ *http.Request) {
		answerProbe(w, p.startedErr())
	})
	mux.HandleFunc("GET "+sidecarconfig.ReadyzPath, p.waits(func(r *http.Request) error {
		return p.hold.wait(r, p.ready, drain.draining)
	}))
	mux.HandleFunc("POST "+sidecarconfig.DrainPath, func(w http.ResponseWriter, r *http.Request) {
		if !isFromPod(r) {
			http.Error(w, "only callers inside the pod may start the drain", http.StatusForbidden)
			return
		}
		drain.Begin(p.options.GracePeriod(), Propagation) //nolint:contextcheck // a drain outlives the request that starts it
		p.waits(func(r *http.Request) error { drain.Wait(r.Context()); return nil })(w, r)
	})
	mux.HandleFunc("GET "+sidecarconfig.DrainedPath, p.waits(func(r *http.Request) error {
		drain.waitIfBegun(r.Context())
		return nil
	}))
	mux.Handle("GET "+sidecarconfig.MetricsPath, p.options.Metrics)
	p.handleProfiles(mux)
	return mux
}

// waits returns a handler that answers with the result of wait. The time of wait is not
// bounded, and the time of reading the answer is.
func (p *Probes) waits(wait func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		unlimitTime(w)
		err := wait(r)
		setDeadlines(w, p.options.Now().Add(readTimeout), p.options.Now().Add(WriteTimeout))
		answerProbe(w, err)
	}
}

// isFromPod reports whether a request comes from inside the pod.
func isFromPod(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && IsLoopback(host)
}

func answerProbe(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// startedErr returns nil after Started. It never checks the agent, because the kubelet
// starts the agent's container only after this probe has succeeded.
func (p *Probes) startedErr() error {
	if !p.started.Load() {
		return errors.New("listeners are not open yet")
	}
	return nil
}

func (p *Probes) ready(ctx context.Context) error {
	if err := p.startedErr(); err != nil {
		return err
	}
	if p.options.Drain.Draining() {
		return errors.New("draining")
	}
	return p.options.Ready(ctx)
}
