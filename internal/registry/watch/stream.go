// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

const (
	// revisionTimeout is how long a stream that resumes waits until the replica has
	// reached its cursor.
	revisionTimeout = 2 * time.Second
	// bookmarkInterval is the time after which a stream without events sends its
	// position, so that it can resume there.
	bookmarkInterval = 20 * time.Second
	// lifetime bounds a stream, because its token may expire or be revoked. The actual
	// lifetime is between half of it and all of it, so that streams do not end together.
	lifetime = 10 * time.Minute
	// maxLag bounds the changes that a stream has not sent yet. A reader that is slower
	// would keep them and old snapshots in memory.
	maxLag = 20_000
	// accessTimeout is how long a stream goes on while the registry cannot resolve what
	// its caller sees; accessRetry is the time between two attempts.
	accessTimeout = 8 * time.Second
	accessRetry   = time.Second
	// idleBuffer is the largest buffer that a stream keeps while it has nothing to send.
	idleBuffer = 4 << 10
	// chunkSize is the number of bytes after which a stream writes.
	chunkSize = 64 << 10
)

var (
	// ErrSlowConsumer is returned for a reader that is behind by more than maxLag.
	ErrSlowConsumer = errors.New("the reader is too slow")
	// ErrUnavailable is returned if the registry cannot resolve what the caller sees for
	// accessTimeout.
	ErrUnavailable = errors.New("the access of the caller is unknown")
	// ErrAccessChanged is returned if the set of the caller changes while the stream sends
	// its first state.
	ErrAccessChanged = errors.New("the access of the caller changed")
	// ErrExpired is returned at the end of the lifetime of a stream.
	ErrExpired = errors.New("the stream has reached its lifetime")
)

// Options are what a stream needs.
type Options struct {
	Feed  *index.Feed
	Query *index.Query
	// VisibleSet resolves which agents the caller sees.
	VisibleSet func(ctx context.Context) (*access.Set, error)
	Clock      clock.PassiveClock
	// Resume is the cursor of a stream that resumes, nil for others.
	Resume *Cursor
}

// Writer sends events to the reader. An error ends the stream.
type Writer interface {
	Write(frames []byte) (int, error)
	// Flush is called when no further event is ready.
	Flush() error
}

// Stream sends the state and the changes that one caller sees.
type Stream struct {
	o Options
	w Writer
	// interest has the filters, and the set of agents that the caller sees.
	interest     index.Interest
	subscription *index.Subscription
	// setExpiry fires when the set gets stale without a change of RBAC objects.
	setExpiry *time.Timer
	// at is the update whose state the reader has, and until the last one to send. They are
	// nil while the stream waits, so that it keeps no former snapshots in memory.
	at, until *index.Update
	out       []byte
	view      string
	// expired fires when the stream ends at the latest.
	expired <-chan time.Time
}

// New returns a stream of the latest state. It waits until the replica has reached the
// revision of its cursor, for revisionTimeout at most.
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

// Run sends events until ctx ends or the writer fails. It always returns an error.
func (s *Stream) Run(ctx context.Context, w Writer) error {
	s.w = w
	end := time.NewTimer(lifetime/2 + rand.N(lifetime/2)) //nolint:gosec // spreads load
	defer end.Stop()
	s.expired = end.C
	s.setExpiry = time.NewTimer(lifetime)
	defer s.setExpiry.Stop()
	s.use(s.interest.Set)
	s.subscription = s.o.Feed.Subscribe(s.interest)
	defer s.subscription.Close()
	s.at, s.until = s.subscription.Take()
	if err := s.sendState(ctx); err != nil {
		return err
	}
	bookmark := time.NewTicker(bookmarkInterval)
	defer bookmark.Stop()
	for bookmarkDue := false; ; {
		if err := s.sendPending(ctx); err != nil {
			return err
		}
		if bookmarkDue {
			if err := s.sendBookmark(); err != nil {
				return err
			}
		}
		s.at, s.until = nil, nil
		bookmarkDue = false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return ErrExpired
		case <-s.interest.Set.Changed():
		case <-s.setExpiry.C:
		case <-s.subscription.Ready():
			s.at, s.until = s.subscription.Take()
		case <-bookmark.C:
			s.at, s.until = s.subscription.Take()
			bookmarkDue = true
		}
	}
}

