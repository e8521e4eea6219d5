// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const sec = time.Second

var texts = []string{"t.0.;", "t.1.;", "t.2.;", "t.3.;", "t.4.;", "t.5.;"}

func status(seq uint64, state string) Event { return Event{Seq: seq, Kind: Status, State: state} }
func chunk(seq uint64, i int) Event         { return Event{Seq: seq, Kind: Chunk, Text: texts[i]} }

func snapshot(seq uint64, state string, chunks int) Event {
	return Event{Seq: seq, Kind: Snapshot, State: state, Text: strings.Join(texts[:chunks], "")}
}

// whole returns the events that streams show of a task with two turns. The numbers 1 and 8 are missing: they belong to
// the messages of the client, which streams do not show.
func whole() []Event {
	return []Event{
		status(2, "submitted"), status(3, "working"), chunk(4, 0), chunk(5, 1), chunk(6, 2), status(7, inputRequired),
		status(9, "working"), chunk(10, 3), chunk(11, 4), chunk(12, 5), status(13, "completed"),
	}
}

// plain returns the events of a stream without numbers.
func plain(events ...Event) []Event {
	for i := range events {
		events[i].Seq = 0
	}
	return events
}

// valid returns a history that obeys all rules.
func valid() *Task {
	log := whole()
	return &Task{
		ID: "t", Want: texts, Turns: 2,
		Streams: []Stream{
			{Client: "driver", Dialect: "1.0", Opening: Sent, Begin: 1 * sec, End: 2 * sec, Outcome: Ended, Events: append([]Event{snapshot(2, "submitted", 0)}, log[1:6]...)},
			{Client: "driver", Dialect: "1.0", Opening: Sent, Begin: 2 * sec, End: 3 * sec, Outcome: Cut, Broken: true, Events: append([]Event{snapshot(9, "working", 3)}, log[7:8]...)},
			{Client: "driver", Dialect: "1.0", Opening: Resumed, After: 10, Begin: 3 * sec, End: 4 * sec, Outcome: Ended, Events: slices.Clone(log[8:])},
			{Client: "watcher", Dialect: "0.3", Opening: Subscribed, Begin: 1 * sec, End: 2 * sec, Outcome: Ended, Events: append([]Event{snapshot(4, "working", 1)}, log[3:6]...)},
			{Client: "watcher", Dialect: "0.3", Opening: Resumed, After: 7, Begin: 2 * sec, End: 4 * sec, Outcome: Ended, Events: slices.Clone(log[6:])},
			{Client: "oldest", Dialect: "0.1", Opening: Subscribed, Begin: 1 * sec, End: 2 * sec, Outcome: Ended, Events: plain(
				Event{Kind: Standing, State: "working"}, Event{Kind: Chunk, Text: texts[0] + texts[1]}, chunk(0, 2), status(0, inputRequired),
			)},
			{Client: "grpc", Dialect: "gRPC", Opening: Resumed, After: 11, Begin: 3 * sec, End: 4 * sec, Outcome: Ended, Events: plain(slices.Clone(log[9:])...)},
			{Client: Audit, Dialect: "1.0", Opening: Resumed, Begin: 5 * sec, End: 6 * sec, Outcome: Ended, Events: log},
		},
		Read: &Event{Kind: Snapshot, State: "completed", Text: strings.Join(texts, "")},
	}
}

// The streams of valid.
const (
	driver = iota
	driverSecond
	driverResumed
	watcher
	watcherResumed
	oldest
	grpc
	auditor
)

func without(events []Event, i int) []Event { return slices.Delete(events, i, i+1) }

func swap(events []Event, i int) { events[i], events[i+1] = events[i+1], events[i] }

