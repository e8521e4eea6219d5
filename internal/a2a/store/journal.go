// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import "time"

// Bounds of the journal of one task.
const (
	MaxJournalEntries = 2048
	MaxJournalBytes   = 16 << 20
)

// JournalAppend is an append to the journal of a task.
//
// The journal has what a backend must know to continue the task after the process has ended: the
// steps that it has done. It is private: no client, subscriber or push notification gets an entry. It
// begins empty, is independent of the log, and ends with the task. Only the replica that holds the task
// may append.
type JournalAppend struct {
	// After is the number of entries before this one.
	After int
	// Entry is not empty. The journal takes ownership of it.
	Entry []byte
	// RetryFor is how long the store retries the write during an outage; 0 means the default of the
	// store.
	RetryFor time.Duration
	// Replica is the caller. Stores that are not shared ignore it.
	Replica Replica
}

// Exceeds reports whether a journal with a number of entries and bytes has no room for the entry.
func (a *JournalAppend) Exceeds(entries, bytes int) bool {
	return entries >= MaxJournalEntries || bytes+len(a.Entry) > MaxJournalBytes
}
