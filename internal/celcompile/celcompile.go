// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package celcompile compiles the CEL expressions of Agents, so that the operator reports
// a mistake when a user applies the Agent, and not when a client calls the agent. Its
// output is the type-checked form, which a sidecar evaluates.
//
// The package is pure.
package celcompile

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/proto"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// environment declares the variables that package sidecarconfig names. It also contains the
// standard functions and macros of CEL.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable(sidecarconfig.VariablePrincipal, cel.StringType),
		cel.Variable(sidecarconfig.VariableNamespace, cel.StringType),
		cel.Variable(sidecarconfig.VariableClaims, cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable(sidecarconfig.VariableMethod, cel.StringType),
		cel.Variable(sidecarconfig.VariableSkill, cel.StringType),
		cel.Variable(sidecarconfig.VariableTenant, cel.StringType),
	)
})

// ExpressionError is a mistake in an expression, for its author.
type ExpressionError struct {
	// Line and Column start at 1. Both are 0 if the error concerns the whole expression.
	Line, Column int
	// Message ends without a period.
	Message string
}

// Error returns the position and the message.
func (m *ExpressionError) Error() string {
	if m.Line == 0 {
		return m.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", m.Line, m.Column, m.Message)
}

// Compile returns the type-checked form of an expression. For a mistake in the
// expression, the error is an *ExpressionError. Any other error is a failure of the
// system.
func Compile(text string) ([]byte, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("make CEL environment: %w", err)
	}
	compiled, issues := env.Compile(text)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, &ExpressionError{Line: first.Location.Line(), Column: first.Location.Column() + 1, Message: plain(first.Message)}
	}
	if compiled.OutputType() != cel.BoolType {
		return nil, &ExpressionError{Message: fmt.Sprintf("it has type %s, must be a bool; add a comparison", compiled.OutputType())}
	}
	// Planning finds further mistakes, such as an invalid regular expression.
	if _, err := env.Program(compiled, cel.EvalOptions(cel.OptOptimize)); err != nil {
		return nil, &ExpressionError{Message: plain(err.Error())}
	}
	checked, err := cel.AstToCheckedExpr(compiled)
	if err != nil {
		return nil, fmt.Errorf("convert checked expression: %w", err)
	}
	// Source positions are a third of the encoded form, and only error messages need
	// them.
	checked.SourceInfo = nil
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(checked)
	if err != nil {
		return nil, fmt.Errorf("encode checked expression: %w", err)
	}
	return encoded, nil
}

// plain removes internal details of the compiler from its message.
func plain(message string) string {
	message = strings.ReplaceAll(message, " (in container '')", "")
	if !strings.HasPrefix(message, "undeclared reference to 'caller") && !strings.HasPrefix(message, "undeclared reference to 'request") {
		return message
	}
	return message + "; the variables are " + strings.Join(sidecarconfig.Variables, ", ")
}
