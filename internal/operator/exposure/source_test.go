// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	dto "github.com/prometheus/client_model/go"

	"github.com/a2a-operator/a2a-operator/internal/operator/polledfile"
)

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSourceFollowsItsFile checks that a lost or damaged file changes nothing, and that each failure is logged once.
func TestSourceFollowsItsFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "exposure.yaml")
		write(t, file, "allowed: []")
		var failures atomic.Int32
		log := funcr.New(func(_, args string) {
			if strings.Contains(args, "refused") {
				failures.Add(1)
			}
		}, funcr.Options{})
		source, err := NewSource(file, log)
		if err != nil || source.NeedLeaderElection() {
			t.Fatalf("New() = %v, %v", source, err)
		}
		<-source.Changes()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = source.Start(ctx) }()
		const rule = "allowed: [{namespaces: [team], hostnames: [a.example]}]"
		for _, step := range []struct {
			change           func()
			allowed, refused int
			changed          bool
			failures         int32
		}{
			{change: func() {}},
			{change: func() { write(t, file, rule) }, allowed: 1, changed: true},
			{change: func() {}, allowed: 1},
			{change: func() { write(t, file, rule+"]") }, allowed: 1, refused: 1, failures: 1},
			{change: func() { write(t, file, strings.Repeat(" ", maxFile+1)) }, allowed: 1, refused: 1, failures: 2},
			{change: func() { _ = os.Remove(file) }, allowed: 1, refused: 1, failures: 3},
			{change: func() { write(t, file, rule) }, allowed: 1, failures: 3},
			{change: func() { write(t, file, "") }, changed: true, failures: 3},
		} {
			step.change()
			time.Sleep(3 * polledfile.Interval)
			synctest.Wait()
			changed := false
			select {
			case <-source.Changes():
				changed = true
			default:
			}
			var metric dto.Metric
			if err := refused.Write(&metric); err != nil {
				t.Fatal(err)
			}
			allowed := len(source.Current().For("team", nil))
			if allowed != step.allowed || changed != step.changed || int(metric.GetGauge().GetValue()) != step.refused || failures.Load() != step.failures {
				t.Errorf("%d allowed, changed %t, refused %v, %d failures, want %+v", allowed, changed, metric.GetGauge().GetValue(), failures.Load(), step)
			}
		}
	})
}

// TestUnusableFileAtTheStartIsAnError checks that the manager does not start with rules that it does not know, because
// it would delete all routes.
func TestUnusableFileAtTheStartIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "exposure.yaml")
	if _, err := NewSource(file, logr.Discard()); err == nil {
		t.Error("a missing file is no error")
	}
	write(t, file, "allowed: [{namespaces: [team]}]")
	if _, err := NewSource(file, logr.Discard()); err == nil || !strings.Contains(err.Error(), "allowed[0].hostnames is empty") {
		t.Errorf("a rule without hostnames: %v", err)
	}
	var none *Source
	if none.Current() != nil || none.Changes() == nil {
		t.Error("a nil Source has rules")
	}
}
