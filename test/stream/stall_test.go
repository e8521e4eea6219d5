// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// TestLateReaders tests the findings of check and checkLate about 20 readers that did not stall on purpose. In some cases, the
// sidecar disconnected some of them as slow consumers.
func TestLateReaders(t *testing.T) {
	t.Parallel()
	const behind = slowAfter + time.Second
	early := []string{"healthy readers that received everything: 19, want 20", "unexplained"}
	for name, test := range map[string]struct {
		// cut is the number of readers that the sidecar disconnected. Their last chunk arrived later than at the first
		// reader, by delay.
		cut   int
		delay time.Duration
		// lost is the number of these readers that do not resume to the end.
		lost  int
		long  bool
		share float64
		want  []string
	}{
		"all readers receive everything":                            {share: 0.1},
		"a tenth is late":                                           {cut: 2, delay: behind, share: 0.1},
		"many are late on a busy machine":                           {cut: 12, delay: behind, share: 0.98},
		"many are late on a machine that keeps up":                  {cut: 12, delay: behind, share: 0.3, want: []string{"disconnected because the machine is slow: 12, want at most a tenth"}},
		"many are late on a busy machine, in the long form":         {cut: 12, delay: behind, share: 0.98, long: true, want: []string{"disconnected because the machine is slow: 12, want at most a tenth"}},
		"a reader is late on a busy machine, and does not resume":   {cut: 12, delay: behind, share: 0.98, lost: 1, want: []string{"of these, resumed to the end: 11, want 12"}},
		"a reader is disconnected early on a busy machine":          {cut: 1, delay: time.Second, share: 0.98, want: early},
		"a reader is disconnected early on a machine that keeps up": {cut: 1, delay: time.Second, share: 0.1, want: early},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &stallCase{readers: 20}
			a := newSubject(script.Script{Token: "t", Turns: 1, Chunks: 2, Size: 20})
			a.add(history.Stream{Client: "driver", Opening: history.Resumed, After: 1, Outcome: history.Ended, Events: []history.Event{
				{Seq: 2, Kind: history.Status, State: "working"},
				{Seq: 3, Kind: history.Chunk, Text: a.script.Chunk(0)},
				{Seq: 4, Kind: history.Chunk, Text: a.script.Chunk(1)},
				{Seq: 5, Kind: history.Status, State: "completed"},
			}})
			var healthy []*timedReader
			for i := range c.readers {
				each := &timedReader{reader: &reader{subject: a, ended: true}, first: history.Stream{Outcome: history.Ended}, chunks: []time.Duration{1, 2}}
				if i < test.cut {
					each.first.Outcome, each.ended = history.Cut, i >= test.lost
					each.chunks = []time.Duration{1 + test.delay}
				}
				healthy = append(healthy, each)
			}
			r := &report{}
			c.check(r, a, healthy, nil)
			c.checkLate(r, healthy, !test.long, test.share)
			wrong := r.wrong()
			if len(wrong) != len(test.want) {
				t.Fatalf("the report has %q, want %q", wrong, test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(strings.ToLower(wrong[i]), want) {
					t.Errorf("the report has %q, want %q", wrong[i], want)
				}
			}
		})
	}
}
