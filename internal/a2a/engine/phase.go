// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

// phase is the state of a task at this replica: which replica runs the task, and what the
// next message does. Only task.move changes it. docs/explanation/replicas.md shows the table
// of transitions.
type phase uint8

const (
	// phaseUnread: this replica has not read the task, or has given it up. A message reads it.
	phaseUnread phase = iota + 1
	// phaseFree: no replica runs the task. A message begins a turn here.
	phaseFree
	// phaseElsewhere: another replica that is alive holds the task. A message goes there.
	phaseElsewhere
	// phaseOrphaned: a replica that does not run the task holds it. This replica takes it over.
	phaseOrphaned
	// phaseStarting: the first turn runs here, and the store does not have the task yet.
	phaseStarting
	// phaseRunning: a turn runs here, and a message waits for its end.
	phaseRunning
	// phasePaused: the task waits for its client, and its run has not returned. A message goes
	// to this run.
	phasePaused
	// phaseResuming: a second run delivers a message to the run that waits.
	phaseResuming
	// phaseLost: another replica may run the task, or will, because this replica cannot renew its
	// lease or the store does not answer. The runs here are canceled, append nothing and have not
	// returned. A message is refused.
	phaseLost
	// phaseEnded: the task has a terminal status. Its run may not have returned yet.
	phaseEnded
	// phaseTaskless: the only turn is over and has created no task.
	phaseTaskless

	phaseCount
)

var phaseNames = [phaseCount]string{
	phaseUnread: "unread", phaseFree: "free", phaseElsewhere: "elsewhere", phaseOrphaned: "orphaned",
	phaseStarting: "starting", phaseRunning: "running", phasePaused: "paused", phaseResuming: "resuming",
	phaseLost: "lost", phaseEnded: "ended", phaseTaskless: "taskless",
}

func (p phase) String() string { return phaseNames[p] }

// phaseEvent is an event that moves a task from one phase to another.
type phaseEvent uint8

const (
	onRead phaseEvent = iota
	onReadEnd
	onForeign
	onOrphan
	onStart
	onCreate
	onRefuse
	onBegin
	onRerun
	onRelease
	onPause
	onWork
	onDeliver
	onAccept
	onReplace
	onRetry
	onNext
	onReturn
	onEnd
	onLose

	phaseEventCount
)

var phaseEventNames = [phaseEventCount]string{
	onRead: "read", onReadEnd: "read end", onForeign: "find holder", onOrphan: "find orphan",
	onStart: "start", onCreate: "create", onRefuse: "refuse", onBegin: "begin", onRerun: "re-run",
	onRelease: "release", onPause: "pause", onWork: "work", onDeliver: "deliver", onAccept: "accept input",
	onReplace: "replace", onRetry: "retry", onNext: "next", onReturn: "return", onEnd: "end", onLose: "lose",
}

func (e phaseEvent) String() string { return phaseEventNames[e] }

