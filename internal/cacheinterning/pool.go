// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cacheinterning lets the parts of many objects that say the same be one.
//
// Of what a cache holds most is the same for all Agents: the sidecar's
// container, the ports of Services, the words of labels. The objects stay what
// they are; only equal parts of them stand in one place. So no part of an object
// that was interned may be changed, as is so for what stands in a cache anyway.
package cacheinterning

import (
	"hash/maphash"
	"maps"
	"reflect"
	"sync"
)

// Pool knows parts of the objects that it was shown lately. What it has not met
// for a while it forgets, so that it is of the same size however many objects
// come and go; a part that returns after that stands in two places.
type Pool struct {
	seed maphash.Seed

	mu    sync.Mutex
	texts generations[string, string]
	parts generations[content, any]
}

// content is what a part says, as far as a hash can tell.
type content struct {
	kind reflect.Type
	sum  uint64
}

// New returns a Pool of so many texts and so many other parts; of each, it may
// be twice as many.
func New(size int) *Pool {
	return &Pool{
		seed:  maphash.MakeSeed(),
		texts: newGenerations[string, string](size),
		parts: newGenerations[content, any](size),
	}
}

// Share gives an object, a pointer to a struct that nobody else reads yet, the
// parts that are known, and knows its others from now on. The object is equal
// to what it was.
func (p *Pool) Share(object any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fields(reflect.ValueOf(object).Elem())
}

// longText is the length from which on a text is taken to be its object's own.
const longText = 256

// share gives a value the parts that are known, and returns a hash of what it
// says. The innermost come first: so those of two equal values are the same
// when these are compared, which ends there.
func (p *Pool) share(v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.String:
		return p.text(v)
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return p.part(v, p.share(v.Elem()))
	case reflect.Slice:
		return p.list(v)
	case reflect.Map:
		return p.entries(v)
	case reflect.Struct:
		return p.fields(v)
	default:
		return p.hash(v)
	}
}

// hash is that of a value that cannot be changed. What it leaves out counts
// when values are compared.
func (p *Pool) hash(v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.String:
		return p.hashText(v.String())
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return uint64(v.Int()) //nolint:gosec // any number is as good as another
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint()
	case reflect.Slice:
		return uint64(v.Len()) //nolint:gosec // a length
	case reflect.Struct:
		var sum uint64
		for _, field := range v.Fields() {
			sum = mix(sum, p.hash(field))
		}
		return sum
	default:
		return 0
	}
}

func (p *Pool) hashText(text string) uint64 {
	if text == "" {
		return 0
	}
	return maphash.String(p.seed, text)
}

// mix adds the hash of one more part to that of those before.
func mix(sum, part uint64) uint64 {
	sum = (sum ^ part) * 0x9e3779b97f4a7c15
	return sum ^ sum>>29
}

func (p *Pool) text(v reflect.Value) uint64 {
	text := v.String()
	if text == "" {
		return 0
	}
	v.SetString(p.one(text))
	return p.hashText(text)
}

// one is the text that is known, or becomes known.
func (p *Pool) one(text string) string {
	if text == "" || len(text) >= longText {
		return text
	}
	if known, ok := p.texts.of(text); ok {
		return known
	}
	p.texts.add(text, text)
	return text
}

func (p *Pool) fields(v reflect.Value) uint64 {
	var sum uint64
	for i, exported := range fieldsOf(v.Type()) {
		part := p.hash
		if exported {
			part = p.share
		}
		if has := part(v.Field(i)); has != 0 {
			sum = mix(sum, has+uint64(i))
		}
	}
	return sum
}

func (p *Pool) list(v reflect.Value) uint64 {
	if v.Len() == 0 || v.Type().Elem().Kind() == reflect.Uint8 {
		return uint64(v.Len()) //nolint:gosec // a length
	}
	sum := uint64(v.Len()) //nolint:gosec // a length
	for i := range v.Len() {
		sum = mix(sum, p.share(v.Index(i)))
	}
	if v.Cap() > v.Len() {
		// Decoders leave room for elements that will never come.
		exact := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(exact, v)
		v.Set(exact)
	}
	return p.part(v, sum)
}

// entries add up, for they have no order.
func (p *Pool) entries(v reflect.Value) uint64 {
	if v.Len() == 0 {
		return 0
	}
	sum := uint64(v.Len()) //nolint:gosec // a length
	texts, ok := reflect.TypeAssert[map[string]string](v)
	if !ok {
		for i := v.MapRange(); i.Next(); {
			sum += mix(p.hash(i.Key()), p.hash(i.Value()))
		}
		return p.part(v, sum)
	}
	for key, value := range texts {
		sum += mix(p.hashText(key), p.hashText(value))
	}
	is := content{v.Type(), sum}
	if known, ok := p.parts.of(is); ok && maps.Equal(known.(map[string]string), texts) {
		v.Set(reflect.ValueOf(known))
		return sum
	}
	for key, value := range texts {
		texts[p.one(key)] = p.one(value)
	}
	p.parts.add(is, texts)
	return sum
}

// part makes v the value that is equal and known, or makes it known.
func (p *Pool) part(v reflect.Value, sum uint64) uint64 {
	is := content{v.Type(), sum}
	if known, ok := p.parts.of(is); ok && reflect.DeepEqual(known, v.Interface()) {
		v.Set(reflect.ValueOf(known))
		return sum
	}
	p.parts.add(is, v.Interface())
	return sum
}

var knownFields sync.Map // of reflect.Type to []bool

// fieldsOf tells of each field of a struct whether it can be set.
func fieldsOf(t reflect.Type) []bool {
	if known, ok := knownFields.Load(t); ok {
		return known.([]bool)
	}
	exported := make([]bool, t.NumField())
	for i := range exported {
		exported[i] = t.Field(i).IsExported()
	}
	knownFields.Store(t, exported)
	return exported
}
