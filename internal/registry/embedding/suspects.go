// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package embedding

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// suspects are documents of failed requests, one of which may be the cause. They form groups, each of which is requested again without other
// documents.
type suspects struct {
	// groups has the groups, the next one first.
	groups [][]Key
	// ofNamespace has the documents in groups of each namespace.
	ofNamespace map[string]map[Key]struct{}
}

// has reports whether a namespace has suspects.
func (s *suspects) has(namespace string) bool { return len(s.ofNamespace[namespace]) > 0 }

// add adds a group with those of the keys that are in no group.
func (s *suspects) add(keys ...Key) {
	var group []Key
	for _, key := range keys {
		of := s.ofNamespace[key.Namespace]
		if of == nil {
			of = map[Key]struct{}{}
			s.ofNamespace[key.Namespace] = of
		}
		_, has := of[key]
		if !has {
			of[key] = struct{}{}
			group = append(group, key)
		}
	}
	if len(group) > 0 {
		s.groups = append(s.groups, group)
	}
}

// split adds two groups with one half of the keys each. A half has all keys of a namespace or none if there are keys of several
// namespaces, so that those of a namespace whose texts fail are soon apart.
func (s *suspects) split(keys []Key) {
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	middle := len(keys) / 2
	for distance := range keys {
		at := len(keys)/2 + distance/2
		if distance%2 == 1 {
			at = len(keys)/2 - (distance+1)/2
		}
		if at > 0 && at < len(keys) && keys[at-1].Namespace != keys[at].Namespace {
			middle = at
			break
		}
	}
	s.add(keys[:middle]...)
	s.add(keys[middle:]...)
}

// addByNamespace adds a group for the keys of each namespace.
func (s *suspects) addByNamespace(keys []Key) {
	of := map[string][]Key{}
	for _, key := range keys {
		of[key.Namespace] = append(of[key.Namespace], key)
	}
	for _, namespace := range slices.Sorted(maps.Keys(of)) {
		s.add(of[namespace]...)
	}
}

// take removes and returns the first group that may be requested, nil if there is none.
func (s *suspects) take(mayBeRequested func([]Key) bool) []Key {
	at := slices.IndexFunc(s.groups, mayBeRequested)
	if at < 0 {
		return nil
	}
	group := s.groups[at]
	s.groups = slices.Delete(s.groups, at, at+1)
	for _, key := range group {
		s.forget(key)
	}
	return group
}

// release removes and returns the suspects of a namespace other than those to keep.
func (s *suspects) release(namespace string, keep func(Key) bool) []Key {
	var released []Key
	for i, group := range s.groups {
		s.groups[i] = slices.DeleteFunc(group, func(key Key) bool {
			isReleased := key.Namespace == namespace && !keep(key)
			if isReleased {
				released = append(released, key)
				s.forget(key)
			}
			return isReleased
		})
	}
	s.groups = slices.DeleteFunc(s.groups, func(group []Key) bool { return len(group) == 0 })
	return released
}

func (s *suspects) forget(key Key) {
	of := s.ofNamespace[key.Namespace]
	delete(of, key)
	if len(of) == 0 {
		delete(s.ofNamespace, key.Namespace)
	}
}
