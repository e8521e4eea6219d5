// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coordination

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// maxClaims bounds the attempts of a claim while other replicas claim the same message.
const maxClaims = 3

// Claim implements Messages. If the message has a claim already, other than c.Former, Claim
// looks for the message in the task that the claim names. If the message is not in that task
// and the claim belongs to another replica that is alive, the caller has to forward the
// message to that replica. Claim replaces a claim of a dead replica or of this replica. If the
// store has no lease of this replica, Claim first renews the lease.
func (s *Shared) Claim(ctx context.Context, c ClaimRequest) (Claimed, error) {
	name := digest(c.Request)
	mine := store.MessageClaim{Replica: s.member.Self(), TaskID: c.Task, Nonce: uuid.NewString()}
	for attempt := range maxClaims {
		term := s.Term()
		stands, isRenewed, err := s.tryClaim(ctx, name, mine, c.Window)
		if err != nil {
			return Claimed{}, err
		}
		if isRenewed {
			continue
		}
		claim := store.ClaimedMessage{Message: name, MessageClaim: stands}
		switch {
		case stands == mine:
			// The turn may have begun in the store, although its replica did not get the answer: a paused replica that goes on takes its
			// request for one that was too slow. The claim then stays. After an error, it expires.
			release := func() { _, _ = s.member.Unclaim(context.WithoutCancel(ctx), name, mine, tasksOf(c.Request, c.Task)...) }
			return Claimed{Claim: claim, Mine: true, Term: term, Release: release}, nil
		case c.Former == claim:
			return Claimed{Claim: claim, Former: true}, nil
		}
		tasks := tasksOf(c.Request, stands.TaskID)
		found, err := s.findIn(ctx, tasks, c.Request)
		if err != nil || found != nil {
			return Claimed{Claim: claim, Found: found}, err
		}
		if stands.Replica != s.member.Self() {
			alive, err := s.member.Alive(ctx, stands.Replica)
			if err != nil || alive {
				return Claimed{Claim: claim, Replica: stands.Replica, Task: stands.TaskID}, err
			}
		}
		c.Former = store.ClaimedMessage{}
		if attempt == maxClaims-1 {
			tasks = nil // a task that has begun with the claim does not contain the message any more
		}
		// The replica of the claim may have hung, and has begun a turn since the search. The next attempt finds it.
		if _, err := s.member.Unclaim(ctx, name, stands, tasks...); err != nil {
			return Claimed{}, err
		}
	}
	return Claimed{}, errMoving()
}

// tryClaim claims a message once, and returns the claim that stands. If the store has no lease of this replica, it renews the lease instead,
// and isRenewed is true.
func (s *Shared) tryClaim(ctx context.Context, name string, mine store.MessageClaim, window time.Duration) (stands store.MessageClaim, isRenewed bool, err error) {
	stands, err = s.member.Claim(ctx, name, mine, s.claimTTL(window))
	if errors.Is(err, store.ErrNoLease) {
		return stands, true, s.awaitRenewal(ctx)
	}
	return stands, false, err
}

// claimTTL returns the time to live of a claim. It is at least the lease, because the claims of
// running turns are extended only with each renewal of the lease.
func (s *Shared) claimTTL(window time.Duration) time.Duration { return max(window, s.options.Lease) }

// tasksOf returns the tasks whose logs may contain the message of a request. claimed is the
// task that the claim on the message names.
func tasksOf(r *a2a.SendRequest, claimed string) []store.Key {
	all := []store.Key{{Owner: r.Owner, TaskID: claimed}}
	if m := r.Message; m.TaskID == "" && len(m.ReferenceTasks) == 1 && m.HasResult() {
		all = append(all, store.Key{Owner: r.Owner, TaskID: m.ReferenceTasks[0]}) // the message may answer the input request of this task
	}
	return all
}

// digest identifies a message among replicas, by its owner, ids and content.
func digest(r *a2a.SendRequest) string {
	h := sha256.New()
	write := func(b []byte) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(b)))
		_, _ = h.Write(size[:])
		_, _ = h.Write(b)
	}
	m := r.Message
	for _, id := range []string{string(r.Owner), m.ContextID, m.TaskID, m.ID} {
		write([]byte(id))
	}
	r.Content(func(text string) { write([]byte(text)) }, write)
	return hex.EncodeToString(h.Sum(nil))
}
