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

var policy = Policy{
	Room: 12 << 20, LeastPercent: 100, MostPercent: 400,
	Quiet: 256 << 10, Worthwhile: 1 << 20, Parts: 4,
}

func TestPaceOfTheCollector(t *testing.T) {
	p := &pacer{policy: policy, percent: policy.MostPercent}
	for _, step := range []struct {
		live uint64
		want int // 0: as it is
	}{
		{0, 0}, {3 << 20, 0}, {6 << 20, 200}, {7 << 20, 0}, {20 << 20, 100}, {1 << 30, 0}, {2 << 20, 400},
	} {
		if got := p.next(step.live); got != step.want {
			t.Errorf("%d MiB in use: %d %%, want %d", step.live>>20, got, step.want)
		}
	}
}

// process is one whose memory a test sets.
type process struct {
	mu    sync.Mutex
	now   use
	freed int
	looks int
}

func (p *process) use() use {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks++
	return p.now
}

func (p *process) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freed++
	p.now.held = p.now.live
}

func TestRestingProcessGivesMemoryBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p process
		k := New(policy)
		k.Working() // before there is a timer
		k.start(p.use, p.free)
		defer k.Stop()
		for _, step := range []struct {
			what                  string
			allocates, live, held uint64
			want                  int
		}{
			{"at work", policy.Quiet, 16 << 20, 64 << 20, 0},
			{"at rest", policy.Quiet - 1, 16 << 20, 64 << 20, 1},
			{"little to give back", 0, 2 << 20, 3 << 20, 1},
			{"something to give back", 0, 2 << 20, 3<<20 + 1, 2},
			{"too little of a large heap", 0, 256 << 20, 320 << 20, 2},
			{"enough of a large heap", 0, 256 << 20, 321 << 20, 3},
		} {
			p.mu.Lock()
			p.now.allocated += step.allocates
			p.now.live, p.now.held = step.live, step.held
			p.mu.Unlock()
			k.Working()
			k.Working()
			time.Sleep(RestAfter)
			synctest.Wait()
			if p.freed != step.want {
				t.Errorf("%s: given back %d times, want %d", step.what, p.freed, step.want)
			}
		}
		p.looks = 0
		time.Sleep(time.Hour)
		synctest.Wait()
		if p.looks != 0 {
			t.Errorf("looked %d times at rest", p.looks)
		}
	})
}

// TestOwn runs in a process of its own, since the collector is the process's:
// what was garbage is given back without anybody's word of work.
func TestOwn(t *testing.T) {
	if os.Getenv("HEAP_OWN") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOwn$", "-test.v")
		cmd.Env = append(os.Environ(), "HEAP_OWN=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	k := New(policy)
	k.Own()
	defer k.Stop()
	for range 64 {
		garbage = make([]byte, 1<<20)
	}
	garbage = nil
	// Nothing else here forces a collection.
	forced := []metrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
	for metrics.Read(forced); forced[0].Value.Uint64() == 0; metrics.Read(forced) {
		time.Sleep(10 * time.Millisecond)
	}
	if now := readUse(); now.held > 8<<20 {
		t.Errorf("%+v held at rest", now)
	}
	if got := debug.SetGCPercent(100); got != policy.MostPercent {
		t.Errorf("GC percent %d beside a small heap, want %d", got, policy.MostPercent)
	}
}

// garbage keeps the compiler from leaving it out.
var garbage []byte
