// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coordination

import (
	"context"
)

// Start implements Lease.
func (s *Shared) Start(h Host) {
	s.host = h
	s.group.Go(s.renewLease)
	s.group.Go(s.readInbox)
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
