// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// maxClaims bounds how often somebody else may be found to be first.
const maxClaims = 3

// claim makes sure that no other replica has taken the same message, or has the
// turn follow what became of it there; then followed is true. A former turn of
// the message is followed while its claim stands.
func (r *replica) claim(ctx context.Context, tn *turn) (followed bool, err error) {
	if tn.recent == nil {
		return false, nil
	}
	name := digest(tn.request)
	mine := store.MessageClaim{Replica: r.Self(), TaskID: tn.home(), Nonce: newID()}
	window := r.engine.options.DeduplicationWindow()
	for range maxClaims {
		stands, err := r.Claim(ctx, name, mine, max(window, time.Millisecond))
		if err != nil {
			return false, storeError("claim message", tn.taskID, err)
		}
		tn.claim = store.ClaimedMessage{Message: name, MessageClaim: stands}
		if stands == mine {
			tn.former = nil
			tn.unclaim = func() { _ = r.Unclaim(context.WithoutCancel(ctx), name, mine) } // it ends by itself
			return false, nil
		}
		if tn.former != nil && tn.former.claim == tn.claim {
			tn.become(tn.former)
			return true, nil
		}
		if followed, err := r.same(ctx, tn, stands); followed || err != nil {
			return followed, err
		}
		tn.former = nil
		if err := r.Unclaim(ctx, name, stands); err != nil {
			return false, storeError("claim message", tn.taskID, err)
		}
	}
	return false, errNotNow()
}

// same has a turn follow the one of the same message at another replica. It is
// false when nothing is left of that.
func (r *replica) same(ctx context.Context, tn *turn, stands store.MessageClaim) (bool, error) {
	for _, home := range homes(tn.request, stands.TaskID) {
		joined, err := r.join(ctx, tn, home, tn.request)
		if joined || err != nil {
			return joined, err
		}
	}
	if stands.Replica == r.Self() {
		return false, nil
	}
	alive, err := r.Alive(ctx, stands.Replica)
	switch {
	case err != nil:
		return false, storeError("claim message", tn.taskID, err)
	case !alive:
		return false, nil
	}
	return true, r.forward(tn, stands.Replica, stands.TaskID)
}

// homes are the tasks in which a message may be that was claimed for one.
func homes(r *a2a.SendRequest, claimed string) []store.Key {
	all := []store.Key{{Owner: r.Owner, TaskID: claimed}}
	if m := r.Message; m.TaskID == "" && len(m.ReferenceTasks) == 1 && m.HasResult() {
		all = append(all, store.Key{Owner: r.Owner, TaskID: m.ReferenceTasks[0]}) // it may have been the answer to a question
	}
	return all
}

// home is the task to which a message is claimed: one that exists, or that the
// message makes if it makes one.
func (tn *turn) home() string {
	if id := cmp.Or(tn.message.TaskID, tn.pausedTask); id != "" {
		return id
	}
	tn.taskID = newID()
	return tn.taskID
}

// digest names a message to all replicas: who said what where.
func digest(r *a2a.SendRequest) string {
	h := sha256.New()
	write := func(s string) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(s)))
		_, _ = h.Write(size[:])
		_, _ = h.Write([]byte(s))
	}
	m := r.Message
	for _, s := range []string{string(r.Owner), m.ContextID, m.TaskID, m.ID} {
		write(s)
	}
	writeContent(r, write, func(b []byte) { write(string(b)) })
	return hex.EncodeToString(h.Sum(nil))
}
