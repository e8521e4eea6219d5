// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

const (
	// recentWrites bounds how many are known. A forgotten one costs a request
	// that changes nothing.
	recentWrites = 16 << 10
	// unseenFor is how long an object that was made is taken to be there while
	// the cache does not show it. Somebody may have deleted it before it could.
	unseenFor = 5 * time.Second
)

// writes knows what was written and what the cache may not show yet. Who came
// in between would else write it again.
type writes struct {
	recent *lru.Cache
	clock  clock.PassiveClock
}

// target is an object by its name.
type target struct {
	kind            reflect.Type
	namespace, name string
}

type write struct {
	// before is the version that the cache held, "" for no object.
	before string
	digest string
	uid    types.UID
	at     time.Time
	// owner is whom it was made for.
	owner types.UID
	// over tells that the cache has shown something since, or was not waited for
	// any longer.
	over bool
}

func newWrites(passive clock.PassiveClock) writes {
	return writes{recent: lru.New(recentWrites), clock: passive}
}

// of is the last write of an object, if the cache still shows what was there
// before. Else it is nothing.
func (w writes) of(o Object) write {
	known, ok := w.recent.Get(o.target)
	if !ok {
		return write{}
	}
	last := known.(write)
	if last.over {
		return write{}
	}
	seen := last.before != o.currentVersion()
	// A change comes to the cache for certain. An object may have come and gone.
	given := o.current == nil && w.clock.Since(last.at) >= unseenFor
	if seen || given {
		last.over = true
		w.recent.Add(o.target, last)
		return write{}
	}
	return last
}

// lost tells whether an object that is not there was written for an owner, and
// is not waited for.
func (w writes) lost(o Object, owner types.UID) bool {
	if o.current != nil || w.of(o).digest != "" {
		return false
	}
	known, ok := w.recent.Get(o.target)
	return ok && known.(write).owner == owner
}

func (w writes) remember(o Object, digest string, uid, owner types.UID) {
	w.recent.Add(o.target, write{before: o.currentVersion(), digest: digest, uid: uid, at: w.clock.Now(), owner: owner})
}

func (w writes) forget(t target) { w.recent.Remove(t) }
