// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import "fmt"

// Authorization contains the authorization rules. The first rule that matches a call
// decides. A call that matches no rule is denied.
type Authorization struct {
	Rules []Rule `json:"rules"`
}

// Action is the effect of a rule on the calls that it matches.
type Action string

// The actions.
const (
	ActionAllow Action = "Allow"
	ActionDeny  Action = "Deny"
)

// Rule matches a call that meets all of its conditions. An empty list is no condition.
// A list with several values is met if one of the values applies.
type Rule struct {
	// Name identifies the rule in metrics and logs. If it is "", the index of the rule is
	// used.
	Name       string   `json:"name,omitempty"`
	Action     Action   `json:"action"`
	Namespaces []string `json:"namespaces"`
	Principals []string `json:"principals"`
	// Subjects are principals for whom callers may act. In a rule that allows, only proven ones match.
	Subjects []string `json:"subjects"`
	// Methods are names of methods in A2A 1.0.
	Methods []string `json:"methods"`
	// Skills are ids of skills on the card.
	Skills     []string    `json:"skills"`
	Expression *Expression `json:"expression"`
}

// Expression is a CEL expression over Variables whose result is of type bool.
type Expression struct {
	// Text is the source of the expression, for people who read the configuration. The
	// sidecar does not use it.
	Text string `json:"text"`
	// Checked is the compiled and type-checked form, a cel.expr.CheckedExpr.
	Checked []byte `json:"checked"`
}

// The variables of an expression.
const (
	// VariablePrincipal is the caller's principal, a string.
	VariablePrincipal = "caller.principal"
	// VariableNamespace is the caller's namespace, "" for none.
	VariableNamespace = "caller.namespace"
	// VariableClaims is a map of the claims of the caller's token by their names. It is
	// empty for a caller without a token.
	VariableClaims = "caller.claims"
	// VariableSubject is the principal for whom the caller acts, "" for a caller that acts for itself.
	VariableSubject = "subject.principal"
	// VariableSubjectIssuer is the issuer of the token of a proven subject that is a person, "" for others.
	VariableSubjectIssuer = "subject.issuer"
	// VariableSubjectClaims is a map of the claims of a proven subject by their names, and empty for others.
	VariableSubjectClaims = "subject.claims"
	// VariableSubjectProven is true if the registry has verified the token of the subject, a bool.
	VariableSubjectProven = "subject.proven"
	// VariableMethod is the operation's name in A2A 1.0.
	VariableMethod = "request.method"
	// VariableSkill is the id of the skill that a message requests, "" for none.
	VariableSkill = "request.skill"
	// VariableTenant is the tenant of the request, "" for none.
	VariableTenant = "request.tenant"
)

// Variables lists all variables.
var Variables = []string{
	VariablePrincipal, VariableNamespace, VariableClaims,
	VariableSubject, VariableSubjectIssuer, VariableSubjectClaims, VariableSubjectProven,
	VariableMethod, VariableSkill, VariableTenant,
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
