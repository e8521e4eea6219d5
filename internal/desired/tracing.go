// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Tracing is the tracing of the installation, which Agents can override.
type Tracing struct {
	// Endpoint is the base URL of the collector, "" for none.
	Endpoint string
	// SamplingPercent is the percentage of recorded traces among the traces that begin at
	// a sidecar.
	SamplingPercent int
	// DraftAttributes adds the attributes of the draft of OpenTelemetry's semantic
	// conventions.
	DraftAttributes bool
}

// configTracing returns the tracing of an Agent's sidecar, or nil if the Agent is not
// traced.
func configTracing(agent *a2av1alpha1.Agent, platform Platform) *sidecarconfig.Tracing {
	own := &a2av1alpha1.AgentTracing{}
	if o := agent.Spec.Observability; o != nil && o.Tracing != nil {
		own = o.Tracing
	}
	t := &sidecarconfig.Tracing{
		Endpoint:        cmp.Or(own.Endpoint, platform.Tracing.Endpoint),
		SamplingPercent: platform.Tracing.SamplingPercent, DraftAttributes: platform.Tracing.DraftAttributes,
	}
	if own.SamplingPercent != nil {
		t.SamplingPercent = int(*own.SamplingPercent)
	}
	if own.Disabled || t.Endpoint == "" {
		return nil
	}
	return t
}
