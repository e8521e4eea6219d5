// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

// TraceContext is the trace context of a request in the form of its headers (W3C Trace
// Context, W3C Baggage). The zero value stands for none. The sidecar passes the values on
// and does not interpret State and Baggage.
type TraceContext struct {
	// Parent is the header traceparent.
	Parent string
	// State is the header tracestate; "" without a Parent.
	State string
	// Baggage is the header baggage.
	Baggage string
}
