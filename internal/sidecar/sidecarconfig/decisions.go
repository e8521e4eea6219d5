// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import "fmt"

// maxApprovers bounds the rules that say who may decide about calls.
const maxApprovers = 16

// Decisions configures who decides about the calls of an agent without code.
type Decisions struct {
	// Approvers are expressions over ApproverVariables. A caller for whom one of them is true may decide. Without any, the owner of
	// the task decides.
	Approvers []Expression `json:"approvers"`
}

// VariableOwnsTask is true if the caller owns the task about whose calls it decides, a bool.
const VariableOwnsTask = "caller.ownsTask"

// ApproverVariables lists the variables of the expressions of Decisions.
var ApproverVariables = []string{VariablePrincipal, VariableNamespace, VariableClaims, VariableTenant, VariableOwnsTask}

func (d *Decisions) validate(refuse func(field, format string, args ...any)) {
	if len(d.Approvers) > maxApprovers {
		refuse("decisions.approvers", "has %d expressions, must have at most %d", len(d.Approvers), maxApprovers)
	}
	for i := range d.Approvers {
		if len(d.Approvers[i].Checked) == 0 {
			refuse(fmt.Sprintf("decisions.approvers[%d].checked", i), "is required")
		}
	}
}
