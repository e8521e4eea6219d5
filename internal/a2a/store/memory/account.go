// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

// weight returns the share of the store that an account uses: its share of the tasks
// or of the bytes, whichever is larger.
func (s *Store) weight(a *account) float64 {
	return max(float64(a.tasks)/float64(s.options.MaxTasks), float64(a.bytes.Load())/float64(s.options.MaxBytes))
}

// accountOf returns the account of a principal. Store.mu is held.
func (s *Store) accountOf(principal string) *account {
	a := s.accounts[principal]
	if a == nil {
		a = &account{}
		s.accounts[principal] = a
	}
	return a
}

// removeIfEmpty removes an account without tasks. Store.mu is held.
func (s *Store) removeIfEmpty(principal string, a *account) {
	if a.tasks > 0 {
		return
	}
	delete(s.accounts, principal)
	if s.heaviest == a {
		s.heaviest = nil
	}
}

// add charges bytes to an account, and reports whether the account and the store
// are within their bounds.
func (s *Store) add(a *account, bytes int64) bool {
	own := a.bytes.Add(bytes)
	all := s.bytes.Add(bytes)
	return own <= s.maxAccountBytes && all <= s.options.MaxBytes
}

func (s *Store) withinBounds(a *account) bool {
	return a.bytes.Load() <= s.maxAccountBytes && s.bytes.Load() <= s.options.MaxBytes
}

// noteGrowth updates heaviest for an account that has grown. Store.mu is held.
func (s *Store) noteGrowth(a *account) {
	if s.heaviest == nil || s.weight(a) > s.weight(s.heaviest) {
		s.heaviest = a
	}
}
