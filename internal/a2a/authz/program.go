// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/stdlib"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	exprpb "google.golang.org/genproto/googleapis/api/expr/v1alpha1"
	"google.golang.org/protobuf/proto"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

var errNotBool = errors.New("the result is not a boolean")

// maxCost bounds the cost of one evaluation. The unit of CEL's cost is about one step.
// The limit is needed because a token may have thousands of values, and an expression may
// loop over them.
const maxCost = 10_000

// planner plans programs. It creates the interpreter for the first program, because most
// agents have no expression.
type planner struct {
	interpreter interpreter.Interpreter
}

func (p *planner) start() error {
	registry, err := types.NewRegistry()
	if err != nil {
		return fmt.Errorf("make type registry: %w", err)
	}
	dispatcher := interpreter.NewDispatcher()
	for _, function := range stdlib.Functions() {
		bindings, err := function.Bindings()
		if err != nil {
			return fmt.Errorf("bind %s: %w", function.Name(), err)
		}
		if err := dispatcher.Add(bindings...); err != nil {
			return fmt.Errorf("bind %s: %w", function.Name(), err)
		}
	}
	attributes := interpreter.NewAttributeFactory(containers.DefaultContainer, registry, registry)
	p.interpreter = interpreter.NewInterpreter(dispatcher, containers.DefaultContainer, registry, registry, attributes)
	return nil
}

func (p *planner) plan(text []byte) (*program, error) {
	if p.interpreter == nil {
		if err := p.start(); err != nil {
			return nil, err
		}
	}
	var message exprpb.CheckedExpr
	if err := proto.Unmarshal(text, &message); err != nil {
		return nil, fmt.Errorf("decode checked expression: %w", err)
	}
	checked, err := ast.ToAST(&message)
	if err != nil {
		return nil, fmt.Errorf("read checked expression: %w", err)
	}
	planned := &program{}
	for _, reference := range checked.ReferenceMap() {
		planned.usesClaims = planned.usesClaims || reference.Name == claimsName
	}
	options := []interpreter.PlannerOption{
		interpreter.Optimize(),
		interpreter.CompileRegexConstants(interpreter.MatchesRegexOptimization),
	}
	// The cost of an expression without a loop is bounded by the sizes of the expression and
	// the token.
	if loops(checked) {
		tracker, err := interpreter.NewCostTracker(nil, interpreter.CostTrackerLimit(maxCost))
		if err != nil {
			return nil, fmt.Errorf("bound cost: %w", err)
		}
		options = append(options, interpreter.CostObserver(interpreter.CostTrackerFactory(tracker.Clone)))
	}
	planned.steps, err = p.interpreter.NewInterpretable(checked, options...)
	return planned, err
}

func loops(checked *ast.AST) bool {
	return len(ast.MatchDescendants(ast.NavigateAST(checked), ast.KindMatcher(ast.ComprehensionKind))) > 0
}

// program is a planned expression. It is safe for concurrent use.
type program struct {
	steps      interpreter.InterpretableV2
	usesClaims bool
}

// evaluate returns the result of the expression. It returns an error if a value is
// missing, such as a claim that the token does not have.
func (p *program) evaluate(v *variables) (result bool, err error) {
	defer func() {
		// The interpreter panics when the cost exceeds the limit.
		if reason := recover(); reason != nil {
			result, err = false, fmt.Errorf("evaluate: %v", reason)
		}
	}()
	frame, err := v.inFrame()
	if err != nil {
		return false, err
	}
	switch value := p.steps.Exec(frame).(type) {
	case types.Bool:
		return bool(value), nil
	case *types.Err:
		return false, value
	default:
		return false, errNotBool
	}
}

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
