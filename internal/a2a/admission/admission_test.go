// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// TestWhatIsOffAnswersItsError reaches no engine: there is none.
func TestWhatIsOffAnswersItsError(t *testing.T) {
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
