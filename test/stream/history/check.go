// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rule is what a violation is against.
type Rule string

// The rules.
const (
	// Lost: what was acknowledged or belongs between two events is not there.
	Lost Rule = "lost"
	// Repeated: a reader got an event twice.
	Repeated Rule = "repeated"
	// Reordered: a reader got an event before another that stands before it.
	Reordered Rule = "reordered"
	// Foreign: the agent never said that.
	Foreign Rule = "foreign"
	// Diverged: two readers saw different events at one place.
	Diverged Rule = "diverged"
	// Terminals: a task ended twice, or went on after its end.
	Terminals Rule = "terminals"
	// Wedged: a task did not end.
	Wedged Rule = "wedged"
	// Failed: a task failed, and nothing was broken.
	Failed Rule = "failed"
	// Doubled: one message made two tasks, and nothing was broken.
	Doubled Rule = "doubled"
	// Unexcused: a stream ended or was refused, and nothing was broken.
	Unexcused Rule = "unexcused"
)

// Violation is a promise that was not kept.
type Violation struct {
	Rule Rule   `json:"rule"`
	Text string `json:"text"`
}

func (v Violation) String() string { return string(v.Rule) + ": " + v.Text }

// Audit is the name of the reader that reads the whole log after the end.
const Audit = "audit"

// check gathers what is wrong with a task.
type check struct {
	*Task
	faults *Faults
	// number finds chunks.
	number map[string]int
	// log is what all readers of numbered streams saw.
	log   log
	wrong []Violation
}

// Check judges a task. Nothing is returned for one whose promises were kept.
func Check(t *Task, f *Faults) []Violation {
	c := &check{Task: t, faults: f, number: make(map[string]int, len(t.Want))}
	for i, text := range t.Want {
		c.number[text] = i
	}
	c.gather()
	for i := range t.Legs {
		c.walk(&t.Legs[i])
		c.outcome(&t.Legs[i])
	}
	c.ending()
	c.audit()
	c.doubled()
	return c.wrong
}

func (c *check) violationf(rule Rule, format string, arguments ...any) {
	c.wrong = append(c.wrong, Violation{rule, fmt.Sprintf(format, arguments...)})
}

// perTurn is how many chunks a turn has.
func (c *check) perTurn() int { return len(c.Want) / max(c.Turns, 1) }

// outcome judges how a stream ended.
func (c *check) outcome(l *Leg) {
	f := c.faults
	broken := slices.Concat(f.Kills, f.Drains, f.Outages)
	switch l.Outcome {
	case Ended:
		if n := len(l.Events); l.Broken || n > 0 && (l.Events[n-1].Terminal() || l.Events[n-1].waiting()) {
			return
		}
		if !within(slices.Concat(f.Drains, f.Outages), l.Begin, l.End) {
			c.violationf(Unexcused, "%v ended before its task", l)
		}
	case Cut:
		if !l.Broken && !within(broken, l.Begin, l.End) {
			c.violationf(Unexcused, "%v was cut off: %s", l, l.Reason)
		}
	case Unavailable:
		if !within(broken, l.Begin, l.End) {
			c.violationf(Unexcused, "%v was unavailable: %s", l, l.Reason)
		}
	case NotFound:
		if !c.forgotten(l.End) {
			c.violationf(Lost, "%v: the task that was acknowledged is not there", l)
		}
	case Over:
		if c.final() == "" && !c.died(l.Begin) {
			c.violationf(Unexcused, "%v was told that the task has ended, and nobody saw it end", l)
		}
	case Refused:
		c.violationf(Unexcused, "%v was refused: %s", l, l.Reason)
	default:
		c.violationf(Unexcused, "%v has the outcome %q", l, l.Outcome)
	}
}

// forgotten reports whether the task may have died with a sidecar.
func (c *check) forgotten(at time.Duration) bool {
	return c.faults.Forgets && within(slices.Concat(c.faults.Kills, c.faults.Drains), c.known(), at)
}

// died reports whether the task was there at a moment, and died with a sidecar
// later: an end may have been told of that nobody can read any more.
func (c *check) died(at time.Duration) bool {
	return c.faults.Forgets && slices.ContainsFunc(c.Legs, func(l Leg) bool {
		return l.Outcome == NotFound && within(slices.Concat(c.faults.Kills, c.faults.Drains), at, l.End)
	})
}

