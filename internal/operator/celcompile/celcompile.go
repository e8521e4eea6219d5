// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package celcompile compiles the CEL expressions of Agents, so that the operator reports
// a mistake when a user applies the Agent, and not when a client calls the agent. Its
// output is the type-checked form, which a sidecar evaluates.
//
// The package is pure.
package celcompile

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/proto"

	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/kit/sharedcache"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// kinds are the types of the variables that package sidecarconfig names. All other variables are strings.
var kinds = map[string]*cel.Type{
	sidecarconfig.VariableClaims:        cel.MapType(cel.StringType, cel.DynType),
	sidecarconfig.VariableOwnsTask:      cel.BoolType,
	sidecarconfig.VariableSubjectClaims: cel.MapType(cel.StringType, cel.DynType),
	sidecarconfig.VariableSubjectProven: cel.BoolType,
}

// The environments of rules for calls and of rules for approvers. They declare the variables, and contain the standard functions and
// macros of CEL.
var (
	ofCalls     = sync.OnceValues(func() (*cel.Env, error) { return newEnvironment(sidecarconfig.Variables) })
	ofApprovers = sync.OnceValues(func() (*cel.Env, error) { return newEnvironment(sidecarconfig.ApproverVariables) })
)

func newEnvironment(variables []string) (*cel.Env, error) {
	options := []cel.EnvOption{cel.ParserExpressionSizeLimit(maxLength), cel.ParserRecursionLimit(maxRecursion)}
	for _, name := range variables {
		kind := kinds[name]
		if kind == nil {
			kind = cel.StringType
		}
		options = append(options, cel.Variable(name, kind))
	}
	return cel.NewEnv(options...)
}

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

// compiled caches the results of compile by the SHA-256 hash of the expression, because a reconcile
// of an Agent that is not in sync compiles its expressions again. The namespaces share it. A result has at most some 25 KiB.
var compiled = sharedcache.New[string, [sha256.Size]byte, result](1024)

type result struct {
	checked []byte
	err     error
}

// Compile returns the type-checked form of an expression over sidecarconfig.Variables. For a mistake in the
// expression, the error is an *ExpressionError. Any other error is a failure of the
// system. The caller must not modify the result, which the package caches for the namespace.
func Compile(namespace, text string) ([]byte, error) {
	return cached(namespace, text, "calls", ofCalls, sidecarconfig.Variables)
}

// CompileApprovers does the same as Compile, for an expression over sidecarconfig.ApproverVariables.
func CompileApprovers(namespace, text string) ([]byte, error) {
	return cached(namespace, text, "approvers", ofApprovers, sidecarconfig.ApproverVariables)
}

func cached(namespace, text, use string, environment func() (*cel.Env, error), variables []string) ([]byte, error) {
	key := sha256.Sum256([]byte(use + "\x00" + text))
	if known, ok := compiled.Get(key); ok {
		return known.checked, known.err
	}
	checked, err := compile(text, environment, variables)
	compiled.Put(namespace, key, result{checked, err}, 1)
	return checked, err
}

// compile does the work of Compile. If CEL panics, the expression has a mistake: the panic must not
// end the manager, and would repeat.
func compile(text string, environment func() (*cel.Env, error), variables []string) (checked []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			checked = nil
			err = &ExpressionError{Message: fmt.Sprintf("the compiler failed on it: %v", cause)}
		}
	}()
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("make CEL environment: %w", err)
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, mistakeOf(issues, variables)
	}
	if mistake := checkBounds(parsed); mistake != nil {
		return nil, mistake
	}
	typed, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, mistakeOf(issues, variables)
	}
	if typed.OutputType() != cel.BoolType {
		return nil, &ExpressionError{Message: fmt.Sprintf("it has type %s, must be a bool; add a comparison", typed.OutputType())}
	}
	// Planning finds further mistakes, such as an invalid regular expression.
	if _, err := env.Program(typed, cel.EvalOptions(cel.OptOptimize)); err != nil {
		return nil, &ExpressionError{Message: plain(err.Error(), variables)}
	}
	message, err := cel.AstToCheckedExpr(typed)
	if err != nil {
		return nil, fmt.Errorf("convert checked expression: %w", err)
	}
	// Source positions are a third of the encoded form, and only error messages need
	// them.
	message.SourceInfo = nil
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encode checked expression: %w", err)
	}
	return encoded, nil
}

// maxMessage bounds a message of the compiler in bytes, because it can quote the expression.
const maxMessage = 512

// plain removes internal details of the compiler from its message.
func plain(message string, variables []string) string {
	message = strings.ReplaceAll(safetext.Clip(message, maxMessage), " (in container '')", "")
	if !strings.HasPrefix(message, "undeclared reference to 'caller") && !strings.HasPrefix(message, "undeclared reference to 'request") {
		return message
	}
	return message + "; the variables are " + strings.Join(variables, ", ")
}

func mistakeOf(issues *cel.Issues, variables []string) *ExpressionError {
	first := issues.Errors()[0]
	if first.Location.Line() < 1 { // the parser gives up
		return &ExpressionError{Message: plain(first.Message, variables)}
	}
	return &ExpressionError{Line: first.Location.Line(), Column: first.Location.Column() + 1, Message: plain(first.Message, variables)}
}
