// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import "slices"

// useOwner returns the owner of a delivery, and counts the delivery as one more user. mu
// is held.
func (p *Pushes) useOwner(d *delivery) *owner {
	name := d.Task.Owner.Principal()
	o := p.owners[name]
	if o == nil {
		o = &owner{name: name}
		p.owners[name] = o
	}
	o.users++
	return o
}

// releaseOwner ends the use of an owner by a delivery. mu is held.
func (p *Pushes) releaseOwner(d *delivery) {
	if d.owner.users--; d.owner.users == 0 {
		delete(p.owners, d.owner.name)
	}
}

// mayRun reports whether a worker may run a delivery of an owner. Slow receivers occupy
// workers for a long time, and must not delay other owners. An owner therefore has at
// most as many workers as it leaves to others, but may always have one. Each further
// owner can take at most half of the free workers, so four owners leave one of 16
// workers. mu is held.
func (p *Pushes) mayRun(o *owner) bool {
	left := p.options.Workers - p.inFlight - 1
	return left >= 0 && (o.inFlight == 0 || o.inFlight < left)
}

// addReady adds a delivery to the queue of its owner. mu is held.
func (p *Pushes) addReady(d *delivery) {
	if len(d.owner.ready) == 0 {
		p.ready = append(p.ready, d.owner)
	}
	d.owner.ready = append(d.owner.ready, d)
}

// removeReady removes a delivery from the queue of its owner. mu is held.
func (p *Pushes) removeReady(d *delivery) {
	o := d.owner
	o.ready = slices.DeleteFunc(o.ready, func(other *delivery) bool { return other == d })
	if len(o.ready) == 0 {
		p.ready = slices.DeleteFunc(p.ready, func(other *owner) bool { return other == o })
	}
}

// nextReady removes the delivery that runs next from its queue, and returns it. It
// serves the owners in rotation, and returns nil if none may run. mu is held.
func (p *Pushes) nextReady() *delivery {
	at := slices.IndexFunc(p.ready, p.mayRun)
	if at < 0 {
		return nil
	}
	o := p.ready[at]
	d := o.ready[0]
	o.ready[0] = nil
	o.ready = o.ready[1:]
	p.ready = slices.Delete(p.ready, at, at+1)
	if len(o.ready) > 0 {
		p.ready = append(p.ready, o)
	} else {
		o.ready = nil
	}
	return d
}