// sendPending sends the changes of the caller's visible set, and then the changes of all
// updates until the last one to send.
func (s *Stream) sendPending(ctx context.Context) error {
	for {
		// The set is first, so that a caller that lost a right gets no change that it may no longer see.
		if s.isStale() {
			if err := s.sendAccess(ctx); err != nil {
				return err
			}
		}
		if s.at == s.until {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.sendChanges(); err != nil {
			return err
		}
	}
}

func (s *Stream) isStale() bool { return s.interest.Set.IsStale(s.o.Clock.Now()) }

func (s *Stream) cursor() Cursor { return Cursor{Revision: s.at.Revision(), View: s.view} }

// use makes set the one of the stream.
func (s *Stream) use(set *access.Set) {
	s.interest.Set = set
	if until := set.Until(); until.IsZero() {
		s.setExpiry.Stop()
	} else {
		s.setExpiry.Reset(until.Sub(s.o.Clock.Now()))
	}
}

func (s *Stream) append(text string) { s.out = append(s.out, text...) }

// sendState sends what the reader lacks: the changes since its cursor, or all agents.
func (s *Stream) sendState(ctx context.Context) error {
	// The cursor is read before the state, so that the state is not older.
	cursor := s.cursor()
	resumed, err := s.sendSince()
	if !resumed {
		err = s.sendAll(ctx)
	}
	if err != nil {
		return err
	}
	s.append(idLine(cursor) + "event: synced\ndata: {\"revision\":\"" + cursor.Revision.String() + "\"}\n\n")
	return s.flush()
}

// sendAll sends all agents of the stream.
func (s *Stream) sendAll(ctx context.Context) error {
	// The reader drops its state. The empty id makes it start again if the stream
	// breaks before the next id.
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
		// The stream may have waited for the reader.
		if err := s.checkAccess(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sendSince sends the changes since the cursor, and returns false if it cannot tell
// what the reader lacks.
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
		case e.VisibleTo(s.interest.Set): // it may have matched before
			err = s.send(removeFrame(e.Key))
		}
		if err != nil {
			return true, err
		}
	}
	return true, nil
}

// sendChanges sends the changes of the next update.
func (s *Stream) sendChanges() error {
	if err := s.checkLag(); err != nil {
		return err
	}
	s.at = s.at.Next()
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
			if event = framesOf(s.at).changes[i].remove; event == nil {
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
	s.append(idLine(s.cursor()))
	s.out = append(s.out, last...)
	return s.flush()
}

// sendBookmark sends the position of the reader.
func (s *Stream) sendBookmark() error {
	s.append(idLine(s.cursor()) + "event: bookmark\ndata: {}\n\n")
	return s.flush()
}

// checkAccess returns ErrAccessChanged if the caller does not see the same agents.
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

// sendAccess resolves the set of the caller again and sends the difference.
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
	if s.at == nil {
		s.at = has
	}
	s.until = latest
	for e := range s.at.Snapshot.All {
		was, is := e.VisibleTo(before), e.VisibleTo(set)
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

func (s *Stream) checkLag() error {
	if s.o.Feed.Latest().Total-s.at.Total > maxLag {
		return ErrSlowConsumer
	}
	return nil
}

func (s *Stream) sendUpsert(e *index.Entry) error {
	s.out = appendUpsert(s.out, e)
	return s.writeChunk()
}

func (s *Stream) send(event []byte) error {
	s.out = append(s.out, event...)
	return s.writeChunk()
}

// writeChunk writes when enough bytes are ready.
func (s *Stream) writeChunk() error {
	if len(s.out) < chunkSize {
		return nil
	}
	if err := s.checkLag(); err != nil {
		return err
	}
	select {
	case <-s.expired:
		return ErrExpired
	default:
		return s.write()
	}
}

// sendShared sends all frames of an update in pieces, without copying more than one piece.
func (s *Stream) sendShared(f *frames) error {
	if f.last == nil {
		return nil
	}
	for all := f.all; len(all) > 0; {
		n := min(len(all), chunkSize)
		if err := s.send(all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	s.append(idLine(s.cursor()))
	s.out = append(s.out, f.last...)
	return s.flush()
}

func (s *Stream) write() error {
	_, err := s.w.Write(s.out)
	s.out = s.out[:0]
	if cap(s.out) > 2*chunkSize {
		s.out = nil
	}
	return err
}

func (s *Stream) flush() error {
	if err := s.write(); err != nil {
		return err
	}
	if cap(s.out) > idleBuffer {
		s.out = nil
	}
	return s.w.Flush()
}
