// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// standaloneOptions returns the options of a standalone sidecar that may connect to loopback.
func standaloneOptions(t *testing.T) *settings.Options {
	t.Helper()
	agent := httptest.NewServer(http.HandlerFunc(sidecartest.TextAgent))
	t.Cleanup(agent.Close)
	card := filepath.Join(t.TempDir(), "card.yaml")
	if err := os.WriteFile(card, []byte("displayName: Echo\ndescription: Echoes\nversion: \"1\"\nskills: [{id: s, name: S, description: d, tags: [t]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &settings.Options{
		BackendURL: agent.URL, CardFile: card, Anonymous: true, Listen: "127.0.0.1:0", AllowedPushTargets: []string{"127.0.0.0/8"},
	}
}

// startStandalone runs a standalone sidecar until the test ends, and returns its URL.
func startStandalone(t *testing.T) string {
	t.Helper()
	s, err := sidecar.Open(t.Context(), standaloneOptions(t), slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve() error = %v", err)
		}
	})
	return "http://" + s.Addresses().Agent
}

func TestMalformedVariableIsRefusedAtStart(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	_, err := sidecar.Open(t.Context(), standaloneOptions(t), slog.New(slog.DiscardHandler), time.Now)
	if err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_PROTOCOL") || !strings.Contains(err.Error(), "must be http/protobuf") {
		t.Errorf("Open() error = %v, want one that names the variable and the cure", err)
	}
}
