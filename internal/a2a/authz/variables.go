// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Claims are the claims of a token, in the types of encoding/json.
type Claims map[string]any

// Call describes the call that Policy.Decide allows or refuses.
type Call struct {
	Principal string
	// Namespace is the namespace of the caller, or "".
	Namespace string
	// Claims are the claims of the caller's token, or nil. They are immutable.
	Claims *Claims
	Method a2a.Method
	// Skill is the skill that a message requests, or "".
	Skill  string
	Tenant string
}

// claimsName is the name of the variable with the claims. If an expression uses it,
// authenticators set Caller.Claims.
const claimsName = "caller.claims"

// variables are the variables of expressions for one call.
type variables struct {
	*Call
	// frame is the execution frame that all expressions of the policy share. It is created
	// for the first expression.
	frame *interpreter.ExecutionFrame
}

func (v *variables) inFrame() (*interpreter.ExecutionFrame, error) {
	if v.frame != nil {
		return v.frame, nil
	}
	var err error
	v.frame, err = interpreter.NewExecutionFrame(v)
	return v.frame, err
}

func (v *variables) close() {
	if v.frame != nil {
		v.frame.Close()
	}
}

var _ interpreter.Activation = (*variables)(nil)

// Parent implements interpreter.Activation.
func (*variables) Parent() interpreter.Activation { return nil }

var noClaims = map[string]any{}

// ResolveName implements interpreter.Activation. Package sidecarconfig documents the
// names.
func (v *variables) ResolveName(name string) (any, bool) {
	switch name {
	case "caller.principal":
		return types.String(v.Principal), true
	case "caller.namespace":
		return types.String(v.Namespace), true
	case claimsName:
		if v.Claims == nil {
			return noClaims, true
		}
		return map[string]any(*v.Claims), true
	case "request.method":
		return types.String(v.Method), true
	case "request.skill":
		return types.String(v.Skill), true
	case "request.tenant":
		return types.String(v.Tenant), true
	}
	return nil, false
}
