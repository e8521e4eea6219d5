// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coordination

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

const (
	// maxForwarded bounds the forwarded messages whose outcome is not known yet.
	maxForwarded = 1024
	// acceptWithin is the time within which another replica has to confirm a message.
	acceptWithin = 5 * time.Second
)

// Forward implements Messages. The message goes to the inbox of the other replica, which
// processes it like a message of one of its own clients. If that replica does not confirm
// the message within 5 s, Forward withdraws the message from the inbox and refuses it. The
// outcome comes from the answer of the other replica or, if this answer is lost, from the log
// of the task.
func (s *Shared) Forward(f Forwarded, decide func(context.Context, Outcome, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errStopping()
	}
	release, err := s.forwarding.Acquire(s.ctx, f.Request.ChargedTo().Share())
	if err != nil {
		return &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "Too many messages wait for answers of other replicas"}
	}
	s.group.Go(func() {
		defer release()
		outcome, err := s.forward(&f)
		decide(s.ctx, outcome, err)
	})
	return nil
}

func (s *Shared) forward(f *Forwarded) (Outcome, error) {
	number, replies, end := s.awaitReplies()
	defer end()
	m := &store.InboxMessage{From: s.member.Self(), Kind: store.ForwardedMessage, Number: number, Request: f.Request, Claim: f.Claim}
	w := waitingFor{replica: f.To, tasks: tasksOf(f.Request, cmp.Or(f.NewTask, f.Task)), request: f.Request, term: s.Term()}
	if f.NewTask != "" {
		m.Task = w.tasks[0]
	}
	place, err := s.member.Post(s.ctx, f.To, m)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Outcome{}, errMoving()
	case errors.Is(err, store.ErrFull):
		return Outcome{}, errInboxFull()
	case err != nil:
		return unknown, err
	}
	silence := time.NewTimer(acceptWithin)
	defer silence.Stop()
	check := time.NewTicker(s.options.Lease / 5)
	defer check.Stop()
	for received := false; ; {
		select {
		case reply := <-replies:
			w.accepted = true
			silence.Stop()
			if reply.Kind == store.MessageDecided {
				return s.outcome(reply)
			}
		case <-silence.C:
			// If the message is no longer in the inbox, the other replica has received it
			// and should answer. If no answer comes within Options.RetryFor, that replica has
			// lost the message or cannot answer.
			removed, err := s.member.Withdraw(s.ctx, f.To, place)
			if received || removed || err != nil {
				return Outcome{Unknown: !removed}, errMoving()
			}
			received = true
			silence.Reset(s.options.RetryFor)
		case <-check.C:
			if outcome, done, err := s.check(&w); done {
				return outcome, err
			}
		case <-s.ctx.Done():
			return unknown, errStopping()
		}
	}
}

// waitingFor is a forwarded message whose outcome is not known.
type waitingFor struct {
	replica store.Replica
	// tasks are the tasks whose logs may contain the message.
	tasks    []store.Key
	request  *a2a.SendRequest
	accepted bool
	// term is the term of the lease in which the message was posted.
	term uint64
	// lostSince is the time since which the answer seems to be lost; zero while it does not.
	// There are two signs of a loss: all tasks have ended although the other replica confirmed
	// the message, or the lease of this replica may have ended. Without this lease, the other
	// replica cannot post its answer.
	lostSince time.Time
}

// check looks for the outcome of a message whose answer may be lost. done is true if
// check has found the outcome. It is also true, with an error, if there will be no
// outcome: the replica is dead, or has refused the message and its answer is lost.
func (s *Shared) check(w *waitingFor) (o Outcome, done bool, err error) {
	alive, err := s.member.Alive(s.ctx, w.replica)
	if err != nil {
		return Outcome{}, false, nil //nolint:nilerr // the next check reads the liveness again
	}
	found, err := s.findIn(s.ctx, w.tasks, w.request)
	switch {
	case found != nil:
		return Outcome{Turn: found, Found: true}, true, nil
	case !alive && err != nil:
		return unknown, true, err
	case !alive:
		return Outcome{}, true, errMoving()
	}
	lapsed := s.Term() != w.term
	switch now := s.options.Now(); {
	case !lapsed && (!w.accepted || slices.ContainsFunc(w.tasks, s.mayContinue)):
		w.lostSince = time.Time{}
	case w.lostSince.IsZero():
		w.lostSince = now
	case now.Sub(w.lostSince) > s.options.RetryFor:
		return Outcome{Unknown: lapsed}, true, errMoving()
	}
	return Outcome{}, false, nil
}

// mayContinue reports whether a message may still wait for its turn in a task. It returns
// false if the task has ended or does not exist.
func (s *Shared) mayContinue(k store.Key) bool {
	log, err := s.member.Open(s.ctx, k)
	var now *a2a.Record
	if err == nil {
		now, err = log.Snapshot(s.ctx)
	}
	if err != nil {
		return !errors.Is(err, store.ErrNotFound)
	}
	return !now.Task.Status.State.Terminal()
}

// outcome returns the decision of another replica from its answer.
func (s *Shared) outcome(m *store.InboxMessage) (Outcome, error) {
	switch {
	case m.Problem != nil:
		return Outcome{}, m.Problem
	case m.Message != nil:
		return Outcome{Message: m.Message}, nil
	}
	log, err := s.member.Open(s.ctx, m.Task)
	if err != nil {
		return unknown, err
	}
	return Outcome{Turn: &Position{Key: m.Task, Log: log, Seq: m.Seq}}, nil
}
