// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics declares the metrics of a sidecar and counts its events. Metrics
// implements the Observer interfaces of the parts of a sidecar, which call it. The
// package itself calls no part.
package metrics

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agenttokens"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/kit/httpserver"
	"github.com/a2a-operator/a2a-operator/internal/kit/logging"
	"github.com/a2a-operator/a2a-operator/internal/kit/version"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Metrics are the metrics of a sidecar: at most 330 series, including the series of the Go runtime
// and the process; each bucket of a histogram is a series. Every label has a fixed
// or bounded set of values, and no client chooses a value. Its methods are safe for
// concurrent use.
type Metrics struct {
	// Registry contains the metrics. Other parts of the sidecar may register their own.
	Registry *prometheus.Registry
	requests
	turns
	// reloads counts reloads of the configuration and of credentials. reloadRefused is 1 for
	// a source whose current files are refused, so that the former ones stay in use. It is 0
	// for other sources.
	reloads       *prometheus.CounterVec
	reloadRefused *prometheus.GaugeVec
	issuer        *prometheus.CounterVec
	apiKeys       *prometheus.GaugeVec
	// certificate is the time at which the certificate of the A2A endpoint expires, in Unix
	// seconds.
	certificate prometheus.Gauge
	// certificateStart is the time at which its validity begins.
	certificateStart prometheus.Gauge
	floods           prometheus.Counter
	configuration    *prometheus.GaugeVec
	limited          *prometheus.CounterVec
	events           prometheus.Counter
	dropped          prometheus.Counter
	internal         *prometheus.CounterVec
	// unrecognized counts the events of agents that failed their turn because the sidecar
	// could not read them.
	unrecognized *prometheus.CounterVec
	// unreportedUsage counts the calls without a readable report of their usage.
	unreportedUsage *prometheus.CounterVec
	// refusedCalls counts the calls that authorization rules refused.
	refusedCalls *prometheus.CounterVec
	// toolCalls counts the calls of tools of the gateway's MCP server.
	toolCalls *prometheus.CounterVec
	// tokenExchanges counts the exchanges of tokens by the gateway.
	tokenExchanges *prometheus.CounterVec
	// pushAttempts counts attempts to post push notifications. abandonedPushConfigs counts
	// push configurations that were given up.
	pushAttempts, abandonedPushConfigs *prometheus.CounterVec

	// working is called when events of tasks are appended.
	working func()

	mu     sync.Mutex
	digest string
	// kinds bounds the names of internal events, which the agent chooses. rules bounds the
	// names of authorization rules, which the author of the configuration chooses.
	kinds, rules boundedLabel
}

// MaxScrapes is the maximum number of concurrent scrapes. It is bounded because a scrape
// needs memory, and any client that reaches the port can scrape.
const MaxScrapes = 4

// ProtocolRemote is the value of the label protocol for remote agents.
const ProtocolRemote sidecarconfig.Protocol = "Remote"

var (
	_ engine.Observer = (*Metrics)(nil)
	_ push.Observer   = (*Metrics)(nil)
	_ reload.Observer = (*Metrics)(nil)
)

