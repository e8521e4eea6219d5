// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/version"
)

// metrics are what a sidecar tells Prometheus. Every label has few values, and
// none comes from a client.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	reloads  *prometheus.CounterVec
	cardKeys *prometheus.CounterVec
	issuer   *prometheus.CounterVec
	// credentials are what is mounted; apiKeys counts the callers' keys.
	credentials *prometheus.CounterVec
	apiKeys     *prometheus.GaugeVec
	// certificate is the time at which that of the endpoint expires.
	certificate prometheus.Gauge
	floods      prometheus.Counter
	contract    *prometheus.GaugeVec
	limited     *prometheus.CounterVec
	turns       *prometheus.HistogramVec
	events      prometheus.Counter
	dropped     prometheus.Counter
	internal    *prometheus.CounterVec
	// notUnderstood are the events of the agent that failed their turn.
	notUnderstood *prometheus.CounterVec
	// refusedCalls are those that the rules refused.
	refusedCalls *prometheus.CounterVec
	// pushes and deadPushes are of push notifications.
	pushes, deadPushes *prometheus.CounterVec

	// working is told of events.
	working func()

	mu     sync.Mutex
	digest string
	// kinds are the agent's own names of internal events. There may be many;
	// the first few are told apart.
	kinds map[string]bool
}

const maxKinds = 32

// protocolRemote is the label of remote agents, beside those of backends.
const protocolRemote sidecarconfig.Protocol = "Remote"

var (
	_ engine.Observer = (*metrics)(nil)
	_ push.Observer   = (*metrics)(nil)
)

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		kinds:    map[string]bool{},
		working:  func() {},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_requests_total",
			Help: "Requests that were answered, by binding, operation, protocol version and JSON-RPC error code (0 for success). What is not known is empty.",
		}, []string{"binding", "method", "version", "code"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_contract_reloads_total",
			Help: "Contracts that were read after the first, by result: applied or refused.",
		}, []string{"result"}),
		cardKeys: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_card_signing_key_reloads_total",
			Help: "Card signing keys that were read after the first, by result: applied or refused.",
		}, []string{"result"}),
		issuer: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_issuer_key_fetches_total",
			Help: "Times that the keys of the issuer of JWTs were asked for, by result: fetched or failed.",
		}, []string{"result"}),
		credentials: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_credential_reloads_total",
			Help: "Credentials that were read from their mount after the first, by kind and result: applied or refused.",
		}, []string{"credential", "result"}),
		apiKeys: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "a2a_api_keys",
			Help: "API keys of callers, by what became of them: accepted or refused (too short, shared by two callers, ...; the log says which).",
		}, []string{"state"}),
		contract: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "a2a_contract_info",
			Help: "The contract that is served, by its digest.",
		}, []string{"digest"}),
	}
	m.limited = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_limited_total",
		Help: "Requests that were refused because a limit was reached, by the limit; docs/limits.md lists them.",
	}, []string{"limit"})
	m.refusedCalls = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_refused_calls_total",
		Help: "Calls of known callers that the rules of authorization refused, by rule (empty when none met the call) and result: denied, or failed when the rule could not be evaluated.",
	}, []string{"rule", "result"})
	m.turns = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "a2a_turn_duration_seconds",
		Help:    "How long turns took, by the state in which they left the task.",
		Buckets: []float64{.01, .05, .1, .5, 1, 5, 15, 60, 300, 1800},
	}, []string{"state"})
	m.events = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "a2a_events_total", Help: "Events that went into the logs of tasks.",
	})
	m.certificate = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_tls_certificate_expiry_timestamp_seconds", Help: "When the certificate expires that the endpoint is served with; 0 without one.",
	})
	m.floods = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "a2a_http2_floods_total", Help: "Connections that were closed because of more HTTP/2 control frames than their requests account for.",
	})
	m.dropped = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "a2a_dropped_events_total", Help: "Events that agents sent after their task or turn had ended.",
	})
	m.internal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_internal_events_total",
		Help: "Events of the agent that are not for clients, by kind; the first 32 kinds are told apart.",
	}, []string{"kind"})
	m.notUnderstood = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_backend_unrecognized_events_total",
		Help: "Events and answers of the agent that the sidecar did not understand, by the protocol of the backend (Remote for agents that are called through the gateway); each of them failed its task.",
	}, []string{"protocol"})
	for _, p := range append(slices.Clone(sidecarconfig.Protocols), protocolRemote) {
		m.notUnderstood.WithLabelValues(string(p))
	}
	m.pushes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_push_attempts_total",
		Help: "Push notifications that were posted, by result: delivered, retry, refused or denied (by the guard of the allowed targets).",
	}, []string{"result"})
	m.deadPushes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_push_configs_died_total",
		Help: "Push configurations that ended without their last notification, by cause: refused, exhausted, gone or denied.",
	}, []string{"cause"})
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "a2a_build_info", Help: "The build of the sidecar.",
		ConstLabels: prometheus.Labels{"version": version.Get().Version, "go": version.Get().Go},
	}, func() float64 { return 1 })
	m.registry.MustRegister(
		m.requests, m.refusedCalls, m.reloads, m.cardKeys, m.issuer, m.credentials, m.apiKeys, m.certificate, m.floods, m.contract, m.limited, m.turns, m.events, m.dropped, m.internal, m.notUnderstood, m.pushes, m.deadPushes, build,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// gauge adds a number that is read when it is asked for.
func (m *metrics) gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// storeCalls adds what calls of a store that is elsewhere take.
func (m *metrics) storeCalls() storeCalls {
	calls := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "a2a_store_call_duration_seconds",
		Help:    "How long calls of the task store took, by result: ok, or failed.",
		Buckets: []float64{.0005, .001, .005, .01, .05, .1, .5, 1, 2},
	}, []string{"result"})
	m.registry.MustRegister(calls)
	return storeCalls{ok: calls.WithLabelValues("ok"), failed: calls.WithLabelValues("failed")}
}

