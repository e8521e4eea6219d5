// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package requestcheck

import (
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// TestDisabledCapabilitiesAreRejected checks that a request for a capability that the card
// does not declare gets an error. The Handler has no engine, so a request that passes the
// checks panics.
func TestDisabledCapabilitiesAreRejected(t *testing.T) {
	h := &Handler{Card: func() *card.Card { return &card.Card{} }}
	message := &a2a.SendRequest{Message: &a2a.Message{}}
	pushing := &a2a.SendRequest{Message: &a2a.Message{}, Push: &a2a.PushConfig{}}
	tests := map[string]struct {
		call func() error
		want a2a.Reason
	}{
		"stream":      {func() error { _, err := h.Stream(t.Context(), message); return err }, a2a.ReasonUnsupportedOperation},
		"subscribe":   {func() error { _, err := h.Subscribe(t.Context(), &a2a.SubscribeRequest{}); return err }, a2a.ReasonUnsupportedOperation},
		"send push":   {func() error { _, err := h.Send(t.Context(), pushing); return err }, a2a.ReasonPushNotSupported},
		"set push":    {func() error { _, err := h.SetPush(t.Context(), &a2a.SetPushRequest{}); return err }, a2a.ReasonPushNotSupported},
		"get push":    {func() error { _, err := h.GetPush(t.Context(), &a2a.PushRequest{}); return err }, a2a.ReasonPushNotSupported},
		"list push":   {func() error { _, err := h.ListPush(t.Context(), &a2a.ListPushRequest{}); return err }, a2a.ReasonPushNotSupported},
		"delete push": {func() error { return h.DeletePush(t.Context(), &a2a.PushRequest{}) }, a2a.ReasonPushNotSupported},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := test.call(); err == nil || a2a.ErrorOf(err).Reason != test.want {
				t.Errorf("error = %v, want %s", err, test.want)
			}
		})
	}
}

// TestWire09_NoBindingAcceptsAReservedTenant checks that every operation refuses invalid
// and reserved tenants. The Handler has no engine, so a request that passes the checks
// panics.
func TestWire09_NoBindingAcceptsAReservedTenant(t *testing.T) {
	declared := &card.Card{Capabilities: card.Capabilities{Streaming: true, PushNotifications: true}}
	h := &Handler{Card: func() *card.Card { return declared }, Push: unreachable{}}
	message := &a2a.Message{}
	for _, tenant := range []string{"v1", ".well-known", ".", "..", "a/b", `a\b`, "a\x00b", "\xff", strings.Repeat("x", 257)} {
		for name, call := range map[string]func() error{
			"send": func() error {
				_, err := h.Send(t.Context(), &a2a.SendRequest{Message: message, Tenant: tenant})
				return err
			},
			"stream": func() error {
				_, err := h.Stream(t.Context(), &a2a.SendRequest{Message: message, Tenant: tenant})
				return err
			},
			"get":         func() error { _, err := h.Get(t.Context(), &a2a.GetRequest{Tenant: tenant}); return err },
			"list":        func() error { _, err := h.List(t.Context(), &a2a.ListRequest{Tenant: tenant}); return err },
			"cancel":      func() error { _, err := h.Cancel(t.Context(), &a2a.CancelRequest{Tenant: tenant}); return err },
			"subscribe":   func() error { _, err := h.Subscribe(t.Context(), &a2a.SubscribeRequest{Tenant: tenant}); return err },
			"set push":    func() error { _, err := h.SetPush(t.Context(), &a2a.SetPushRequest{Tenant: tenant}); return err },
			"get push":    func() error { _, err := h.GetPush(t.Context(), &a2a.PushRequest{Tenant: tenant}); return err },
			"list push":   func() error { _, err := h.ListPush(t.Context(), &a2a.ListPushRequest{Tenant: tenant}); return err },
			"delete push": func() error { return h.DeletePush(t.Context(), &a2a.PushRequest{Tenant: tenant}) },
		} {
			if problem := a2a.ErrorOf(call()); problem.Reason != a2a.ReasonInvalidParams || problem.Field != "tenant" {
				t.Errorf("%s for tenant %q: %v, want the tenant refused", name, tenant, problem)
			}
		}
	}
}

// unreachable is a PushHandler whose methods panic.
type unreachable struct{ a2a.PushHandler }
