// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AuthorizationAction is the effect of a rule on the calls that it matches.
//
// +kubebuilder:validation:Enum=Allow;Deny
type AuthorizationAction string

// The actions.
const (
	// AuthorizationAllow permits a call.
	AuthorizationAllow AuthorizationAction = "Allow"
	// AuthorizationDeny denies a call.
	AuthorizationDeny AuthorizationAction = "Deny"
)

// AuthorizationMethod is the name of an operation in A2A 1.0. It stands for this
// operation in every version and transport of A2A.
//
// +kubebuilder:validation:Enum=SendMessage;SendStreamingMessage;GetTask;ListTasks;CancelTask;SubscribeToTask;CreateTaskPushNotificationConfig;GetTaskPushNotificationConfig;ListTaskPushNotificationConfigs;DeleteTaskPushNotificationConfig;GetExtendedAgentCard
type AuthorizationMethod string

// AuthorizationRule matches a call that meets all of its conditions. A condition
// with several values is met by any of them. A rule without conditions matches
// every call.
type AuthorizationRule struct {
	// name identifies the rule in metrics and in the sidecar's log. It defaults to
	// the index of the rule, starting at 0.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Name string `json:"name,omitempty"`

	// action is the effect on the calls that the rule matches: Allow or Deny.
	// +required
	Action AuthorizationAction `json:"action"`

	// namespaces matches the namespaces of callers. It never matches a caller without
	// a namespace, such as a caller with a JWT of an issuer outside the cluster.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`

	// principals matches the principals of callers exactly:
	// system:serviceaccount:<namespace>:<name>, jwt:<issuer>#<principal>,
	// apikey:<name>, a SPIFFE ID, x509:<subject> or system:anonymous.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1100
	// +kubebuilder:validation:items:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +listType=set
	// +optional
	Principals []string `json:"principals,omitempty"`

	// subjects matches the principals for whom callers act, in the form of principals: an
	// agent that calls this one during a turn acts for the caller of that turn. An Allow
	// rule matches only a subject whose token the registry has verified. A Deny rule also
	// matches a subject that the calling agent only asserts by this name.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1100
	// +kubebuilder:validation:items:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +listType=set
	// +optional
	Subjects []string `json:"subjects,omitempty"`

	// methods matches operations, by their names in A2A 1.0.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=11
	// +listType=set
	// +optional
	Methods []AuthorizationMethod `json:"methods,omitempty"`

	// skills matches the id of the skill that a message names in
	// metadata["a2a-operator.dev/skill"]. Only messages name a skill. An Allow rule
	// also matches the operations that follow a message, such as GetTask, because
	// only the owner of a task can access it. A Deny rule matches messages only.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +listType=set
	// +optional
	Skills []string `json:"skills,omitempty"`

	// expression is a CEL expression that must evaluate to true. The variables
	// caller.principal, caller.namespace, subject.principal, subject.issuer,
	// request.method, request.skill and request.tenant are strings, "" if absent. The
	// variables caller.claims and subject.claims have the claims of tokens. Test
	// has(caller.claims.tier) before you read a claim that may be absent.
	// subject.proven is true if the registry has verified the token of the subject. A
	// call for which the evaluation fails is denied.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[^\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F]*$`
	// +optional
	Expression string `json:"expression,omitempty"`
}
