// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
)

const (
	// maxEntries is the maximum size of a response with entries that is rewritten, in bytes. The
	// registry ends a page after the entry with which the page exceeds 4 MiB.
	maxEntries = 8 << 20
	// typeAgentCard is the type of an ARD entry that describes an agent.
	typeAgentCard = "application/a2a-agent-card+json"
)

var errNoEntries = errors.New("answer is no JSON object")

// rewriteURLs returns an entry of the registry, or a page of entries, in which the members
// url and externalURL of each entry are replaced by the agent's URL through the gateway.
// Everything else stays unchanged.
func rewriteURLs(body []byte, gateway string) ([]byte, error) {
	u := &urlRewriter{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body)), gateway: gateway}
	if err := u.entry(true); err != nil {
		return nil, err
	}
	return applyEdits(body, u.edits), nil
}

// rewriteARDURLs returns an ARD response in which the URLs of the registry and of its agents
// lead through the gateway. registry is the base URL of the registry without a slash at its
// end. The URLs of entries of other registries, and everything else, stay unchanged.
func rewriteARDURLs(body []byte, registry, gateway string) ([]byte, error) {
	u := &urlRewriter{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body)), registry: registry, gateway: gateway}
	if err := u.ardEntry(true); err != nil {
		return nil, err
	}
	return applyEdits(body, u.edits), nil
}

