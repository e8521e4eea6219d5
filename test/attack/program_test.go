// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"flag"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/programs"
)

// full selects the long form: each attack alone, with all its connections.
var full = os.Getenv("ATTACK") == "full"

// lasts is how long an attack lasts when all its connections are there.
var lasts = 1500 * time.Millisecond

func init() {
	if full {
		lasts = 6 * time.Second
	}
}

// besideOthers runs a test at the same time as others in the short form. It is for tests that mostly wait, and do not fill listeners with
// connections. The long form measures latencies, so its tests run one after the other.
func besideOthers(t *testing.T) {
	t.Helper()
	if !full {
		t.Parallel()
	}
}

func TestMain(m *testing.M) {
	raiseFiles()
	if beAttacker() {
		return
	}
	if raceEnabled {
		fmt.Println("SKIPPED: the attacked programs have no race detector, and with one in the attacker they wait for it; make test runs this package without")
		return
	}
	if !full {
		// Most of these tests wait, also on a machine with two processors.
		_ = flag.Set("test.parallel", "4")
	}
	os.Exit(programs.Built(tests{m}, "cmd/sidecar", "cmd/manager", "cmd/kubectl-a2a").Run())
}

// raiseFiles raises the limit of file descriptors as far as possible, also for the programs that this process starts.
func raiseFiles() {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	if err == nil {
		limit.Cur = limit.Max
		err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
	if err != nil {
		panic(err)
	}
}

// tests runs the tests of this package, then stops the control plane and writes the report.
type tests struct{ m *testing.M }

func (t tests) Run() int {
	code := t.m.Run()
	stopCluster()
	if err := writeReport(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// TestKillIsCounted checks the checker: the kernel kills a program that needs more than the limit, and Kills counts it.
func TestKillIsCounted(t *testing.T) {
	c := NewCgroup(t, 16<<20)
	if out, err := c.Command("/bin/sh", "-c", "x=x; while :; do x=$x$x; done").CombinedOutput(); err == nil || c.Kills() != 1 {
		t.Errorf("a program without end: %v, %d kills, peak %d bytes: %s", err, c.Kills(), c.Peak(), out)
	}
}
