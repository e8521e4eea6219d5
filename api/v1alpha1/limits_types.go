// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentLimits bound what callers use of an agent: each of them, and all
// together. Whatever is absent has its default. They apply to each pod.
type AgentLimits struct {
	// requests bounds the requests of one caller: 500 a second, and 1000 at
	// once. A caller is a principal, or the address of a client that shows no
	// credential.
	// +optional
	Requests *RequestRate `json:"requests,omitempty"`

	// totalRequests bounds the requests of all callers: 2000 a second, and 4000
	// at once.
	// +optional
	TotalRequests *RequestRate `json:"totalRequests,omitempty"`

	// failedAuthentications bounds the credentials that an address may show in
	// vain, before others than those that are known to be good are refused
	// unseen: 5 a second, and 50 at once.
	// +optional
	FailedAuthentications *RequestRate `json:"failedAuthentications,omitempty"`

	// turns bounds what the agent works at.
	// +optional
	Turns *TurnLimits `json:"turns,omitempty"`

	// streams bounds the streams that are open.
	// +optional
	Streams *StreamLimits `json:"streams,omitempty"`

	// maxBodyBytes bounds the body of a request, from 1024 to 33554432 bytes. It
	// defaults to 10485760.
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=33554432
	// +optional
	MaxBodyBytes int64 `json:"maxBodyBytes,omitempty"`
}

// RequestRate is a number a second, and how many may come at once.
type RequestRate struct {
	// perSecond is how many may come a second, in the long run.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +required
	PerSecond int32 `json:"perSecond"`

	// burst is how many may come at once after a rest. It defaults to twice
	// perSecond.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2000000
	// +optional
	Burst int32 `json:"burst,omitempty"`
}

// TurnLimits bound the turns that the agent works at, and the messages that
// wait for one.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxPerCaller) || self.maxPerCaller <= (has(self.max) ? self.max : 256)",message="spec.limits.turns.maxPerCaller must not be more than max, which is 256 unless it is set; lower it or raise max"
type TurnLimits struct {
	// max bounds the turns that run at once. It defaults to 256.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +optional
	Max int32 `json:"max,omitempty"`

	// maxPerCaller bounds those of one caller. It defaults to half of max.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +optional
	MaxPerCaller int32 `json:"maxPerCaller,omitempty"`

	// maxQueued bounds the messages that wait for a turn. It defaults to 256.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +optional
	MaxQueued int32 `json:"maxQueued,omitempty"`

	// queueTimeout is how long a message waits for a turn before it is refused,
	// as a duration of at most "5m". It defaults to "5s".
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('5m')",message="spec.limits.turns.queueTimeout must be at most 5m: clients do not wait longer"
	// +optional
	QueueTimeout Duration `json:"queueTimeout,omitempty"`
}

// StreamLimits bound the streams that are open.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxPerCaller) || self.maxPerCaller <= (has(self.max) ? self.max : 2048)",message="spec.limits.streams.maxPerCaller must not be more than max, which is 2048 unless it is set; lower it or raise max"
type StreamLimits struct {
	// max bounds all. It defaults to 2048.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +optional
	Max int32 `json:"max,omitempty"`

	// maxPerCaller bounds those of one caller. It defaults to a quarter of max.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	// +optional
	MaxPerCaller int32 `json:"maxPerCaller,omitempty"`
}
