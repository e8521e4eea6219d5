// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// manifest serves the manifest of the registry: the entry of the registry itself and, for each
// namespace that the caller sees, a catalog. For callers with a token, it also has the peers.
func (d *ardAPI) manifest(r *ardRequest) (any, error) {
	if r.URL.RawQuery != "" {
		return nil, errNoParameters
	}
	root := d.publisher.Root(r.namespaces())
	if !r.from.isAnonymous {
		root.Entries = append(root.Entries, d.referrals(false)...)
	}
	return root, nil
}

var errNoParameters error = &ard.RequestError{Field: "query", Cure: "this path has no parameters; omit them"}

// descriptor serves the entry of this registry at the URL that the entry has in the manifest.
func (d *ardAPI) descriptor(r *ardRequest) (any, error) {
	if r.URL.RawQuery != "" {
		return nil, errNoParameters
	}
	return d.publisher.Root(nil).Entries[0], nil
}

// maxCatalogPage bounds a page, in bytes of JSON. The page ends after the entry with which it reaches
// the bound.
const maxCatalogPage = 4 << 20

// catalog serves a page of the agents of a namespace.
func (d *ardAPI) catalog(r *ardRequest) (any, error) {
	namespace := r.PathValue("namespace")
	missing := apierror.NotFound("no agent of namespace " + strconv.Quote(namespace) + " exists, or you may not see it")
	if !(index.Key{Namespace: namespace, Name: "x"}).Valid() {
		return nil, missing
	}
	token, err := onlyPageToken(r.Request)
	if err != nil {
		return nil, err
	}
	q, err := index.Selection{Namespace: namespace, Cursor: token, Limit: catalogPage}.Query()
	if err != nil {
		return nil, err
	}
	page := r.search(q)
	if page.Total == 0 {
		return nil, missing
	}
	entries := make([]ard.Entry, 0, len(page.Entries))
	size := 0
	next := page.NextCursor()
	for i, e := range page.Entries {
		if size >= maxCatalogPage {
			next = page.CursorAfter(i - 1)
			break
		}
		entry, shown, err := d.entry(r, e)
		if err != nil {
			return nil, err
		}
		if shown {
			entries = append(entries, entry)
			size += entry.Size()
		}
	}
	return d.publisher.Catalog(namespace, entries, next), nil
}

func onlyPageToken(r *http.Request) (string, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", &ard.RequestError{Field: "query", Cure: "cannot be decoded: escape the special characters of every value"}
	}
	for name, all := range values {
		if name != "pageToken" || len(all) > 1 {
			return "", &ard.RequestError{Field: "query", Cure: "this path has the parameter pageToken only, once; omit the rest"}
		}
	}
	return values.Get("pageToken"), nil
}

// agent serves the entry of an agent.
func (d *ardAPI) agent(r *ardRequest) (any, error) {
	if r.URL.RawQuery != "" {
		return nil, errNoParameters
	}
	missing := apierror.NotFound("the agent does not exist, or you may not see it")
	namespace, name, ok := d.publisher.ParseAgentID(r.PathValue("identifier"))
	key := index.Key{Namespace: namespace, Name: name}
	if !ok || !key.Valid() {
		return nil, missing
	}
	e := r.get(key)
	if e == nil {
		return nil, missing
	}
	entry, shown, err := d.entry(r, e)
	if err == nil && !shown {
		err = missing
	}
	return &entry, err
}

// agentWithCard finds the agent whose card a request asks for.
func (d *ardAPI) agentWithCard(r *ardRequest) (any, error) {
	if r.URL.RawQuery != "" {
		return nil, errNoParameters
	}
	key := index.Key{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	// The cards have addresses in the cluster, which entries for other registries do not name.
	if e := r.get(key); key.Valid() && e != nil && !r.route.IsForwarded() {
		return e, nil
	}
	return nil, apierror.NotFound("the agent does not exist, or you may not see it")
}

// card returns the card of an agent that agentWithCard has found.
func (d *ardAPI) card(out *sender, r *ardRequest, agent any) (any, error) {
	out.Header().Add("Vary", "A2A-Version")
	e, ok := agent.(*index.Entry)
	if !ok {
		return nil, fmt.Errorf("%T is not an agent", agent)
	}
	rendered, omitted, err := d.reservedCard(r.Context(), out, r.from, e, r.Header.Get("A2A-Version"), func(rendered *index.Rendering) int { return len(rendered.Body) })
	if err != nil {
		return nil, err
	}
	if omitted {
		out.Header().Set(signaturesHeader, signaturesOmitted)
	}
	if rendered == nil {
		return nil, apierror.NotFound("the agent has no card yet; see the conditions of the Agent")
	}
	return cardText(rendered.Body), nil
}

// cardText is an encoded card.
type cardText []byte

// MarshalJSON returns the card.
func (c cardText) MarshalJSON() ([]byte, error) { return c, nil }