// New returns the metrics. now is the clock, and working is called when events of tasks are
// appended.
func New(now func() time.Time, working func()) *Metrics {
	registry := prometheus.NewRegistry()
	// The Go collector exports these two metrics of memory instead of its default ones,
	// which are about two dozen.
	runtime := collectors.NewGoCollector(collectors.WithGoCollectorMemStatsMetricsDisabled(), collectors.WithGoCollectorRuntimeMetrics(
		collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile("^/memory/classes/(heap/objects|total):bytes$")},
	))
	registry.MustRegister(httpserver.Collectors()...)
	registry.MustRegister(logging.Collectors()...)
	registry.MustRegister(runtime, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registered := promauto.With(registry)
	registered.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "a2a_build_info", Help: "The build of the sidecar.",
		ConstLabels: prometheus.Labels{"version": version.Get().Version, "go": version.Get().Go},
	}, func() float64 { return 1 })
	m := &Metrics{
		Registry: registry, kinds: boundedLabel{max: 4}, rules: boundedLabel{max: 4}, working: working,
		requests: newRequests(registered, now),
		turns:    newTurns(registered),
		reloads: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_reloads_total",
			Help: "Reloads of the configuration and of credentials after their files changed, by source and by result: applied, or refused, after which the former stays in use.",
		}, []string{"source", "result"}),
		reloadRefused: registered.NewGaugeVec(prometheus.GaugeOpts{
			Name: "a2a_reload_refused",
			Help: "Whether the current files of a source, the configuration or a credential, are refused (1), so that the former ones stay in use, or not (0).",
		}, []string{"source"}),
		configuration: registered.NewGaugeVec(prometheus.GaugeOpts{
			Name: "a2a_configuration_info",
			Help: "The sidecar configuration in use, by its digest.",
		}, []string{"digest"}),
		issuer: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_issuer_key_fetches_total",
			Help: "Fetches of the keys of the token issuer, by result: fetched or failed.",
		}, []string{"result"}),
		apiKeys: registered.NewGaugeVec(prometheus.GaugeOpts{
			Name: "a2a_api_keys",
			Help: "API keys of callers, by state: accepted or refused. A key is refused if, for example, it is too short or two callers share it; the log has the cause.",
		}, []string{"state"}),
		certificate: registered.NewGauge(prometheus.GaugeOpts{
			Name: "a2a_tls_certificate_expiry_timestamp_seconds",
			Help: "Time at which the certificate of the A2A endpoint expires, in Unix seconds; 0 without a certificate.",
		}),
		certificateStart: registered.NewGauge(prometheus.GaugeOpts{
			Name: "a2a_tls_certificate_not_before_timestamp_seconds",
			Help: "Time from which the certificate of the A2A endpoint is valid, in Unix seconds; 0 without a certificate.",
		}),
		limited: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_limited_total",
			Help: "Requests that a limit refused, by limit (rate limits: requests and total_requests); https://github.com/a2a-operator/a2a-operator/blob/main/docs/reference/limits.md lists them.",
		}, []string{"limit"}),
		refusedCalls: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_refused_calls_total",
			Help: "Calls of authenticated callers that the rules of authorization refused, by rule (empty if no rule matched; all rules after the first 4 share one value) and result: denied, or failed if the rule could not be evaluated.",
		}, []string{"rule", "result"}),
		events: registered.NewCounter(prometheus.CounterOpts{
			Name: "a2a_events_total",
			Help: "Events that were appended to the logs of tasks.",
		}),
		floods: registered.NewCounter(prometheus.CounterOpts{
			Name: "a2a_http2_floods_total",
			Help: "Connections that were closed because of more HTTP/2 control frames than their requests account for.",
		}),
		dropped: registered.NewCounter(prometheus.CounterOpts{
			Name: "a2a_dropped_events_total",
			Help: "Events that agents sent after their task or turn had ended.",
		}),
		internal: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_internal_events_total",
			Help: "Events of the agent that are not for clients, by kind; all kinds after the first 4 share one value.",
		}, []string{"kind"}),
		unrecognized: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_backend_unrecognized_events_total",
			Help: "Events and responses of the agent that the sidecar could not read and that failed their task, by the protocol of the backend (Remote for remote agents, which are called through the gateway).",
		}, []string{"protocol"}),
		unreportedUsage: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_unreported_usage_total",
			Help: "Calls of the agent that were subject to a token budget and had no readable report of their usage, by cause: absent or unreadable.",
		}, []string{"cause"}),
		toolCalls: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_mcp_tool_calls_total",
			Help: "Calls of the tools of the gateway's MCP server, by tool and outcome: succeeded, failed, input_required (the task waits for its client), task (the client polls the task, which still runs) or canceled.",
		}, []string{"tool", "outcome"}),
		tokenExchanges: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_gateway_token_exchanges_total",
			Help: "Exchanges of the sidecar's ServiceAccount token for a token for one agent, by result: issued, refused (the registry does not list the agent) or failed.",
		}, []string{"result"}),
		pushAttempts: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_push_attempts_total",
			Help: "Attempts to post a push notification, by result: delivered, retry, refused or denied (the target is not allowed).",
		}, []string{"result"}),
		abandonedPushConfigs: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "a2a_push_configs_abandoned_total",
			Help: "Push configurations that ended before their last notification was delivered, by cause: refused, exhausted, gone, denied, or task_removed (the task store had removed the task).",
		}, []string{"cause"}),
	}
	for _, p := range append(slices.Clone(sidecarconfig.Protocols), ProtocolRemote) {
		m.unrecognized.WithLabelValues(string(p))
	}
	for _, cause := range []string{"absent", "unreadable"} {
		m.unreportedUsage.WithLabelValues(cause)
	}
	m.startAtZero()
	return m
}

