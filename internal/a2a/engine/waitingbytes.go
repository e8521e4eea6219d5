// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// waitingBytes are the bytes of messages: of all, and of those of each a2a.AccountingPrincipal.Share.
type waitingBytes struct {
	mu      sync.Mutex
	all     int64
	ofShare map[a2a.AccountingPrincipal]int64
}

// add adds bytes of the message of a turn, and returns the new sums.
func (w *waitingBytes) add(tn *turn, bytes int64) (all, ofShare int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addLocked(tn, bytes)
}

func (w *waitingBytes) addLocked(tn *turn, bytes int64) (all, ofShare int64) {
	share := tn.principal.Share()
	w.all += bytes
	w.ofShare[share] += bytes
	ofShare = w.ofShare[share]
	if ofShare == 0 {
		delete(w.ofShare, share)
	}
	return w.all, ofShare
}

// reserveWaitingBytes adds the size of a message to waitingBytes, unless reserveForwarded has done so. It returns false and
// adds nothing if the sum would exceed Options.WaitingBytes, or that of its share three quarters of them. A single message of a share
// may have all of them.
func (e *Engine) reserveWaitingBytes(tn *turn) bool {
	if tn.forwarded {
		tn.forwarded = false
		return true
	}
	return e.reserveWaiting(tn, e.options.WaitingBytes)
}

// reserveWaiting is reserveWaitingBytes with a bound for the size of a message while no other one waits.
func (e *Engine) reserveWaiting(tn *turn, alone int64) bool {
	all, ofShare := e.waitingBytes.add(tn, tn.size)
	if all == tn.size && all <= alone || all <= e.options.WaitingBytes && (ofShare == tn.size || ofShare <= e.options.WaitingBytes/4*3) {
		return true
	}
	e.releaseWaitingBytes(tn)
	return false
}

// reserveStored adds the sizes of the accepted messages of a task that this replica takes over. It returns false and adds nothing if others
// wait here, and the sum would exceed Options.WaitingBytes. Alone, the messages fit as they did at the replica that accepted them.
func (e *Engine) reserveStored(turns []*turn) bool {
	w := &e.waitingBytes
	w.mu.Lock()
	defer w.mu.Unlock()
	var size int64
	for _, tn := range turns {
		size += tn.size
	}
	if w.all > 0 && w.all+size > e.options.WaitingBytes {
		return false
	}
	for _, tn := range turns {
		w.addLocked(tn, tn.size)
	}
	return true
}

func (e *Engine) releaseStored(turns []*turn) {
	for _, tn := range turns {
		e.releaseWaitingBytes(tn)
	}
}

func (e *Engine) releaseWaitingBytes(tn *turn) { e.waitingBytes.add(tn, -tn.size) }
