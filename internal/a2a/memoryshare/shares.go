// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memoryshare divides the memory limit of a sidecar into the budgets of its parts.
// It is pure: it neither reads a limit nor sets one.
//
// The parts charge their budgets with estimates of the bytes that they hold. The budgets
// together with the memory of an idle sidecar stay below nine tenths of the limit, the soft
// limit of the Go heap, so that the kernel never kills the sidecar.
package memoryshare

import "fmt"

const (
	// Default is the assumed limit of a sidecar without a memory limit, in bytes. The
	// operator sets the same limit on the sidecars of Agents.
	Default = 256 << 20
	// Minimum is the least limit, in bytes, with which a sidecar starts.
	Minimum = 48 << 20
	// Maximum is the limit above which the budgets do not grow, in bytes.
	Maximum = 4 << 30
	// base is the memory of an idle sidecar and of the kernel's buffers of its connections, in
	// bytes.
	base = 16 << 20
)

// The multiples with which a byte of an object is charged to a budget, because the sidecar needs
// more memory while it handles the object.
const (
	// BodyCost is the cost of a byte of a request until it is decoded: the body, a copy for the
	// decoder (gRPC, and values of JSON), and what is decoded.
	BodyCost = 3
	// TurnCost is the cost of a byte of a message while its turn runs: the message, and the
	// request to the agent.
	TurnCost = 2
	// EventCost is the cost of a byte of the buffer into which an agent's event is read: the
	// buffer, the data of a server-sent event, and what is decoded.
	EventCost = 3
)

// Shares are the budgets of a sidecar, in bytes.
type Shares struct {
	// Limit is the memory limit of the sidecar.
	Limit int64
	// Connections is for the stacks, buffers and headers of all connections.
	Connections int64
	// Bodies is for requests that are not decoded yet, and Answers for what is not sent yet.
	Bodies, Answers int64
	// Turns is for the messages of running turns, and Waiting for messages that wait for a
	// turn. Deduplicated is for the answers to remembered messages.
	Turns, Waiting, Deduplicated int64
	// Events is for events of the agent that are being read, and for requests to the agent as
	// far as they contain more than the message.
	Events int64
	// Tasks is for tasks in memory: those of the store Memory, or the cache of a store in
	// Redis and what requests read from it. The store may use three eighths more for encodings and conversations.
	Tasks int64
	// Pushes is for push configurations in memory.
	Pushes int64
	// Remote is for tasks of remote agents in memory, and RemoteTurns for the messages of their
	// running turns.
	Remote, RemoteTurns int64
	// Cards is for cards of other agents in memory: those that the gateway has looked up, and as
	// much for those of remote agents.
	Cards int64
}

// Divide returns the budgets for a memory limit in bytes. It fails for a limit below Minimum.
func Divide(limit int64) (Shares, error) {
	if limit < Minimum {
		return Shares{}, fmt.Errorf("the memory limit is %d MiB, a sidecar needs at least %d MiB: raise the memory limit of its container", limit>>20, int64(Minimum)>>20)
	}
	part := (min(limit, Maximum) - base) / 64
	return Shares{
		Limit:        limit,
		Connections:  8 * part,
		Bodies:       12 * part,
		Answers:      5 * part,
		Turns:        8 * part,
		Waiting:      2 * part,
		Deduplicated: part,
		Events:       5 * part,
		Tasks:        8 * part,
		Pushes:       part,
		Remote:       2 * part,
		RemoteTurns:  part,
		Cards:        part / 4,
	}, nil
}

// Heap returns the soft limit of the Go heap for a memory limit, both in bytes.
func Heap(limit int64) int64 { return limit / 10 * 9 }

// LimitOfHeap returns the memory limit for a soft limit of the Go heap, both in bytes.
func LimitOfHeap(heap int64) int64 { return heap / 9 * 10 }

// Budgets returns the largest sum of all budgets, in bytes, including what the store of tasks
// may use beyond Tasks.
func (s *Shares) Budgets() int64 {
	return s.Connections + s.Bodies + s.Answers + s.Turns + s.Waiting + s.Deduplicated + s.Events + (s.Tasks+s.Remote)/8*11 + s.Pushes + s.RemoteTurns + 2*s.Cards
}

// MaxBody returns the size of the largest request body that fits into the budgets, in bytes.
// One request may use three quarters of Bodies (limit.Budget).
func (s *Shares) MaxBody() int64 { return s.Bodies / 4 * 3 / BodyCost }

// MaxEvent returns the size of the largest event of the agent, in bytes. One event may use three
// quarters of Events (limit.Budget).
func (s *Shares) MaxEvent() int64 { return s.Events / 4 * 3 / EventCost }
