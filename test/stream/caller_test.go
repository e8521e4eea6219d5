// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// TestAMessageOverAnotherBindingIsTheSameMessage sends a message again over another binding and version, as a client that has lost the answer may do.
func TestAMessageOverAnotherBindingIsTheSameMessage(t *testing.T) {
	receiver, err := newReceiver(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(receiver.stop)
	s := &settings{dir: programs, store: memory, dialects: client.Dialects, progress: t.Output()}
	f, stop, err := s.fleet(t.Context(), fleetOptions{grace: time.Second, change: func(c *sidecarconfig.Config) {
		c.PushNotifications = &sidecarconfig.PushNotifications{AllowedTargets: []sidecarconfig.PushTarget{{CIDR: receiver.cidr}}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	says := script.Script{Token: "again", Turn: 1, Turns: 1, Chunks: 3, Size: 30}
	first := ""
	for _, c := range callers {
		found, err := c.send(t.Context(), f.sidecars[0].address, says.String(), says.Token, "conversation", receiver.url)
		if err != nil {
			t.Fatalf("%T: %v", c, err)
		}
		if first == "" {
			first = found.ID
		}
		if found.ID != first {
			t.Errorf("%T: the task is %s, and that of the first message is %s", c, found.ID, first)
		}
		webhooks, err := c.webhooks(t.Context(), f.sidecars[0].address, first)
		if err != nil || len(webhooks) != 1 || webhooks[0] != receiver.url {
			t.Errorf("%T: the task has the webhooks %q: %v", c, webhooks, err)
		}
	}
}
