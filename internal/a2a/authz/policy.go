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
	"fmt"
	"slices"
	"strconv"

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
	Methods    []a2a.Method
	// Skills are skills that a message may request. Only messages name a skill. For other
	// methods, a rule that allows skills matches, because the tasks belong to the caller,
	// and a rule that denies skills does not match.
	Skills []string
	// Expression is checked CEL, compiled by the operator, or nil.
	Expression []byte
}

// Refusal is the reason why a call was refused. It appears in metrics and the log, and
// the caller does not receive it.
type Refusal struct {
	// Rule is the name of the rule that denied the call or whose evaluation failed. It
	// is "" if no rule matched.
	Rule string
	// Err is the error of the rule's evaluation, or nil.
	Err error
}

// Policy is a list of rules. It is immutable and safe for concurrent use.
type Policy struct {
	rules      []rule
	usesClaims bool
}

type rule struct {
	Rule
	program *program
}

// New returns the policy of a list of rules. It returns an error if an expression cannot
// be planned for the interpreter.
func New(rules []Rule) (*Policy, error) {
	p := &Policy{rules: make([]rule, len(rules))}
	var planner planner
	for i, r := range rules {
		if r.Name == "" {
			r.Name = strconv.Itoa(i)
		}
		p.rules[i] = rule{Rule: r}
		if r.Expression == nil {
			continue
		}
		var err error
		if p.rules[i].program, err = planner.plan(r.Expression); err != nil {
			return nil, fmt.Errorf("plan expression of rule %s: %w", r.Name, err)
		}
		p.usesClaims = p.usesClaims || p.rules[i].program.usesClaims
	}
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
	return &Refusal{}
}

// matches reports whether a call matches all conditions of the rule. It evaluates the
// expression last.
func (r *rule) matches(v *variables) (bool, error) {
	switch {
	case len(r.Methods) > 0 && !slices.Contains(r.Methods, v.Method),
		len(r.Namespaces) > 0 && (v.Namespace == "" || !slices.Contains(r.Namespaces, v.Namespace)),
		len(r.Principals) > 0 && !slices.Contains(r.Principals, v.Principal),
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
