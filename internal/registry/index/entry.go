// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// Facts are what the index knows about an agent beside its card.
type Facts struct {
	Key Key
	// DisplayName, Description and Version are used while there is no card.
	DisplayName string
	Description string
	Version     string
	URL         string
	ExternalURL string
	Ready       bool
	// Reason is why the agent is not ready.
	Reason string
	// Remote is true for an agent outside of the cluster.
	Remote bool
	// UpdatedAt is the last transition of a condition of the Agent, or its creation.
	UpdatedAt time.Time
	// Visibility is who sees the agent beside the callers of its namespace.
	Visibility access.Visibility
	// Admitted are the namespaces whose ServiceAccounts the agent's rules may admit.
	Admitted access.Admitted
}

// digest identifies the facts.
func (f *Facts) digest() [16]byte {
	var space [1024]byte
	b := space[:0]
	for _, s := range []string{f.DisplayName, f.Description, f.Version, f.URL, f.ExternalURL, f.Reason, string(f.Admitted)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s))) //nolint:gosec // the size of an object is below 2 MiB
		b = append(b, s...)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(f.UpdatedAt.Unix())) //nolint:gosec // bits
	b = strconv.AppendBool(b, f.Ready)
	b = strconv.AppendBool(b, f.Remote)
	b = append(b, byte(f.Visibility))
	sum := sha256.Sum256(b)
	return [16]byte(sum[:])
}

// state returns the members of an item that depend on facts alone.
func (f *Facts) state() stateJSON {
	s := stateJSON{URL: f.URL, ExternalURL: f.ExternalURL, Ready: f.Ready, Remote: f.Remote}
	if !f.Ready {
		s.Reason = f.Reason
	}
	return s
}

func (f *Facts) updatedAt() string {
	if f.UpdatedAt.IsZero() {
		return ""
	}
	return f.UpdatedAt.UTC().Format(time.RFC3339)
}

// Entry is one agent, encoded once. It is immutable.
type Entry struct {
	Key Key
	// Revision has the resource versions of the objects that the entry is made of.
	Revision Revision
	// Visibility is who sees the agent beside the callers of its namespace.
	Visibility access.Visibility
	// body is the agent as an item of a list; digest identifies its bytes.
	body   []byte
	layout itemLayout
	digest [8]byte
	// terms are sorted and lead to the entry. frequencies are parallel to them: how often
	// the texts have a word or a stem, and 0 for other terms. length is that of the texts.
	terms       []term
	frequencies []uint8
	length      uint16
	// facts identifies the Facts.
	facts    [16]byte
	admitted access.Admitted
	// source has no text until the agent has a card.
	source CardSource
}

// Body returns the agent as JSON. It must not be modified.
func (e *Entry) Body() []byte { return e.body }

// ETag returns a value that identifies the bytes of Body.
func (e *Entry) ETag() string { return `"` + hex.EncodeToString(e.digest[:]) + `"` }

// VisibleTo reports whether the caller with a set sees the agent.
func (e *Entry) VisibleTo(set *access.Set) bool { return set.Sees(e.Key.Namespace, e.Visibility) }

// Admits reports whether the agent's rules may admit ServiceAccounts of a namespace.
func (e *Entry) Admits(namespace string) bool { return e.admitted.Contains(namespace) }

