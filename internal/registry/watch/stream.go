// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watch streams the agents that a caller sees, and their changes, as server-sent events. A
// client whose stream breaks can resume it on any replica. The package does not depend on HTTP, and
// does not decide which agents a caller may see.
package watch

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

const (
	// revisionTimeout is how long a stream that resumes waits until the replica has reached the
	// revision of its cursor.
	revisionTimeout = 2 * time.Second
	// bookmarkInterval is the interval at which a stream sends a bookmark. Its id is a position at
	// which the stream can resume, even if it has sent no other event.
	bookmarkInterval = 20 * time.Second
	// lifetime bounds the duration of a stream, because the token of its caller may expire or be
	// revoked. The duration is random, between half of lifetime and lifetime, so that streams do
	// not end together (jitter).
	lifetime = 10 * time.Minute
	// reviewInterval is the interval at which a stream checks that its caller is still authenticated. The authenticator
	// remembers the review of a token, so that most checks send none.
	reviewInterval = 10 * time.Second
	// maxLag bounds the changes that a stream has not sent yet. They stay in memory, as do the
	// snapshots since the state of the reader, so index.MaxHeld bounds their bytes, too.
	maxLag = 20_000
	// accessTimeout is how long a stream continues while the registry cannot resolve which agents
	// its caller sees. accessRetry is the time between two attempts.
	accessTimeout = 8 * time.Second
	accessRetry   = time.Second
	// chunkSize is the size of the buffered events at which a stream writes them, in bytes.
	chunkSize = 64 << 10
)

var (
	// ErrSlowConsumer is returned if a reader is behind by more than maxLag changes or index.MaxHeld bytes.
	ErrSlowConsumer = errors.New("the reader is too slow")
	// ErrUnavailable is returned if the registry cannot resolve within accessTimeout which agents
	// the caller sees.
	ErrUnavailable = errors.New("the access of the caller is unknown")
	// ErrAccessChanged is returned if the set of agents that the caller sees changes while the
	// stream sends its first state.
	ErrAccessChanged = errors.New("the access of the caller changed")
	// ErrUnauthenticated is returned if the token of the caller is not valid any more.
	ErrUnauthenticated = errors.New("the caller is not authenticated any more")
	// ErrExpired is returned at the end of the lifetime of a stream.
	ErrExpired = errors.New("the stream has reached its lifetime")
)

// Options configure a stream.
type Options struct {
	Feed  *index.Feed
	Query *index.Query
	// VisibleSet returns the set of agents that the caller sees.
	VisibleSet func(ctx context.Context) (*access.Set, error)
	// Authenticated reports whether the caller is still authenticated. Its errors are failures of the system, which do not
	// end the stream. Nil checks nothing.
	Authenticated func(ctx context.Context) (bool, error)
	// ReviewInterval is the interval of the calls of Authenticated. 0 means 10 s.
	ReviewInterval time.Duration
	Clock          clock.PassiveClock
	// Resume is the cursor at which the stream resumes, nil for a new stream.
	Resume *Cursor
	// Interrupt makes the running write of the Writer fail. The stream calls it, on another goroutine, for a reader that
	// is behind by more than index.MaxHeld bytes. Nil does nothing: the stream ends after the write.
	Interrupt func()
}

// Writer writes events to the reader. If it returns an error, the stream ends.
type Writer interface {
	Write(frames []byte) (int, error)
	// Flush sends the written events. The stream calls it when no further event is ready.
	Flush() error
}

// Stream sends the agents that one caller sees, and then their changes. Run may be called only
// once.
type Stream struct {
	o Options
	w Writer
	// interest has the filters, and the set of agents that the caller sees.
	interest     index.Interest
	subscription *index.Subscription
	// setExpiry fires when the set gets stale without a change of RBAC objects.
	setExpiry *time.Timer
	// at is the update whose state the reader has, and until is the last update to send. Both are
	// nil while the stream waits for changes, so that it keeps no former snapshots in memory.
	at, until *index.Update
	// out has the events that are not written yet. It uses the memory of buffer. Both are nil while
	// the stream waits for changes.
	out    []byte
	buffer *[]byte
	view   string
	// expired fires at the end of the lifetime of the stream.
	expired <-chan time.Time
}

// New returns a stream. If the stream resumes, New waits until the replica has reached the revision
// of the cursor, at most revisionTimeout. If the replica does not reach the revision in this time,
// the stream sends all agents. New returns the errors of VisibleSet and of ctx.
func New(ctx context.Context, o Options) (*Stream, error) {
	set, err := o.VisibleSet(ctx)
	if err != nil {
		return nil, err
	}
	if o.Resume != nil {
		wait, cancel := context.WithTimeout(ctx, revisionTimeout)
		_, _ = o.Feed.AwaitRevision(wait, o.Resume.Revision)
		cancel()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return &Stream{o: o, interest: index.Interest{Query: o.Query, Set: set}, view: viewOf(o.Query, set)}, nil
}

// Run sends events to w until ctx ends, w fails, or the stream must end. It always returns an
// error: that of ctx or w, ErrExpired, ErrSlowConsumer, ErrUnauthenticated, ErrUnavailable or ErrAccessChanged.
func (s *Stream) Run(ctx context.Context, w Writer) error {
	s.w = w
	end := time.NewTimer(lifetime/2 + rand.N(lifetime/2)) //nolint:gosec // spreads load
	defer end.Stop()
	s.expired = end.C
	s.setExpiry = time.NewTimer(lifetime)
	defer s.setExpiry.Stop()
	s.use(s.interest.Set)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.subscription = s.o.Feed.Subscribe(s.interest, func() {
		cancel(ErrSlowConsumer)
		if s.o.Interrupt != nil {
			s.o.Interrupt()
		}
	})
	defer s.subscription.Close()
	s.moveTo(s.subscription.Take())
	s.takeBuffer()
	defer s.returnBuffer()
	if err := s.sendState(ctx); err != nil {
		return err
	}
	bookmark := time.NewTicker(bookmarkInterval)
	defer bookmark.Stop()
	review := time.NewTicker(cmp.Or(s.o.ReviewInterval, reviewInterval))
	defer review.Stop()
	for bookmarkDue := false; ; {
		if err := s.sendPending(ctx); err != nil {
			return err
		}
		if bookmarkDue {
			if err := s.sendBookmark(); err != nil {
				return err
			}
		}
		s.moveTo(nil, nil)
		bookmarkDue = false
		s.returnBuffer()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end.C:
			return ErrExpired
		case <-s.interest.Set.Changed():
		case <-s.setExpiry.C:
		case <-review.C:
			if s.isRevoked(ctx) {
				return ErrUnauthenticated
			}
		case <-s.subscription.Ready():
			s.moveTo(s.subscription.Take())
		case <-bookmark.C:
			s.moveTo(s.subscription.Take())
			bookmarkDue = true
		}
		s.takeBuffer()
	}
}

