// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// pushingFleet returns a fleet that may push to a receiver.
func pushingFleet(t *testing.T) (*fleet, *receiver) {
	t.Helper()
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
	return f, receiver
}

// TestAMessageOverAnotherBindingIsTheSameMessage sends a message again over another binding and version, as a client that has lost the answer may do.
func TestAMessageOverAnotherBindingIsTheSameMessage(t *testing.T) {
	f, receiver := pushingFleet(t)
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

// TestPushConfigurationsOfEachBinding adds, reads and deletes a push configuration over each binding.
func TestPushConfigurationsOfEachBinding(t *testing.T) {
	f, receiver := pushingFleet(t)
	says := script.Script{Token: "pushing", Turn: 1, Turns: 1, Chunks: 3, Size: 30}
	task, err := callers[0].send(t.Context(), f.sidecars[0].address, says.String(), says.Token, "conversation", receiver.url)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range callers {
		for range 2 { // a repeated request changes nothing
			if err := c.addWebhook(t.Context(), f.sidecars[0].address, task.ID, "second", receiver.url+"second"); err != nil {
				t.Errorf("%T: %v", c, err)
			}
		}
		for _, reader := range callers {
			webhooks, err := reader.webhooks(t.Context(), f.sidecars[0].address, task.ID)
			slices.Sort(webhooks)
			if want := []string{receiver.url, receiver.url + "second"}; err != nil || !slices.Equal(webhooks, want) {
				t.Errorf("%T: the task has the webhooks %q, want %q: %v", c, webhooks, want, err)
			}
		}
		for range 2 {
			if err := c.removeWebhook(t.Context(), f.sidecars[0].address, task.ID, "second"); err != nil {
				t.Errorf("%T: %v", c, err)
			}
		}
		webhooks, err := c.webhooks(t.Context(), f.sidecars[0].address, task.ID)
		if err != nil || len(webhooks) != 1 {
			t.Errorf("%T: the task has the webhooks %q after the deletion: %v", c, webhooks, err)
		}
	}
}
