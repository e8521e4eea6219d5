// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import "net/url"

// Tracing configures the export of traces by OTLP over HTTP. The OTEL_* variables of the
// sidecar take precedence.
type Tracing struct {
	// Endpoint is the base URL of the collector, such as http://collector:4318.
	Endpoint string `json:"endpoint"`
	// SamplingPercent is the percentage of traces that the sidecar records, from 0 to 100.
	// It applies to traces that begin at the sidecar. For other traces, the caller decides.
	SamplingPercent int `json:"samplingPercent"`
	// DraftAttributes adds attributes to spans: those that OpenTelemetry's draft of
	// conventions for A2A defines.
	DraftAttributes bool `json:"draftAttributes,omitempty"`
}

func (t *Tracing) validate(refuse func(field, format string, args ...any)) {
	u, err := url.Parse(t.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		refuse("tracing.endpoint", "must be an absolute http or https URL without a user, a query and a fragment")
	}
	if t.SamplingPercent < 0 || t.SamplingPercent > 100 {
		refuse("tracing.samplingPercent", "is %d, must be from 0 to 100", t.SamplingPercent)
	}
}
