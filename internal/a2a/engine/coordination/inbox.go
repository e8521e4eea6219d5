// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coordination

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func errInboxFull() error {
	return &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "Too many messages wait for another replica"}
}

// readInbox receives the messages of other replicas until the coordinator stops. Only
// calls of the store block it.
func (s *Shared) readInbox() {
	for s.ctx.Err() == nil {
		messages, err := s.member.Receive(s.ctx)
		if err != nil {
			store.Sleep(s.ctx, store.LastRetry) // the renewal of the lease logs the outage
			continue
		}
		for _, m := range messages {
			s.receive(m)
		}
	}
}

func (s *Shared) receive(m *store.InboxMessage) {
	switch m.Kind {
	case store.MessageAccepted, store.MessageDecided:
		s.mu.Lock()
		defer s.mu.Unlock()
		if replies := s.replies[m.Number]; replies != nil {
			select {
			case replies <- m:
			default: // unreachable: the channel has room for all answers to one message
			}
		}
	case store.ReviewTask:
		s.review(m.Task)
	case store.ForwardedMessage:
		if m.Request == nil || m.Request.Message == nil {
			return
		}
		release, err := s.accepting.Acquire(s.ctx, m.Request.ChargedTo().Share())
		if err != nil {
			s.group.Go(func() { s.answer(m, Outcome{}, errInboxFull()) })
			return
		}
		s.group.Go(func() {
			defer release()
			s.accept(m)
		})
	}
}

// accept passes a message of another replica to the host, and sends the outcome to that
// replica. If the message has to wait, accept first sends a confirmation.
func (s *Shared) accept(m *store.InboxMessage) {
	a := s.host.Accept(s.ctx, Forwarded{Request: m.Request, NewTask: m.Task.TaskID, Claim: m.Claim})
	if !a.Decided() {
		_ = s.retry(func() error { return s.send(m, store.InboxMessage{Kind: store.MessageAccepted}) })
	}
	outcome, err := a.Wait(s.ctx)
	s.answer(m, outcome, err)
}

// answer sends the outcome of a message to the replica that forwarded it.
func (s *Shared) answer(m *store.InboxMessage, o Outcome, err error) {
	answer := store.InboxMessage{Kind: store.MessageDecided, Message: o.Message}
	switch {
	case errors.Is(err, errStopped):
		answer.Problem = errStopping()
	case err != nil:
		answer.Problem = a2a.ErrorOf(err)
	case o.Turn != nil:
		answer.Task = o.Turn.Key
		answer.Seq = o.Turn.Seq
	}
	_ = s.retry(func() error { return s.send(m, answer) })
}

// send posts an answer to a message of another replica, also while the coordinator stops.
// Callers retry it. It posts a copy of the answer, because the other replica may already
// hold the answer of an earlier attempt that seemed to fail.
func (s *Shared) send(to *store.InboxMessage, answer store.InboxMessage) error {
	answer.From = s.member.Self()
	answer.Number = to.Number
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), lastWrites)
	defer cancel()
	_, err := s.member.Post(ctx, to.From, &answer)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		s.options.Log.ErrorContext(ctx, "answer to another replica not sent", "replica", to.From, "error", err)
	}
	return err
}

// awaitReplies registers a forwarded message under a new number. replies receives the
// answers to it, and end removes the registration.
func (s *Shared) awaitReplies() (number uint64, replies chan *store.InboxMessage, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	number = s.number
	replies = make(chan *store.InboxMessage, 4)
	s.replies[number] = replies
	return number, replies, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.replies, number)
	}
}