// everywhere changes the events of all numbered streams.
func everywhere(t *Task, change func(e *Event)) {
	for i := range t.Streams {
		for j := range t.Streams[i].Events {
			change(&t.Streams[i].Events[j])
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	tests := map[string]struct {
		change func(*Task)
		faults Faults
		want   Rule
	}{
		"a chunk missing in one stream":           {func(t *Task) { l := &t.Streams[driver]; l.Events = without(l.Events, 3) }, Faults{}, Lost},
		"a chunk missing in all streams":          {func(t *Task) { dropped(t, 11) }, Faults{}, Lost},
		"a chunk missing in an unnumbered stream": {func(t *Task) { l := &t.Streams[oldest]; l.Events = without(l.Events, 1) }, Faults{}, Lost},
		"a gap after a resumption":                {func(t *Task) { l := &t.Streams[driverResumed]; l.Events = without(l.Events, 0) }, Faults{}, Lost},
		"a gap after a resumption, unnumbered":    {func(t *Task) { l := &t.Streams[grpc]; l.After = 10 }, Faults{}, Lost},
		"a gap after a snapshot":                  {func(t *Task) { l := &t.Streams[watcher]; l.Events = without(l.Events, 1) }, Faults{}, Lost},
		"a gap without a message":                 {func(t *Task) { renumbered(t, 11) }, Faults{}, Lost},
		"a gap in the task after its end": {func(t *Task) {
			t.Streams = append(t.Streams, Stream{Client: "late", Dialect: "0.3", Opening: Resumed, After: 13, Begin: 5 * sec, End: 6 * sec, Outcome: Ended, Events: []Event{
				snapshot(13, "completed", 5),
			}})
		}, Faults{}, Diverged},
		"a missing status": {func(t *Task) { l := &t.Streams[driver]; l.Events = without(l.Events, 1) }, Faults{}, Lost},
		"a resumption from the start": {
			func(t *Task) {
				l := &t.Streams[driverResumed]
				l.Events = append([]Event{snapshot(10, "working", 4)}, l.Events...)
			}, Faults{}, Lost,
		},
		"a resumption from the start of a stream of 0.1": {
			func(t *Task) {
				l := &t.Streams[driverResumed]
				l.Events = append([]Event{{Kind: Standing, State: "working"}}, l.Events...)
			}, Faults{}, Lost,
		},
		"a completed task without its end":       {func(t *Task) { truncated(t) }, Faults{}, Lost},
		"an event missing in the log afterwards": {func(t *Task) { l := &t.Streams[auditor]; l.Events = l.Events[:10]; l.Outcome = Ended }, Faults{Drains: always()}, Lost},
		"a log without a reader":                 {func(t *Task) { t.Streams = t.Streams[:auditor] }, Faults{}, Lost},
		"a task that cannot be read":             {func(t *Task) { t.Read = nil }, Faults{}, Lost},
		"a task that reads with fewer chunks":    {func(t *Task) { t.Read.Text = strings.Join(texts[:5], "") }, Faults{}, Lost},
		"a task that is not found":               {func(t *Task) { gone(t) }, Faults{}, Lost},
		"a task lost by a durable store":         {func(t *Task) { gone(t) }, Faults{Kills: always()}, Lost},
		"a task lost before the kill":            {func(t *Task) { gone(t) }, Faults{Kills: []Window{{Begin: 8 * sec, End: 9 * sec}}, Forgets: true}, Lost},

		"an event twice": {func(t *Task) { l := &t.Streams[driver]; l.Events = slices.Insert(l.Events, 3, l.Events[2]) }, Faults{}, Repeated},
		"an event twice, unnumbered": {
			func(t *Task) { l := &t.Streams[oldest]; l.Events = slices.Insert(l.Events, 3, l.Events[2]) }, Faults{}, Repeated,
		},
		"a resumption with a repeated event": {func(t *Task) {
			l := &t.Streams[watcherResumed]
			l.Events = slices.Insert(l.Events, 0, status(7, inputRequired))
		}, Faults{}, Repeated},
		"a repeated event, unnumbered":       {func(t *Task) { l := &t.Streams[grpc]; l.After = 12 }, Faults{}, Repeated},
		"a chunk that the snapshot contains": {func(t *Task) { l := &t.Streams[watcher]; l.Events = slices.Insert(l.Events, 1, chunk(4, 0)) }, Faults{}, Repeated},
		"a turn that ran twice": {
			func(t *Task) {
				everywhere(t, func(e *Event) {
					if e.Seq == 11 {
						*e = chunk(11, 3)
					}
				})
			}, Faults{}, Repeated,
		},
		"two chunks as one": {
			func(t *Task) {
				l := &t.Streams[driver]
				l.Events = without(l.Events, 3)
				l.Events[2].Text += texts[1]
			}, Faults{}, Repeated,
		},

		"two events in the wrong order":    {func(t *Task) { swap(t.Streams[driver].Events, 2) }, Faults{}, Reordered},
		"two chunks in the wrong order":    {func(t *Task) { swap(t.Streams[oldest].Events, 1) }, Faults{}, Repeated},
		"a question before the turn's end": {func(t *Task) { swap(t.Streams[oldest].Events, 2) }, Faults{}, Reordered},
		"a status after its question":      {func(t *Task) { l := &t.Streams[driver]; l.Events[1], l.Events[5] = l.Events[5], l.Events[1] }, Faults{}, Reordered},

		"another order for another reader":     {func(t *Task) { e := t.Streams[watcherResumed].Events; e[1].Text, e[2].Text = e[2].Text, e[1].Text }, Faults{}, Diverged},
		"another event at the same place":      {func(t *Task) { t.Streams[watcher].Events[3] = status(7, "working") }, Faults{}, Diverged},
		"a snapshot of another place":          {func(t *Task) { t.Streams[driverSecond].Events[0].Seq = 5 }, Faults{}, Diverged},
		"a snapshot in another state":          {func(t *Task) { t.Streams[watcher].Events[0].State = "submitted" }, Faults{}, Diverged},
		"a task that is read in another state": {func(t *Task) { t.Read.State = "working" }, Faults{}, Diverged},

		"two terminal events": {
			func(t *Task) { l := &t.Streams[auditor]; l.Events = append(l.Events, status(14, "failed")) }, Faults{}, Terminals,
		},
		"two terminal states": {func(t *Task) { l := &t.Streams[grpc]; l.Events[1].State = "failed" }, Faults{}, Terminals},
		"something after the end": {
			func(t *Task) { l := &t.Streams[driverResumed]; l.Events = append(l.Events, status(14, "working")) }, Faults{}, Terminals,
		},
		"the end twice": {
			func(t *Task) { l := &t.Streams[grpc]; l.Events = append(l.Events, l.Events[1]) }, Faults{}, Terminals,
		},

		"text of another task":                   {func(t *Task) { t.Streams[oldest].Events[2].Text = "u.2.;" }, Faults{}, Foreign},
		"half a chunk":                           {func(t *Task) { t.Streams[oldest].Events[2].Text = "t.2" }, Faults{}, Foreign},
		"a snapshot with a missing chunk":        {func(t *Task) { t.Streams[watcher].Events[0].Text = texts[1] }, Faults{}, Foreign},
		"a task that never ends":                 {func(t *Task) { endless(t) }, Faults{}, Wedged},
		"a client that timed out":                {func(t *Task) { t.GaveUp = []string{"watcher"} }, Faults{}, Wedged},
		"a task that fails without a fault":      {func(t *Task) { failed(t) }, Faults{}, Failed},
		"a task that fails before the fault":     {func(t *Task) { failed(t) }, Faults{Agents: []Window{{Begin: 8 * sec, End: 9 * sec}}}, Failed},
		"a failure by a kill of another sidecar": {func(t *Task) { failed(t); at(t, "a"); t.StatusMessage = ownerFailures[0] }, Faults{Kills: killed("b")}, Failed},
		"a failure of another cause":             {func(t *Task) { failed(t); t.StatusMessage = ownerFailures[0] }, Faults{Agents: always()}, Failed},
		"an unknown failure":                     {func(t *Task) { failed(t); t.StatusMessage = "x" }, Faults{Agents: always(), Kills: always()}, Failed},
		"a cut by a kill of another sidecar":     {func(t *Task) { t.Streams[driverSecond].Broken = false; at(t, "a") }, Faults{Kills: killed("b")}, Unexplained},
		"a canceled task":                        {func(t *Task) { ends(t, "canceled") }, Faults{}, Failed},
		"two tasks of one message":               {func(t *Task) { t.Others = []Other{{"u", 1 * sec, 2 * sec}} }, Faults{}, Doubled},
		"a stream that ends early":               {func(t *Task) { l := &t.Streams[driver]; l.Events = l.Events[:3] }, Faults{}, Unexplained},
		"a cut stream":                           {func(t *Task) { t.Streams[driverSecond].Broken = false }, Faults{Kills: []Window{{Begin: 4 * sec, End: 5 * sec}}}, Unexplained},
		"a refusal":                              {func(t *Task) { t.Streams[driverSecond].Outcome = Refused }, Faults{Kills: always()}, Unexplained},
		"an unavailable response":                {func(t *Task) { t.Streams[driverSecond].Outcome = Unavailable }, Faults{}, Unexplained},
		"an end without a reader":                {func(t *Task) { endless(t); t.Streams[driverSecond].Outcome = AlreadyEnded }, Faults{}, Unexplained},
		"an end reported after the task was lost": {
			func(t *Task) {
				overAndGone(t)
				t.Streams[driverSecond].Begin, t.Streams[driverSecond].End = 5*sec, 5*sec
			},
			Faults{Kills: []Window{{Begin: 3 * sec, End: 4 * sec}}, Forgets: true},
			Unexplained,
		},
		"an end without a reader, in a durable store": {
			func(t *Task) { overAndGone(t) }, Faults{Kills: []Window{{Begin: 3 * sec, End: 4 * sec}}}, Unexplained,
		},
		"an unknown outcome": {func(t *Task) { t.Streams[driverSecond].Outcome = "" }, Faults{}, Unexplained},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			task := valid()
			test.change(task)
			got := Check(task, &test.faults)
			if !slices.ContainsFunc(got, func(v Violation) bool { return v.Rule == test.want }) {
				t.Errorf("Check() = %v, want a violation of %s", got, test.want)
			}
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	tests := map[string]struct {
		change func(*Task)
		faults Faults
	}{
		"a valid history":                    {func(*Task) {}, Faults{}},
		"a stream cut by a killed sidecar":   {func(t *Task) { t.Streams[driverSecond].Broken = false }, Faults{Kills: []Window{{Begin: 2500 * time.Millisecond, End: 5 * sec}}}},
		"a failure caused by a killed agent": {func(t *Task) { failed(t) }, Faults{Agents: []Window{{Begin: 3 * sec, End: 4 * sec}}}},
		"a failure before the first answer": {func(t *Task) {
			failed(t)
			t.Streams = append(t.Streams, Stream{Client: "driver", Dialect: "1.0", Opening: Sent, Begin: sec / 4, End: sec / 2, Outcome: Cut})
		}, Faults{Kills: []Window{{Begin: sec / 2, End: sec * 3 / 4}}}},
		"a failure by a kill of its sidecar": {func(t *Task) { failed(t); at(t, "a"); t.StatusMessage = ownerFailures[0] }, Faults{Kills: killed("a")}},
		"an unavailable response before the lease of the dead ends": {func(t *Task) {
			at(t, "b")
			t.Streams[driver].Server = "a"
			t.Streams[driverResumed].Outcome = Unavailable
			t.Streams[driverResumed].Events = nil
		}, Faults{Kills: []Window{{Server: "a", Begin: 1500 * time.Millisecond, End: 2 * sec}}}},
		"a task lost with the memory of a sidecar": {func(t *Task) { gone(t) }, Faults{Kills: []Window{{Begin: 2 * sec, End: 3 * sec}}, Forgets: true}},
		"an end that can be resumed":               {func(t *Task) { l := &t.Streams[driver]; l.Events = l.Events[:3] }, Faults{Drains: always()}},
		"an outage of the store":                   {func(t *Task) { t.Streams[driverSecond].Outcome = Unavailable }, Faults{Outages: always()}},
		"two tasks around a kill":                  {func(t *Task) { t.Others = []Other{{"u", 1 * sec, 3 * sec}} }, Faults{Kills: []Window{{Begin: 2 * sec, End: 2 * sec}}}},
		"a task that has ended already":            {func(t *Task) { t.Streams[driverSecond].Outcome = AlreadyEnded }, Faults{}},
		"an end without a reader, before the task was lost": {
			func(t *Task) { overAndGone(t) }, Faults{Kills: []Window{{Begin: 3 * sec, End: 4 * sec}}, Forgets: true},
		},
		"a last event for old clients": {
			func(t *Task) {
				t.Streams[grpc] = Stream{Client: "late", Dialect: "0.3", Opening: Subscribed, Outcome: Ended, Events: []Event{
					snapshot(13, "completed", 6), status(0, "completed"),
				}}
			}, Faults{},
		},
		"a resumption behind the last event": {
			func(t *Task) {
				t.Streams = append(t.Streams, Stream{Client: "late", Dialect: "0.3", Opening: Resumed, After: 13, Begin: 5 * sec, End: 6 * sec, Outcome: Ended, Events: []Event{
					snapshot(13, "completed", 6), status(0, "completed"),
				}})
			}, Faults{},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			task := valid()
			test.change(task)
			if diff := cmp.Diff([]Violation(nil), Check(task, &test.faults)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func killed(server string) []Window { return []Window{{Server: server, End: 10 * sec}} }

// at names the sidecar of all streams.
func at(t *Task, server string) {
	for i := range t.Streams {
		t.Streams[i].Server = server
	}
}

func always() []Window { return []Window{{Begin: 0, End: 10 * sec}} }

// dropped removes the event with the number seq from all numbered streams, and its chunk, texts[4], from the others.
func dropped(t *Task, seq uint64) {
	for i := range t.Streams {
		t.Streams[i].Events = slices.DeleteFunc(t.Streams[i].Events, func(e Event) bool { return e.Seq == seq || e.Seq == 0 && e.Text == texts[4] })
	}
}

// renumbered increases the numbers of all events from the number from on, so that this number is missing.
func renumbered(t *Task, from uint64) {
	everywhere(t, func(e *Event) {
		if e.Seq >= from {
			e.Seq++
		}
	})
}

// truncated removes the last chunk of a task.
func truncated(t *Task) {
	t.Read.Text = strings.Join(texts[:5], "")
	for i := range t.Streams {
		t.Streams[i].Events = slices.DeleteFunc(t.Streams[i].Events, func(e Event) bool { return e.Text == texts[5] })
	}
	everywhere(t, func(e *Event) {
		if e.Seq == 13 {
			e.Seq = 12
		}
	})
}

// overAndGone changes a task: one reader receives the response that the task has ended, and then the task is lost.
func overAndGone(t *Task) {
	gone(t)
	t.Streams[driverSecond].Outcome, t.Streams[driverSecond].Broken, t.Streams[driverSecond].Events = AlreadyEnded, false, nil
}

// gone changes a task: its driver resumes, and receives the response that the task does not exist.
func gone(t *Task) {
	t.Streams = append(t.Streams[:driverResumed], Stream{
		Client: "driver", Dialect: "1.0", Opening: Resumed, After: 10, Begin: 3 * sec, End: 4 * sec, Outcome: NotFound,
	})
	t.Read = nil
}

// endless removes the last event of a task from its streams.
func endless(t *Task) {
	for i := range t.Streams {
		t.Streams[i].Events = slices.DeleteFunc(t.Streams[i].Events, func(e Event) bool { return e.State == "completed" })
	}
}

func failed(t *Task) { ends(t, "failed") }

func ends(t *Task, state string) {
	everywhere(t, func(e *Event) {
		if e.State == "completed" {
			e.State = state
		}
	})
	t.Read.State = state
}
