// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gctuning

import (
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestGOGCFollowsTheLiveHeap(t *testing.T) {
	tuner := New(Sidecar)
	for _, step := range []struct {
		live uint64
		want int
	}{
		{0, 400}, {3 << 20, 400}, {6 << 20, 200}, {7 << 20, 200}, {20 << 20, 100}, {1 << 30, 100}, {2 << 20, 400},
	} {
		if tuner.percent = tuner.nextPercent(step.live); tuner.percent != step.want {
			t.Errorf("live heap of %d MiB: %d %%, want %d", step.live>>20, tuner.percent, step.want)
		}
	}
}

// process is a fake process with the memory usage that a test sets.
type process struct {
	mu       sync.Mutex
	now      usage
	released int
	reads    int
}

func (p *process) usage() usage {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	return p.now
}

func (p *process) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released++
	p.now.held = p.now.live
}

func TestIdleProcessReturnsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p process
		tuner := New(Sidecar)
		tuner.Working() // Working may be called before Own
		tuner.start(p.usage, p.release)
		defer tuner.Stop()
		for _, step := range []struct {
			what                  string
			allocates, live, held uint64
			want                  int
		}{
			{"working", Sidecar.IdleAllocation, 16 << 20, 64 << 20, 0},
			{"idle", Sidecar.IdleAllocation - 1, 16 << 20, 64 << 20, 1},
			{"little to return", 0, 2 << 20, 3 << 20, 1},
			{"enough to return", 0, 2 << 20, 3<<20 + 1, 2},
			{"too little of a large heap", 0, 256 << 20, 320 << 20, 2},
			{"enough of a large heap", 0, 256 << 20, 321 << 20, 3},
		} {
			p.mu.Lock()
			p.now.allocated += step.allocates
			p.now.live, p.now.held = step.live, step.held
			p.mu.Unlock()
			tuner.Working()
			tuner.Working()
			time.Sleep(IdleAfter)
			synctest.Wait()
			if p.released != step.want {
				t.Errorf("%s: memory returned %d times, want %d", step.what, p.released, step.want)
			}
		}
		p.reads = 0
		time.Sleep(time.Hour)
		synctest.Wait()
		if p.reads != 0 {
			t.Errorf("%d reads while idle", p.reads)
		}
	})
}

func TestStoppedTunerReturnsNoMemory(t *testing.T) {
	for _, idle := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := process{now: usage{live: 16 << 20, held: 16 << 20}}
			tuner := New(Sidecar)
			tuner.start(p.usage, p.release)
			if idle {
				time.Sleep(IdleAfter)
				synctest.Wait()
			}
			tuner.Stop()
			p.mu.Lock()
			p.now.held, p.reads = 64<<20, 0
			p.mu.Unlock()
			for range 3 {
				tuner.Working()
				time.Sleep(IdleAfter)
				synctest.Wait()
			}
			if p.released != 0 || p.reads != 0 {
				t.Errorf("stopped while idle %t: %d reads, memory returned %d times, want none", idle, p.reads, p.released)
			}
		})
	}
}

func TestOwnDoesNotOverrideGOGC(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := debug.SetGCPercent(50)
	defer debug.SetGCPercent(before)
	tuner := New(Sidecar)
	tuner.Own()
	tuner.Working()
	tuner.Stop()
	if got := debug.SetGCPercent(50); got != 50 || tuner.timer != nil {
		t.Errorf("GC percent %d with GOGC=50, timer %v", got, tuner.timer)
	}
}

// The test runs in a process of its own, because the garbage collector belongs to the
// process.
func TestOwnReturnsGarbageToTheSystemAtIdle(t *testing.T) {
	if os.Getenv("HEAP_OWN") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), "HEAP_OWN=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	tuner := New(Sidecar)
	tuner.Own()
	defer tuner.Stop()
	for range 64 {
		garbage = make([]byte, 1<<20)
	}
	garbage = nil
	// Only the Tuner forces a collection in this process.
	forced := []metrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
	for metrics.Read(forced); forced[0].Value.Uint64() == 0; metrics.Read(forced) {
		time.Sleep(10 * time.Millisecond)
	}
	// The runtime counts a forced collection before it returns the memory, so wait.
	for began := time.Now(); readUsage().held > 8<<20; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%+v held while idle", readUsage())
		}
	}
	if got := debug.SetGCPercent(100); got != Sidecar.MaxPercent {
		t.Errorf("GC percent %d beside a small heap, want %d", got, Sidecar.MaxPercent)
	}
}

// garbage is a variable of the package, so that the compiler does not remove the
// allocations.
var garbage []byte
