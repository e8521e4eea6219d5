// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Rule is a rule that histories must obey.
type Rule string

const (
	// Lost means that an acknowledged task is missing, or that a reader missed an event between two events that it
	// received.
	Lost Rule = "lost"
	// Repeated means that a reader received an event twice.
	Repeated Rule = "repeated"
	// Reordered means that a reader received two events in the wrong order.
	Reordered Rule = "reordered"
	// Foreign means that a reader received text that the agent did not write.
	Foreign Rule = "foreign"
	// Diverged means that two readers received different events with the same number.
	Diverged Rule = "diverged"
	// Terminals means that a task ended twice, or continued after its end.
	Terminals Rule = "terminals"
	// Wedged means that a task did not end.
	Wedged Rule = "wedged"
	// Failed means that a task failed without a fault that explains it.
	Failed Rule = "failed"
	// Doubled means that one message created two tasks without a fault that explains it.
	Doubled Rule = "doubled"
	// Unexplained means that a stream ended or was refused without a fault that explains it.
	Unexplained Rule = "unexplained"
)

// Violation is a violation of a rule.
type Violation struct {
	Rule Rule   `json:"rule"`
	Text string `json:"text"`
}

func (v Violation) String() string { return string(v.Rule) + ": " + v.Text }

// Audit is the name of the reader that reads the whole log after the end of the task.
const Audit = "audit"

// check collects the violations in the history of a task.
type check struct {
	*Task
	faults *Faults
	// number maps a chunk to its position.
	number map[string]int
	// restoredBy is the restore of the store during the life of the task; nil for none.
	restoredBy *Restore
	// log contains the events of all numbered streams.
	log   log
	wrong []Violation
}

// Check returns the violations in the history of a task, none if it obeys all rules.
func Check(t *Task, f *Faults) []Violation {
	c := &check{Task: t, faults: f, number: make(map[string]int, len(t.Want))}
	for i, text := range t.Want {
		c.number[text] = i
	}
	if r := c.restored(); r != nil {
		c.afterRestore(r)
		return c.wrong
	}
	c.gather()
	for i := range t.Streams {
		c.walk(&t.Streams[i])
		c.outcome(&t.Streams[i])
	}
	c.ending()
	c.audit()
	c.doubled()
	return c.wrong
}

func (c *check) violationf(rule Rule, format string, arguments ...any) {
	c.wrong = append(c.wrong, Violation{rule, fmt.Sprintf(format, arguments...)})
}

// perTurn returns the number of chunks of a turn.
func (c *check) perTurn() int { return len(c.Want) / max(c.Turns, 1) }

// outcome checks how a stream ended.
func (c *check) outcome(l *Stream) {
	f := c.faults
	switch l.Outcome {
	case Ended:
		if n := len(l.Events); l.Broken || n > 0 && (l.Events[n-1].Terminal() || l.Events[n-1].waiting()) {
			return
		}
		if !within(slices.Concat(own(f.Drains, l.Server), f.Outages), l.Begin, l.End) {
			c.violationf(Unexplained, "%v ended before its task", l)
		}
	case Cut:
		if !l.Broken && !within(slices.Concat(own(f.Kills, l.Server), own(f.Drains, l.Server), f.Outages), l.Begin, l.End) {
			c.violationf(Unexplained, "%v was cut: %s", l, l.Reason)
		}
	case Unavailable:
		if !within(slices.Concat(lengthened(own(f.Kills, l.Server)), lengthened(own(f.Drains, l.Server)), c.hits(), f.Outages), l.Begin, l.End) {
			c.violationf(Unexplained, "%v was unavailable: %s", l, l.Reason)
		}
	case NotFound:
		if !c.forgotten(l.End) && !c.lostWithStore() {
			c.violationf(Lost, "%v: the acknowledged task is not found", l)
		}
	case AlreadyEnded:
		if c.final() == "" && !c.died(l.Begin) {
			c.violationf(Unexplained, "%v got the answer that the task has ended, but no reader saw the end", l)
		}
	case Refused:
		c.violationf(Unexplained, "%v was refused: %s", l, l.Reason)
	default:
		c.violationf(Unexplained, "%v has the outcome %q", l, l.Outcome)
	}
}

// forgotten reports whether the task may have been lost with the memory of a sidecar: a sidecar was killed or drained
// between the first request that received an event of the task and the moment at.
func (c *check) forgotten(at time.Duration) bool {
	return c.faults.Forgets && within(slices.Concat(c.faults.Kills, c.faults.Drains), c.known(), at)
}

