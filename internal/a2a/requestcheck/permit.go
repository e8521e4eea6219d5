// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package requestcheck

import (
	"context"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// errForbidden answers whatever a caller may not do, and whatever there is not:
// the two cannot be told apart.
var errForbidden = &a2a.Error{
	Reason:  a2a.ReasonPermissionDenied,
	Message: "Forbidden: this call is not allowed to you, or names a skill that there is not",
}

// enter puts a call into the scope of its tenant and asks the caller's rules.
func (h *Handler) enter(ctx context.Context, method a2a.Method, owner *a2a.Owner, tenant string) error {
	if err := scope(owner, tenant); err != nil {
		return err
	}
	if caller := ruled(ctx); caller != nil && !h.allows(ctx, caller, method, "", tenant) {
		return errForbidden
	}
	return nil
}

// enterWith is enter for a message. A push configuration that comes along is
// judged as if it came alone.
func (h *Handler) enterWith(ctx context.Context, method a2a.Method, r *a2a.SendRequest) error {
	if err := scope(&r.Owner, r.Tenant); err != nil {
		return err
	}
	caller := ruled(ctx)
	if caller == nil {
		return nil
	}
	skill, err := r.Skill()
	if err != nil {
		return err
	}
	if !h.allows(ctx, caller, method, skill, r.Tenant) || skill != "" && !h.has(skill) {
		return errForbidden
	}
	if r.Push != nil && !h.allows(ctx, caller, a2a.MethodCreatePushConfig, "", r.Tenant) {
		return errForbidden
	}
	return nil
}

// ExtendedCard returns an error for a caller that may not have it, and
// otherwise which skills stand on the caller's: those that it may send a
// message for, in one way or the other. Nil is all of them.
func (h *Handler) ExtendedCard(ctx context.Context, tenant string) (func(*card.Skill) bool, error) {
	caller := ruled(ctx)
	if caller == nil {
		return nil, nil
	}
	if !h.allows(ctx, caller, a2a.MethodGetExtendedCard, "", tenant) {
		return nil, errForbidden
	}
	return func(s *card.Skill) bool {
		return caller.May(a2a.MethodSendMessage, s.ID, tenant) == nil ||
			caller.May(a2a.MethodSendStreamingMessage, s.ID, tenant) == nil
	}, nil
}

// ruled returns the caller when there are rules for it. Whoever lets calls in
// without one has none.
func ruled(ctx context.Context) *auth.Caller {
	caller, _ := auth.CallerFrom(ctx)
	if caller.Rules == nil {
		return nil
	}
	return &caller
}

func (h *Handler) allows(ctx context.Context, caller *auth.Caller, method a2a.Method, skill, tenant string) bool {
	refusal := caller.May(method, skill, tenant)
	if refusal != nil && h.Refused != nil {
		h.Refused(ctx, refusal)
	}
	return refusal == nil
}

func (h *Handler) has(skill string) bool {
	return slices.ContainsFunc(h.Card().Skills, func(s card.Skill) bool { return s.ID == skill })
}
