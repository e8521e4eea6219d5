// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// LogLevel is the least severe level of the events in a log.
//
// +kubebuilder:validation:Enum=Debug;Info;Warn;Error
type LogLevel string

// Levels of a log.
const (
	LogLevelDebug LogLevel = "Debug"
	LogLevelInfo  LogLevel = "Info"
	LogLevelWarn  LogLevel = "Warn"
	LogLevelError LogLevel = "Error"
)

// AccessLogPolicy selects which requests the sidecar logs.
//
// +kubebuilder:validation:Enum=None;All
type AccessLogPolicy string

const (
	// AccessLogNone logs no requests.
	AccessLogNone AccessLogPolicy = "None"
	// AccessLogAll logs each request to the A2A endpoint.
	AccessLogAll AccessLogPolicy = "All"
)

// ProfilingPolicy selects whether the sidecar serves profiles of its process.
//
// +kubebuilder:validation:Enum=Disabled;Loopback
type ProfilingPolicy string

const (
	// ProfilingDisabled serves no profiles.
	ProfilingDisabled ProfilingPolicy = "Disabled"
	// ProfilingLoopback serves profiles to callers inside the pod.
	ProfilingLoopback ProfilingPolicy = "Loopback"
)

// AgentObservability configures what the sidecar reports: its log, profiles of its
// process, and traces. A change takes effect without a restart.
type AgentObservability struct {
	// logging configures the log of the sidecar. If absent, the defaults apply.
	// +optional
	Logging AgentLogging `json:"logging,omitempty,omitzero"`

	// profiling is Disabled or Loopback. With Loopback, the sidecar serves profiles of
	// its process in the format of pprof, at path /debug/pprof/ of port 8642. It
	// serves them to callers inside the pod, such as a port-forward. It defaults to
	// Disabled.
	// +kubebuilder:default=Disabled
	// +optional
	Profiling ProfilingPolicy `json:"profiling,omitempty"`

	// tracing overrides the tracing of the installation. If absent, the sidecar
	// exports traces as the operator is configured.
	// +optional
	Tracing *AgentTracing `json:"tracing,omitempty"`
}

// AgentLogging configures the log of the sidecar. The log has no content of
// messages and no credentials.
type AgentLogging struct {
	// level is the least severe level that the sidecar logs. It defaults to Info.
	// +kubebuilder:default=Info
	// +optional
	Level LogLevel `json:"level,omitempty"`

	// accessLog is All to log each request to the A2A endpoint: its caller,
	// operation, outcome and duration. It needs level Info or Debug. It defaults to
	// None.
	// +kubebuilder:default=None
	// +optional
	AccessLog AccessLogPolicy `json:"accessLog,omitempty"`
}

// AgentTracing configures the export of the sidecar's traces by OTLP over HTTP. A
// change takes effect without a restart. If neither endpoint nor the operator's
// --tracing-endpoint names a collector, the sidecar exports no traces.
//
// +kubebuilder:validation:XValidation:rule="!has(self.disabled) || !self.disabled || !(has(self.endpoint) || has(self.samplingPercent))",message="spec.observability.tracing.disabled turns tracing off: remove it, or remove endpoint and samplingPercent"
type AgentTracing struct {
	// disabled turns tracing off for this agent. It defaults to false.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// endpoint is the base URL of an OpenTelemetry collector, without /v1/traces. It
	// defaults to the operator's --tracing-endpoint.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != '' && !self.contains('@') && !self.contains('?') && !self.contains('#')",message="spec.observability.tracing.endpoint must be an absolute http or https URL without a user, a query and a fragment, such as http://collector.observability:4318"
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// samplingPercent is the percentage of the traces that begin at the sidecar and
	// are recorded. A trace that a caller began keeps the caller's decision. It
	// defaults to the operator's --tracing-sampling-percent.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	SamplingPercent *int32 `json:"samplingPercent,omitempty"`
}