// transitions is the state machine of a task at a replica. Each pair of an event and a phase
// is in at most one row.
var transitions = []struct {
	event  phaseEvent
	from   []phase
	to     phase
	effect string
}{
	{onRead, []phase{phaseUnread, phaseFree, phaseElsewhere, phaseEnded}, phaseFree, "The log has no terminal status"},
	{onReadEnd, []phase{phaseUnread, phaseFree, phaseElsewhere, phaseEnded}, phaseEnded, "The log has a terminal status"},
	{onForeign, []phase{phaseFree, phaseEnded}, phaseElsewhere, "Another replica holds the task and is alive. The message goes to this replica"},
	{onOrphan, []phase{phaseUnread, phaseFree, phaseElsewhere, phaseEnded}, phaseOrphaned, "The holder is dead, or is this replica without a run. The takeover begins"},
	{onStart, []phase{phaseUnread}, phaseStarting, "A run starts. The agent may answer without a task"},
	{onCreate, []phase{phaseStarting}, phaseRunning, "The store creates the task with its first message, held by this replica"},
	{onRefuse, []phase{phaseStarting, phaseRunning, phaseEnded, phaseLost}, phaseUnread, "The store or the push configuration refuses the first message. No run starts"},
	{onBegin, []phase{phaseUnread, phaseFree, phaseEnded, phaseOrphaned}, phaseRunning, "An append of the message takes the hold, and a run starts"},
	{onRerun, []phase{phaseOrphaned}, phaseRunning, "An append takes the hold and restores artifacts, and a run starts"},
	{onRelease, []phase{phaseOrphaned}, phaseFree, "An append repeats the paused status and releases the hold"},
	{onPause, []phase{phaseRunning}, phasePaused, "The status asks the client. The turns stop; if the run stays connected, the input timer starts"},
	{onWork, []phase{phasePaused}, phaseRunning, "The agent continues, or an append of a message begins its turn"},
	{onDeliver, []phase{phaseRunning}, phaseResuming, "A second run delivers the message to the run that waits"},
	{onAccept, []phase{phaseResuming}, phaseRunning, "The run that waited has the message. The second run returns"},
	{onReplace, []phase{phaseResuming}, phaseRunning, "The agent answers in the second run. The run that waited is canceled"},
	{onRetry, []phase{phaseRunning}, phaseRunning, "The agent's process crashed. The next attempt of the turn starts"},
	{onNext, []phase{phaseRunning, phaseEnded}, phaseRunning, "The last run has returned. The turn of a waiting message begins, and the hold stays"},
	{onReturn, []phase{phasePaused}, phaseFree, "The last run has returned. An append releases the hold"},
	{onReturn, []phase{phaseRunning, phaseLost}, phaseUnread, "The last run has returned, and the store did not accept the end of its turn from this replica"},
	{onReturn, []phase{phaseStarting}, phaseTaskless, "The agent has answered without a task, or the store did not create the task"},
	{onReturn, []phase{phaseEnded}, phaseEnded, "The last run has returned"},
	{onEnd, []phase{phaseUnread, phaseFree, phaseOrphaned, phaseRunning, phasePaused, phaseResuming, phaseEnded}, phaseEnded, "The log has a terminal status. The turns stop, the runs are canceled, and waiting messages are refused"},
	{onEnd, []phase{phaseLost}, phaseLost, "A cancel ends the task. The runs are canceled already"},
	{onLose, []phase{phaseRunning, phasePaused, phaseResuming, phaseEnded, phaseLost}, phaseLost, "Another replica may run the task. The runs are canceled, and this replica appends nothing"},
	{onLose, []phase{phaseOrphaned}, phaseUnread, "The takeover fails, or another replica was first"},
}

// nextPhase contains the rows of transitions, 0 for none.
var nextPhase = func() (table [phaseEventCount][phaseCount]phase) {
	for _, row := range transitions {
		for _, from := range row.from {
			table[row.event][from] = row.to
		}
	}
	return table
}()

// Transition is a row of the table of transitions for one phase. To is "" for an event that
// the table does not have in the phase From.
type Transition struct{ Event, From, To, Effect string }

// Transitions returns the table of transitions of a task at a replica.
func Transitions() []Transition {
	var all []Transition
	for _, row := range transitions {
		for _, from := range row.from {
			all = append(all, Transition{row.event.String(), from.String(), row.to.String(), row.effect})
		}
	}
	return all
}

// move moves the task to the next phase. If the table does not have the event in the current
// phase, move reports the bug and changes nothing. The caller holds the lock of the task.
func (t *task) move(on phaseEvent) {
	from := t.phase
	to := nextPhase[on][from]
	if t.engine.options.Moved != nil {
		t.engine.options.Moved(t.key, Transition{Event: on.String(), From: from.String(), To: to.String()})
	}
	if to == 0 {
		t.engine.options.Log.Error("task has no transition", "task", t.key.TaskID, "event", on.String(), "phase", from.String())
		return
	}
	t.phase = to
}

// settle moves a task that runs here to the phase of its last status. It does nothing for a
// terminal status.
func (t *task) settle() {
	switch state := t.state(); {
	case state.Interrupted() && t.phase == phaseRunning:
		t.move(onPause)
	case !state.Interrupted() && !state.Terminal() && t.phase == phasePaused:
		t.move(onWork)
	}
}
