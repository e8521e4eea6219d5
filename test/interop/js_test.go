// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// jsClients are the clients of npm packages. The strings are arguments of js/driver.mjs.
var jsClients = []struct{ client, protocol, binding string }{
	{"@a2a-js/sdk 1.3.0", "1.0", "JSON-RPC"},
	{"@a2a-js/sdk 1.3.0", "1.0", "REST"},
	{"@a2a-js/sdk 1.3.0", "1.0", "gRPC"},
	{"@a2a-js/sdk 1.3.0", "0.3", "JSON-RPC"},
	{"@a2a-js/sdk 1.3.0", "0.3", "REST"},
	{"@a2a-js/sdk 1.3.0", "0.3", "gRPC"},
	{"@a2a-js/sdk 0.3.14", "0.3", "JSON-RPC"},
	{"@a2a-js/sdk 0.3.14", "0.3", "REST"},
	{"@a2a-js/sdk 0.3.14", "0.3", "gRPC"},
}

// node installs the packages of the driver, once, and returns the path of node.
var node = sync.OnceValues(func() (string, error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return "", errors.New("node is not installed")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("npm is not installed")
	}
	lock, err := os.ReadFile(filepath.Join("js", "package-lock.json"))
	if err != nil {
		return "", err
	}
	// installed is a copy of the lockfile of the last complete installation.
	installed := filepath.Join("js", "node_modules", ".installed-lock.json")
	if last, err := os.ReadFile(installed); err == nil && bytes.Equal(last, lock) {
		return path, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = "js"
	if out, err := install.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return "", errors.New("npm ci failed: " + lines[0])
	}
	return path, os.WriteFile(installed, lock, 0o644)
})

// playJS has the driver play the scenario with one client.
func playJS(t *testing.T, r *row) {
	t.Helper()
	program, err := node()
	if err != nil {
		t.Skipf("the JavaScript client does not run: %v", err)
	}
	s := newScenario(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	driver := exec.CommandContext(ctx, program, "driver.mjs", r.Client, r.Protocol, r.Binding, s.url, s.control, sidecartest.Webhook)
	driver.Env = append(os.Environ(), "TOKEN="+s.token)
	driver.Dir = "js"
	out, err := driver.Output()
	if err != nil {
		t.Errorf("driver: %v", err)
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Logf("%s", exit.Stderr)
		}
	}
	reports := map[string]report{}
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for lines.Scan() {
		var one report
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("driver wrote %q: %v", lines.Text(), err)
		}
		reports[one.Operation] = one
	}
	r.take(t, reports)
}
