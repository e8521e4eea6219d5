// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// weight is the part of the store that is used: by the number of tasks or by their bytes, whichever is larger. An account weighs what its share
// does, and among those of its share, what it does itself.
type weight struct{ share, own float64 }

// compare compares two weights, as cmp.Compare does.
func (w weight) compare(other weight) int {
	return cmp.Or(cmp.Compare(w.share, other.share), cmp.Compare(w.own, other.own))
}

func (s *Store) weight(a *account) weight {
	part := func(tasks int, bytes int64) float64 {
		return max(float64(tasks)/float64(s.options.MaxTasks), float64(bytes)/float64(s.options.MaxBytes))
	}
	return weight{part(a.share.tasks, a.share.bytes.Load()), part(a.tasks, a.bytes.Load())}
}

// accountOf returns the account of the principal of an owner. Store.mu is held.
func (s *Store) accountOf(owner a2a.Owner) *account {
	principal := owner.Principal()
	if a := s.accounts[principal]; a != nil {
		return a
	}
	of := s.shares[owner.Share()]
	if of == nil {
		of = &share{name: owner.Share(), accounts: map[*account]struct{}{}}
		s.shares[of.name] = of
	}
	a := &account{principal: principal, share: of}
	of.accounts[a] = struct{}{}
	s.accounts[principal] = a
	return a
}

// countTask adds a task to an account, or removes one (n is -1). It removes an account without tasks. Store.mu is held.
func (s *Store) countTask(a *account, n int) {
	a.tasks += n
	a.share.tasks += n
	if a.tasks > 0 {
		return
	}
	delete(s.accounts, a.principal)
	delete(a.share.accounts, a)
	if len(a.share.accounts) == 0 {
		delete(s.shares, a.share.name)
	}
	if s.heaviest == a {
		s.heaviest = nil
	}
}

// add charges bytes to an account, and reports whether its share and the store
// are within their bounds.
func (s *Store) add(a *account, bytes int64) bool {
	a.bytes.Add(bytes)
	ofShare := a.share.bytes.Add(bytes)
	all := s.bytes.Add(bytes)
	return ofShare <= s.maxShareBytes && all <= s.options.MaxBytes
}

func (s *Store) withinBounds(a *account) bool {
	return a.share.bytes.Load() <= s.maxShareBytes && s.bytes.Load() <= s.options.MaxBytes
}

// noteGrowth updates heaviest for an account that has grown. Store.mu is held.
func (s *Store) noteGrowth(a *account) {
	if s.heaviest == nil || s.weight(a).compare(s.weight(s.heaviest)) > 0 {
		s.heaviest = a
	}
}
