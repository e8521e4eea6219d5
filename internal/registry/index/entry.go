// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Facts has the data of an agent in the index that are not from its card.
type Facts struct {
	Key Key
	// DisplayName, Description and Version are for an agent without a card. The values of a card
	// take precedence.
	DisplayName string
	Description string
	Version     string
	URL         string
	ExternalURL string
	Ready       bool
	// Reason is the reason of what fails or waits, "" for nothing (agentstate.State.Problem).
	Reason string
	// Remote is true for an agent outside of the cluster.
	Remote bool
	// UpdatedAt is the time of the last transition of a condition of the Agent, or of its
	// creation if that is later.
	UpdatedAt time.Time
	// Visibility determines which callers see the agent, in addition to those that see its
	// namespace.
	Visibility access.Visibility
	// Admitted has the namespaces whose ServiceAccounts the agent's rules can admit.
	Admitted access.Admitted
}

// digest returns a digest of all facts except the key.
func (f *Facts) digest() [16]byte {
	var space [1024]byte
	b := space[:0]
	for _, s := range []string{f.DisplayName, f.Description, f.Version, f.URL, f.ExternalURL, f.Reason, string(f.Admitted)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s))) // the size of an object is below 2 MiB
		b = append(b, s...)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(f.UpdatedAt.Unix())) // a conversion of the bits suffices
	b = strconv.AppendBool(b, f.Ready)
	b = strconv.AppendBool(b, f.Remote)
	b = append(b, byte(f.Visibility))
	sum := sha256.Sum256(b)
	return [16]byte(sum[:])
}

// state returns the members of an item that describe the state of the agent. They depend only on f,
// and not on the card.
func (f *Facts) state() stateJSON {
	return stateJSON{URL: f.URL, ExternalURL: f.ExternalURL, Ready: f.Ready, Reason: f.Reason, Remote: f.Remote}
}

func (f *Facts) updatedAt() string {
	if f.UpdatedAt.IsZero() {
		return ""
	}
	return f.UpdatedAt.UTC().Format(time.RFC3339)
}

// Entry is one agent, encoded once for all responses. It is immutable.
type Entry struct {
	Key Key
	// Revision has the resource versions of the Agent and the ConfigMap from which the entry was
	// made.
	Revision Revision
	// Visibility determines which callers see the agent, in addition to those that see its
	// namespace.
	Visibility access.Visibility
	// body is the JSON of the agent in a list. digest identifies these bytes.
	body   []byte
	layout itemLayout
	digest [8]byte
	// terms are the sorted terms by which searches find the entry, with their frequencies. length is
	// the weighted number of words in the texts.
	terms  []term
	length uint16
	// facts is the digest of the Facts from which the entry was made.
	facts    [16]byte
	admitted access.Admitted
	// source.Text is "" while the agent has no card.
	source CardSource
}

// Body returns the JSON of the agent. The caller must not modify it.
func (e *Entry) Body() []byte { return e.body }

// HasExternalURL reports whether the agent has an external URL, without decoding its JSON.
func (e *Entry) HasExternalURL() bool {
	return bytes.Contains(e.body[e.layout.state:e.layout.offer], []byte(`"externalURL":"`))
}

// ETag returns a value that identifies the bytes of Body.
func (e *Entry) ETag() string { return `"` + hex.EncodeToString(e.digest[:]) + `"` }

// VisibleTo reports whether a caller that sees the agents in set sees this agent.
func (e *Entry) VisibleTo(set *access.Set) bool { return set.Sees(e.Key.Namespace, e.Visibility) }

// Admits reports whether the agent's rules can admit ServiceAccounts of a namespace.
func (e *Entry) Admits(namespace string) bool { return e.admitted.Contains(namespace) }

// NewEntry encodes an agent for responses, and collects its search terms. For an agent without a
// card, source.Text is "". NewEntry returns an error if it cannot decode source.
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
	if source.Text != "" && len(body) > bodyGrowth*len(source.Text)+maxFacts {
		return nil, errEmptyMembers
	}
	e := &Entry{
		Key: facts.Key, Visibility: facts.Visibility, layout: layout,
		facts: facts.digest(), admitted: facts.Admitted, source: source,
	}
	e.setBody(body)
	e.setTerms(append(terms, item.terms()...), text.Analyze(item.fields()))
	return e, nil
}

// withFacts returns the entry that NewEntry(facts, e.source) returns, but does not decode the card
// again. facts must have the key of e.
func (e *Entry) withFacts(facts Facts) (*Entry, error) {
	if e.source.Text == "" { // without a card, the texts of the entry are in the facts
		return NewEntry(facts, e.source)
	}
	body, layout, err := joinItem(e.body[:e.layout.state], facts.state(), e.body[e.layout.offer:e.layout.updatedAt], facts.updatedAt())
	if err != nil {
		return nil, fmt.Errorf("encode agent %s/%s: %w", facts.Key.Namespace, facts.Key.Name, err)
	}
	next := *e
	next.Revision = Revision{}
	next.Visibility = facts.Visibility
	next.admitted = facts.Admitted
	next.facts = facts.digest()
	next.layout = layout
	next.setBody(body)
	next.exchangeTerm(readyTerm(!facts.Ready), readyTerm(facts.Ready))
	next.exchangeTerm(remoteTerm(!facts.Remote), remoteTerm(facts.Remote))
	return &next, nil
}

// setBody sets the body and its digest.
func (e *Entry) setBody(body []byte) {
	sum := sha256.Sum256(body)
	e.body = slices.Clip(body)
	e.digest = [8]byte(sum[:])
}

