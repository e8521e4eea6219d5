// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// forgetHeartbeats is the time after which Heartbeats forgets a pod.
const forgetHeartbeats = 10 * time.Minute

// Heartbeats has the times of the last heartbeats of pods, in the memory of the leader. A sidecar repeats its
// heartbeat, so that the operator sees a sidecar that does not reach the registry any more. The times are not in the API
// server, because each heartbeat would cost a write there. Its methods are safe for concurrent use.
type Heartbeats struct {
	clock clock.PassiveClock
	// elected is closed when this replica becomes the leader.
	elected <-chan struct{}

	mu sync.Mutex
	// since is the time since which the heartbeats are counted. It is zero before this replica is the leader.
	since time.Time
	last  map[types.UID]time.Time
	swept time.Time
}

// NewHeartbeats returns Heartbeats that are counted when elected is closed.
func NewHeartbeats(elected <-chan struct{}, c clock.PassiveClock) *Heartbeats {
	return &Heartbeats{clock: c, elected: elected, last: map[types.UID]time.Time{}}
}

// Last returns the time of the last heartbeat of a pod. If there is none, it returns the time since which heartbeats are
// counted. It is zero before this replica is the leader.
func (p *Heartbeats) Last(pod types.UID) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin(p.clock.Now())
	if at, found := p.last[pod]; found {
		return at
	}
	return p.since
}

// count records a heartbeat of a pod. It returns false if this replica is not the leader.
func (p *Heartbeats) count(pod types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if !p.begin(now) {
		return false
	}
	p.last[pod] = now
	if now.Sub(p.swept) >= forgetHeartbeats {
		p.swept = now
		maps.DeleteFunc(p.last, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= forgetHeartbeats })
	}
	return true
}

// begin returns whether this replica is the leader. The mutex must be held.
func (p *Heartbeats) begin(now time.Time) bool {
	select {
	case <-p.elected:
	default:
		return false
	}
	if p.since.IsZero() {
		p.since = now
	}
	return true
}
