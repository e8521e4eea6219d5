// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

func TestAgentOverridesTheTracingOfTheInstallation(t *testing.T) {
	platform := sidecarconfig.Tracing{Endpoint: "http://collector:4318", SamplingPercent: 10, DraftAttributes: true}
	for name, tt := range map[string]struct {
		installation sidecarconfig.Tracing
		agent        *a2av1alpha1.AgentTracing
		want         *sidecarconfig.Tracing
	}{
		"off by default": {},
		"installation":   {platform, nil, &sidecarconfig.Tracing{Endpoint: "http://collector:4318", SamplingPercent: 10, DraftAttributes: true}},
		"disabled":       {platform, &a2av1alpha1.AgentTracing{Disabled: true}, nil},
		"never sampled":  {platform, &a2av1alpha1.AgentTracing{SamplingPercent: new(int32(0))}, &sidecarconfig.Tracing{Endpoint: "http://collector:4318", DraftAttributes: true}},
		"own collector":  {sidecarconfig.Tracing{SamplingPercent: 10}, &a2av1alpha1.AgentTracing{Endpoint: "https://mine"}, &sidecarconfig.Tracing{Endpoint: "https://mine", SamplingPercent: 10}},
		"no collector":   {sidecarconfig.Tracing{}, &a2av1alpha1.AgentTracing{SamplingPercent: new(int32(5))}, nil},
	} {
		agent := &a2av1alpha1.Agent{}
		if tt.agent != nil {
			agent.Spec.Observability = &a2av1alpha1.AgentObservability{Tracing: tt.agent}
		}
		if diff := cmp.Diff(tt.want, configTracing(agent, Platform{Tracing: tt.installation})); diff != "" {
			t.Errorf("%s: difference (-want +got):\n%s", name, diff)
		}
	}
}
