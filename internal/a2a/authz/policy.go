// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authz says what a caller may do, once it is known who is calling and
// what for. Rules are looked at in their order, and the first that meets a call
// decides; a call that none meets is refused, and so is one that a rule cannot
// be evaluated for.
//
// Expressions come as checked CEL: the package can evaluate them and cannot
// parse them, which is most of what the language costs.
package authz

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Rule allows or denies the calls that meet all of its conditions. An empty
// list is no condition, and one of several values is enough.
type Rule struct {
	// Name is what is counted and logged; without one it is the position.
	Name string
	// Allow is false for a rule that denies.
	Allow      bool
	Namespaces []string
	Principals []string
	Methods    []a2a.Method
	// Skills are those that a message names. Other calls name none: a rule that
	// allows a skill allows what follows a message too, since the tasks are the
	// caller's own, and one that denies a skill is about messages.
	Skills []string
	// Expression is checked CEL as the operator compiled it; nil is none.
	Expression []byte
}

// Claims are what a token says, as JSON is read into Go.
type Claims map[string]any

// Call is who asks for what.
type Call struct {
	Principal string
	// Namespace is the caller's, "" for none.
	Namespace string
	// Claims are those of the caller's token, nil for none. Nobody changes them.
	Claims *Claims
	Method a2a.Method
	// Skill is the one that a message names, "" for none.
	Skill  string
	Tenant string
}

// Refusal says why a call was refused, for those who run the agent: its caller
// learns nothing of it.
type Refusal struct {
	// Rule is the name of the rule that denied, or that could not be evaluated;
	// "" when none met the call.
	Rule string
	// Err is set when the rule could not be evaluated.
	Err error
}

// Policy is a list of rules.
type Policy struct {
	rules      []rule
	usesClaims bool
}

type rule struct {
	Rule
	program *program
}

// New returns the policy of some rules.
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

// UsesClaims reports whether a rule looks at the claims of callers, so that
// they must be kept.
func (p *Policy) UsesClaims() bool { return p.usesClaims }

// Decide returns nil for a call that is allowed.
func (p *Policy) Decide(call *Call) *Refusal {
	given := variables{Call: call}
	defer given.close()
	for i := range p.rules {
		r := &p.rules[i]
		met, err := r.meets(&given)
		switch {
		case err != nil:
			return &Refusal{Rule: r.Name, Err: err}
		case met && r.Allow:
			return nil
		case met:
			return &Refusal{Rule: r.Name}
		}
	}
	return &Refusal{}
}

// meets asks what is cheap first.
func (r *rule) meets(v *variables) (bool, error) {
	switch {
	case len(r.Methods) > 0 && !slices.Contains(r.Methods, v.Method),
		len(r.Namespaces) > 0 && (v.Namespace == "" || !slices.Contains(r.Namespaces, v.Namespace)),
		len(r.Principals) > 0 && !slices.Contains(r.Principals, v.Principal),
		len(r.Skills) > 0 && !r.meetsSkill(v.Call):
		return false, nil
	}
	if r.program == nil {
		return true, nil
	}
	return r.program.holds(v)
}

func (r *rule) meetsSkill(c *Call) bool {
	if !c.Method.Sends() {
		return r.Allow
	}
	return slices.Contains(r.Skills, c.Skill)
}

var errNotBool = errors.New("expression is neither true nor false")
