// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Media types of the entries of a catalog.
const (
	TypeAgentCard = "application/a2a-agent-card+json"
	TypeCatalog   = "application/ai-catalog+json"
)

// MaxEntries bounds the entries of a catalog that are read.
const MaxEntries = 4096

// Catalog is an AI Catalog, or a manifest of ARD.
type Catalog struct {
	// Entries are at most MaxEntries, and Cut is true if the catalog has more.
	Entries []CatalogEntry `json:"entries"`
	Cut     bool           `json:"-"`
	// URL is where the catalog was read.
	URL *url.URL `json:"-"`
}

// CatalogEntry describes one artifact.
type CatalogEntry struct {
	Identifier  string `json:"identifier"`
	DisplayName string `json:"displayName"`
	// Type is a media type: MediaType in earlier versions of the AI Catalog.
	Type      string `json:"type"`
	MediaType string `json:"mediaType"`
	URL       string `json:"url"`
}

// ReadCatalog reads the catalog at a URL, or at one of the usual paths if the URL has none. It sends no credential. Its failures have the
// codes of those of ReadCard.
func ReadCatalog(ctx context.Context, httpClient *http.Client, reference string) (*Catalog, error) {
	u, err := url.Parse(reference)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, failure.New(failure.Usage, "%q is no URL of a catalog: it must begin with http:// or https://, and have no user name", reference)
	}
	places := []*url.URL{u}
	if u.Path == "" || u.Path == "/" {
		places = []*url.URL{u.ResolveReference(&url.URL{Path: "/.well-known/ard.json"}), u.ResolveReference(&url.URL{Path: "/.well-known/ai-catalog.json"})}
	}
	text, at, err := fetch(ctx, httpClient, u, places, "catalog")
	if err != nil {
		return nil, err
	}
	c := &Catalog{URL: at}
	if !isCatalog(text) || json.Unmarshal(text, c) != nil {
		return nil, failure.New(failure.CardInvalid, "the document at %s is not a catalog", at).WithHint("name the URL of the catalog; kubectl a2a import card imports a single agent")
	}
	if len(c.Entries) > MaxEntries {
		c.Entries = slices.Clone(c.Entries[:MaxEntries])
		c.Cut = true
	}
	return c, nil
}

// isCatalog reports whether a document is a catalog, and not a card.
func isCatalog(text []byte) bool {
	var members struct {
		SpecVersion *json.RawMessage   `json:"specVersion"`
		Entries     *[]json.RawMessage `json:"entries"`
	}
	return json.Unmarshal(text, &members) == nil && members.SpecVersion != nil && members.Entries != nil
}
