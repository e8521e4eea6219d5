// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package security attacks a whole sidecar on real sockets. Each test says how
// many attempts it made. Hostile tokens are tested where they are judged, in
// internal/a2a/auth (TestJWTRefuses, TestKubernetesRefuses).
package security

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
