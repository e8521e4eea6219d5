// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// LogLevel is the least severe level of the events that a log has.
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

// AgentObservability configures what the sidecar reports about itself. A change
// takes effect without a restart.
type AgentObservability struct {
	// logging configures the log of the sidecar. If absent, the defaults apply.
	// +optional
	Logging AgentLogging `json:"logging,omitempty,omitzero"`

	// profiling is Loopback to serve profiles of the sidecar's process, in the form
	// of pprof, at path /debug/pprof/ of port 8642 to callers inside the pod, such as
	// a port-forward. It defaults to Disabled.
	// +kubebuilder:default=Disabled
	// +optional
	Profiling ProfilingPolicy `json:"profiling,omitempty"`
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