// storeCalls implements redis.Observer.
type storeCalls struct{ ok, failed prometheus.Observer }

// Called implements redis.Observer.
func (c storeCalls) Called(took time.Duration, err error) {
	if err != nil {
		c.failed.Observe(took.Seconds())
		return
	}
	c.ok.Observe(took.Seconds())
}

// observe counts a request.
func (m *metrics) observe(o httpcall.Outcome) {
	m.requests.WithLabelValues(o.Binding, o.Method, o.Version, strconv.Itoa(o.Code)).Inc()
}

// issuerKeys counts a fetch of the issuer's keys.
func (m *metrics) issuerKeys(ok bool) {
	result := "fetched"
	if !ok {
		result = "failed"
	}
	m.issuer.WithLabelValues(result).Inc()
}

// TurnStarted implements engine.Observer.
func (m *metrics) TurnStarted() {}

// TurnEnded implements engine.Observer.
func (m *metrics) TurnEnded(state a2a.State, took time.Duration) {
	m.turns.WithLabelValues(state.String()).Observe(took.Seconds())
}

// Refused implements engine.Observer.
func (m *metrics) Refused() { m.limited.WithLabelValues(limitTurns).Inc() }

// Appended implements engine.Observer.
func (m *metrics) Appended(events int) {
	m.events.Add(float64(events))
	m.working()
}

// Dropped implements engine.Observer.
func (m *metrics) Dropped(events int) { m.dropped.Add(float64(events)) }

// Attempted implements push.Observer.
func (m *metrics) Attempted(r push.Result) { m.pushes.WithLabelValues(string(r)).Inc() }

// Died implements push.Observer.
func (m *metrics) Died(c push.Cause) { m.deadPushes.WithLabelValues(string(c)).Inc() }

// internalEvent counts an event that stays inside.
func (m *metrics) internalEvent(kind string) {
	m.mu.Lock()
	if !m.kinds[kind] {
		if len(m.kinds) >= maxKinds || len(kind) > 64 || !utf8.ValidString(kind) {
			kind = "other"
		}
		m.kinds[kind] = true
	}
	m.mu.Unlock()
	m.internal.WithLabelValues(kind).Inc()
}

// unrecognized counts an event or an answer that the backend did not understand.
func (m *metrics) unrecognized(p sidecarconfig.Protocol) {
	m.notUnderstood.WithLabelValues(string(p)).Inc()
}

// serving names the contract that is served from now on.
func (m *metrics) serving(digest string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.digest != "" {
		m.contract.DeleteLabelValues(m.digest)
	}
	m.digest = digest
	if digest != "" {
		m.contract.WithLabelValues(digest).Set(1)
	}
}
