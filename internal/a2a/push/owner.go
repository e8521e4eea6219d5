// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import "slices"

// owner is what the deliveries of one principal share, whatever the tenant.
// Pushes.mu guards it.
type owner struct {
	name string
	// users are its deliveries, and inFlight those that a worker has.
	users, inFlight int
	// ready are those that a worker should look at, the first to do so in front.
	ready []*delivery
}

// ownerOf returns the owner of a delivery, which has one more user. mu is held.
func (p *Pushes) ownerOf(d *delivery) *owner {
	name := d.Task.Owner.Principal()
	o := p.owners[name]
	if o == nil {
		o = &owner{name: name}
		p.owners[name] = o
	}
	o.users++
	return o
}

// may reports whether a worker may take a delivery of an owner. Receivers that
// are slow keep workers for long, so nobody waits for theirs but their owner: it
// has at most as many workers as it leaves to others, and one in any case. So
// each owner more takes at most half of what is left, and with 16 workers four
// of them leave one. mu is held.
func (p *Pushes) may(o *owner) bool {
	left := p.options.Workers - p.inFlight - 1
	return left >= 0 && (o.inFlight == 0 || o.inFlight < left)
}

// line puts a delivery behind the others of its owner. mu is held.
func (p *Pushes) line(d *delivery) {
	if len(d.owner.ready) == 0 {
		p.ready = append(p.ready, d.owner)
	}
	d.owner.ready = append(d.owner.ready, d)
}

// unline takes it out again. mu is held.
func (p *Pushes) unline(d *delivery) {
	o := d.owner
	o.ready = slices.DeleteFunc(o.ready, func(other *delivery) bool { return other == d })
	if len(o.ready) == 0 {
		p.ready = slices.DeleteFunc(p.ready, func(other *owner) bool { return other == o })
	}
}

// next returns the delivery whose turn it is, and nil when none may be taken:
// the owners are served one after the other. mu is held.
func (p *Pushes) next() *delivery {
	at := slices.IndexFunc(p.ready, p.may)
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
