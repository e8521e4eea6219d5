// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import "fmt"

// Authorization says what callers may do. The first rule that meets a call
// decides, and none refuses it.
type Authorization struct {
	Rules []Rule `json:"rules"`
}

// Action is what a rule does with the calls that it meets.
type Action string

// The actions.
const (
	ActionAllow Action = "Allow"
	ActionDeny  Action = "Deny"
)

// Rule is met by a call that fulfils all of its conditions. An empty list is
// none; of several values one is enough.
type Rule struct {
	// Name is for metrics and logs; "" is the position.
	Name       string   `json:"name,omitempty"`
	Action     Action   `json:"action"`
	Namespaces []string `json:"namespaces,omitempty"`
	Principals []string `json:"principals,omitempty"`
	// Methods are names of A2A 1.0.
	Methods []string `json:"methods,omitempty"`
	// Skills are ids of the card.
	Skills     []string    `json:"skills,omitempty"`
	Expression *Expression `json:"expression,omitempty"`
}

// Expression is CEL over Variables, of type bool.
type Expression struct {
	// Text is what the author wrote, for who reads the contract.
	Text string `json:"text"`
	// Checked is the compiled and type-checked form, a cel.expr.CheckedExpr.
	Checked []byte `json:"checked"`
}

// The variables of an expression.
const (
	// VariablePrincipal is who is calling, as text.
	VariablePrincipal = "caller.principal"
	// VariableNamespace is the caller's namespace, "" for none.
	VariableNamespace = "caller.namespace"
	// VariableClaims holds the claims of the caller's token by their names,
	// and nothing without a token.
	VariableClaims = "caller.claims"
	// VariableMethod is the operation's name in A2A 1.0.
	VariableMethod = "request.method"
	// VariableSkill is the id of the skill that a message names, "" for none.
	VariableSkill = "request.skill"
	// VariableTenant is the tenant of the request, "" for none.
	VariableTenant = "request.tenant"
)

// Variables are all of them.
var Variables = []string{
	VariablePrincipal, VariableNamespace, VariableClaims, VariableMethod, VariableSkill, VariableTenant,
}

func (a *Authorization) validate(refuse func(field, format string, args ...any)) {
	for i, r := range a.Rules {
		field := fmt.Sprintf("access.authorization.rules[%d]", i)
		if r.Action != ActionAllow && r.Action != ActionDeny {
			refuse(field+".action", "is %q, must be %q or %q", r.Action, ActionAllow, ActionDeny)
		}
		if r.Expression != nil && len(r.Expression.Checked) == 0 {
			refuse(field+".expression.checked", "is required")
		}
	}
}
