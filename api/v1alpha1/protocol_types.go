// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentProtocol holds choices that the A2A protocol leaves open, or that its
// versions make differently. The defaults serve clients of every version; none
// of the choices needs a restart.
type AgentProtocol struct {
	// bindings are the transports that the card lists, the preferred one first:
	// JSONRPC, HTTPJSON and GRPC. All three are served, whether they are listed or
	// not. They default to JSONRPC and HTTPJSON. The address of gRPC is a host and
	// a port, and there are clients, such as google-adk, that refuse a card with
	// an address that is no URL.
	// +kubebuilder:default={JSONRPC,HTTPJSON}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a == b))",message="spec.protocol.bindings must name each binding once"
	// +listType=atomic
	// +optional
	Bindings []CardBinding `json:"bindings,omitempty"`

	// cardProfile is Union, one card that clients of every version read, or V1,
	// which serves the card of 1.0 and nothing else at
	// /.well-known/agent-card.json, for clients that refuse what 1.0 does not
	// know; older ones then find theirs at /.well-known/agent.json. A client
	// that asks for 1.x by A2A-Version gets the card of 1.0 in any case. It
	// defaults to Union.
	// +kubebuilder:default=Union
	// +optional
	CardProfile CardProfile `json:"cardProfile,omitempty"`

	// errorProfile is the release of A2A 1.0 whose mapping of errors to the
	// statuses of HTTP and gRPC is used: the releases differ. It defaults to
	// "1.0.1".
	// +kubebuilder:default="1.0.1"
	// +optional
	ErrorProfile ErrorProfile `json:"errorProfile,omitempty"`

	// versionCheck is Lenient, which serves a request by its method where
	// A2A-Version is missing or is that of another method, or Strict, which
	// refuses it. It defaults to Lenient.
	// +kubebuilder:default=Lenient
	// +optional
	VersionCheck VersionCheck `json:"versionCheck,omitempty"`

	// finishedTasks is Final, since A2A 0.2.4, or Restart, which lets a message
	// of a 0.1 client start a task anew that has ended. It defaults to Final.
	// +kubebuilder:default=Final
	// +optional
	FinishedTasks FinishedTasks `json:"finishedTasks,omitempty"`

	// messageDeduplication is how long a message is known, as a duration from
	// "0s" to "10m": one that is sent again meanwhile, with the same messageId and
	// content, is answered with the task that it made. It is forgotten earlier
	// once that task was continued or canceled. "0s" turns deduplication off: a
	// client that retries a message then starts the work twice. It defaults to
	// "60s".
	// +kubebuilder:default="60s"
	// +optional
	MessageDeduplication DeduplicationWindow `json:"messageDeduplication,omitempty"`

	// contextReplies says what a message does that names a contextId and no task.
	// NewTask, which is what the protocol says, begins a task. ContinuePaused, for
	// clients that answer a question with the contextId only, continues the task
	// of the same caller in that context which waits for its client
	// (input-required or auth-required); where there is none, or more than one, a
	// task begins. It defaults to NewTask.
	// +kubebuilder:default=NewTask
	// +optional
	ContextReplies ContextReplies `json:"contextReplies,omitempty"`
}

// DeduplicationWindow is a length of time from "0s" to "10m": whole numbers with
// the units m, s and ms.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}(m|s|ms)){1,3}$') && duration(self) <= duration('10m')",message="spec.protocol.messageDeduplication must be a duration from 0s to 10m, such as 60s or 5m, in m, s and ms; 0s turns deduplication off"
type DeduplicationWindow string

// ContextReplies says what a message does that names a context and no task.
//
// +kubebuilder:validation:Enum=NewTask;ContinuePaused
type ContextReplies string

// What a message does that names a context and no task.
const (
	ContextRepliesNewTask        ContextReplies = "NewTask"
	ContextRepliesContinuePaused ContextReplies = "ContinuePaused"
)

// CardBinding is a transport that a card may list.
//
// +kubebuilder:validation:Enum=JSONRPC;HTTPJSON;GRPC
type CardBinding string

// The bindings, which a card calls JSONRPC, HTTP+JSON and GRPC.
const (
	CardBindingJSONRPC  CardBinding = "JSONRPC"
	CardBindingHTTPJSON CardBinding = "HTTPJSON"
	CardBindingGRPC     CardBinding = "GRPC"
)

// CardProfile says which form of the card is served where.
//
// +kubebuilder:validation:Enum=Union;V1
type CardProfile string

// The card profiles.
const (
	CardProfileUnion CardProfile = "Union"
	CardProfileV1    CardProfile = "V1"
)

// ErrorProfile is a release of A2A 1.0.
//
// +kubebuilder:validation:Enum="1.0.1";"1.0.0"
type ErrorProfile string

// The error profiles.
const (
	ErrorProfile101 ErrorProfile = "1.0.1"
	ErrorProfile100 ErrorProfile = "1.0.0"
)

// VersionCheck says what to do with a request whose A2A-Version does not fit
// its method.
//
// +kubebuilder:validation:Enum=Lenient;Strict
type VersionCheck string

// The version checks.
const (
	VersionCheckLenient VersionCheck = "Lenient"
	VersionCheckStrict  VersionCheck = "Strict"
)

// FinishedTasks says what a message to a task that has ended does.
//
// +kubebuilder:validation:Enum=Final;Restart
type FinishedTasks string

// What a message to a task that has ended does.
const (
	FinishedTasksFinal   FinishedTasks = "Final"
	FinishedTasksRestart FinishedTasks = "Restart"
)
