// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authz authorizes calls of authenticated callers. The first rule that matches a
// call decides. A call that matches no rule is refused, and so is a call for which the
// evaluation of a rule fails.
//
// Expressions are checked CEL, which the operator has compiled. The package evaluates
// them and does not link the parser, which needs most of the memory of CEL.
package authz

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/stdlib"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	exprpb "google.golang.org/genproto/googleapis/api/expr/v1alpha1"
	"google.golang.org/protobuf/proto"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Rule allows or denies the calls that match all of its conditions. An empty list is no
// condition. A list matches if one of its values matches.
type Rule struct {
	// Name identifies the rule in metrics and the log. By default, it is the position of the
	// rule.
	Name string
	// Allow is false for a rule that denies calls.
	Allow      bool
	Namespaces []string
	Principals []string
	// Subjects are principals for whom a caller may act. If Allow is true, only a proven subject matches.
	Subjects []string
	Methods  []a2a.Method
	// Skills are skills that a message may request. Only messages name a skill. For other
	// methods, this condition matches if Allow is true, because the tasks belong to the caller,
	// and does not match if Allow is false.
	Skills []string
	// Expression is a serialized cel.expr.CheckedExpr, which the operator has compiled from
	// CEL. Nil is no condition.
	Expression []byte
}

// Refusal is the reason why a call was refused. It appears in metrics and the log, and
// the caller does not receive it.
type Refusal struct {
	// Rule is the name of the rule that denied the call or whose evaluation failed. It
	// is "" if no rule matched.
	Rule string
	// Unmatched names the rules that allow calls and did not match, if no rule matched.
	Unmatched string
	// Err is the error of the rule's evaluation, or nil.
	Err error
}

// maxUnmatched bounds the rules that a Refusal names, because each refused call is logged.
const maxUnmatched = 16

// Policy is a list of rules. It is immutable and safe for concurrent use.
type Policy struct {
	rules      []rule
	usesClaims bool
	// allowing are the names of the rules that allow calls.
	allowing string
}

type rule struct {
	Rule
	program *program
}

// New returns the policy of a list of rules. It returns an error if an expression cannot
// be planned for the interpreter, or if a rule names an unknown method: a rule that denies
// it would deny nothing.
func New(rules []Rule) (*Policy, error) {
	p := &Policy{rules: make([]rule, len(rules))}
	var planner planner
	var allowing []string
	for i, r := range rules {
		r.Name = cmp.Or(r.Name, strconv.Itoa(i))
		if r.Allow {
			allowing = append(allowing, r.Name)
		}
		p.rules[i] = rule{Rule: r}
		if at := slices.IndexFunc(r.Methods, func(m a2a.Method) bool { return !m.Known() }); at >= 0 {
			return nil, fmt.Errorf("rule %s: methods[%d] is %q, which is no method of A2A 1.0", r.Name, at, r.Methods[at])
		}
		if r.Expression == nil {
			continue
		}
		var err error
		if p.rules[i].program, err = planner.plan(r.Expression); err != nil {
			return nil, fmt.Errorf("plan expression of rule %s: %w", r.Name, err)
		}
		p.usesClaims = p.usesClaims || p.rules[i].program.usesClaims
	}
	if more := len(allowing) - maxUnmatched; more > 0 {
		allowing = append(allowing[:maxUnmatched], fmt.Sprintf("and %d more", more))
	}
	p.allowing = strings.Join(allowing, ", ")
	return p, nil
}

// UsesClaims reports whether an expression reads the claims of callers.
func (p *Policy) UsesClaims() bool { return p.usesClaims }

// Decide returns nil if the call is allowed, and otherwise the reason for the refusal.
func (p *Policy) Decide(call *Call) *Refusal {
	given := variables{Call: call}
	defer given.close()
	for i := range p.rules {
		r := &p.rules[i]
		matched, err := r.matches(&given)
		switch {
		case err != nil:
			return &Refusal{Rule: r.Name, Err: err}
		case matched && r.Allow:
			return nil
		case matched:
			return &Refusal{Rule: r.Name}
		}
	}
	return &Refusal{Unmatched: p.allowing}
}

