// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storetest has the tests that every store must pass, run by the tests of
// each implementation, and a shared store in memory for tests of its users.
package storetest

import (
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Run runs the tests of stores. open returns an empty store with room for the data of
// all tests.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	tests := map[string]func(*testing.T, store.Store){
		"create and open":              createAndOpen,
		"key holds the owner":          keyHoldsOwner,
		"append in order":              appendInOrder,
		"append needs the last number": appendNeedsLast,
		"append has one winner":        appendHasOneWinner,
		"repeated create":              repeatedCreate,
		"repeated append":              repeatedAppend,
		"read from anywhere":           readFromAnywhere,
		"reads are bounded in bytes":   readsAreBoundedInBytes,
		"snapshot is one moment":       snapshotIsOneMoment,
		"snapshot never changes":       snapshotNeverChanges,
		"watch tells of appends":       watchTells,
		"fold":                         fold,
		"artifacts have places":        artifactsHavePlaces,
		"compact":                      compact,
		"journal":                      journal,
		"journal is bounded":           journalIsBounded,
		"list":                         list,
		"list while written":           listWhileWritten,
		"paused":                       pausedOfConversation,
		"remember and recall":          rememberAndRecall,
		"remember is bounded":          rememberIsBounded,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// RunShared runs the tests of shared stores, and the tests of Run with one replica.
// open returns an empty store.
func RunShared(t *testing.T, open func(t *testing.T) Shared) {
	t.Helper()
	Run(t, func(t *testing.T) store.Store { return join(t, open(t), "a") })
	tests := map[string]func(*testing.T, Shared){
		"lease":                                  leaseLapsesAndComesBack,
		"leave":                                  leaveEndsLease,
		"claims and new turns need a lease":      writesNeedLease,
		"first renewal ends former incarnations": firstRenewalEndsFormerIncarnations,
		"hold":                                   holdIsKeptTakenAndReleased,
		"hold without events":                    holdWithoutEvents,
		"hold of a dead replica":                 holdOfDeadIsTaken,
		"hold ends with the task":                holdEndsWithTask,
		"number is compared before holder":       numberBeforeHolder,
		"journal needs the hold":                 journalNeedsHold,
		"hold has one winner":                    holdHasOneWinner,
		"repeated hold change":                   repeatedHoldChange,
		"turn descriptor":                        turnDescriptorComesBack,
		"waiting messages":                       messagesWait,
		"waiting message is removed once":        waitingMessageIsRemovedOnce,
		"waiting messages end with the hold":     waitingMessagesEndWithHold,
		"a task that ends as it begins":          endedIsNotHeld,
		"inbox":                                  inboxKeepsOrder,
		"inbox is bounded":                       inboxIsBounded,
		"message is withdrawn or received":       messageIsWithdrawnOrReceived,
		"receive waits":                          receiveWaits,
		"claims":                                 claims,
		"claim has one winner":                   claimHasOneWinner,
		"claims end with their task":             claimsEndWithTask,
		"a task is created with the claim":       createdWithTheClaim,
		"claims of running turns are kept":       claimsOfRunningTurnsAreKept,
		"claims of a task are bounded":           claimsOfTaskAreBounded,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}
