// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

func (s *Stream) isRevoked(ctx context.Context) bool {
	if s.o.Authenticated == nil {
		return false
	}
	valid, err := s.o.Authenticated(ctx)
	return err == nil && !valid
}

func (s *Stream) isStale() bool { return s.interest.Set.IsStale(s.o.Clock.Now()) }

// use makes set the set of the stream, and sets the timer for the time at which the set becomes
// stale.
func (s *Stream) use(set *access.Set) {
	s.interest.Set = set
	if until := set.Until(); until.IsZero() {
		s.setExpiry.Stop()
	} else {
		s.setExpiry.Reset(until.Sub(s.o.Clock.Now()))
	}
}

// checkAccess does nothing if the set of the caller is not stale. Otherwise, it resolves the set
// again, and returns ErrAccessChanged if the set has changed.
func (s *Stream) checkAccess(ctx context.Context) error {
	if !s.isStale() {
		return nil
	}
	set, err := s.resolve(ctx)
	if err != nil {
		return err
	}
	if !set.Equal(s.interest.Set) {
		return ErrAccessChanged
	}
	s.use(set)
	return nil
}

// sendAccess resolves the set of agents that the caller sees again. It sends the agents that the
// caller sees now and did not see before, and removes those that the caller no longer sees.
func (s *Stream) sendAccess(ctx context.Context) error {
	set, err := s.resolve(ctx)
	if err != nil {
		return err
	}
	before := s.interest.Set
	s.use(set)
	if set.Equal(before) {
		return nil
	}
	s.view = viewOf(s.o.Query, set)
	has, latest := s.subscription.Change(s.interest)
	if s.at != nil {
		has = s.at
	}
	s.moveTo(has, latest)
	for e := range s.at.Snapshot.All {
		was := e.VisibleTo(before)
		is := e.VisibleTo(set)
		if was == is || !s.o.Query.Matches(e) {
			continue
		}
		if is {
			err = s.sendUpsert(e)
		} else {
			err = s.send(removeFrame(e.Key))
		}
		if err != nil {
			return err
		}
	}
	return s.sendBookmark()
}

func (s *Stream) resolve(ctx context.Context) (*access.Set, error) {
	ctx, cancel := context.WithTimeout(ctx, accessTimeout)
	defer cancel()
	for {
		set, err := s.o.VisibleSet(ctx)
		if err == nil {
			return set, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ErrUnavailable, err)
		case <-time.After(accessRetry):
		}
	}
}
