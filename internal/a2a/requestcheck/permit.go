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

// errForbidden is the error for a denied request. A message to a skill that does not exist
// gets the same error, so that a caller cannot find out which skills exist.
var errForbidden = &a2a.Error{
	Reason:  a2a.ReasonPermissionDenied,
	Message: "Forbidden: you may not make this call, or the skill that it names does not exist",
}

// check scopes the owner of a request to its tenant, and checks the caller against the
// authorization rules.
func (h *Handler) check(ctx context.Context, method a2a.Method, owner *a2a.Owner, tenant string) error {
	if err := scope(owner, tenant); err != nil {
		return err
	}
	if caller := ruledCaller(ctx); caller != nil && !h.allows(ctx, caller, method, "", tenant) {
		return errForbidden
	}
	return nil
}

// checkSend checks a message, like check. If the message has a push configuration, the
// caller also needs the permission to create one.
func (h *Handler) checkSend(ctx context.Context, method a2a.Method, r *a2a.SendRequest) error {
	if err := scope(&r.Owner, r.Tenant); err != nil {
		return err
	}
	caller := ruledCaller(ctx)
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

// ExtendedCard returns a function that selects the skills on the extended card of a caller:
// the skills to which it may send a message, with or without streaming. A nil function
// selects all skills. ExtendedCard returns an error if the caller may not read the card.
func (h *Handler) ExtendedCard(ctx context.Context, tenant string) (func(*card.Skill) bool, error) {
	caller := ruledCaller(ctx)
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

// ruledCaller returns the caller if rules apply to it, and nil otherwise. No rules apply to
// a context without an authenticated caller.
func ruledCaller(ctx context.Context) *auth.Caller {
	caller, _ := auth.CallerFrom(ctx)
	if caller.Rules == nil {
		return nil
	}
	return &caller
}

func (h *Handler) allows(ctx context.Context, caller *auth.Caller, method a2a.Method, skill, tenant string) bool {
	refusal := caller.May(method, skill, tenant)
	if refusal != nil && h.Refused != nil {
		h.Refused(ctx, method, refusal)
	}
	return refusal == nil
}

func (h *Handler) has(skill string) bool {
	return slices.ContainsFunc(h.Card().Skills, func(s card.Skill) bool { return s.ID == skill })
}