// sendPending sends all pending events. If the set of agents that the caller sees has changed, it
// first sends the agents that this change adds and removes. It then sends the changes of the
// updates after s.at, up to s.until.
func (s *Stream) sendPending(ctx context.Context) error {
	for {
		// The set is resolved before each update is sent, so that a caller that has lost a right receives no change
		// that it no longer may see.
		if s.isStale() {
			if err := s.sendAccess(ctx); err != nil {
				return err
			}
		}
		if s.at == s.until {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.sendChanges(); err != nil {
			return err
		}
	}
}

// moveTo sets at and until.
func (s *Stream) moveTo(at, until *index.Update) {
	s.at = at
	s.until = until
	s.subscription.Hold(at)
}

func (s *Stream) cursor() Cursor { return Cursor{Revision: s.at.Revision(), View: s.view} }

// sendState sends the changes since the cursor of the reader or, if the stream cannot resume, all
// agents. It then sends the event synced.
func (s *Stream) sendState(ctx context.Context) error {
	// The cursor is determined before the state is sent. Its revision may advance meanwhile, and
	// the state must include it.
	cursor := s.cursor()
	resumed, err := s.sendSince()
	if !resumed {
		err = s.sendAll(ctx)
	}
	if err != nil {
		return err
	}
	s.out = appendID(s.out, cursor)
	s.append("event: synced\ndata: {\"revision\":\"" + cursor.Revision.String() + "\"}\n\n")
	return s.flush()
}

// sendAll sends the event reset, and then all agents that the stream selects.
func (s *Stream) sendAll(ctx context.Context) error {
	// The event reset makes the reader drop its state. The empty id makes the reader start from the
	// beginning if the stream breaks before the next id.
	s.append("id:\nevent: reset\ndata: {}\n\n")
	for e := range s.at.Snapshot.All {
		if !s.interest.Selects(e) {
			continue
		}
		if err := s.sendUpsert(e); err != nil {
			return err
		}
		if len(s.out) > 0 {
			continue
		}
		// The stream has just written a chunk, and may have waited for the reader. The set may be
		// stale since then.
		if err := s.checkAccess(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sendSince sends the changes since the cursor. It returns false if there is no cursor, or if the
// replica cannot determine these changes.
func (s *Stream) sendSince() (bool, error) {
	if s.o.Resume == nil || s.o.Resume.View != s.view {
		return false, nil
	}
	changed, removed, known := s.at.Since(s.o.Resume.Revision)
	if !known {
		return false, nil
	}
	for i := range removed {
		r := &removed[i]
		if now := s.at.Snapshot.Get(r.Key); !s.interest.Set.Sees(r.Key.Namespace, r.Visibility) || now != nil && now.VisibleTo(s.interest.Set) {
			continue
		}
		if err := s.send(removeFrame(r.Key)); err != nil {
			return true, err
		}
	}
	for _, e := range changed {
		var err error
		switch {
		case s.interest.Selects(e):
			err = s.sendUpsert(e)
		case e.VisibleTo(s.interest.Set): // the agent may have matched the filters before
			err = s.send(removeFrame(e.Key))
		}
		if err != nil {
			return true, err
		}
	}
	return true, nil
}

// sendChanges sends the changes of the next update after s.at.
func (s *Stream) sendChanges() error {
	if err := s.checkLag(); err != nil {
		return err
	}
	s.moveTo(s.at.Next(), s.until)
	if s.interest.All() {
		return s.sendShared(framesOf(s.at))
	}
	var last []byte
	for i := range s.at.Changes {
		c := &s.at.Changes[i]
		var event []byte
		switch s.interest.EffectOf(c) {
		case index.NoEffect:
			continue
		case index.Upserts:
			event = framesOf(s.at).changes[i].upsert
		case index.Removes:
			event = framesOf(s.at).changes[i].remove
			if event == nil {
				event = removeFrame(c.Key)
			}
		}
		if err := s.send(last); err != nil {
			return err
		}
		last = event
	}
	if last == nil {
		return nil
	}
	return s.sendLast(last)
}

// sendBookmark sends an event that has only an id, at which the stream can resume.
func (s *Stream) sendBookmark() error {
	s.out = appendID(s.out, s.cursor())
	s.append("event: bookmark\ndata: {}\n\n")
	return s.flush()
}

func (s *Stream) checkLag() error {
	if latest := s.o.Feed.Latest(); latest.Total-s.at.Total > maxLag || latest.Bytes-s.at.Bytes > index.MaxHeld {
		return ErrSlowConsumer
	}
	return nil
}