// edit is the replacement of a range of bytes by text.
type edit struct {
	from, to int64
	text     []byte
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

// urlRewriter reads a response of the registry, and collects the edits of its URLs.
type urlRewriter struct {
	*jsontext.Decoder
	registry, gateway string
	edits             []edit
}

// entry reads an entry. If page is true, it may also read a page with entries in its member
// items.
func (u *urlRewriter) entry(page bool) error {
	var namespace, name string
	var urls []edit
	err := u.object(func(member string) (err error) {
		switch kind := u.PeekKind(); {
		case page && member == "items" && kind == '[':
			return u.objects(func() error { return u.entry(false) })
		case kind != '"':
			return u.SkipValue()
		case member == "namespace":
			namespace, err = u.text()
		case member == "name":
			name, err = u.text()
		case member == "url", member == "externalURL":
			var at edit
			var value jsontext.Value
			if at, value, err = u.locate(); len(value) > len(`""`) {
				urls = append(urls, at)
			}
		default:
			err = u.SkipValue()
		}
		return err
	})
	if err != nil || len(urls) == 0 {
		return err
	}
	if !directory.IsLabel(namespace) || !directory.IsLabel(name) {
		return errors.New("an entry has a URL and no valid name")
	}
	for _, at := range urls {
		if err := u.set(at, u.gateway+agentsPrefix+namespace+"/"+name+"/"); err != nil {
			return err
		}
	}
	return nil
}

// ardEntry contains the members of an ARD entry that determine its edits.
type ardEntry struct {
	mediaType, namespace, name string
	url, source, external      *located
}

// located is a string in a response and its position.
type located struct {
	edit
	text string
}

// ardEntry reads an ARD entry. If document is true, it may also read a document that contains
// entries.
func (u *urlRewriter) ardEntry(document bool) error {
	var e ardEntry
	err := u.object(func(member string) (err error) {
		switch kind := u.PeekKind(); {
		case document && kind == '[' && (member == "entries" || member == "items" || member == "results"):
			return u.objects(func() error { return u.ardEntry(false) })
		case member == "metadata" && kind == '{':
			return u.ardMetadata(&e)
		case kind != '"':
			return u.SkipValue()
		case member == "type":
			e.mediaType, err = u.text()
		case member == "url":
			e.url, err = u.locateText()
		case member == "source":
			e.source, err = u.locateText()
		default:
			err = u.SkipValue()
		}
		return err
	})
	if err != nil {
		return err
	}
	return u.rewriteARD(&e)
}

// ardMetadata reads the metadata of an ARD entry, which contain the name of the agent.
func (u *urlRewriter) ardMetadata(e *ardEntry) error {
	return u.object(func(member string) (err error) {
		switch {
		case u.PeekKind() != '"':
			err = u.SkipValue()
		case member == "namespace":
			e.namespace, err = u.text()
		case member == "name":
			e.name, err = u.text()
		case member == "externalURL":
			e.external, err = u.locateText()
		default:
			err = u.SkipValue()
		}
		return err
	})
}

// rewriteARD adds the edits of an ARD entry. It adds none if the source of the entry is another
// registry.
func (u *urlRewriter) rewriteARD(e *ardEntry) error {
	if e.source != nil && !u.isOwn(e.source.text) {
		return nil
	}
	if e.url != nil && e.mediaType == typeAgentCard && directory.IsLabel(e.namespace) && directory.IsLabel(e.name) {
		if err := u.rewriteAgent(e); err != nil {
			return err
		}
	}
	for _, l := range []*located{e.url, e.source} {
		if l != nil && u.isOwn(l.text) {
			if err := u.set(l.edit, u.gateway+registryPrefix+strings.TrimPrefix(l.text, u.registry)); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewriteAgent adds the edits of the URLs of an agent in an ARD entry. The URL of the registry's copy of a card stays for rewriteARD,
// because the agent does not serve its card.
func (u *urlRewriter) rewriteAgent(e *ardEntry) error {
	agent := u.gateway + agentsPrefix + e.namespace + "/" + e.name + "/"
	if !strings.HasPrefix(e.url.text, u.registry+ardCards) {
		if err := u.set(e.url.edit, agent+".well-known/agent-card.json"); err != nil {
			return err
		}
		e.url = nil
	}
	if e.external == nil {
		return nil
	}
	return u.set(e.external.edit, agent)
}

// isOwn reports whether a URL is below the base URL of the registry that the gateway calls.
func (u *urlRewriter) isOwn(url string) bool { return strings.HasPrefix(url, u.registry+"/") }

// object reads an object. It calls member with the name of each member, to read its value.
func (u *urlRewriter) object(member func(name string) error) error {
	if u.PeekKind() != '{' {
		return errNoEntries
	}
	if _, err := u.ReadToken(); err != nil {
		return err
	}
	for u.PeekKind() == '"' {
		name, err := u.text()
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := u.ReadToken()
	return err
}

// objects reads an array of objects. It calls object to read each of them.
func (u *urlRewriter) objects(object func() error) error {
	if _, err := u.ReadToken(); err != nil {
		return err
	}
	for u.PeekKind() == '{' {
		if err := object(); err != nil {
			return err
		}
	}
	end, err := u.ReadToken()
	if err == nil && end.Kind() != ']' {
		err = errNoEntries
	}
	return err
}

func (u *urlRewriter) text() (string, error) {
	token, err := u.ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}

// locate reads a string. It returns an edit that covers the string and has no text yet. It
// also returns the string in its quotes, which is valid until the next read.
func (u *urlRewriter) locate() (edit, jsontext.Value, error) {
	value, err := u.ReadValue()
	end := u.InputOffset()
	return edit{from: end - int64(len(value)), to: end}, value, err
}

func (u *urlRewriter) locateText() (*located, error) {
	at, value, err := u.locate()
	if err != nil {
		return nil, err
	}
	text, err := jsontext.AppendUnquote(nil, value)
	return &located{edit: at, text: string(text)}, err
}

// set adds an edit with a text.
func (u *urlRewriter) set(at edit, text string) (err error) {
	at.text, err = jsontext.AppendQuote(nil, text)
	u.edits = append(u.edits, at)
	return err
}

// enter reads an object up to the value of the first member with one of the names. It returns
// false if there is no such member.
func enter(d *jsontext.Decoder, names ...string) bool {
	if d.PeekKind() != '{' {
		return false
	}
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	for d.PeekKind() == '"' {
		name, ok := readName(d)
		if !ok {
			return false
		}
		if slices.ContainsFunc(names, func(wanted string) bool { return wanted == string(name) }) {
			return true
		}
		if d.SkipValue() != nil {
			return false
		}
	}
	return false
}

// readName reads the name of a member. The name is valid until the next read. It allocates only for a name with an escape sequence.
func readName(d *jsontext.Decoder) (name []byte, ok bool) {
	quoted, err := d.ReadValue()
	if err != nil || len(quoted) < 2 {
		return nil, false
	}
	if !bytes.ContainsRune(quoted, '\\') {
		return quoted[1 : len(quoted)-1], true
	}
	name, err = jsontext.AppendUnquote(nil, quoted)
	return name, err == nil
}
