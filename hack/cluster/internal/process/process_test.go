// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStartTime(t *testing.T) {
	fields := strings.Repeat("0 ", 18) + "4711 0 0"
	for name, c := range map[string]struct {
		stat    string
		want    uint64
		wantErr bool
	}{
		"plain":                    {stat: "1 (etcd) S " + fields, want: 4711},
		"parentheses in the name":  {stat: "1 (a) b) (c) S " + fields, want: 4711},
		"a zombie counts as ended": {stat: "1 (etcd) Z " + fields, wantErr: true},
		"too short":                {stat: "1 (etcd) S 0 0", wantErr: true},
		"no name":                  {stat: "", wantErr: true},
	} {
		got, err := startTime([]byte(c.stat))
		if got != c.want || (err != nil) != c.wantErr {
			t.Errorf("%s: startTime = %d, %v", name, got, err)
		}
	}
}

func TestDaemonStartsAndStops(t *testing.T) {
	mark := t.TempDir()
	daemon := Daemon{Path: "/bin/sh", Args: []string{"-c", "trap '' TERM; echo started; while :; do sleep 0.1; done"}, Log: filepath.Join(mark, "logs", "sh.log"), Mark: mark}
	identity, err := Start(daemon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = identity.Stop(t.Context(), 0) })
	if !identity.Alive() {
		t.Fatal("the daemon is not alive after its start")
	}
	marked, err := Marked(mark)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(marked, identity) {
		t.Errorf("Marked = %v, want %v among them", marked, identity)
	}
	awaitLog(t, daemon.Log, "started")

	// A process with the same id and another start time or boot is a different process, and must not receive a signal.
	for _, other := range []Identity{
		{PID: identity.PID, Start: identity.Start + 1, Boot: identity.Boot},
		{PID: identity.PID, Start: identity.Start, Boot: "another"},
		{},
	} {
		if other.Alive() {
			t.Errorf("%v is taken for %v", other, identity)
		}
		if err := other.Stop(t.Context(), 0); err != nil {
			t.Errorf("Stop of a process that ended: %v", err)
		}
	}
	if !identity.Alive() {
		t.Fatal("stopping a recycled id stopped the daemon")
	}

	// The process ignores SIGTERM, and is killed after the grace period.
	if err := identity.Stop(t.Context(), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if identity.Alive() {
		t.Error("the daemon is alive after it was stopped")
	}
}

func TestStartOfMissingProgram(t *testing.T) {
	if _, err := Start(Daemon{Path: "/nonexistent", Log: filepath.Join(t.TempDir(), "log")}); err == nil {
		t.Error("a program that does not exist was started")
	}
}

func awaitLog(t *testing.T, path, text string) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for time.Now().Before(deadline) {
		if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not contain %q", path, text)
}
