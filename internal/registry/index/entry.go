// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
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
	Ready       bool
	// Remote is true for an agent outside of the cluster.
	Remote bool
	// Admitted are the namespaces whose ServiceAccounts the agent's rules may admit.
	Admitted access.Admitted
}

// Entry is one agent, encoded once. It is immutable.
type Entry struct {
	Key   Key
	facts Facts
	// body is the agent as an item of a list; digest identifies its bytes.
	body   []byte
	digest string
	// terms are sorted and lead to the entry.
	terms []string
	// card is nil until the agent has one.
	card *Card
}

// Body returns the agent as JSON. It must not be modified.
func (e *Entry) Body() []byte { return e.body }

// Digest returns a value that identifies the bytes of Body.
func (e *Entry) Digest() string { return e.digest }

// Card returns the agent's card, or nil until it has one.
func (e *Entry) Card() *Card { return e.card }

// Admits reports whether the agent's rules may admit ServiceAccounts of a namespace.
func (e *Entry) Admits(namespace string) bool { return e.facts.Admitted.Contains(namespace) }

// agentJSON is an agent in a response.
type agentJSON struct {
	Namespace          string         `json:"namespace"`
	Name               string         `json:"name"`
	DisplayName        string         `json:"displayName"`
	Description        string         `json:"description"`
	Version            string         `json:"version"`
	Provider           *card.Provider `json:"provider,omitempty"`
	IconURL            string         `json:"iconUrl,omitempty"`
	DocumentationURL   string         `json:"documentationUrl,omitempty"`
	URL                string         `json:"url"`
	Ready              bool           `json:"ready"`
	Remote             bool           `json:"remote,omitempty"`
	DefaultInputModes  []string       `json:"defaultInputModes"`
	DefaultOutputModes []string       `json:"defaultOutputModes"`
	Skills             []skillJSON    `json:"skills"`
	CardDigest         string         `json:"cardDigest"`
}

type skillJSON struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples,omitempty"`
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
}

// NewEntry encodes an agent and finds its terms. rendered is nil for an agent without a card.
func NewEntry(facts Facts, rendered *Card) (*Entry, error) {
	view := agentJSON{
		Namespace: facts.Key.Namespace, Name: facts.Key.Name,
		DisplayName: facts.DisplayName, Description: facts.Description, Version: facts.Version,
		URL: facts.URL, Ready: facts.Ready, Remote: facts.Remote,
		DefaultInputModes: []string{}, DefaultOutputModes: []string{}, Skills: []skillJSON{},
	}
	if rendered != nil {
		view.describe(&rendered.model, rendered.digest)
	}
	body, err := json.Marshal(view)
	if err != nil {
		return nil, fmt.Errorf("encode agent %s/%s: %w", facts.Key.Namespace, facts.Key.Name, err)
	}
	return &Entry{Key: facts.Key, facts: facts, body: body, digest: digest(body), terms: view.terms(), card: rendered}, nil
}

func (v *agentJSON) describe(c *card.Card, cardDigest string) {
	v.DisplayName, v.Description, v.Version = c.Name, c.Description, c.Version
	v.Provider, v.IconURL, v.DocumentationURL = c.Provider, c.IconURL, c.DocumentationURL
	v.DefaultInputModes = append(v.DefaultInputModes, c.DefaultInputModes...)
	v.DefaultOutputModes = append(v.DefaultOutputModes, c.DefaultOutputModes...)
	v.CardDigest = cardDigest
	for i := range c.Skills {
		s := &c.Skills[i]
		v.Skills = append(v.Skills, skillJSON{
			ID: s.ID, Name: s.Name, Description: s.Description, Tags: append([]string{}, s.Tags...), // never null
			Examples: s.Examples, InputModes: s.InputModes, OutputModes: s.OutputModes,
		})
	}
}

// A term is a kind and a value, so that one map holds all kinds.
func skillTerm(id string) string          { return "s:" + id }
func tagTerm(tag string) string           { return "t:" + strings.ToLower(tag) }
func wordTerm(word string) string         { return "w:" + word }
func namespaceTerm(name string) string    { return "n:" + name }
func inputModeTerm(mode string) string    { return "i:" + mediaType(mode) }
func outputModeTerm(mode string) string   { return "o:" + mediaType(mode) }
func readyTerm(ready bool) (term string)  { return fmt.Sprintf("r:%t", ready) }
func mediaType(mode string) (name string) { return strings.ToLower(strings.TrimSpace(mode)) }

// terms returns all terms of the agent, sorted and without duplicates.
func (v *agentJSON) terms() []string {
	terms := []string{namespaceTerm(v.Namespace), readyTerm(v.Ready)}
	words := func(texts ...string) {
		for _, text := range texts {
			for word := range wordsOf(text) {
				terms = append(terms, wordTerm(word))
			}
		}
	}
	modes := func(term func(string) string, own, fallback []string) {
		if len(own) == 0 {
			own = fallback
		}
		for _, mode := range own {
			terms = append(terms, term(mode))
		}
	}
	words(v.Name, v.DisplayName, v.Description)
	modes(inputModeTerm, v.DefaultInputModes, nil)
	modes(outputModeTerm, v.DefaultOutputModes, nil)
	for _, s := range v.Skills {
		terms = append(terms, skillTerm(s.ID))
		words(s.ID, s.Name, s.Description)
		words(s.Tags...)
		for _, tag := range s.Tags {
			terms = append(terms, tagTerm(tag))
		}
		modes(inputModeTerm, s.InputModes, v.DefaultInputModes)
		modes(outputModeTerm, s.OutputModes, v.DefaultOutputModes)
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// wordsOf yields the runs of letters and digits of a text, in lower case.
func wordsOf(text string) func(yield func(string) bool) {
	return strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// digest identifies content by 16 hexadecimal digits.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}
