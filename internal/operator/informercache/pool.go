// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

// Most of the content of the caches is the same for all Agents: the sidecar's container, the
// ports of Services, the strings of labels. Interning stores equal parts once. It does not change
// the value of an object, but afterwards equal parts of objects share memory. An interned object
// must therefore not be modified. The same holds for every cached object.

import (
	"hash/maphash"
	"maps"
	"reflect"
	"sync"
)

// Pool holds the parts of the objects that it has interned recently. It drops parts that were
// not interned for a while, and holds no large parts, so its size depends neither on the number
// of objects nor on their content. If a dropped part appears again, the part is stored a second
// time. The methods of a Pool are safe for concurrent use.
type Pool struct {
	seed maphash.Seed
	// maxPart is the size of the largest part that the pool holds, in bytes.
	maxPart int

	mu sync.Mutex
	// visited is the approximate size of the values that the running call of Intern has visited, in
	// bytes. The size of a part is the difference between visited after and before the part.
	visited int
	strings generations[string, string]
	parts   generations[contentKey, any]
}

// contentKey identifies the content of a part by its type and a hash.
type contentKey struct {
	goType reflect.Type
	hash   uint64
}

// NewPool returns a Pool of at most 2*size strings and 2*size other parts. The other parts, each with
// everything inside, have at most 2*maxBytes bytes in sum. A part larger than maxPart bytes is not
// shared: otherwise the pool would hold the former content of each object that a user changes often.
func NewPool(size, maxPart, maxBytes int) *Pool {
	return &Pool{
		seed:    maphash.MakeSeed(),
		maxPart: maxPart,
		strings: newGenerations[string, string](size, size*maxString),
		parts:   newGenerations[contentKey, any](size, maxBytes),
	}
}

// Intern replaces parts of an object with equal parts of the pool, and adds the other parts to
// the pool. The object is a pointer to a struct that no other goroutine reads yet. The value of
// the object does not change.
func (p *Pool) Intern(object any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.visited = 0
	p.internFields(reflect.ValueOf(object).Elem())
}

// maxString is the length, in bytes, of the shortest string that is not interned. Long strings
// are rarely equal.
const maxString = 256

// intern interns the parts of a value and returns a hash of the value. It interns inner parts
// before outer ones, so that a comparison of two equal values finds identical pointers and
// stops there.
func (p *Pool) intern(v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.String:
		return p.internString(v)
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		before := p.visited
		p.visited += int(v.Type().Elem().Size())
		return p.internPart(v, p.intern(v.Elem()), before)
	case reflect.Slice:
		return p.internSlice(v)
	case reflect.Map:
		return p.internMap(v)
	case reflect.Struct:
		return p.internFields(v)
	default:
		return p.hash(v)
	}
}

