// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// maxEntries is the maximum size of a response with entries that is rewritten, in bytes. The
// registry ends a page after the entry with which the page exceeds 4 MiB.
const maxEntries = 8 << 20

// edit is the replacement of a range of bytes by text.
type edit struct {
	from, to int64
	text     []byte
}

var errNoEntries = errors.New("answer is no JSON object")

// rewriteURLs returns an entry of the registry, or a page of entries, in which the members
// url and externalURL of each entry are replaced by the agent's URL through the gateway.
// Everything else stays unchanged.
func rewriteURLs(body []byte, gateway string) ([]byte, error) {
	p := &entryParser{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body)), gateway: gateway}
	if err := p.object(true); err != nil {
		return nil, err
	}
	return applyEdits(body, p.edits), nil
}

// applyEdits returns a changed copy of a body.
func applyEdits(body []byte, edits []edit) []byte {
	// Edits are not in the order of the text: an entry adds its edits when it ends, after the
	// edits of entries inside it, and an ARD entry adds the edits of its URLs in a fixed order.
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	size := len(body)
	for _, e := range edits {
		size += len(e.text) - int(e.to-e.from)
	}
	out := make([]byte, 0, size)
	var at int64
	for _, e := range edits {
		out = append(append(out, body[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, body[at:]...)
}

type entryParser struct {
	*jsontext.Decoder
	gateway string
	edits   []edit
}

// entry contains the members of one entry that the parser has read.
type entry struct {
	namespace, name string
	// urls are the positions of the URLs. The text of these edits is set at the end of the
	// entry.
	urls []edit
}

// object reads an entry. If page is true, it may also read a page with entries in its member
// items.
func (p *entryParser) object(page bool) error {
	if p.PeekKind() != '{' {
		return errNoEntries
	}
	if _, err := p.ReadToken(); err != nil {
		return err
	}
	var e entry
	for p.PeekKind() == '"' {
		if err := p.member(&e, page); err != nil {
			return err
		}
	}
	if _, err := p.ReadToken(); err != nil {
		return err
	}
	if len(e.urls) == 0 {
		return nil
	}
	if !label(e.namespace) || !label(e.name) {
		return errors.New("an entry has a URL and no valid name")
	}
	address, err := jsontext.AppendQuote(nil, p.gateway+agentsPrefix+e.namespace+"/"+e.name+"/")
	for _, u := range e.urls {
		u.text = address
		p.edits = append(p.edits, u)
	}
	return err
}

func (p *entryParser) member(e *entry, page bool) error {
	name, err := p.ReadToken()
	if err != nil {
		return err
	}
	switch text := name.String(); {
	case text == "items" && page && p.PeekKind() == '[':
		return p.items()
	case p.PeekKind() != '"':
		return p.SkipValue()
	case text == "namespace":
		e.namespace, err = p.text()
	case text == "name":
		e.name, err = p.text()
	case text == "url", text == "externalURL":
		var value jsontext.Value
		if value, err = p.ReadValue(); err == nil && len(value) > len(`""`) {
			end := p.InputOffset()
			e.urls = append(e.urls, edit{from: end - int64(len(value)), to: end})
		}
	default:
		err = p.SkipValue()
	}
	return err
}

func (p *entryParser) items() error {
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

func (p *entryParser) text() (string, error) {
	token, err := p.ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}
