// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

const (
	// maxForwarded bounds the messages that are with other replicas.
	maxForwarded = 1024
	// forwardPatience is how long a replica may take to take a message.
	forwardPatience = 5 * time.Second
)

// forward brings a message to the replica that runs its task, where it is
// queued, answered or refused like those of that replica's own clients. What
// becomes of it is told by the turn. The task's lock is not held. claimed is the
// task that the message makes if it makes one; "" for a message that is not
// forwarded for the sake of a claim.
func (r *replica) forward(tn *turn, to store.Replica, claimed string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return errUnavailable()
	case len(r.questions) >= maxForwarded:
		return &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "Too many messages are with other replicas"}
	}
	request := *tn.request
	message := *request.Message
	message.ID = tn.message.ID
	request.Message = &message
	r.group.Go(func() {
		if err := r.relay(tn, to, &request, claimed); err != nil {
			r.engine.drop(tn, err)
		}
	})
	return nil
}

// relay is the whole way of one message. An error refuses it.
func (r *replica) relay(tn *turn, to store.Replica, request *a2a.SendRequest, claimed string) error {
	number, answers, end := r.ask()
	defer end()
	mail := &store.InboxMessage{From: r.Self(), Kind: store.ForwardedMessage, Number: number, Request: request, Claim: tn.claim}
	about := &inquiry{to: to, homes: homes(request, cmp.Or(claimed, tn.taskID)), request: request}
	if claimed != "" {
		mail.Task = about.homes[0]
	}
	place, err := r.Post(r.ctx, to, mail)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return errNotNow()
	case errors.Is(err, store.ErrFull):
		return errTooManyMails()
	case err != nil:
		return storeError("forward message", tn.taskID, err)
	}
	patience := time.NewTimer(forwardPatience)
	defer patience.Stop()
	look := time.NewTicker(r.engine.options.Lease / 5)
	defer look.Stop()
	for received, taken := false, false; ; {
		select {
		case m := <-answers:
			taken = true
			patience.Stop()
			if m.Kind == store.MessageDecided {
				return r.decided(tn, m)
			}
		case <-patience.C:
			// It is taken back, or it was received: then there will be an answer. Who
			// says nothing for so long has lost it, or cannot say.
			if received || r.takenBack(to, place) {
				return errNotNow()
			}
			received = true
			patience.Reset(r.engine.options.OutagePatience)
		case <-look.C:
			if done, err := r.look(tn, about, taken); done {
				return err
			}
		case <-r.ctx.Done():
			return errUnavailable()
		}
	}
}

// inquiry is about a message that is with another replica.
type inquiry struct {
	to store.Replica
	// homes are the tasks in which it may be.
	homes   []store.Key
	request *a2a.SendRequest
	// vain is since when it is said to wait, and waits for nothing.
	vain time.Time
}

// look is for answers that are lost, and for who would give them. It is done
// when there will be none.
func (r *replica) look(tn *turn, about *inquiry, taken bool) (done bool, err error) {
	lives, err := r.Alive(r.ctx, about.to)
	if err != nil {
		return false, nil //nolint:nilerr // it is asked again
	}
	joined, err := r.inherit(tn, about)
	if joined || !lives {
		return true, err
	}
	switch now := r.engine.options.Now(); {
	case !taken || slices.ContainsFunc(about.homes, r.goesOn):
		about.vain = time.Time{}
	case about.vain.IsZero():
		about.vain = now
	case now.Sub(about.vain) > r.engine.options.OutagePatience:
		return true, errNotNow()
	}
	return false, nil
}

// goesOn reports whether a message may wait for its turn in a task, unless that
// is known to have ended, or not to exist.
func (r *replica) goesOn(k store.Key) bool {
	log, err := r.engine.open(r.ctx, k)
	if err != nil {
		return unlessMissing(err) != nil
	}
	now, err := log.Snapshot(r.ctx)
	if err != nil {
		return !errors.Is(err, store.ErrNotFound)
	}
	return !now.Task.Status.State.Terminal()
}

// takenBack reports whether a mail was not received, or nobody knows.
func (r *replica) takenBack(to store.Replica, place string) bool {
	back, err := r.Withdraw(r.ctx, to, place)
	return back || err != nil
}

// inherit is what becomes of a message whose replica is gone: it is in the log
// of its task, or was lost.
func (r *replica) inherit(tn *turn, about *inquiry) (joined bool, err error) {
	for _, home := range about.homes {
		joined, err = r.join(r.ctx, tn, home, about.request)
		if joined || err != nil {
			return joined, err
		}
	}
	return false, errNotNow()
}

func (r *replica) decided(tn *turn, m *store.InboxMessage) error {
	switch {
	case m.Problem != nil:
		return m.Problem
	case m.Message != nil:
		tn.reply(m.Message)
		return nil
	default:
		return r.followFrom(r.ctx, tn, m.Task, m.Seq)
	}
}

// followFrom decides a turn that is run elsewhere: it is followed in the log,
// where it began with an event.
func (r *replica) followFrom(ctx context.Context, tn *turn, k store.Key, seq uint64) error {
	log, err := r.engine.open(ctx, k)
	if err != nil {
		return err
	}
	opening, err := openingAt(ctx, log, k, seq)
	if err != nil {
		return err
	}
	tn.follow(log, k, opening)
	return nil
}

// follow decides a turn that is run elsewhere, or was.
func (tn *turn) follow(log store.Log, k store.Key, opening *a2a.Record) {
	tn.taskID, tn.moved = k.TaskID, true
	tn.open(log, opening)
	tn.settle()
}