// known is when the task was told of first.
func (c *check) known() time.Duration {
	first := time.Duration(1<<63 - 1)
	for i := range c.Legs {
		if len(c.Legs[i].Events) > 0 {
			first = min(first, c.Legs[i].Begin)
		}
	}
	return first
}

// begun is when the task was asked for first: from then on it may be there,
// though who asked got no answer.
func (c *check) begun() time.Duration {
	first := time.Duration(1<<63 - 1)
	for i := range c.Legs {
		first = min(first, c.Legs[i].Begin)
	}
	return first
}

// final is the state in which the task ended, "" if nobody saw it end.
func (c *check) final() string {
	for i := range c.Legs {
		for j := range c.Legs[i].Events {
			if e := &c.Legs[i].Events[j]; e.Terminal() {
				return e.State
			}
		}
	}
	return ""
}

// ending judges how the task ended, and what is there of it afterwards.
func (c *check) ending() {
	for _, client := range c.GaveUp {
		c.violationf(Wedged, "%s gave up", client)
	}
	final, last := c.final(), c.last()
	if final == "" {
		// What was forgotten is not found; that is judged by itself.
		if !c.missed() {
			c.violationf(Wedged, "the task has not ended")
		}
		return
	}
	said := c.said()
	switch final {
	case "completed":
		if said != len(c.Want) {
			c.violationf(Lost, "the task completed with %d of %d chunks", said, len(c.Want))
		}
	case "failed":
		if broken := slices.Concat(c.faults.Agents, c.faults.Kills, c.faults.Drains, c.faults.Outages); !within(broken, c.begun(), last) {
			c.violationf(Failed, "the task failed, and nothing was broken: %q", c.Word)
		}
	default:
		c.violationf(Failed, "the task is %s", final)
	}
	if c.Read == nil {
		if !c.missed() {
			c.violationf(Lost, "the task was not read after its end")
		}
		return
	}
	if c.Read.State != final {
		c.violationf(Diverged, "the task ended as %s, and is read as %s", final, c.Read.State)
	}
	if want := strings.Join(c.Want[:said], ""); c.Read.Text != want {
		n, _ := c.prefix(c.Read.Text)
		c.violationf(Lost, "the task is read with %d chunks, and %d were seen", n, said)
	}
}

func (c *check) last() time.Duration {
	var last time.Duration
	for i := range c.Legs {
		last = max(last, c.Legs[i].End)
	}
	return last
}

// missed reports whether somebody was told that the task is not there, which is
// judged by itself.
func (c *check) missed() bool {
	return slices.ContainsFunc(c.Legs, func(l Leg) bool { return l.Outcome == NotFound })
}

// said is how many chunks somebody saw.
func (c *check) said() int {
	most := 0
	for i := range c.Legs {
		for j := range c.Legs[i].Events {
			switch e := &c.Legs[i].Events[j]; e.Kind {
			case Chunk:
				if first, n, ok := c.chunks(e.Text); ok {
					most = max(most, first+n)
				}
			case Snapshot:
				if n, ok := c.prefix(e.Text); ok {
					most = max(most, n)
				}
			case Status, Standing:
			}
		}
	}
	return most
}

// doubled judges further tasks of the same message.
func (c *check) doubled() {
	for _, o := range c.Others {
		if !within(slices.Concat(c.faults.Kills, c.faults.Drains, c.faults.Outages), o.First, o.Then) {
			c.violationf(Doubled, "the message made the task %s too", o.ID)
		}
	}
}

// chunks finds the chunks that a text is made of.
func (c *check) chunks(text string) (first, count int, ok bool) {
	if first, ok := c.number[text]; ok {
		return first, 1, true
	}
	for i, want := range c.Want {
		if strings.HasPrefix(text, want) {
			n, ok := run(c.Want[i:], text)
			return i, n, ok
		}
	}
	return 0, 0, false
}

// prefix counts the chunks of a text that has all of them from the first on.
func (c *check) prefix(text string) (count int, ok bool) { return run(c.Want, text) }

func run(want []string, text string) (count int, ok bool) {
	for _, chunk := range want {
		if text == "" {
			break
		}
		if text, ok = strings.CutPrefix(text, chunk); !ok {
			return count, false
		}
		count++
	}
	return count, text == ""
}
