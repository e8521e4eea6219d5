// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package security attacks a whole sidecar on real sockets. Each test logs the number of its attempts. The tests of
// internal/a2a/auth attack with hostile tokens; this package runs these tests, to count their tokens.
package security

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/test/programs"
)

func TestMain(m *testing.M) {
	// Export spans every 50 ms instead of every 5 s, so that the tests do not wait.
	if err := os.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(programs.Built(m, "cmd/sidecar"))
}

func TestHostileTokensAreRefused(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-v", "-run", "^(TestJWTRefuses|TestKubernetesRefuses)$", "../../internal/a2a/auth")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	refused := bytes.Count(text, []byte("    --- PASS: "))
	if refused < 60 {
		t.Errorf("only %d tokens: %s", refused, text)
	}
	t.Logf("T-JWT: %d hostile tokens refused", refused)
}