// retold has a turn follow the same message, when that is the last that its task
// was told, and not long ago. Its sender was refused by somebody who could not
// know that another took it.
func (t *task) retold(ctx context.Context, tn *turn) (followed bool, err error) {
	if t.engine.replica == nil || tn.recent == nil {
		return false, nil
	}
	now, err := t.log.Snapshot(ctx)
	if err != nil {
		return false, storeError("read task", t.key.TaskID, err)
	}
	m, last := tn.message, lastOf(now.Task.History)
	// A client may use the id of the message that made the task for the next one.
	made := !tn.request.ClientTaskID && t.turns == 1
	if made {
		return false, nil
	}
	if last == nil || last.ID != m.ID ||
		!reflect.DeepEqual(last.Parts, m.Parts) && !reflect.DeepEqual(last.Parts, m.Redacted().Parts) {
		return false, nil
	}
	seq, err := find(ctx, t.log, tn.request)
	if err != nil || seq == 0 {
		return false, storeErrorOrNil("read task", t.key.TaskID, err)
	}
	opening, err := openingAt(ctx, t.log, t.key, seq+1)
	if err != nil || t.engine.options.Now().Sub(opening.Task.Status.Time) > t.engine.options.DeduplicationWindow() {
		return false, err
	}
	tn.follow(t.log, t.key, opening)
	return true, nil
}

// lastOf returns the last message of a client.
func lastOf(history []*a2a.Message) *a2a.Message {
	for _, m := range slices.Backward(history) {
		if m.Role == a2a.RoleUser {
			return m
		}
	}
	return nil
}

// openingAt returns the task as it was at an event or, when the log does not
// say, as it is.
func openingAt(ctx context.Context, log store.Log, k store.Key, seq uint64) (*a2a.Record, error) {
	now, err := log.Snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", k.TaskID, err)
	}
	if now.Seq <= seq {
		return now, nil
	}
	fold := store.NewFold(k.TaskID, store.Origin{ContextID: now.Task.ContextID, Dialect: now.Task.Dialect})
	var batch []*a2a.Record
	for at := uint64(0); at < seq; {
		batch, err = log.Read(ctx, batch[:0], at)
		switch {
		case errors.Is(err, store.ErrTrimmed):
			return now, nil
		case err != nil:
			return nil, storeError("read task", k.TaskID, err)
		case len(batch) == 0:
			return now, nil
		}
		for _, record := range batch {
			if record.Seq <= seq {
				fold.Replay(&record.Event)
			}
			at = record.Seq
		}
	}
	return &a2a.Record{Seq: seq, Event: a2a.Event{Task: fold.Task()}}, nil
}

// join has a turn follow the same message, if that is in the log of a task.
func (r *replica) join(ctx context.Context, tn *turn, k store.Key, of *a2a.SendRequest) (joined bool, err error) {
	if k.TaskID == "" {
		return false, nil
	}
	log, err := r.engine.open(ctx, k)
	if err != nil {
		return false, unlessMissing(err)
	}
	now, err := log.Snapshot(ctx)
	if err != nil {
		return false, unlessMissing(storeError("read task", k.TaskID, err))
	}
	if !slices.ContainsFunc(now.Task.History, func(m *a2a.Message) bool { return m.ID == of.Message.ID }) {
		return false, nil
	}
	seq, err := find(ctx, log, of)
	if err != nil || seq == 0 {
		return false, unlessMissing(storeErrorOrNil("read task", k.TaskID, err))
	}
	// The status behind the message begins its turn.
	return true, r.followFrom(ctx, tn, k, seq+1)
}

// find returns the number of the event with the message of a request; 0 when it
// is not there, or no longer. A client may use one id for the message that makes a
// task and for those that continue it: a message that names the task is the last
// one, and not the one that made it; any other is the first one.
func find(ctx context.Context, log store.Log, r *a2a.SendRequest) (seq uint64, err error) {
	named := r.Message.TaskID != ""
	continues := named && !r.ClientTaskID
	var batch []*a2a.Record
	for at := uint64(0); ; {
		batch, err = log.Read(ctx, batch[:0], at)
		if errors.Is(err, store.ErrTrimmed) {
			return 0, nil
		}
		if err != nil || len(batch) == 0 {
			return seq, err //nolint:wrapcheck // its caller does
		}
		for _, record := range batch {
			at = record.Seq
			if record.Message == nil || record.Message.ID != r.Message.ID || continues && at == 1 {
				continue
			}
			if seq = at; !named {
				return seq, nil
			}
		}
	}
}

// outcome follows a turn that is run elsewhere to where its task stops.
func (e *Engine) outcome(ctx context.Context, tn *turn) (*a2a.Record, error) {
	s := e.follow(tn.log, nil, tn.opening.Seq, stops)
	defer s.Close()
	s.withMessages = true
	fold := store.Resume(tn.opening.Task)
	seq := tn.opening.Seq
	for {
		records, err := s.Next(ctx)
		if err != nil {
			if s.ended {
				return &a2a.Record{Seq: seq, Event: a2a.Event{Task: fold.Task()}}, nil
			}
			return nil, err
		}
		for _, record := range records {
			fold.Replay(&record.Event)
			seq = record.Seq
		}
	}
}

// stops reports whether an event has a blocking call answered.
func stops(u *a2a.StatusUpdate) bool {
	return u.Status.State.Terminal() || u.Status.State.Interrupted()
}
