// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package embedding

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// vectorsGauge is shared by all embedders of a process.
var vectorsGauge = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "a2a_registry_embedding_vectors",
	Help: "Vectors of the texts of agents in memory.",
})

// MaxDocuments bounds the documents that have a vector. Searches find other documents only by their
// words.
const MaxDocuments = 200_000

// Key names a document.
type Key struct{ Namespace, Name string }

type digest [16]byte

func digestOf(text string) digest {
	sum := sha256.Sum256([]byte(text))
	return digest(sum[:])
}

// shared is a vector that all documents with the same text share. users is the number of these
// documents.
type shared struct {
	*Vector
	text  digest
	users int
}

// documents has the vectors of documents. It is safe for concurrent use.
type documents struct {
	mu sync.RWMutex
	// byKey has the vector of each document, and byText the vector of each text.
	byKey  map[Key]*shared
	byText map[digest]*shared
	// dimensions is the number of dimensions of each vector, 0 before the first vector.
	dimensions int
}

func newDocuments() *documents {
	return &documents{byKey: map[Key]*shared{}, byText: map[digest]*shared{}}
}

// has reports whether a document has the vector of a text. If only another document with this text has a vector, has
// first assigns that vector to the document.
func (d *documents) has(key Key, text digest) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.byKey[key]; now != nil && now.text == text {
		return true
	}
	known := d.byText[text]
	return known != nil && d.assign(key, known)
}

// put sets the vector of a document. It does nothing if MaxDocuments other documents have a vector. It returns
// errOtherDimensions if the vectors of other documents have another number of dimensions.
func (d *documents) put(key Key, text digest, v *Vector) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dimensions == 0 {
		d.dimensions = len(v.values)
	}
	if len(v.values) != d.dimensions {
		return errOtherDimensions
	}
	known := d.byText[text]
	if known == nil {
		known = &shared{Vector: v, text: text}
	}
	d.assign(key, known)
	return nil
}

// assign sets the vector of a document. It returns false if there is no room for the document. The
// caller holds mu.
func (d *documents) assign(key Key, v *shared) bool {
	if !d.admits(key) {
		return false
	}
	v.users++ // before release, which deletes a vector without users, even if it is v
	d.release(key)
	d.byKey[key] = v
	d.byText[v.text] = v
	vectorsGauge.Set(float64(len(d.byText)))
	return true
}

// remove removes a document and its vector.
func (d *documents) remove(key Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.release(key)
	delete(d.byKey, key)
	vectorsGauge.Set(float64(len(d.byText)))
}

func (d *documents) release(key Key) {
	if last := d.byKey[key]; last != nil {
		last.users--
		if last.users == 0 {
			delete(d.byText, last.text)
		}
	}
}

// hasRoom reports whether a document may have a vector: it already has one, or fewer than MaxDocuments documents have
// one.
func (d *documents) hasRoom(key Key) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.admits(key)
}

// admits does the same as hasRoom, for a caller that holds mu.
func (d *documents) admits(key Key) bool { return d.byKey[key] != nil || len(d.byKey) < MaxDocuments }

// free returns the number of further documents that may get a vector.
func (d *documents) free() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return MaxDocuments - len(d.byKey)
}

// nearest returns the n documents of keys that are approximately most similar to a query, the most
// similar one first. It selects coarseFactor*n candidates by the signs of their vectors, and
// computes the exact similarity only for these. It omits documents without a vector. It returns nil
// if the query has another number of dimensions than the documents.
func (d *documents) nearest(query *Vector, keys iter.Seq[Key], n int) []Key {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if len(query.values) != d.dimensions {
		return nil
	}
	byDistance := newBest(coarseFactor * n)
	for key := range keys {
		if document := d.byKey[key]; document != nil {
			byDistance.add(candidate{key, -float64(document.signDistance(query))})
		}
	}
	bySimilarity := newBest(n)
	for _, c := range byDistance.list {
		bySimilarity.add(candidate{c.key, d.byKey[c.key].similarity(query)})
	}
	found := make([]Key, len(bySimilarity.list))
	for i, c := range bySimilarity.list {
		found[i] = c.key
	}
	return found
}

// coarseFactor is the number of candidates that nearest compares exactly, for each document that it
// returns.
const coarseFactor = 10

// candidate is a document with its score.
type candidate struct {
	key   Key
	score float64
}

// best keeps the size candidates with the highest scores, sorted by descending score and, for equal scores, by key.
type best struct {
	list []candidate
	size int
}

func newBest(size int) *best { return &best{list: make([]candidate, 0, size+1), size: size} }

func (b *best) add(c candidate) {
	if len(b.list) == b.size && compareCandidates(c, b.list[b.size-1]) >= 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(b.list, c, compareCandidates)
	b.list = slices.Insert(b.list, i, c)
	b.list = b.list[:min(len(b.list), b.size)]
}

func compareCandidates(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Name, b.key.Name))
}

// MaxDimensions bounds the dimensions of a vector. A vector needs about one byte of memory for each
// dimension.
const MaxDimensions = 4096

// Vector is the direction of an embedding, without its length, with 8 bits for each dimension. It
// is immutable.
type Vector struct {
	values []int8
	// signs has one bit for each dimension, which is 1 if the value is negative.
	signs []uint64
	// inverse is the reciprocal of the Euclidean length of values.
	inverse float64
}

var (
	errDimensions = errors.New("a vector must have 1 to 4,096 dimensions")
	errNotFinite  = errors.New("a vector has a value that is not finite")
	errZero       = errors.New("a vector has no direction: all values are zero")
	// errOtherDimensions is returned if two vectors have different numbers of dimensions, so that they cannot be
	// compared.
	errOtherDimensions = errors.New("the endpoint returns vectors of different dimensions: restart the manager after a change of the model")
)

// newVector returns the direction of an embedding. It returns an error if the embedding has no dimensions or too many, a
// value that is not finite, or only zeros.
func newVector(embedding []float64) (*Vector, error) {
	if len(embedding) == 0 || len(embedding) > MaxDimensions {
		return nil, errDimensions
	}
	most := 0.0
	for _, v := range embedding {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errNotFinite
		}
		most = max(most, math.Abs(v))
	}
	if most == 0 {
		return nil, errZero
	}
	vector := &Vector{values: make([]int8, len(embedding)), signs: make([]uint64, (len(embedding)+63)/64)}
	squares := 0.0
	for i, v := range embedding {
		scaled := math.Round(v / most * math.MaxInt8)
		vector.values[i] = int8(scaled)
		squares += scaled * scaled
		if scaled < 0 {
			vector.signs[i/64] |= 1 << (i % 64)
		}
	}
	vector.inverse = 1 / math.Sqrt(squares)
	return vector, nil
}

// signDistance returns the number of dimensions in which the signs of two vectors differ. It is small for similar
// vectors, and much faster to compute than similarity. The vectors must have the same number of dimensions.
func (v *Vector) signDistance(other *Vector) int {
	distance := 0
	others := other.signs[:len(v.signs)]
	for i, word := range v.signs {
		distance += bits.OnesCount64(word ^ others[i])
	}
	return distance
}

// similarity returns the cosine of the angle between two vectors, which must have the same number of dimensions.
func (v *Vector) similarity(other *Vector) float64 {
	sum := int32(0) // at most 4,096 * 127 * 127
	others := other.values[:len(v.values)]
	for i, value := range v.values {
		sum += int32(value) * int32(others[i])
	}
	return float64(sum) * v.inverse * other.inverse
}
