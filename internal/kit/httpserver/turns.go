// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"math"
	"net/netip"
	"runtime"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
)

const (
	// excessOfTurn is the cost of frames that a connection may have in excess of what it has earned until it waits for its
	// turn, and excessPace the time of a turn. All connections of a listener together may have 1,000 such resets a second.
	excessOfTurn = 5 * costOfReset
	excessPace   = 5 * time.Millisecond
)

// turns bound the work for clients that have not been answered yet. The source addresses take turns, so that a
// flood from one delays others little, and so that many connections cause no more work than one. A connection that earns its
// control frames with the answers that it gets, as those of normal clients do, waits for no turn.
type turns struct {
	// excess has the turns of connections for frames in excess of what they have earned.
	excess *fairslots.Slots[netip.Addr]
	// handshakes has the turns for the computations of TLS handshakes, which use at most a half of the processors.
	handshakes *fairslots.Slots[netip.Addr]
}

// The table bounds the connections that wait.
func newTurns() turns {
	processors := max(1, runtime.GOMAXPROCS(0)/2)
	return turns{
		excess:     fairslots.New[netip.Addr](fairslots.Options{Slots: 1, PerTenant: 1, Waiting: math.MaxInt32, Pace: excessPace}),
		handshakes: fairslots.New[netip.Addr](fairslots.Options{Slots: processors, PerTenant: processors, Waiting: math.MaxInt32}),
	}
}

// awaitExcess waits for the turns of the frames that the client has sent in excess. It returns false if the connection is closed
// meanwhile.
func (c *Conn) awaitExcess() bool {
	for c.frames.excess >= excessOfTurn {
		release, err := c.server.table.turns.excess.Acquire(c.open, c.source.address)
		if err != nil {
			return false
		}
		release()
		c.frames.excess -= excessOfTurn
	}
	return true
}

// computes waits until the handshake may compute.
func (c *Conn) computes() error {
	release, err := c.server.table.turns.handshakes.Acquire(c.open, c.source.address)
	c.endComputation = release
	return err
}

// rests ends the computation of the handshake, if there is one.
func (c *Conn) rests() {
	if c.endComputation != nil {
		c.endComputation()
		c.endComputation = nil
	}
}