// startAtZero creates the counters whose increase causes an alert. A series must begin
// with 0, because PromQL sees no increase in a series that begins with 1.
func (m *Metrics) startAtZero() {
	for _, cause := range []push.Cause{push.CauseRefused, push.CauseExhausted, push.CauseDenied} {
		m.abandonedPushConfigs.WithLabelValues(string(cause))
	}
	for _, limit := range serving.LimitsOfAll() {
		m.limited.WithLabelValues(limit)
	}
	m.tokenExchanges.WithLabelValues(exchangeFailed)
}

// Handler returns the handler of scrapes. It serves at most MaxScrapes at the same time.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: MaxScrapes,
		EnableOpenMetrics:   true, // OpenMetrics is the only text format with exemplars
	})
}

// exchangeFailed is the value of the result label for a token exchange with any error
// other than agenttokens.ErrRefused and agenttokens.ErrUnproven.
const exchangeFailed = "failed"

// TokenExchanged counts an exchange of a token. err is its error.
func (m *Metrics) TokenExchanged(err error) {
	result := exchangeFailed
	switch {
	case err == nil:
		result = "issued"
	case errors.Is(err, agenttokens.ErrRefused), errors.Is(err, agenttokens.ErrUnproven):
		result = "refused"
	}
	m.tokenExchanges.WithLabelValues(result).Inc()
}

// Gauge adds a metric. Each scrape calls read for its value.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	promauto.With(m.Registry).NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
}

// StoreCalls adds the metrics of a shared store.
func (m *Metrics) StoreCalls() StoreCalls {
	registered := promauto.With(m.Registry)
	calls := registered.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "a2a_store_call_duration_seconds",
		Help:    "Duration of calls of the task store, by result: ok or failed.",
		Buckets: []float64{.001, .01, .1, 1},
	}, []string{"result"})
	return StoreCalls{
		ok: calls.WithLabelValues("ok"), failed: calls.WithLabelValues("failed"),
		refused: registered.NewCounter(prometheus.CounterOpts{
			Name: "a2a_store_refusals_total",
			Help: "Tasks and events that did not fit into Redis because the agent's tasks, or those of one owner, have reached their maximum number or bytes.",
		}),
		bytes: registered.NewGauge(prometheus.GaugeOpts{
			Name: "a2a_stored_task_bytes",
			Help: "Counted bytes of the agent's tasks in Redis, of all replicas, which tasks.store.redis.maxBytes bounds.",
		}),
	}
}

// StoreCalls observes a shared store. It implements a part of redis.Observer.
type StoreCalls struct {
	ok, failed prometheus.Observer
	refused    prometheus.Counter
	bytes      prometheus.Gauge
}

// Refused implements redis.Observer.
func (c StoreCalls) Refused() { c.refused.Inc() }

// Stored implements redis.Observer.
func (c StoreCalls) Stored(bytes int64) { c.bytes.Set(float64(bytes)) }

// Called implements redis.Observer.
func (c StoreCalls) Called(took time.Duration, err error) {
	if err != nil {
		c.failed.Observe(took.Seconds())
		return
	}
	c.ok.Observe(took.Seconds())
}

// reloadRefused is the value of the result label for a reload of files that cannot be
// used.
const reloadRefused = "refused"

// SetRefused implements reload.Observer.
func (m *Metrics) SetRefused(source string, refused bool) {
	value := 0.0
	if refused {
		value = 1
	}
	m.reloadRefused.WithLabelValues(source).Set(value)
	m.reloads.WithLabelValues(source, reloadRefused) // creates the series with the value 0
}

