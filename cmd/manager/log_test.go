// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
)

// TestEveryLineOfTheLogIsJSON checks that the manager, controller-runtime, client-go and the standard logger write JSON
// with the same keys.
func TestEveryLineOfTheLogIsJSON(t *testing.T) {
	former := slog.Default()
	t.Cleanup(func() { slog.SetDefault(former); klog.ClearLogger() })
	var out bytes.Buffer
	log := newLog(&out, slog.LevelInfo)
	failure := errors.New("refused")
	log.WithName("registry").Error(failure, "failed to read an agent", "name", "echo")
	klog.ErrorS(failure, "Failed to watch", "kind", "Pod")
	klog.Infof("lease %s", "lost")
	slog.Warn("from a library")
	log.V(1).Info("not logged")
	want := []map[string]any{
		{"level": "ERROR", "msg": "failed to read an agent", "logger": "registry", "name": "echo", "error": "refused"},
		{"level": "ERROR", "msg": "Failed to watch", "kind": "Pod", "error": "refused"},
		{"level": "INFO", "msg": "lease lost"},
		{"level": "WARN", "msg": "from a library"},
	}
	var got []map[string]any
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var line map[string]any
		if err := decoder.Decode(&line); err != nil {
			t.Fatalf("the log is not JSON: %v", err)
		}
		delete(line, "time")
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
