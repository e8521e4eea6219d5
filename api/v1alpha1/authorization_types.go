// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AuthorizationAction is what a rule does with the calls that it meets.
//
// +kubebuilder:validation:Enum=Allow;Deny
type AuthorizationAction string

// The actions.
const (
	// AuthorizationAllow lets a call through.
	AuthorizationAllow AuthorizationAction = "Allow"
	// AuthorizationDeny refuses it.
	AuthorizationDeny AuthorizationAction = "Deny"
)

// AuthorizationMethod is an operation of the protocol by its name in A2A 1.0,
// whatever a client's version and transport call it.
//
// +kubebuilder:validation:Enum=SendMessage;SendStreamingMessage;GetTask;ListTasks;CancelTask;SubscribeToTask;CreateTaskPushNotificationConfig;GetTaskPushNotificationConfig;ListTaskPushNotificationConfigs;DeleteTaskPushNotificationConfig;GetExtendedAgentCard
type AuthorizationMethod string

// AuthorizationRule is met by a call that fulfils all of its conditions; of the
// several values of one condition, any is enough. A rule without conditions is
// met by every call.
type AuthorizationRule struct {
	// name is what metrics and the sidecar's log call the rule. It defaults to
	// its position, counted from 0.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Name string `json:"name,omitempty"`

	// action is what the rule does with the calls that it meets: Allow or Deny.
	// +required
	Action AuthorizationAction `json:"action"`

	// namespaces are those of the callers. Callers without a namespace, such as
	// those with a JWT of an issuer outside the cluster, have none of them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`

	// principals are callers, to the letter:
	// system:serviceaccount:<namespace>:<name>, jwt:<issuer>#<principal>,
	// apikey:<name> or system:anonymous.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1100
	// +listType=set
	// +optional
	Principals []string `json:"principals,omitempty"`

	// methods are the operations, by their names in A2A 1.0.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=11
	// +listType=set
	// +optional
	Methods []AuthorizationMethod `json:"methods,omitempty"`

	// skills are ids of skills on the card, one of which a message must name in
	// metadata["a2a-operator.dev/skill"]. Only messages name a skill: a rule that
	// allows skills allows what follows a message too, such as GetTask, since
	// tasks are their owner's alone; one that denies skills is about messages.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +listType=set
	// +optional
	Skills []string `json:"skills,omitempty"`

	// expression is CEL that must be true. It sees caller.principal,
	// caller.namespace, request.method, request.skill and request.tenant, which
	// are text and "" for none, and caller.claims, the claims of the caller's
	// token: ask has(caller.claims.tier) before you read one that may be
	// missing. A call for which the expression fails is refused.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Expression string `json:"expression,omitempty"`
}