// Reloaded implements reload.Observer.
func (m *Metrics) Reloaded(source string, err error) {
	result := "applied"
	if err != nil {
		result = reloadRefused
	}
	m.reloads.WithLabelValues(source, result).Inc()
}

// IssuerKeysFetched counts a fetch of the issuer's keys.
func (m *Metrics) IssuerKeysFetched(ok bool) {
	result := "fetched"
	if !ok {
		result = "failed"
	}
	m.issuer.WithLabelValues(result).Inc()
}

// SetAPIKeys sets the numbers of usable and of refused API keys.
func (m *Metrics) SetAPIKeys(accepted, refused int) {
	m.apiKeys.WithLabelValues("accepted").Set(float64(accepted))
	m.apiKeys.WithLabelValues("refused").Set(float64(refused))
}

// SetCertificateLifetime sets the times at which the validity of the certificate of the A2A
// endpoint begins and ends.
func (m *Metrics) SetCertificateLifetime(notBefore, notAfter time.Time) {
	m.certificateStart.Set(float64(notBefore.Unix()))
	m.certificate.Set(float64(notAfter.Unix()))
}

// Flooded counts a connection that was closed because of an HTTP/2 flood.
func (m *Metrics) Flooded() { m.floods.Inc() }

// CallRefused counts a call that the authorization rules refused. rule is the name of the
// rule, or "" if no rule matched. failed is true if the rule could not be evaluated.
func (m *Metrics) CallRefused(rule string, failed bool) {
	if rule != "" {
		rule = m.rules.value(rule)
	}
	result := "denied"
	if failed {
		result = "failed"
	}
	m.refusedCalls.WithLabelValues(rule, result).Inc()
}

// RulesChanged is called when the authorization rules change. It deletes the counts of
// refused calls, whose labels are names of the former rules.
func (m *Metrics) RulesChanged() {
	m.rules.reset()
	m.refusedCalls.Reset()
}

// ToolCalled counts a call of a tool of the gateway's MCP server.
func (m *Metrics) ToolCalled(tool, outcome string) {
	m.toolCalls.WithLabelValues(tool, outcome).Inc()
}

// Limited counts a request that a limit refused.
func (m *Metrics) Limited(limit string) { m.limited.WithLabelValues(limit).Inc() }

// Refused implements engine.Observer.
func (m *Metrics) Refused() { m.Limited(serving.LimitTurns) }

// Appended implements engine.Observer.
func (m *Metrics) Appended(events int) {
	m.events.Add(float64(events))
	m.working()
}

// Dropped implements engine.Observer.
func (m *Metrics) Dropped(events int) { m.dropped.Add(float64(events)) }

// Attempted implements push.Observer.
func (m *Metrics) Attempted(r push.Result) { m.pushAttempts.WithLabelValues(string(r)).Inc() }

// Abandoned implements push.Observer.
func (m *Metrics) Abandoned(c push.Cause) { m.abandonedPushConfigs.WithLabelValues(string(c)).Inc() }

// InternalEvent counts an event that is not for clients.
func (m *Metrics) InternalEvent(kind string) { m.internal.WithLabelValues(m.kinds.value(kind)).Inc() }

// UnrecognizedEvent counts an event or a response that the backend could not read. p is the
// protocol of the backend, or ProtocolRemote.
func (m *Metrics) UnrecognizedEvent(p sidecarconfig.Protocol) {
	m.unrecognized.WithLabelValues(string(p)).Inc()
}

// UnreportedUsage counts a call of the agent whose report of its usage was unreadable or absent.
func (m *Metrics) UnreportedUsage(unreadable bool) {
	cause := "absent"
	if unreadable {
		cause = "unreadable"
	}
	m.unreportedUsage.WithLabelValues(cause).Inc()
}

// SetConfiguration sets the digest in a2a_configuration_info to the digest of the
// configuration in use. With "", the metric has no series.
func (m *Metrics) SetConfiguration(digest string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.digest != "" {
		m.configuration.DeleteLabelValues(m.digest)
	}
	m.digest = digest
	if digest != "" {
		m.configuration.WithLabelValues(digest).Set(1)
	}
}
