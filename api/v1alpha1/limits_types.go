// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentLimits bounds the use of an agent by each caller and by all callers together.
// Each pod applies these limits on its own, except that all pods share the token
// budgets if the tasks are in Redis. An absent field has its default.
type AgentLimits struct {
	// requests limits the request rate of one caller. It defaults to 500 per second
	// with a burst of 1000. A caller is a principal, or the address of a client
	// without a credential.
	// +optional
	Requests *RequestRate `json:"requests,omitempty"`

	// totalRequests limits the request rate of all callers. It defaults to 2000 per
	// second with a burst of 4000.
	// +optional
	TotalRequests *RequestRate `json:"totalRequests,omitempty"`

	// failedAuthentications limits the rate of rejected credentials of one address.
	// Above the limit, the sidecar verifies at most 250 further credentials of the
	// address in a second, and at most 500 of all such addresses. It rejects the others
	// without verification, except for those that it recently accepted. The limit
	// defaults to 5 per second with a burst of 50.
	// +optional
	FailedAuthentications *RequestRate `json:"failedAuthentications,omitempty"`

	// turns limits the turns of the agent.
	// +optional
	Turns *TurnLimits `json:"turns,omitempty"`

	// streams limits the open streams.
	// +optional
	Streams *StreamLimits `json:"streams,omitempty"`

	// tokens limits the tokens of language models that callers use in an hour. By
	// default there is no limit.
	// +optional
	Tokens *TokenBudgets `json:"tokens,omitempty"`

	// maxBodyBytes is the maximum size of a request body, from 1024 to 33554432
	// bytes. It defaults to 10485760.
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=33554432
	// +optional
	MaxBodyBytes int64 `json:"maxBodyBytes,omitempty"`
}

// RequestRate is a rate with a burst (token bucket).
type RequestRate struct {
	// perSecond is the sustained rate per second.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +required
	PerSecond int32 `json:"perSecond"`

	// burst is the maximum number that is allowed at once after a pause. It defaults
	// to twice perSecond.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2000000
	// +optional
	Burst int32 `json:"burst,omitempty"`
}

// TurnLimits limits the concurrent turns of the agent, and the queue of messages
// that wait for one.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxPerCaller) || self.maxPerCaller <= (has(self.max) ? self.max : 256)",message="spec.limits.turns.maxPerCaller must not be more than max, which is 256 unless it is set; lower it or raise max"
type TurnLimits struct {
	// max is the maximum number of concurrent turns. It defaults to 256.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +optional
	Max int32 `json:"max,omitempty"`

	// maxPerCaller is the maximum number of concurrent turns of one caller. It
	// defaults to half of max.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +optional
	MaxPerCaller int32 `json:"maxPerCaller,omitempty"`

	// maxQueued is the maximum number of messages that wait for a turn. It defaults
	// to 256.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +optional
	MaxQueued int32 `json:"maxQueued,omitempty"`

	// queueTimeout is how long a message waits for a turn before the sidecar rejects
	// it, as a duration of at most "5m". It defaults to "5s".
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('5m')",message="spec.limits.turns.queueTimeout must be at most 5m: clients do not wait longer"
	// +optional
	QueueTimeout Duration `json:"queueTimeout,omitempty"`
}

// StreamLimits limits the open streams.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxPerCaller) || self.maxPerCaller <= (has(self.max) ? self.max : 2048)",message="spec.limits.streams.maxPerCaller must not be more than max, which is 2048 unless it is set; lower it or raise max"
type StreamLimits struct {
	// max is the maximum number of open streams. It defaults to 2048.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +optional
	Max int32 `json:"max,omitempty"`

	// maxPerCaller is the maximum number of open streams of one caller. It defaults
	// to a quarter of max.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +optional
	MaxPerCaller int32 `json:"maxPerCaller,omitempty"`
}

// TokenBudgets limits the tokens of language models, input and output together, that
// the agent reports for its turns. A caller that has used its budget gets an error for
// each new message until the budget is available again: one hour after the first
// tokens that were counted against it. The sidecar knows the tokens of a turn when the
// agent reports them, so a turn that began within the budget may exceed it.
//
// +kubebuilder:validation:XValidation:rule="has(self.perCallerPerHour) || has(self.perHour)",message="spec.limits.tokens needs perCallerPerHour or perHour"
// +kubebuilder:validation:XValidation:rule="!has(self.perCallerPerHour) || !has(self.perHour) || self.perCallerPerHour <= self.perHour",message="spec.limits.tokens.perCallerPerHour must not be more than perHour; lower it or raise perHour"
type TokenBudgets struct {
	// perHour is the number of tokens that all callers together may use in an hour.
	// By default there is no limit.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000
	// +optional
	PerHour int64 `json:"perHour,omitempty"`

	// perCallerPerHour is the number of tokens that each caller may use in an hour.
	// By default there is no limit.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000000
	// +optional
	PerCallerPerHour int64 `json:"perCallerPerHour,omitempty"`

	// unreported is what a turn costs whose agent reports no usage, or one that cannot be
	// read. Allow, the default, costs what was reported. Deny costs perCallerPerHour, or
	// perHour without it, so that the caller must wait until the budget is available
	// again. Deny is for agents that report the usage of each turn.
	// +optional
	Unreported UnreportedUsage `json:"unreported,omitempty"`
}

// UnreportedUsage is what a turn without a readable report of its usage costs.
// +kubebuilder:validation:Enum=Allow;Deny
type UnreportedUsage string

// The values of UnreportedUsage.
const (
	UnreportedUsageAllow UnreportedUsage = "Allow"
	UnreportedUsageDeny  UnreportedUsage = "Deny"
)
