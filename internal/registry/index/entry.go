// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// Key names an agent.
type Key struct{ Namespace, Name string }

func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Name, other.Name))
}

// Valid reports whether an agent can have the key (RFC 1123).
func (k Key) Valid() bool { return isLabel(k.Namespace) && isLabel(k.Name) }

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
	h := sha256.New()
	for _, s := range []string{f.DisplayName, f.Description, f.Version, f.URL, f.ExternalURL, f.Reason, string(f.Admitted)} {
		_ = binary.Write(h, binary.LittleEndian, uint32(len(s))) //nolint:gosec // the size of an object is below 2 MiB
		_, _ = io.WriteString(h, s)
	}
	_ = binary.Write(h, binary.LittleEndian, struct {
		Time          int64
		Ready, Remote bool
		Visibility    access.Visibility
	}{f.UpdatedAt.Unix(), f.Ready, f.Remote, f.Visibility})
	return [16]byte(h.Sum(nil))
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
	digest [8]byte
	// terms are sorted and lead to the entry. frequencies are parallel to them: how often
	// the texts have a word or a stem, and 0 for other terms. length is that of the texts.
	terms       []term
	frequencies []uint8
	length      uint16
	// facts identifies the Facts.
	facts    [16]byte
	admitted access.Admitted
	// source has no text until the agent has a card; sourceDigest identifies it.
	source       CardSource
	sourceDigest [16]byte
}

// Body returns the agent as JSON. It must not be modified.
func (e *Entry) Body() []byte { return e.body }

// ETag returns a value that identifies the bytes of Body.
func (e *Entry) ETag() string { return `"` + hex.EncodeToString(e.digest[:]) + `"` }

// VisibleTo reports whether the caller with a set sees the agent.
func (e *Entry) VisibleTo(set *access.Set) bool { return set.Sees(e.Key.Namespace, e.Visibility) }

// Admits reports whether the agent's rules may admit ServiceAccounts of a namespace.
func (e *Entry) Admits(namespace string) bool { return e.admitted.Contains(namespace) }

// NewEntry encodes an agent and finds its terms. It returns an error if it cannot decode
// source, which has no text for an agent without a card.
func NewEntry(facts Facts, source CardSource) (*Entry, error) {
	item := itemJSON{
		Namespace: facts.Key.Namespace, Name: facts.Key.Name,
		DisplayName: facts.DisplayName, Description: facts.Description, Version: facts.Version,
		URL: facts.URL, ExternalURL: facts.ExternalURL, Ready: facts.Ready, Remote: facts.Remote,
		DefaultInputModes: []string{}, DefaultOutputModes: []string{}, Skills: []skillJSON{},
	}
	if !facts.Ready {
		item.Reason = facts.Reason
	}
	if !facts.UpdatedAt.IsZero() {
		item.UpdatedAt = facts.UpdatedAt.UTC().Format(time.RFC3339)
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
	body, err := json.Marshal(item)
	if err != nil {
		return nil, fmt.Errorf("encode agent %s/%s: %w", facts.Key.Namespace, facts.Key.Name, err)
	}
	e := &Entry{
		Key: facts.Key, Visibility: facts.Visibility, body: slices.Clip(body),
		facts: facts.digest(), admitted: facts.Admitted, source: source, sourceDigest: digest16(source.Text),
	}
	e.setTerms(append(terms, item.terms()...), text.Analyze(item.fields()))
	sum := sha256.Sum256(body)
	e.digest = [8]byte(sum[:])
	return e, nil
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

func digest16(s string) [16]byte {
	sum := sha256.Sum256([]byte(s))
	return [16]byte(sum[:])
}
