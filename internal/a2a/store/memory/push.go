// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"container/list"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// PushOptions configure a push store. The zero value of a field means its default.
type PushOptions struct {
	// MaxPerTask bounds the configurations of a task, 16 by default. Max bounds the
	// configurations of all tasks, 10,000 by default.
	MaxPerTask, Max int
	// MaxBytes bounds the bytes of all configurations, by estimate, 16 MiB by
	// default. The number and the bytes of one owner's configurations may be at most
	// twice the number and the bytes that stay free (leavesShare).
	MaxBytes int
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Pushes implements store.PushStore. It starts no goroutine: calls remove expired
// configurations.
type Pushes struct {
	options PushOptions

	mu         sync.Mutex
	generation uint64
	tasks      map[store.Key][]*push
	count      int
	bytes      int
	owners     map[string]holding // of each a2a.Owner.Share
	// ended are the configurations that expire, the earliest first.
	ended list.List
}

// holding is the number and bytes of the configurations of one a2a.Owner.Share.
type holding struct{ count, bytes int }

// push is a configuration and its element in ended.
type push struct {
	store.Push
	at *list.Element
}

var _ store.SharedPushStore = (*Pushes)(nil)

// NewPushes returns an empty push store.
func NewPushes(o PushOptions) *Pushes {
	setDefault(&o.MaxPerTask, 16)
	setDefault(&o.Max, 10_000)
	setDefault(&o.MaxBytes, 16<<20)
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of an injected clock
	}
	return &Pushes{options: o, tasks: map[store.Key][]*push{}, owners: map[string]holding{}}
}

// Put implements store.PushStore.
func (s *Pushes) Put(_ context.Context, p store.Push) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	return s.put(p)
}

// Add implements store.PushStore.
func (s *Pushes) Add(_ context.Context, p store.Push) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if s.find(p.Task, p.Config.ID) != nil {
		return 0, store.ErrExists
	}
	return s.put(p)
}

// put does the work of Put. mu is held.
func (s *Pushes) put(p store.Push) (uint64, error) {
	if !s.makeRoom(&p) {
		return 0, store.ErrFull
	}
	if former := s.find(p.Task, p.Config.ID); former != nil {
		s.remove(former)
	}
	s.generation++
	p.Generation = s.generation
	added := &push{Push: p}
	s.tasks[p.Task] = append(s.tasks[p.Task], added)
	s.track(&p, 1)
	s.file(added)
	return p.Generation, nil
}

// makeRoom reports whether there is room for a configuration. To make room, it removes
// ended configurations, the earliest to expire first. It first removes those of the same
// owner, and then those of owners that use at least as much of the store.
func (s *Pushes) makeRoom(p *store.Push) bool {
	size := pushSize(p)
	owner := p.Task.Owner.Share()
	for {
		ofTask := len(s.tasks[p.Task])
		all := holding{s.count, s.bytes}
		own := s.owners[owner]
		if former := s.find(p.Task, p.Config.ID); former != nil {
			was := pushSize(&former.Push)
			ofTask = ofTask - 1
			all.count = all.count - 1
			own.count = own.count - 1
			all.bytes = all.bytes - was
			own.bytes = own.bytes - was
		}
		fair := leavesShare(own.count+1, all.count+1, s.options.Max) && leavesShare(own.bytes+size, all.bytes+size, s.options.MaxBytes)
		switch {
		case ofTask >= s.options.MaxPerTask:
			return false
		case fair:
			return true
		case !s.dropEnded(owner, holding{own.count + 1, own.bytes + size}):
			return false
		}
	}
}

// leavesShare reports whether the free space is at least half of the space that one owner
// uses: own is the space of the owner, all the space of all owners, and limit the space
// in total. It returns false if all exceeds limit. One owner can therefore use at most two
// thirds of limit, and two owners two fifths each, so there is always room for another owner.
func leavesShare(own, all, limit int) bool { return own <= 2*(limit-all) }

// dropEnded removes the ended configuration of owner that expires first. If owner has none, it
// removes the one that expires first of the owners whose share of the store is at least that
// of uses. It returns false if there is none.
func (s *Pushes) dropEnded(owner string, uses holding) bool {
	var other *push
	for at := s.ended.Front(); at != nil; at = at.Next() {
		p := at.Value.(*push)
		switch of := p.Task.Owner.Share(); {
		case of == owner:
			s.remove(p)
			return true
		case other == nil && s.weight(s.owners[of]) >= s.weight(uses):
			other = p
		}
	}
	if other != nil {
		s.remove(other)
	}
	return other != nil
}

