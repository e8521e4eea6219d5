// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// configLimits returns the limits of an Agent. The sidecar applies the defaults of absent
// limits.
func configLimits(l *a2av1alpha1.AgentLimits) (limits sidecarconfig.Limits, err error) {
	if l == nil {
		return limits, nil
	}
	limits.Requests = configRate(l.Requests)
	limits.TotalRequests = configRate(l.TotalRequests)
	limits.FailedAuthentications = configRate(l.FailedAuthentications)
	limits.MaxBodyBytes = l.MaxBodyBytes
	if t := l.Turns; t != nil {
		limits.Turns = sidecarconfig.TurnLimits{Max: int(t.Max), MaxPerCaller: int(t.MaxPerCaller), MaxQueued: int(t.MaxQueued)}
		limits.Turns.QueueTimeout, err = parseDuration("spec.limits.turns.queueTimeout", t.QueueTimeout)
	}
	if s := l.Streams; s != nil {
		limits.Streams = sidecarconfig.StreamLimits{Max: int(s.Max), MaxPerCaller: int(s.MaxPerCaller)}
	}
	if t := l.Tokens; t != nil {
		limits.Tokens = sidecarconfig.TokenBudgets{PerHour: t.PerHour, PerCallerPerHour: t.PerCallerPerHour}
	}
	return limits, err
}

func configRate(r *a2av1alpha1.RequestRate) sidecarconfig.Rate {
	if r == nil {
		return sidecarconfig.Rate{}
	}
	return sidecarconfig.Rate{PerSecond: int(r.PerSecond), Burst: int(r.Burst)}
}