// NewEntry encodes an agent for responses and collects its search terms. An agent without a
// card has a source with an empty Text. NewEntry returns an error if it cannot decode the
// source.
func NewEntry(facts Facts, source CardSource) (*Entry, error) {
	item := itemJSON{
		identityJSON: identityJSON{
			Namespace: facts.Key.Namespace, Name: facts.Key.Name,
			DisplayName: facts.DisplayName, Description: facts.Description, Version: facts.Version,
		},
		stateJSON: facts.state(),
		offerJSON: offerJSON{DefaultInputModes: []string{}, DefaultOutputModes: []string{}, Skills: []skillJSON{}},
		UpdatedAt: facts.updatedAt(),
	}
	var terms []string
	if source.Text != "" {
		p, err := source.decode()
		if err != nil {
			return nil, err
		}
		if item.CardDigest, err = card.Digest(&p.Card, p.Bases...); err != nil {
			return nil, fmt.Errorf("digest card: %w", err)
		}
		public := p.Card.Public()
		item.describe(public)
		for _, i := range public.Interfaces {
			terms = append(terms, bindingTerm(string(i.Binding)), protocolTerm(i.ProtocolVersion))
		}
	}
	body, layout, err := item.encode()
	if err != nil {
		return nil, fmt.Errorf("encode agent %s/%s: %w", facts.Key.Namespace, facts.Key.Name, err)
	}
	e := &Entry{
		Key: facts.Key, Visibility: facts.Visibility, layout: layout,
		facts: facts.digest(), admitted: facts.Admitted, source: source,
	}
	e.setBody(body)
	e.setTerms(append(terms, item.terms()...), text.Analyze(item.fields()))
	return e, nil
}

// withFacts returns the entry that NewEntry returns for the facts, which have the same
// Key, and the source of e. It decodes and analyzes no card.
func (e *Entry) withFacts(facts Facts) (*Entry, error) {
	if e.source.Text == "" { // the facts are all that the texts have
		return NewEntry(facts, e.source)
	}
	body, layout, err := joinItem(e.body[:e.layout.state], facts.state(), e.body[e.layout.offer:e.layout.updatedAt], facts.updatedAt())
	if err != nil {
		return nil, fmt.Errorf("encode agent %s/%s: %w", facts.Key.Namespace, facts.Key.Name, err)
	}
	next := *e
	next.Revision = Revision{}
	next.Visibility, next.admitted, next.facts, next.layout = facts.Visibility, facts.Admitted, facts.digest(), layout
	next.setBody(body)
	next.exchangeTerm(readyTerm(!facts.Ready), readyTerm(facts.Ready))
	next.exchangeTerm(remoteTerm(!facts.Remote), remoteTerm(facts.Remote))
	return &next, nil
}

// setBody sets the representation of the agent.
func (e *Entry) setBody(body []byte) {
	sum := sha256.Sum256(body)
	e.body, e.digest = slices.Clip(body), [8]byte(sum[:])
}

// exchangeTerm replaces a term that filters look for, if the entry has it. Other entries
// may share its terms.
func (e *Entry) exchangeTerm(before, after string) {
	from, found := slices.BinarySearch(e.terms, hashTerm(before))
	if !found {
		return
	}
	terms := slices.Delete(slices.Clone(e.terms), from, from+1)
	frequencies := slices.Delete(slices.Clone(e.frequencies), from, from+1)
	to, _ := slices.BinarySearch(terms, hashTerm(after))
	e.terms, e.frequencies = slices.Insert(terms, to, hashTerm(after)), slices.Insert(frequencies, to, 0)
}

// setTerms sets the terms that filters look for, and those of the texts.
func (e *Entry) setTerms(filters []string, document text.Document) {
	frequencies := make(map[term]uint8, len(filters)+len(document.Terms))
	for _, filter := range filters {
		frequencies[hashTerm(filter)] = 0
	}
	for _, t := range document.Terms {
		frequencies[hashTerm(wordTerm(t.Text))] = t.Frequency
	}
	e.terms = slices.AppendSeq(make([]term, 0, len(frequencies)), maps.Keys(frequencies))
	slices.Sort(e.terms)
	e.frequencies = make([]uint8, len(e.terms))
	for i, t := range e.terms {
		e.frequencies[i] = frequencies[t]
	}
	e.length = document.Length
}

// frequency returns how often the texts have a word or a stem, weighted.
func (e *Entry) frequency(t term) uint8 {
	if i, found := slices.BinarySearch(e.terms, t); found {
		return e.frequencies[i]
	}
	return 0
}