// weight returns the share of the store that configurations use: by number or by bytes,
// whichever is larger.
func (s *Pushes) weight(h holding) float64 {
	return max(float64(h.count)/float64(s.options.Max), float64(h.bytes)/float64(s.options.MaxBytes))
}

// Get implements store.PushStore.
func (s *Pushes) Get(_ context.Context, task store.Key, id string) (store.Push, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if p := s.find(task, id); p != nil {
		return p.Push, nil
	}
	return store.Push{}, store.ErrNotFound
}

// List implements store.PushStore.
func (s *Pushes) List(_ context.Context, task store.Key) ([]store.Push, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	var all []store.Push
	for _, p := range s.tasks[task] {
		all = append(all, p.Push)
	}
	return all, nil
}

// Advance implements store.PushStore.
func (s *Pushes) Advance(_ context.Context, next store.Push) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(next.Task, next.Config.ID)
	if p == nil || p.Generation != next.Generation || p.Replica != next.Replica {
		return store.ErrNotFound
	}
	p.Acked = next.Acked
	p.Through = next.Through
	p.Expires = next.Expires
	s.file(p)
	return nil
}

// Delete implements store.PushStore.
func (s *Pushes) Delete(_ context.Context, task store.Key, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.find(task, id); p != nil {
		s.remove(p)
	}
	return nil
}

// Unfinished implements store.PushStore.
func (s *Pushes) Unfinished(_ context.Context, yield func(store.Push) bool) error {
	for _, p := range s.unfinished() {
		if !yield(p) {
			break
		}
	}
	return nil
}

// Adopt implements store.SharedPushStore.
func (s *Pushes) Adopt(_ context.Context, former store.Push, by store.Replica) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(former.Task, former.Config.ID)
	if p == nil || p.Generation != former.Generation || p.Replica != former.Replica {
		return store.ErrNotFound
	}
	p.Replica = by
	return nil
}

func (s *Pushes) unfinished() []store.Push {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []store.Push
	for _, of := range s.tasks {
		for _, p := range of {
			if !p.Ended() {
				all = append(all, p.Push)
			}
		}
	}
	slices.SortFunc(all, func(a, b store.Push) int { return cmp.Compare(a.Generation, b.Generation) })
	return all
}

// Len returns the number of configurations.
func (s *Pushes) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

func (s *Pushes) find(task store.Key, id string) *push {
	for _, p := range s.tasks[task] {
		if p.Config.ID == id {
			return p
		}
	}
	return nil
}

// file moves an ended configuration to its place in the list ended, and removes any other
// configuration from the list.
func (s *Pushes) file(p *push) {
	if p.at != nil {
		s.ended.Remove(p.at)
		p.at = nil
	}
	if !p.Ended() {
		return
	}
	// Configurations end nearly in the order of their expiration, so the place is near the
	// end of the list.
	for before := s.ended.Back(); before != nil; before = before.Prev() {
		if !before.Value.(*push).Expires.After(p.Expires) {
			p.at = s.ended.InsertAfter(p, before)
			return
		}
	}
	p.at = s.ended.PushFront(p)
}

func (s *Pushes) expire() {
	for first := s.ended.Front(); first != nil; first = s.ended.Front() {
		p := first.Value.(*push)
		if s.options.Now().Before(p.Expires) {
			return
		}
		s.remove(p)
	}
}

func (s *Pushes) remove(p *push) {
	if p.at != nil {
		s.ended.Remove(p.at)
	}
	all := s.tasks[p.Task]
	all = slices.DeleteFunc(all, func(other *push) bool { return other == p })
	if len(all) == 0 {
		delete(s.tasks, p.Task)
	} else {
		s.tasks[p.Task] = all
	}
	s.track(&p.Push, -1)
}

// track adds a configuration to the counts of its owner and the store, or removes
// it (n is -1).
func (s *Pushes) track(p *store.Push, n int) {
	size := n * pushSize(p)
	s.count += n
	s.bytes += size
	owner := p.Task.Owner.Share()
	h := s.owners[owner]
	h.count += n
	h.bytes += size
	if h.count == 0 {
		delete(s.owners, owner)
	} else {
		s.owners[owner] = h
	}
}

// pushSize returns an estimate of the bytes of a configuration.
func pushSize(p *store.Push) int {
	c := &p.Config
	size := 512 + len(p.Task.Owner) + len(p.Task.TaskID) + len(c.ID) + len(c.URL) + len(c.Token) + len(c.Scheme) +
		len(c.Credentials) + len(c.Trace.Parent) + len(c.Trace.State)
	for _, e := range c.Extensions {
		size += 16 + len(e)
	}
	return size
}
