// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// ProbeOptions configure the health port.
type ProbeOptions struct {
	// Ready returns nil if the sidecar and its agent can serve, and otherwise the reason. It
	// is called only after Started, and until the drain refuses new turns.
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
// metrics and the profiles. Its endpoints require no credential, and their responses
// contain no data of tasks. Only callers inside the pod may start the drain and read
// profiles.
type Probes struct {
	options ProbeOptions
	started atomic.Bool
	hold    readyHold
}

// NewProbes returns Probes of a sidecar that has not started.
func NewProbes(o ProbeOptions) *Probes { return &Probes{options: o} }

// Started records that the sidecar listens at all of its addresses. The startup probe
// succeeds from now on.
func (p *Probes) Started() { p.started.Store(true) }

// Handler returns the handler of the health port. It refuses requests of web pages.
// address is the address of the port.
func (p *Probes) Handler(address net.Addr) http.Handler {
	noPages := func() *sidecarconfig.Access { return &sidecarconfig.Access{} }
	return chain(limitTime(p.options.Now), checkHost(address, nil, nil, forbid), checkOrigin(noPages, nil, forbid))(p.routes())
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
		drain.Begin(p.options.GracePeriod(), Propagation) // a drain outlives the request that starts it
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

// waits returns a handler that answers with the result of wait. wait may take any time, but
// the client must read the answer within WriteTimeout.
func (p *Probes) waits(wait func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		unlimitTime(w)
		err := wait(r)
		setDeadlines(w, p.options.Now().Add(readTimeout), p.options.Now().Add(WriteTimeout))
		answerProbe(w, err)
	}
}

// isFromPod reports whether a request comes from inside the pod.
func isFromPod(r *http.Request) bool { return card.IsLoopback(r.RemoteAddr) }

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
	if p.options.Drain.Refusing() {
		return errors.New("draining")
	}
	return p.options.Ready(ctx)
}

const (
	// maxReadyHold is the longest delay of a readiness response.
	maxReadyHold = 30 * time.Second
	// maxReadyHeld is the maximum number of responses that are delayed at a time. The
	// kubelet sends one probe at a time. Further requests receive an immediate response.
	maxReadyHeld = 4
	// readyPollInterval is the time between two checks while a response is delayed.
	readyPollInterval = 100 * time.Millisecond
)

// readyHold implements long-polled readiness: it delays the response to the first
// readiness probes of a sidecar, instead of responding with a failure. The kubelet sends
// the first probe as soon as the sidecar has started, before it starts the agent's
// container. The kubelet creates a Warning event for each failed probe, so every start of a
// healthy pod would cause such an event. A delayed response causes no event, and the sidecar
// sends it as soon as the agent listens.
//
// After the pod was ready once, responses are never delayed, because a failure must be
// reported at once.
type readyHold struct {
	wasReady atomic.Bool
	held     atomic.Int32
}

// wait calls ready until ready returns nil. It gives up and returns the last error of ready
// when the delay has passed, when the request ends, or when a drain begins. The request
// asks for the delay, which is at most maxReadyHold. wait calls ready only once if the
// request asks for no delay, if the pod was ready before, or if maxReadyHeld responses are
// delayed already.
func (h *readyHold) wait(r *http.Request, ready func(context.Context) error, draining <-chan struct{}) error {
	err := ready(r.Context())
	if err == nil {
		h.wasReady.Store(true)
	}
	limit := min(requestedHold(r), maxReadyHold)
	if err == nil || limit <= 0 || h.wasReady.Load() {
		return err
	}
	defer h.held.Add(-1)
	if h.held.Add(1) > maxReadyHeld {
		return err
	}
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	poll := time.NewTicker(readyPollInterval)
	defer poll.Stop()
	for {
		select {
		case <-r.Context().Done():
			return err
		case <-draining:
			return ready(r.Context())
		case <-timeout.C:
			return err
		case <-poll.C:
		}
		if err = ready(r.Context()); err == nil {
			h.wasReady.Store(true)
			return nil
		}
	}
}

// requestedHold returns the delay that a request asks for. It returns 0 if the request
// asks for none, or if the value is not a duration.
func requestedHold(r *http.Request) time.Duration {
	hold, err := time.ParseDuration(r.URL.Query().Get(sidecarconfig.ReadyHoldParameter))
	if err != nil {
		return 0
	}
	return hold
}

// maxProfiles is the maximum number of profiles that are recorded at a time.
const maxProfiles = 2

// handleProfiles adds the endpoints of the profiles, in the form of package
// net/http/pprof. They respond 404 while profiling is off, 403 to callers outside of the
// pod, and 429 while maxProfiles are recorded.
func (p *Probes) handleProfiles(mux *http.ServeMux) {
	slots := make(chan struct{}, maxProfiles)
	profile := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !p.options.Profiling() {
				http.Error(w, "profiling is off; set spec.observability.profiling to Loopback, or the flag --profiling", http.StatusNotFound)
				return
			}
			if !isFromPod(r) {
				http.Error(w, "only callers inside the pod may read profiles; use kubectl port-forward", http.StatusForbidden)
				return
			}
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			default:
				http.Error(w, "two profiles are being made; try again", http.StatusTooManyRequests)
				return
			}
			unlimitTime(w) // the caller chooses how long the profile takes
			h(w, r)
		}
	}
	path := "GET " + sidecarconfig.ProfilesPath
	mux.HandleFunc(path, profile(pprof.Index)) // Index also serves all profiles of runtime/pprof by name
	mux.HandleFunc(path+"cmdline", profile(pprof.Cmdline))
	mux.HandleFunc(path+"profile", profile(pprof.Profile))
	mux.HandleFunc(path+"symbol", profile(pprof.Symbol))
	mux.HandleFunc(path+"trace", profile(pprof.Trace))
}
