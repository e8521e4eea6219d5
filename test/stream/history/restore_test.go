// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"
	"testing"
	"time"
)

// restored returns a task whose store was replaced at 3 s by a backup. The backup was made at 1 s, and contains the events
// up to 5. A reader had received the events up to 6 when the store was lost.
func restored() (*Task, *Faults) {
	log := []Event{status(2, "submitted"), status(3, "working"), chunk(4, 0), chunk(5, 1), status(6, "failed")}
	before := []Event{snapshot(2, "submitted", 0), status(3, "working"), chunk(4, 0), chunk(5, 1), chunk(6, 2)}
	return &Task{
		ID: "t", Want: texts, Turns: 1,
		Streams: []Stream{
			{Client: "driver", Opening: Sent, Begin: sec / 2, First: sec * 3 / 4, End: 3 * sec, Outcome: Unavailable, Events: before},
			{Client: "driver", Opening: Resumed, After: 6, Begin: 4 * sec, First: 5 * sec, End: 5 * sec, Outcome: Ended, Events: []Event{snapshot(6, "failed", 2)}},
			{Client: Audit, Opening: Resumed, Begin: 6 * sec, First: 7 * sec, End: 7 * sec, Outcome: Ended, Events: log},
		},
		Read: &Event{Kind: Snapshot, State: "failed", Text: strings.Join(texts[:2], "")}, ReadAt: 6 * sec,
	}, &Faults{Outages: []Window{{Begin: 3 * sec, End: 5 * sec}}, Restores: []Restore{{Backup: sec, Kill: 3 * sec, End: 5 * sec}}}
}

// taskOf01 returns the events of a stream of 0.1 that begins with the task of the log at the event 5.
func taskOf01(text string) []Event {
	return []Event{{Kind: Standing, State: "working"}, {Seq: 5, Kind: Chunk, Text: text}, status(6, "failed")}
}

func TestCheckOfRestoredTasks(t *testing.T) {
	const first, resumed, audit = 0, 1, 2
	lost := func(t *Task) {
		t.Read, t.Streams = nil, t.Streams[:2]
		t.Streams[resumed].Outcome, t.Streams[resumed].Events = NotFound, nil
	}
	tests := map[string]struct {
		change func(*Task, *Faults)
		want   Rule
	}{
		"a task that fails":                            {func(*Task, *Faults) {}, ""},
		"a task of after the backup that is not found": {func(t *Task, f *Faults) { lost(t); f.Restores[0].Backup = sec / 4 }, ""},
		"a task that was sent before the backup and acknowledged after its begin": {func(t *Task, f *Faults) {
			lost(t)
			t.Streams[first].First = f.Restores[0].Backup + sec/10
		}, ""},
		"a task of before the backup that is not found": {func(t *Task, _ *Faults) { lost(t) }, Lost},
		"a part is missing": {func(t *Task, _ *Faults) {
			l := &t.Streams[audit]
			l.Events = append(l.Events[:4], chunk(6, 3), status(7, "failed"))
		}, Lost},
		"a task that completes with a part": {func(t *Task, _ *Faults) {
			t.Streams[audit].Events[4].State, t.Read.State = "completed", "completed"
		}, Lost},
		"a stream continues behind a lost event": {func(t *Task, _ *Faults) {
			t.Streams[audit].Events = append(t.Streams[audit].Events[:4:4], status(6, inputRequired), status(7, "failed"))
			t.Streams[first].Events = append(t.Streams[first].Events, status(7, "failed"))
		}, Diverged},
		"a later stream has other events": {func(t *Task, _ *Faults) {
			t.Streams[resumed].Begin = 6 * sec
			t.Streams[resumed].Events = []Event{snapshot(5, "working", 2), chunk(6, 2)}
		}, Diverged},
		"a stream of 0.1 that begins again with the task": {func(t *Task, _ *Faults) {
			t.Streams[resumed].Events = taskOf01(texts[0] + texts[1])
		}, ""},
		"a stream of 0.1 that begins again with a part": {func(t *Task, _ *Faults) {
			t.Streams[resumed].Events = taskOf01(texts[1])
		}, Lost},
		"a log that is read while the store is lost": {func(t *Task, _ *Faults) {
			log := []Event{status(2, "submitted"), status(3, "working")}
			for i := range texts {
				log = append(log, chunk(uint64(4+i), i))
			}
			log = append(log, status(10, "completed"))
			t.Streams = []Stream{
				{Client: "driver", Opening: Sent, Begin: sec / 2, First: sec, End: 2 * sec, Outcome: Ended, Events: log},
				{Client: Audit, Opening: Resumed, Begin: 5 * sec / 2, First: 5 * sec / 2, End: 4 * sec, Outcome: Ended, Events: log},
			}
			t.Read, t.ReadAt = &Event{Kind: Snapshot, State: "completed", Text: strings.Join(texts, "")}, 2*sec
		}, ""},
		"a log that is not read":           {func(t *Task, _ *Faults) { t.Streams = t.Streams[:audit] }, Lost},
		"a task that reads in another way": {func(t *Task, _ *Faults) { t.Read.Text = texts[0] }, Diverged},
		"a reader that gives up":           {func(t *Task, _ *Faults) { t.GaveUp = []string{"driver"} }, Wedged},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			task, faults := restored()
			tt.change(task, faults)
			found := tt.want == ""
			for _, v := range Check(task, faults) {
				found = found || v.Rule == tt.want
				if tt.want == "" {
					t.Error(v)
				}
			}
			if !found {
				t.Errorf("no violation of the rule %q", tt.want)
			}
		})
	}
}

func TestRestoreReplacesWhatWasReadAfterTheBackup(t *testing.T) {
	r := Restore{Backup: 10 * sec, Kill: 12 * sec, End: 20 * sec}
	tests := map[string]struct {
		sent, received time.Duration
		want           bool
	}{
		"read before the backup":            {8 * sec, 9 * sec, false},
		"answered after the backup":         {9 * sec, 11 * sec, true},
		"read after the backup":             {11 * sec, 11 * sec, true},
		"read until the sidecars serve":     {19 * sec, 21 * sec, true},
		"read after the end of the restore": {21 * sec, 22 * sec, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := r.MayReplace(tt.sent, tt.received); got != tt.want {
				t.Errorf("MayReplace(%v, %v) = %t, want %t", tt.sent, tt.received, got, tt.want)
			}
		})
	}
}
