// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/stdlib"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	exprpb "google.golang.org/genproto/googleapis/api/expr/v1alpha1"
	"google.golang.org/protobuf/proto"
)

// maxCost bounds what one expression may do, in CEL's units of about one step.
// A token may hold thousands of values, and an expression may loop over them.
const maxCost = 10_000

// planner makes programs. It is made when the first is: most agents have none.
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
	// Without a loop, the work is bounded by the expression and the token.
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

// program is an expression that can be evaluated any number of times at once.
type program struct {
	steps      interpreter.InterpretableV2
	usesClaims bool
}

// holds evaluates. What the expression does not know, such as a claim that the
// token does not have, is an error.
func (p *program) holds(v *variables) (met bool, err error) {
	defer func() {
		// The interpreter ends one that costs too much by a panic.
		if reason := recover(); reason != nil {
			met, err = false, fmt.Errorf("evaluate: %v", reason)
		}
	}()
	frame, err := v.inFrame()
	if err != nil {
		return false, err
	}
	switch result := p.steps.Exec(frame).(type) {
	case types.Bool:
		return bool(result), nil
	case *types.Err:
		return false, result
	default:
		return false, errNotBool
	}
}
