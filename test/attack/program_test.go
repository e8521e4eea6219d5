// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"os"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/programs"
)

func TestMain(m *testing.M) { os.Exit(programs.Built(m, "cmd/sidecar", "cmd/manager").Run()) }

// TestKillIsCounted checks the checker: the kernel kills a program that needs more than the limit, and Kills counts it.
func TestKillIsCounted(t *testing.T) {
	c := NewCgroup(t, 16<<20)
	if out, err := c.Command("/bin/sh", "-c", "x=x; while :; do x=$x$x; done").CombinedOutput(); err == nil || c.Kills() != 1 {
		t.Errorf("a program without end: %v, %d kills, peak %d bytes: %s", err, c.Kills(), c.Peak(), out)
	}
}