// exchangeTerm replaces the term before by the term after. Both are terms of filters. It does
// nothing if the entry does not have the term before. It copies the terms, because other entries
// may share them (copy-on-write).
func (e *Entry) exchangeTerm(before, after string) {
	from, found := findTerm(e.terms, hashTerm(before))
	if !found {
		return
	}
	terms := slices.Delete(slices.Clone(e.terms), from, from+1)
	to, _ := findTerm(terms, hashTerm(after))
	e.terms = slices.Insert(terms, to, hashTerm(after))
}

// setTerms sets the terms: those of the filters, and those of the words in the document with their frequencies.
func (e *Entry) setTerms(filters []string, document text.Document) {
	space := termLists.Get().(*[]term)
	list := (*space)[:0]
	for _, filter := range filters {
		list = append(list, hashTerm(filter))
	}
	for _, t := range document.Terms {
		next := hashWord(t.Text) | term(min(t.Frequency, maxFrequency))
		if t.IsMistakable {
			next |= mistakable
		}
		list = append(list, next)
	}
	slices.Sort(list)
	list = slices.CompactFunc(list, func(a, b term) bool { return a.name() == b.name() })
	e.terms = slices.Clone(list)
	e.length = document.Length
	if cap(list) <= maxPooledTerms {
		*space = list
		termLists.Put(space)
	}
}

// termLists has lists for reuse. Without reuse, the lists would become garbage during a cold
// start, and cause collections of the whole heap.
var termLists = sync.Pool{New: func() any { return new([]term) }}

// maxPooledTerms bounds the capacity of a list that is kept for reuse.
const maxPooledTerms = 1024

// frequency returns the weighted frequency of a word or a stem in the texts of the agent, or 0 if
// they do not contain it.
func (e *Entry) frequency(t term) uint8 {
	if i, found := findTerm(e.terms, t); found {
		return e.terms[i].frequency()
	}
	return 0
}

// has reports whether the entry has all terms.
func (e *Entry) has(terms []term) bool {
	for _, t := range terms {
		if _, found := findTerm(e.terms, t); !found {
			return false
		}
	}
	return true
}

// Rendering is a card in one form.
type Rendering struct {
	Body []byte
	ETag string
}

// Card renders the agent's card for a request with the A2A-Version header version. The form is that
// of 1.0 for 1.x, and otherwise the union card, which clients of all versions can read. The sidecar
// serves the same card at the agent's Service. Card returns nil if the agent has no card.
func (e *Entry) Card(version string, signatures ...card.Signature) (*Rendering, error) {
	if e.source.Text == "" {
		return nil, nil
	}
	p, err := e.source.decode()
	if err != nil {
		return nil, err
	}
	form := card.FormUnion
	if major, _, _ := strings.Cut(strings.TrimSpace(version), "."); major == "1" {
		form = card.FormV10
	}
	body, err := card.Render(&p.Card, form, signatures...)
	if err != nil {
		return nil, fmt.Errorf("render card: %w", err)
	}
	sum := sha256.Sum256(body)
	return &Rendering{Body: body, ETag: `"` + hex.EncodeToString(sum[:16]) + `"`}, nil
}

// SidecarCard is the card that the pods of an agent serve.
type SidecarCard struct{ source CardSource }

// SidecarCard returns the card that the pods of the agent serve. ok is false if there is none.
func (e *Entry) SidecarCard() (c SidecarCard, ok bool) {
	return SidecarCard{e.source}, e.source.Text != "" && !e.source.Remote
}

// Digest identifies the card.
func (c SidecarCard) Digest() [sha256.Size]byte { return sha256.Sum256([]byte(c.source.Text)) }

// Decode returns the card, which costs as much as rendering it.
func (c SidecarCard) Decode() (*card.Card, error) {
	p, err := c.source.decode()
	if err != nil {
		return nil, err
	}
	return &p.Card, nil
}

// CardSource is the text that contains the public card of an agent: the sidecar configuration or,
// for a remote agent, the card. Entries store the text, whose memory they share with the manager's
// cache. The card is rendered from the text for each request.
type CardSource struct {
	Text   string
	Remote bool
}

// errOtherVersion is returned for a sidecar configuration whose format version is not that of this
// registry.
var errOtherVersion = errors.New("the sidecar configuration has another version")

// errEmptyMembers is returned for a card whose JSON in a list would be much longer than its text, as that of thousands of skills without
// members is. The operator writes no such card.
var errEmptyMembers = errors.New("the card has too many members that are empty")

// The JSON of an agent may be bodyGrowth times as long as the text with its card, and maxFacts longer, in bytes.
const (
	bodyGrowth = 2
	maxFacts   = 16 << 10
)

// publicPart is the part of a sidecar configuration that callers see.
type publicPart struct {
	Version string      `json:"version"`
	Card    card.Card   `json:"card"`
	Bases   []card.Base `json:"bases"`
}

// asSidecar makes the decoder read a text as encoding/json does, with which the sidecar reads it.
// Users can edit the ConfigMaps of their Agents. Without these options, the registry could show
// another card than the sidecar serves for the same text.
var asSidecar = jsonv1.DefaultOptionsV1()

func (s CardSource) decode() (*publicPart, error) {
	if err := card.CheckValues(s.Text); err != nil {
		return nil, fmt.Errorf("decode card: %w", err)
	}
	p := &publicPart{}
	if s.Remote {
		if err := json.UnmarshalRead(strings.NewReader(s.Text), &p.Card, asSidecar); err != nil {
			return nil, fmt.Errorf("decode card: %w", err)
		}
		return p, nil
	}
	if err := json.UnmarshalRead(strings.NewReader(s.Text), p, asSidecar); err != nil {
		return nil, fmt.Errorf("decode sidecar configuration: %w", err)
	}
	if p.Version != sidecarconfig.Version {
		return nil, errOtherVersion
	}
	return p, nil
}
