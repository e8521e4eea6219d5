// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxApprovers bounds the rules that say who may decide about calls.
const maxApprovers = 16

// Decisions configures who decides about the calls of an agent without code.
type Decisions struct {
	// Approvers are expressions over ApproverVariables. A caller for whom one of them is true may decide. Without any, the owner of
	// the task decides.
	Approvers []Expression `json:"approvers"`
	// Page is the page on which people decide. If it is nil, there is none.
	Page *DecisionPage `json:"page,omitempty"`
}

// DecisionPage is the page on which people decide about calls of the agent.
type DecisionPage struct {
	// URL is the address of the page for the agent. A slash and the id of a task follow.
	URL string `json:"url"`
	// Issuer is the issuer of the people who sign in to the page.
	Issuer string `json:"issuer"`
	// Audience is the audience of the tokens of the page, whose issuer is PageIssuer.
	Audience string `json:"audience"`
	// Keys is the text of the JWK set that verifies the tokens.
	Keys json.RawMessage `json:"keys"`
}

// PageIssuer is the issuer of the tokens with which the page calls agents for people. No other authentication accepts it.
const PageIssuer = "a2a-operator.dev/page"

// VariableOwnsTask is true if the caller owns the task about whose calls it decides, a bool.
const VariableOwnsTask = "caller.ownsTask"

// ApproverVariables lists the variables of the expressions of Decisions.
var ApproverVariables = []string{
	VariablePrincipal, VariableNamespace, VariableClaims, VariableSubject, VariableSubjectIssuer, VariableSubjectClaims, VariableSubjectProven,
	VariableTenant, VariableOwnsTask,
}

func (d *Decisions) validate(refuse func(field, format string, args ...any)) {
	if len(d.Approvers) > maxApprovers {
		refuse("decisions.approvers", "has %d expressions, must have at most %d", len(d.Approvers), maxApprovers)
	}
	for i := range d.Approvers {
		if len(d.Approvers[i].Checked) == 0 {
			refuse(fmt.Sprintf("decisions.approvers[%d].checked", i), "is required")
		}
	}
	if p := d.Page; p != nil && (!strings.HasPrefix(p.URL, "https://") || p.Issuer == "" || p.Audience == "" || len(p.Keys) == 0) {
		refuse("decisions.page", "needs an https URL, an issuer, an audience and keys")
	}
}
