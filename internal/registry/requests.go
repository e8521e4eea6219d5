// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/kit/auditlog"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

var (
	requestsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_registry_requests_total",
		Help: "Requests to the registry that were answered, by operation and outcome: ok, rejected (the error is the caller's) or failed. The operations are list, watch, get, card, peers, health_report, alive, token, remote_credential, catalog, ard_search, ard_explore, ard_list, ard_get, a2a and other.",
	}, []string{"operation", "outcome"})
	requestDurations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:                        "a2a_registry_request_duration_seconds",
		Help:                        "Duration of requests to the registry without watches, by operation.",
		Buckets:                     []float64{.001, .005, .025, .1, .5, 2.5, 10},
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 80,
	}, []string{"operation"})
)

// Operations that the code names in more than one place. The duration of operationWatch is not
// observed, because a watch lasts for minutes.
const (
	operationWatch = "watch"
	operationA2A   = "a2a"
	operationToken = "token"
)

// routeOperations maps the patterns of routes to the operations in the metrics. Requests with the
// operation "" are not counted. operationOf returns the operation of a route that is not in the map.
var routeOperations = map[string]string{
	"GET /v1/agents":                               "list",
	"GET /v1/agents/{$}":                           "list",
	"GET /v1/agents/{namespace}/{name}":            "get",
	"GET /v1/agents/{namespace}/{name}/card":       "card",
	"GET /v1/peers":                                "peers",
	"GET /v1/peers/agents":                         "peers",
	"PUT " + sidecarconfig.HealthPath:              "health_report",
	"POST " + sidecarconfig.AlivePath:              "alive",
	sidecarconfig.TokenPath:                        operationToken,
	"GET " + sidecarconfig.TokenKeysPath:           operationToken,
	"POST " + sidecarconfig.RemoteCredentialPath:   "remote_credential",
	"GET " + ard.ManifestPath:                      "catalog",
	"GET " + ard.CatalogPath:                       "catalog",
	"GET " + ard.NamespacePath + "{namespace}":     "catalog",
	"GET " + ard.BasePath + "/{$}":                 "catalog",
	"GET " + ard.CardsPath + "{namespace}/{name}":  "card",
	"POST " + ard.BasePath + "/search":             "ard_search",
	"POST " + ard.BasePath + "/explore":            "ard_explore",
	"GET " + ard.BasePath + "/agents":              "ard_list",
	"GET " + ard.BasePath + "/agents/{identifier}": "ard_get",
	directory.CardPath:                             operationA2A,
	directory.LegacyCardPath:                       operationA2A,
	"GET /healthz":                                 "",
	"GET /openapi.yaml":                            "",
}

// a2aPaths are the paths of the directory agent that need an authenticated caller, as patterns of a
// ServeMux. The paths of A2A 0.3 begin with /v1, as do those of the registry's own API. No path is
// in both.
var a2aPaths = []string{
	"POST /{$}", directory.ExtendedCardPath,
	"/message:send", "/message:stream", "/tasks", "/tasks/", "/extendedAgentCard",
	"/v1/message:send", "/v1/message:stream", "/v1/tasks", "/v1/tasks/", "/v1/card",
}

// counted returns a handler that serves the routes of mux and counts the requests. The labels of
// the metrics come from the patterns of the routes and not from the requests, so the number of
// label values is bounded.
func counted(mux *http.ServeMux, now clock.PassiveClock) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.EscapedPath(), "//") {
			// ServeMux would redirect the client to another path.
			fail(w, r, apierror.NotFound("no such path; /openapi.yaml lists them"))
			return
		}
		started := now.Now()
		response := &observedResponse{ResponseWriter: w}
		mux.ServeHTTP(response, r)
		operation := operationOf(r)
		if operation == "" {
			return
		}
		requestsTotal.WithLabelValues(operation, response.outcome()).Inc()
		if operation != operationWatch {
			requestDurations.WithLabelValues(operation).Observe(now.Since(started).Seconds())
		}
	})
}

// operationOf returns the operation of a request after a ServeMux has served it, "" for a request
// that is not counted.
func operationOf(r *http.Request) string {
	operation, known := routeOperations[r.Pattern]
	switch {
	case operation == "list" && asksForWatch(r.URL.RawQuery):
		return operationWatch
	case known:
		return operation
	case slices.Contains(a2aPaths, r.Pattern):
		return operationA2A
	default:
		return "other"
	}
}

// asksForWatch reports whether the raw parameters of GET /v1/agents ask for a stream of changes.
func asksForWatch(raw string) bool {
	if !strings.Contains(raw, "watch=") && !strings.Contains(raw, "%") {
		return false
	}
	values, err := url.ParseQuery(raw)
	return err == nil && slices.Contains(values["watch"], "true")
}

// observedResponse is an http.ResponseWriter that records the status of the response.
type observedResponse struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *observedResponse) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (a *observedResponse) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *observedResponse) outcome() string {
	switch {
	case a.status >= http.StatusInternalServerError:
		return "failed"
	case a.status >= http.StatusBadRequest:
		return "rejected"
	default:
		return "ok"
	}
}

// denials writes the audit log of the registry. The events have the same keys as in the audit log
// of a sidecar. It is safe for concurrent use.
type denials struct{ log *auditlog.Log }

func newDenials(log logr.Logger, c clock.PassiveClock) *denials {
	return &denials{auditlog.New(slog.New(logr.ToSlogHandler(log)), c.Now)}
}

// unauthenticated logs a request without a valid token.
func (d *denials) unauthenticated(r *http.Request) {
	kind := auditlog.WithoutCredential
	credential := len(r.Header.Values("Authorization")) > 0
	if credential {
		kind = auditlog.WithWrongCredential
	}
	d.log.Denied(r.Context(), kind,
		slog.String(auditlog.KeyBy, auditlog.ByAuthentication), slog.String(auditlog.KeyReason, string(a2a.ReasonUnauthenticated)),
		slog.String(auditlog.KeyAddress, r.RemoteAddr), slog.Bool(auditlog.KeyCredential, credential),
		slog.String(auditlog.KeyOperation, operationOf(r)))
}

// forbidden logs a request of a caller that lacks a right. about is the agent that the request names, ""
// for none.
func (d *denials) forbidden(ctx context.Context, c *access.Caller, operation, about string) {
	attributes := []slog.Attr{
		slog.String(auditlog.KeyBy, auditlog.ByAuthorization), slog.String(auditlog.KeyReason, string(a2a.ReasonPermissionDenied)),
		slog.String(auditlog.KeyCaller, c.Username), slog.String(auditlog.KeyOperation, operation),
	}
	if about != "" {
		attributes = append(attributes, slog.String("agent", about))
	}
	d.log.Denied(ctx, auditlog.OfKnownCaller, attributes...)
}
