// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// forgetReports is the time after which PodReports forgets a report.
const forgetReports = 10 * time.Minute

// PodReports has the times of the last health reports of pods, in the memory of the leader. A sidecar repeats its
// report, so that the operator sees a sidecar that does not reach the registry any more. The times are not in the API
// server, because each report would cost a write there. Its methods are safe for concurrent use.
type PodReports struct {
	clock clock.PassiveClock
	// elected is closed when this replica becomes the leader.
	elected <-chan struct{}

	mu sync.Mutex
	// since is the time since which the reports are counted. It is zero before this replica is the leader.
	since time.Time
	last  map[types.UID]time.Time
	swept time.Time
}

// NewPodReports returns PodReports that count reports when elected is closed.
func NewPodReports(elected <-chan struct{}, c clock.PassiveClock) *PodReports {
	return &PodReports{clock: c, elected: elected, last: map[types.UID]time.Time{}}
}

// Last returns the time of the last report of a pod. If there is none, it returns the time since which reports are
// counted. It is zero before this replica is the leader.
func (p *PodReports) Last(pod types.UID) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin(p.clock.Now())
	if at, found := p.last[pod]; found {
		return at
	}
	return p.since
}

// count records a report of a pod. It returns false if this replica is not the leader.
func (p *PodReports) count(pod types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if !p.begin(now) {
		return false
	}
	p.last[pod] = now
	if now.Sub(p.swept) >= forgetReports {
		p.swept = now
		maps.DeleteFunc(p.last, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= forgetReports })
	}
	return true
}

// begin returns whether this replica is the leader. The mutex must be held.
func (p *PodReports) begin(now time.Time) bool {
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
