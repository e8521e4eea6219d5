// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coordination

import (
	"context"
)

// Start implements Lease. It waits for the first attempt to renew the lease, so that the
// first message finds the lease. If the attempt fails, messages are refused until a renewal.
func (s *Shared) Start(h Host) {
	s.host = h
	attempted := make(chan struct{})
	s.group.Go(func() { s.renewLease(attempted) })
	s.group.Go(s.readInbox)
	<-attempted
}

// Stop implements Lease.
func (s *Shared) Stop(ctx context.Context) {
	s.mu.Lock()
	stopped := s.stopped
	s.stopped = true
	s.mu.Unlock()
	s.stop(errStopped)
	s.group.Wait()
	if stopped {
		return
	}
	s.Interrupt()
	ctx, cancel := context.WithTimeout(ctx, lastWrites)
	defer cancel()
	if err := s.member.Leave(ctx); err != nil {
		s.options.Log.ErrorContext(ctx, "lease not released", "error", err)
	}
}
