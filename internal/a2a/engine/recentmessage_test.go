// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// remembered returns the number of remembered turns of each task. It fails the test if an
// entry, or a link between the entries of a task, is wrong.
func remembered(t *testing.T, d *deduplication) map[store.Key]int {
	t.Helper()
	counts, linked := map[store.Key]int{}, map[*recentMessage]bool{}
	for k, newest := range d.tasks {
		if newest.newer != nil {
			t.Fatalf("task %s: the first entry is not the newest", k.TaskID)
		}
		for m := newest; m != nil; m = m.older {
			if m.task != k || m.turn == nil || d.turns[m.key] != m || m.older != nil && m.older.newer != m {
				t.Fatalf("task %s has a wrong entry %+v", k.TaskID, m)
			}
			linked[m] = true
			counts[k]++
		}
	}
	for _, m := range d.turns {
		if m.task != (store.Key{}) && !linked[m] {
			t.Fatalf("entry %+v is not linked to its task", m)
		}
	}
	return counts
}

func TestForgottenTasksLeaveNoEntry(t *testing.T) {
	const limit = 12
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, seed))
		d := newDeduplication(func() time.Duration { return time.Minute }, time.Now, limit, 16<<20, false)
		var turns []*turn
		for i := range 500 {
			k := store.Key{Owner: "owner", TaskID: strconv.Itoa(random.IntN(4))}
			switch random.IntN(5) {
			case 0:
				d.forgetTask(k)
				if n := remembered(t, d)[k]; n != 0 {
					t.Fatalf("seed %d: %d turns of a forgotten task are remembered", seed, n)
				}
			case 1:
				if len(turns) > 0 {
					d.forget(turns[random.IntN(len(turns))])
				}
			default:
				r := &a2a.SendRequest{Owner: "owner", Message: &a2a.Message{ID: strconv.Itoa(i), TaskID: k.TaskID}}
				tn, joined := d.findOrAdd(r, time.Now())
				if joined {
					t.Fatalf("seed %d: a new message joins a turn", seed)
				}
				turns = append(turns, tn)
				if random.IntN(4) > 0 {
					d.began(tn, k)
				}
				tn.stop()
			}
			total := 0
			for _, n := range remembered(t, d) {
				total += n
			}
			if total > limit {
				t.Fatalf("seed %d: %d turns are remembered, want at most %d", seed, total, limit)
			}
		}
		d.forgetAll()
		if len(d.tasks) != 0 || len(d.turns) != 0 || d.ended.bytes != 0 || len(d.shares) != 0 {
			t.Fatalf("seed %d: %d tasks, %d turns and %d bytes are left", seed, len(d.tasks), len(d.turns), d.ended.bytes)
		}
	}
}
