// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package traceexport

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// newSampler returns the sampler of a configuration.
func newSampler(s Sampler) sdktrace.Sampler {
	root := sdktrace.TraceIDRatioBased(s.Ratio)
	if s.IgnoreParent {
		return root
	}
	return linkedSampler{sdktrace.ParentBased(root)}
}

// linkedSampler records a span without a parent if the span to which it links was recorded,
// so that the push notifications and calls of a recorded turn are recorded, too.
type linkedSampler struct{ sdktrace.Sampler }

// ShouldSample implements sdktrace.Sampler.
func (s linkedSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if len(p.Links) == 0 || trace.SpanContextFromContext(p.ParentContext).IsValid() {
		return s.Sampler.ShouldSample(p)
	}
	decision := sdktrace.Drop
	if p.Links[0].SpanContext.IsSampled() {
		decision = sdktrace.RecordAndSample
	}
	return sdktrace.SamplingResult{Decision: decision}
}

// Description implements sdktrace.Sampler.
func (s linkedSampler) Description() string { return "Linked{" + s.Sampler.Description() + "}" }