// died reports whether a kill or a drain after the moment at lost the task: a later stream had the outcome NotFound. If the
// task had ended just before it was lost, a reader can have the outcome AlreadyEnded although no reader received the end.
func (c *check) died(at time.Duration) bool {
	return c.faults.Forgets && slices.ContainsFunc(c.Streams, func(l Stream) bool {
		return l.Outcome == NotFound && within(slices.Concat(c.faults.Kills, c.faults.Drains), at, l.End)
	})
}

// known returns the earliest time of a request whose stream has an event of the task. From then on, the task may exist.
func (c *check) known() time.Duration {
	first := time.Duration(math.MaxInt64)
	for i := range c.Streams {
		if len(c.Streams[i].Events) > 0 {
			first = min(first, c.Streams[i].Begin)
		}
	}
	return first
}

// acknowledged returns when the first reader received an event of the task. The store has the task from then on.
func (c *check) acknowledged() time.Duration {
	first := time.Duration(math.MaxInt64)
	for i := range c.Streams {
		if len(c.Streams[i].Events) > 0 {
			first = min(first, c.Streams[i].First)
		}
	}
	return first
}

// begun returns the time at which the first request for the task was sent. From then on the task may exist, even if the
// request received no response.
func (c *check) begun() time.Duration {
	first := time.Duration(math.MaxInt64)
	for i := range c.Streams {
		first = min(first, c.Streams[i].Begin)
	}
	return first
}

// final returns the state in which the task ended, "" if no reader saw the end.
func (c *check) final() string {
	for i := range c.Streams {
		for j := range c.Streams[i].Events {
			if e := &c.Streams[i].Events[j]; e.Terminal() {
				return e.State
			}
		}
	}
	return ""
}

// ending checks how the task ended, and the task that was read after its end.
func (c *check) ending() {
	for _, client := range c.GaveUp {
		c.violationf(Wedged, "%s gave up", client)
	}
	final, last := c.final(), c.last()
	if final == "" {
		// The method outcome checks the response that the task does not exist.
		if !c.notFound() {
			c.violationf(Wedged, "the task has not ended")
		}
		return
	}
	said := c.chunksSeen()
	switch final {
	case "completed":
		if said != len(c.Want) {
			c.violationf(Lost, "the task completed with %d of %d chunks", said, len(c.Want))
		}
	case "failed":
		if !within(c.causes(), c.begun(), last) {
			c.violationf(Failed, "the task failed without a fault that explains it: %q", c.StatusMessage)
		}
	default:
		c.violationf(Failed, "the task is %s", final)
	}
	if c.Read == nil {
		if !c.notFound() {
			c.violationf(Lost, "the task was not read after its end")
		}
		return
	}
	if c.Read.State != final {
		c.violationf(Diverged, "the task ended as %s, but reads as %s", final, c.Read.State)
	}
	if want := strings.Join(c.Want[:said], ""); c.Read.Text != want {
		n, _ := c.prefix(c.Read.Text)
		c.violationf(Lost, "the task reads with %d chunks, but readers received %d", n, said)
	}
}

func (c *check) last() time.Duration {
	var last time.Duration
	for i := range c.Streams {
		last = max(last, c.Streams[i].End)
	}
	return last
}

// notFound reports whether a reader received the response that the task does not exist. The method outcome checks
// whether a fault explains this response.
func (c *check) notFound() bool {
	return slices.ContainsFunc(c.Streams, func(l Stream) bool { return l.Outcome == NotFound })
}

// chunksSeen returns the largest number of chunks that a reader received.
func (c *check) chunksSeen() int {
	most := 0
	for i := range c.Streams {
		for j := range c.Streams[i].Events {
			switch e := &c.Streams[i].Events[j]; e.Kind {
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

// doubled checks the tasks that a message created in addition to the first one.
func (c *check) doubled() {
	for _, o := range c.Others {
		if !within(slices.Concat(c.hits(), c.faults.Outages), o.First, o.Then) {
			c.violationf(Doubled, "the message also created the task %s", o.ID)
		}
	}
}

// chunks returns the number of the first chunk of a text and the count of its chunks. ok is false if the text is not a
// sequence of wanted chunks.
func (c *check) chunks(text string) (first, count int, ok bool) {
	if first, ok := c.number[text]; ok {
		return first, 1, true
	}
	for i, want := range c.Want {
		if strings.HasPrefix(text, want) {
			n, ok := matchChunks(c.Want[i:], text)
			return i, n, ok
		}
	}
	return 0, 0, false
}

// prefix returns the number of chunks of a text that starts with the first chunk.
func (c *check) prefix(text string) (count int, ok bool) { return matchChunks(c.Want, text) }

func matchChunks(want []string, text string) (count int, ok bool) {
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
