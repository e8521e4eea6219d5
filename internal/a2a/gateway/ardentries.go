// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// typeAgentCard is the type of an ARD entry that describes an agent.
const typeAgentCard = "application/a2a-agent-card+json"

// rewriteARDURLs returns an ARD response in which the URLs of the registry and of its agents
// lead through the gateway. registry is the base URL of the registry without a slash at its
// end. The URLs of entries of other registries, and everything else, stay unchanged.
func rewriteARDURLs(body []byte, registry, gateway string) ([]byte, error) {
	p := &ardParser{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body)), registry: registry, gateway: gateway}
	if err := p.object(true); err != nil {
		return nil, err
	}
	return applyEdits(body, p.edits), nil
}

type ardParser struct {
	*jsontext.Decoder
	registry, gateway string
	edits             []edit
}

// located is a string in a response and its position.
type located struct {
	edit
	text string
}

// ardEntry contains the members of one entry that the parser has read.
type ardEntry struct {
	mediaType, namespace, name string
	url, source, external      *located
}

// object reads an entry. If document is true, it may also read a document that contains
// entries.
func (p *ardParser) object(document bool) error {
	if p.PeekKind() != '{' {
		return errNoEntries
	}
	if _, err := p.ReadToken(); err != nil {
		return err
	}
	var e ardEntry
	for p.PeekKind() == '"' {
		if err := p.member(&e, document); err != nil {
			return err
		}
	}
	if _, err := p.ReadToken(); err != nil {
		return err
	}
	return p.rewrite(&e)
}

func (p *ardParser) member(e *ardEntry, document bool) error {
	token, err := p.ReadToken()
	if err != nil {
		return err
	}
	switch name, kind := token.String(), p.PeekKind(); {
	case document && kind == '[' && (name == "entries" || name == "items" || name == "results"):
		return p.list()
	case name == "metadata" && kind == '{':
		return p.metadata(e)
	case kind != '"':
		return p.SkipValue()
	case name == "type":
		e.mediaType, err = p.text()
	case name == "url":
		e.url, err = p.locate()
	case name == "source":
		e.source, err = p.locate()
	default:
		err = p.SkipValue()
	}
	return err
}

func (p *ardParser) list() error {
	if _, err := p.ReadToken(); err != nil {
		return err
	}
	for p.PeekKind() == '{' {
		if err := p.object(false); err != nil {
			return err
		}
	}
	token, err := p.ReadToken()
	if err == nil && token.Kind() != ']' {
		err = errNoEntries
	}
	return err
}

// metadata reads the metadata of an entry, which contain the name of the agent.
func (p *ardParser) metadata(e *ardEntry) error {
	if _, err := p.ReadToken(); err != nil {
		return err
	}
	for p.PeekKind() == '"' {
		token, err := p.ReadToken()
		if err != nil {
			return err
		}
		switch name := token.String(); {
		case p.PeekKind() != '"':
			err = p.SkipValue()
		case name == "namespace":
			e.namespace, err = p.text()
		case name == "name":
			e.name, err = p.text()
		case name == "externalURL":
			e.external, err = p.locate()
		default:
			err = p.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := p.ReadToken()
	return err
}

func (p *ardParser) text() (string, error) {
	token, err := p.ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}

func (p *ardParser) locate() (*located, error) {
	value, err := p.ReadValue()
	if err != nil {
		return nil, err
	}
	end := p.InputOffset()
	l := &located{edit: edit{from: end - int64(len(value)), to: end}}
	text, err := jsontext.AppendUnquote(nil, value)
	l.text = string(text)
	return l, err
}

// rewrite adds the edits of an entry. It adds none if the source of the entry is another
// registry.
func (p *ardParser) rewrite(e *ardEntry) error {
	if e.source != nil && !p.isOwn(e.source.text) {
		return nil
	}
	if e.url != nil && e.mediaType == typeAgentCard && label(e.namespace) && label(e.name) {
		agent := p.gateway + agentsPrefix + e.namespace + "/" + e.name + "/"
		if err := p.set(e.url, agent+".well-known/agent-card.json"); err != nil {
			return err
		}
		if e.external != nil {
			if err := p.set(e.external, agent); err != nil {
				return err
			}
		}
		e.url = nil
	}
	for _, l := range []*located{e.url, e.source} {
		if l != nil && p.isOwn(l.text) {
			if err := p.set(l, p.gateway+registryPrefix+strings.TrimPrefix(l.text, p.registry)); err != nil {
				return err
			}
		}
	}
	return nil
}

// isOwn reports whether a URL is below the base URL of the registry that the gateway calls.
func (p *ardParser) isOwn(url string) bool { return strings.HasPrefix(url, p.registry+"/") }

func (p *ardParser) set(l *located, url string) error {
	text, err := jsontext.AppendQuote(nil, url)
	p.edits = append(p.edits, edit{from: l.from, to: l.to, text: text})
	return err
}
