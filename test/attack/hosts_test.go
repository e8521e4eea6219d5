// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestWebhooksOfACaller registers webhooks at addresses that no policy may allow.
func TestWebhooksOfACaller(t *testing.T) {
	// In a pod, the environment has the addresses of the API server and of the node.
	t.Setenv(sidecarconfig.APIServerVariable, "198.51.100.1")
	t.Setenv(sidecarconfig.HostAddressesVariable, "198.51.100.2,fd00:1::2")
	s := startSidecar(t, echo, func(c *sidecarconfig.Config) {
		c.PushNotifications = &sidecarconfig.PushNotifications{AllowedTargets: []sidecarconfig.PushTarget{{Host: "*"}, {CIDR: "0.0.0.0/0"}, {CIDR: "::/0"}}}
	})
	s.awaitReady(t)
	for _, address := range append(forbidden(t), "https://198.51.100.1/", "https://198.51.100.2:10250/", "https://[fd00:1::2]:10250/") {
		body := strings.Replace(fmt.Sprintf(message, rand.Text(), "Hello"), `"configuration":{`, fmt.Sprintf(`"configuration":{"pushNotificationConfig":{"url":%q},`, address), 1)
		if status, answer := s.post(t.Context(), body); !strings.Contains(answer, `"error"`) {
			t.Errorf("%s is registered as a webhook: %d %.300s", address, status, answer)
		}
	}
}

// TestForeignHosts sends requests that a browser sends for a web page after DNS rebinding.
func TestForeignHosts(t *testing.T) {
	s := startSidecar(t, echo, nil)
	s.awaitReady(t)
	body := fmt.Sprintf(message, rand.Text(), "Hello")
	if status, answer := s.post(t.Context(), body, "Host", "attacker.example", "Origin", "http://attacker.example"); status != http.StatusForbidden {
		t.Errorf("a request of a page of attacker.example: %d %.200s", status, answer)
	}
}
