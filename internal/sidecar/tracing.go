// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/internal/kit/traceexport"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/trust"
)

// traces contains the tracer of a sidecar and the provider that exports its spans.
type traces struct {
	tracer   tracing.Tracer
	counters *traceexport.Counters
	// provider is nil while tracing is off. applied is true after the first configuration
	// was applied.
	provider *traceexport.Provider
	applied  bool
	// settings are the settings of the tracer. They are used while tracing is on.
	settings tracing.Settings
	// retiring waits for the former providers. A former provider stays in memory while one
	// of its spans is open, for at most 5 min, and then exports the span. Each open span
	// belongs to a request or a turn, so the limits of requests and turns bound the number
	// of former providers. closing ends the wait for open spans.
	retiring    sync.WaitGroup
	closing     context.Context //nolint:containedctx // it lasts as long as the sidecar
	endRetiring context.CancelFunc

	dialTLS egress.DialFunc
	dial    egress.DialFunc
	log     *slog.Logger
}

// open creates the counters of spans. Tracing is off until a configuration turns it on.
// authorities connects to collectors.
func (t *traces) open(authorities *trust.Store, log *slog.Logger) {
	t.dialTLS = authorities.DialTLS()
	t.dial = egress.DialThrough(authorities.Proxy, trust.Dial)
	t.log = log
	t.counters = traceexport.NewCounters()
	t.closing, t.endRetiring = context.WithCancel(context.Background())
}

// prepare returns the function that puts the tracing of a configuration into use, or nil if
// nothing changes.
func (t *traces) prepare(former, next *settings.Loaded) (func(), error) {
	if t.applied && reflect.DeepEqual(former.Tracing, next.Tracing) && serviceName(former) == serviceName(next) {
		if former.Card.Version == next.Card.Version {
			return nil, nil
		}
		return func() { t.useVersion(next.Card.Version) }, nil
	}
	config, err := traceexport.ConfigOf(tracingOf(next.Tracing), os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("configure tracing: %w", err)
	}
	return func() {
		t.applied = true
		t.use(config, next)
	}, nil
}

// tracingOf returns the settings of tracing in the sidecar configuration.
func tracingOf(t *sidecarconfig.Tracing) traceexport.Config {
	c := traceexport.Config{Sampler: traceexport.Sampler{Ratio: 1}}
	if t == nil {
		return c
	}
	if u, err := url.Parse(t.Endpoint); err == nil {
		c.Endpoint = u.JoinPath(traceexport.TracesPath).String()
	}
	c.Sampler.Ratio = float64(t.SamplingPercent) / 100
	c.DraftAttributes = t.DraftAttributes
	return c
}

// serviceName returns the name of the service in the spans.
func serviceName(l *settings.Loaded) string { return cmp.Or(l.Agent.Name, l.Card.Name) }

// useVersion changes the version of the card in the spans that start from now on. It
// keeps the provider, because a former provider stays in memory until its open spans have
// ended.
func (t *traces) useVersion(version string) {
	if t.provider != nil {
		t.settings.Version = version
		settings := t.settings
		t.tracer.Swap(&settings)
	}
}

// use replaces the provider. The former provider exports its open spans when these end.
func (t *traces) use(config traceexport.Config, next *settings.Loaded) {
	pod, _ := os.Hostname()
	attributes := map[string]string{}
	if pod != "" {
		attributes["service.instance.id"] = pod
	}
	if namespace := next.Agent.Namespace; namespace != "" {
		attributes["service.namespace"] = namespace
		attributes["k8s.namespace.name"] = namespace
		attributes["k8s.pod.name"] = pod
	}
	name := serviceName(next)
	provider := traceexport.New(config, traceexport.Options{
		ServiceName: name, Attributes: attributes, DialTLS: t.dialTLS, Dial: t.dial, Counters: t.counters, Log: t.log,
	})
	if provider == nil {
		t.tracer.Swap(nil)
	} else {
		settings := tracing.Settings{
			Tracer: provider.Tracer(tracing.Name), DraftAttributes: config.DraftAttributes, Agent: name, Version: next.Card.Version,
		}
		t.settings = settings
		t.tracer.Swap(&settings)
	}
	former := t.provider
	t.provider = provider
	t.retiring.Go(func() { former.Retire(t.closing) })
}

// close exports the last spans and stops the providers. It waits until the export has
// ended. Spans that are still open count as lost.
func (t *traces) close() {
	t.tracer.Swap(nil)
	t.endRetiring()
	t.provider.Shutdown(context.Background())
	t.retiring.Wait()
}

// endRequestSpan ends the span of a request with its outcome. If the client disconnects, the
// span of the turn does not end.
func endRequestSpan(ctx context.Context, o httpcall.Outcome) {
	r := tracing.Result{Binding: o.Binding, Method: o.Method, Version: o.Version}
	switch {
	case o.ClientLeft:
		r = r.Canceled()
	case o.Reason != "":
		r = r.Refused(o.Reason, o.Code)
	}
	tracing.End(ctx, r)
}

// parked wraps a function that parks streams, so that the span of a parked stream ends
// with the stream.
func parked(park sse.Park) sse.Park {
	return func(w http.ResponseWriter, r *http.Request, serve func(context.Context, sse.Conn) bool) bool {
		ctx := r.Context() // a parked stream must not reference r
		tracing.Park(ctx, true)
		if park(w, r, serve) {
			return true
		}
		tracing.Park(ctx, false)
		return false
	}
}

// startTurnSpan starts the span of a turn. The returned turn has the trace context of this span,
// which the backend sends to the agent.
func startTurnSpan(ctx context.Context, tracer *tracing.Tracer, t *backend.Turn, p sidecarconfig.Protocol) (context.Context, *backend.Turn, *tracing.Span) {
	ctx, span := tracer.StartTurn(ctx, tracing.Turn{
		TaskID: t.TaskID, ContextID: t.ContextID, Owner: t.Owner, Attempt: t.Attempt, Protocol: string(p), Trace: t.Trace,
	})
	if span == nil {
		return ctx, t, nil
	}
	out := *t
	out.Trace = span.Trace
	return ctx, &out, span
}

// turnFailure returns the outcome of a turn for its span, or "" for success.
func turnFailure(ctx context.Context, err error) string {
	failure, failed := errors.AsType[*backend.TurnError](err)
	switch {
	case failed && failure.Interrupted:
		return "interrupted"
	case failed:
		return failure.State.String()
	case err == nil, errors.Is(err, backend.ErrTurnEnded), errors.Is(err, backend.ErrInputAccepted):
		return ""
	case errors.Is(context.Cause(ctx), backend.ErrCanceled):
		return "canceled"
	case errors.Is(context.Cause(ctx), backend.ErrSuperseded):
		return "superseded"
	default:
		return "failed"
	}
}