// matches reports whether a call matches all conditions of the rule. It evaluates the
// expression last.
func (r *rule) matches(v *variables) (bool, error) {
	switch {
	case len(r.Methods) > 0 && !slices.Contains(r.Methods, v.Method),
		len(r.Namespaces) > 0 && (v.Namespace == "" || !slices.Contains(r.Namespaces, v.Namespace)),
		len(r.Principals) > 0 && !slices.Contains(r.Principals, v.Principal),
		len(r.Subjects) > 0 && !r.matchesSubject(&v.Subject),
		len(r.Skills) > 0 && !r.matchesSkill(v.Call):
		return false, nil
	}
	if r.program == nil {
		return true, nil
	}
	return r.program.evaluate(v)
}

func (r *rule) matchesSkill(c *Call) bool {
	if !c.Method.Sends() {
		return r.Allow
	}
	return slices.Contains(r.Skills, c.Skill)
}

// matchesSubject reports whether a rule names the subject. A subject that is only asserted never opens the agent. A rule that denies
// matches it by the name that the calling agent says, which need not be the one of the same user with a proof.
func (r *rule) matchesSubject(s *Subject) bool {
	return (s.Proven || !r.Allow) && slices.Contains(r.Subjects, s.Principal)
}

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
		planned.usesClaims = planned.usesClaims || reference.Name == claimsName || reference.Name == subjectClaimsName
	}
	options := []interpreter.PlannerOption{
		interpreter.Optimize(),
		interpreter.CompileRegexConstants(interpreter.MatchesRegexOptimization),
	}
	// Only an expression with a loop needs the limit. The sizes of the expression and the token
	// bound the cost of an expression without a loop.
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
			result = false
			err = fmt.Errorf("evaluate: %v", reason)
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
	// Subject is the subject for whom the caller acts. It is empty for a caller that acts for itself.
	Subject Subject
	Method  a2a.Method
	// Skill is the skill that a message requests, or "".
	Skill  string
	Tenant string
	// OwnsTask is true if the caller owns the task about whose calls it decides. Only the rules of approvers use it.
	OwnsTask bool
}

// Subject is the subject of a call.
type Subject struct {
	Principal string
	// Issuer is the issuer of the token of a person, and Claims are its claims. They are empty unless the subject is proven.
	Issuer string
	Claims *Claims
	// Proven is true if the registry has verified the token of the subject.
	Proven bool
}

// The names of the variables with claims. If an expression uses one of them, authenticators set the claims.
const (
	claimsName        = "caller.claims"
	subjectClaimsName = "subject.claims"
)

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

// Parent implements interpreter.Activation.
func (*variables) Parent() interpreter.Activation { return nil }

var noClaims = map[string]any{}

// variable returns the claims as a variable of expressions. c may be nil.
func (c *Claims) variable() map[string]any {
	if c == nil {
		return noClaims
	}
	return *c
}

// ResolveName implements interpreter.Activation. Package sidecarconfig documents the
// names.
func (v *variables) ResolveName(name string) (any, bool) {
	switch name {
	case "caller.principal":
		return types.String(v.Principal), true
	case "caller.namespace":
		return types.String(v.Namespace), true
	case claimsName:
		return v.Claims.variable(), true
	case "subject.principal":
		return types.String(v.Subject.Principal), true
	case "subject.issuer":
		return types.String(v.Subject.Issuer), true
	case subjectClaimsName:
		return v.Subject.Claims.variable(), true
	case "subject.proven":
		return types.Bool(v.Subject.Proven), true
	case "request.method":
		return types.String(v.Method), true
	case "request.skill":
		return types.String(v.Skill), true
	case "request.tenant":
		return types.String(v.Tenant), true
	case "caller.ownsTask":
		return types.Bool(v.OwnsTask), true
	}
	return nil, false
}