// hash returns a hash of a value that intern cannot replace. The hash ignores values of some
// kinds. internPart compares these values when two hashes are equal.
func (p *Pool) hash(v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.String:
		return p.hashString(v.String())
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return uint64(v.Int()) // the hash may use any 64 bits
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint()
	case reflect.Slice:
		p.visited += v.Len() * int(v.Type().Elem().Size())
		return uint64(v.Len())
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

func (p *Pool) hashString(s string) uint64 {
	p.visited += len(s)
	if s == "" {
		return 0
	}
	return maphash.String(p.seed, s)
}

// mix adds the hash of a part to the hash of the preceding parts.
func mix(sum, part uint64) uint64 {
	sum = (sum ^ part) * 0x9e3779b97f4a7c15
	return sum ^ sum>>29
}

func (p *Pool) internString(v reflect.Value) uint64 {
	s := v.String()
	if s == "" {
		return 0
	}
	v.SetString(p.pooled(s))
	return p.hashString(s)
}

// pooled returns the string of the pool that equals s. If there is none, it returns s, and adds s
// to the pool unless s has maxString bytes or more.
func (p *Pool) pooled(s string) string {
	if s == "" || len(s) >= maxString {
		return s
	}
	if known, ok := p.strings.get(s); ok {
		return known
	}
	p.strings.add(s, s, len(s))
	return s
}

func (p *Pool) internFields(v reflect.Value) uint64 {
	var sum uint64
	for i, exported := range exportedFields(v.Type()) {
		hash := p.hash
		if exported {
			hash = p.intern
		}
		if h := hash(v.Field(i)); h != 0 {
			sum = mix(sum, h+uint64(i))
		}
	}
	return sum
}

func (p *Pool) internSlice(v reflect.Value) uint64 {
	before := p.visited
	p.visited += v.Len() * int(v.Type().Elem().Size())
	if v.Len() == 0 || v.Type().Elem().Kind() == reflect.Uint8 {
		return uint64(v.Len())
	}
	sum := uint64(v.Len())
	for i := range v.Len() {
		sum = mix(sum, p.intern(v.Index(i)))
	}
	if v.Cap() > v.Len() {
		// The copy omits the spare capacity that decoders allocate.
		exact := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(exact, v)
		v.Set(exact)
	}
	return p.internPart(v, sum, before)
}

// internMap interns a map. Its hash is a sum, because the entries have no order.
func (p *Pool) internMap(v reflect.Value) uint64 {
	if v.Len() == 0 {
		return 0
	}
	before := p.visited
	p.visited += v.Len() * int(v.Type().Key().Size()+v.Type().Elem().Size())
	sum := uint64(v.Len())
	entries, ok := reflect.TypeAssert[map[string]string](v)
	if !ok {
		for i := v.MapRange(); i.Next(); {
			sum += mix(p.hash(i.Key()), p.hash(i.Value()))
		}
		return p.internPart(v, sum, before)
	}
	for key, value := range entries {
		sum += mix(p.hashString(key), p.hashString(value))
	}
	if p.visited-before > p.maxPart {
		return sum
	}
	key := contentKey{v.Type(), sum}
	if known, ok := p.parts.get(key); ok && maps.Equal(known.(map[string]string), entries) {
		v.Set(reflect.ValueOf(known))
		return sum
	}
	for key, value := range entries {
		entries[p.pooled(key)] = p.pooled(value)
	}
	p.parts.add(key, entries, p.visited-before)
	return sum
}

// internPart replaces v with the equal value of the pool, or adds v to the pool if there is
// none and v is not too large. before is the value of visited before v.
func (p *Pool) internPart(v reflect.Value, sum uint64, before int) uint64 {
	if p.visited-before > p.maxPart {
		return sum
	}
	key := contentKey{v.Type(), sum}
	if known, ok := p.parts.get(key); ok && reflect.DeepEqual(known, v.Interface()) {
		v.Set(reflect.ValueOf(known))
		return sum
	}
	p.parts.add(key, v.Interface(), p.visited-before)
	return sum
}

var knownFields sync.Map // maps a reflect.Type to the []bool of exportedFields

// exportedFields reports, for each field of a struct type, whether the field is exported and
// can be set.
func exportedFields(t reflect.Type) []bool {
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

// generations is a map of at most 2*size entries, of at most 2*maxBytes bytes in sum, that approximates
// an LRU cache. add puts an entry into the recent generation, and get copies an entry that it finds in
// the older generation into the recent one. When the recent generation is full, it becomes the older
// one, and the former older generation is dropped.
type generations[K comparable, V any] struct {
	size, maxBytes int
	recent, older  map[K]sized[V]
	// bytes is the size of the values of recent.
	bytes int
}

// sized is a value with its size in bytes.
type sized[V any] struct {
	value V
	bytes int
}

func newGenerations[K comparable, V any](size, maxBytes int) generations[K, V] {
	return generations[K, V]{size: size, maxBytes: maxBytes, recent: map[K]sized[V]{}}
}

func (g *generations[K, V]) get(key K) (V, bool) {
	if known, ok := g.recent[key]; ok {
		return known.value, true
	}
	known, ok := g.older[key]
	if ok {
		g.add(key, known.value, known.bytes)
	}
	return known.value, ok
}

func (g *generations[K, V]) add(key K, value V, bytes int) {
	if len(g.recent) >= g.size || g.bytes+bytes > g.maxBytes {
		g.older = g.recent
		g.recent = map[K]sized[V]{}
		g.bytes = 0
	}
	g.recent[key] = sized[V]{value, bytes}
	g.bytes += bytes
}
