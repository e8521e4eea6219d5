// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

// use increments the number of uses of a link.
func (t *Translator) use(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.uses++
}

// release decrements the number of uses of a link. The last release of a dropped link
// closes it.
func (t *Translator) release(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.idleSince = t.options.Now()
	if l.uses--; l.uses == 0 && l.dropped {
		t.closing.Go(l.backend.Close)
	}
}

// makeRoom drops the links that were idle for longest until there is room for one more
// link with a card of the given size in bytes. It returns false if there is no room
// because all links are in use. t.mu must be held.
func (t *Translator) makeRoom(card int) bool {
	for len(t.links) >= maxLinks || t.cards+card > maxCards && len(t.links) > 0 {
		var oldest *link
		for _, l := range t.links {
			if l.uses == 0 && (oldest == nil || l.idleSince.Before(oldest.idleSince)) {
				oldest = l
			}
		}
		if oldest == nil {
			return false
		}
		t.drop(oldest)
	}
	return true
}

// drop removes a link from the open links, and closes it when it is no longer in use.
// t.mu must be held.
func (t *Translator) drop(l *link) {
	delete(t.links, l.address)
	t.cards -= len(l.agent.Card)
	l.dropped = true
	if l.uses == 0 {
		t.closing.Go(l.backend.Close)
	}
	if len(t.links) == 0 && t.sweeper != nil {
		t.sweeper.Stop()
		t.sweeper = nil
	}
}

// sweep drops the links that were idle for idleAfter, and schedules the next sweep.
func (t *Translator) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, next := t.options.Now(), idleAfter
	for _, l := range t.links {
		switch idle := now.Sub(l.idleSince); {
		case l.uses > 0:
		case idle >= idleAfter:
			t.drop(l)
		default:
			next = min(next, idleAfter-idle)
		}
	}
	if t.sweeper != nil {
		t.sweeper.Reset(next)
	}
}
