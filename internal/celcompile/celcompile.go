// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package celcompile compiles what authors of Agents write in CEL, so that a
// mistake is told when the Agent is applied and never when it is called. What
// comes out is checked, and all that a sidecar needs to evaluate it.
//
// It is pure.
package celcompile

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/proto"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// environment is what expressions may use: the variables of the contract, and
// the functions and macros that are part of CEL.
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

// MistakeError is what is wrong with an expression, for who wrote it.
type MistakeError struct {
	// Line and Column are counted from 1; both are 0 when the whole is meant.
	Line, Column int
	// Message ends without a period.
	Message string
}

// Error says where and what.
func (m *MistakeError) Error() string {
	if m.Line == 0 {
		return m.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", m.Line, m.Column, m.Message)
}

// Compile returns the checked form of an expression. Its error is a *MistakeError,
// or a failure of the system.
func Compile(text string) ([]byte, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("make CEL environment: %w", err)
	}
	compiled, issues := env.Compile(text)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, &MistakeError{Line: first.Location.Line(), Column: first.Location.Column() + 1, Message: plain(first.Message)}
	}
	if compiled.OutputType() != cel.BoolType {
		return nil, &MistakeError{Message: fmt.Sprintf("it is of type %s and must be a bool; compare it with something", compiled.OutputType())}
	}
	// What cannot be planned, such as a pattern that is none, is found here.
	if _, err := env.Program(compiled, cel.EvalOptions(cel.OptOptimize)); err != nil {
		return nil, &MistakeError{Message: plain(err.Error())}
	}
	checked, err := cel.AstToCheckedExpr(compiled)
	if err != nil {
		return nil, fmt.Errorf("convert checked expression: %w", err)
	}
	// Positions are for messages, and a third of the bytes.
	checked.SourceInfo = nil
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(checked)
	if err != nil {
		return nil, fmt.Errorf("encode checked expression: %w", err)
	}
	return encoded, nil
}

// plain is a message of the compiler without what only it knows about.
func plain(message string) string {
	message = strings.ReplaceAll(message, " (in container '')", "")
	if !strings.HasPrefix(message, "undeclared reference to 'caller") && !strings.HasPrefix(message, "undeclared reference to 'request") {
		return message
	}
	return message + "; there are " + strings.Join(sidecarconfig.Variables, ", ")
}
