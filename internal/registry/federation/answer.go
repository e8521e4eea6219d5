// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/jsonweight"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

// Limits of a result of a peer. maxItems, minQueries and maxQueries are numbers of items, and the
// others are in bytes. maxWeight bounds what the values of a result take beside their text (jsonweight).
// The registry drops a result that exceeds maxResult, maxWeight, maxIdentifier, maxType
// or maxURL. It cuts names, descriptions, queries and lists that are too long.
const (
	maxResult      = 32 << 10
	maxWeight      = 256 << 10
	maxIdentifier  = 512
	maxType        = 128
	maxURL         = 2048
	maxName        = 256
	maxDescription = 4 << 10
	maxItems       = 64
	minQueries     = 2
	maxQueries     = 5
	maxQuery       = 512
)

// Members of the metadata in which this registry stores the origin of a result. They replace
// members with the same names that the peer has sent.
const (
	metadataPeer      = "peer"
	metadataPublisher = "publisher"
	metadataVerified  = "publisherVerified"
)

// Reasons for which the registry drops a result of a peer.
const (
	tooLarge          = "too_large"
	malformed         = "malformed"
	invalidIdentifier = "identifier"
	shadowed          = "shadowed"
	invalidURL        = "url"
	duplicate         = "duplicate"
	filtered          = "filter"
)

// answer has the results of a peer for a query.
type answer struct {
	*peer
	// results are in the order of the peer's response. positions has the position of each result
	// in the response, from 1. Dropped results have a position, too.
	results   []ard.Result
	positions []int
	// count is the number of results that were read from the response, including dropped ones.
	count  int
	failed *failure
	// isPartial is true if the peer has further results, but did not return them within the bounds of a search.
	isPartial bool
}

// window selects the results of a response to use: those after the first skip results and within
// the first limit results, if they satisfy the filter.
type window struct {
	peers       *peerSet
	filter      ard.Matcher
	skip, limit int
}

// read appends the usable results of a response to a.results, and counts the dropped ones. next is the page token of the
// peer for further results. The error is a *failure.
func (f *Federation) read(a *answer, text []byte, w window) (next string, err error) {
	var response struct {
		Results   json.RawMessage `json:"results"`
		PageToken string          `json:"pageToken"`
	}
	invalid := &failure{outcome: InvalidResponse, message: "the response of the peer is not a search response of ARD"}
	if json.Unmarshal(text, &response) != nil {
		return "", invalid
	}
	decoder := json.NewDecoder(bytes.NewReader(response.Results))
	if first, err := decoder.Token(); err != nil || first != json.Delim('[') {
		return "", invalid
	}
	known := map[string]bool{}
	for i := range a.results {
		known[a.results[i].Identifier] = true
	}
	for decoder.More() && a.count < w.limit {
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			return "", invalid
		}
		a.count++
		if a.count <= w.skip {
			continue
		}
		result, publisher, reason := f.check(a.peer, w.peers, raw)
		switch {
		case reason != "":
		case known[result.Identifier]:
			reason = duplicate
		case !(&ard.Publisher{Domain: publisher}).Matches(w.filter, &result.Entry):
			reason = filtered
		}
		if reason != "" {
			dropped.WithLabelValues(a.Name, reason).Inc()
			continue
		}
		known[result.Identifier] = true
		a.results = append(a.results, result)
		a.positions = append(a.positions, a.count)
	}
	return response.PageToken, nil
}

// check returns a result of a peer as clients receive it, with the publisher in its identifier. If
// the registry must drop the result, check returns the reason. It accepts the peer's own agents,
// for which it sets metadataVerified, and agents of unknown publishers. It drops agents of this
// registry and of other peers.
func (f *Federation) check(p *peer, peers *peerSet, raw []byte) (result ard.Result, publisher, reason string) {
	if len(raw) > maxResult || jsonweight.Of(raw, maxWeight) > maxWeight {
		return result, "", tooLarge
	}
	if json.Unmarshal(raw, &result) != nil {
		return result, "", malformed
	}
	identifier, publisher, ok := splitIdentifier(result.Identifier)
	if !ok {
		return result, "", invalidIdentifier
	}
	if owner := peers.publisherOf(publisher); publisher == f.options.Publisher.Domain || owner != nil && owner != p {
		return result, "", shadowed
	}
	essence, _, err := mime.ParseMediaType(result.Type)
	result.DisplayName = clean(result.DisplayName, maxName)
	if err != nil || !strings.Contains(essence, "/") || len(result.Type) > maxType || result.DisplayName == "" {
		return result, "", malformed
	}
	if !f.isReachable(p, result.URL) {
		return result, "", invalidURL
	}
	result.Identifier = identifier
	result.Source = p.URL + "/"
	result.Type = essence
	result.Description = clean(result.Description, maxDescription)
	result.Version = clean(result.Version, maxName)
	if _, err := time.Parse(time.RFC3339, result.UpdatedAt); err != nil {
		result.UpdatedAt = ""
	}
	result.Tags = cleanAll(result.Tags, maxItems, maxName)
	result.Capabilities = cleanAll(result.Capabilities, maxItems, maxName)
	result.RepresentativeQueries = cleanAll(result.RepresentativeQueries, maxQueries, maxQuery)
	if len(result.RepresentativeQueries) < minQueries {
		result.RepresentativeQueries = nil
	}
	result.Metadata = f.metadata(p, result.Metadata)
	result.Metadata[metadataPeer] = p.Name
	result.Metadata[metadataPublisher] = publisher
	result.Metadata[metadataVerified] = publisher == p.Publisher
	return result, publisher, ""
}

// segmentCharacters are the characters that the JSON Schema of ARD allows in a segment of an
// identifier.
const segmentCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// splitIdentifier returns an identifier of ARD with its prefix and publisher in lower case,
// and the publisher. ok is false if the identifier is not valid.
func splitIdentifier(id string) (normal, publisher string, ok bool) {
	parts := strings.Split(id, ":")
	if len(parts) < 4 || len(id) > maxIdentifier || !strings.EqualFold(parts[0], "urn") || !strings.EqualFold(parts[1], "air") {
		return "", "", false
	}
	for _, part := range parts[3:] {
		if part == "" || strings.Trim(part, segmentCharacters) != "" {
			return "", "", false
		}
	}
	publisher = strings.ToLower(parts[2])
	if len(validation.IsDNS1123Subdomain(publisher)) > 0 {
		return "", "", false
	}
	parts[0] = "urn"
	parts[1] = "air"
	parts[2] = publisher
	return strings.Join(parts, ":"), publisher, true
}

// isReachable reports whether a URL in a peer's result may be given to clients of this registry.
// It accepts https URLs and, for a peer whose isLocal is true, also http URLs and loopback
// addresses. It refuses host names inside this cluster, and link-local and metadata addresses
// (SSRF protection), and private addresses of another network (Peer.allowsResultAt).
func (f *Federation) isReachable(p *peer, text string) bool {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || u.Scheme != "https" && (u.Scheme != "http" || !p.isLocal()) || u.Host == "" || u.User != nil {
		return false
	}
	host, err := egress.Host(u)
	if err != nil {
		return false
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return p.allowsResultAt(address)
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return p.isLocal()
	}
	for _, domain := range []string{"svc", "cluster.local", strings.ToLower(f.options.ClusterDomain)} {
		if domain != "" && strings.HasSuffix(host, "."+domain) {
			return false
		}
	}
	return strings.Contains(host, ".")
}

// metadata returns at most maxItems strings, numbers and booleans of a peer's metadata. It drops a
// key that clean would change, because the changed key could equal another key. It drops an
// externalURL that isReachable refuses.
func (f *Federation) metadata(p *peer, all map[string]any) map[string]any {
	kept := make(map[string]any, len(all)+3)
	for key, value := range all {
		if clean(key, maxName) != key {
			continue
		}
		switch v := value.(type) {
		case string:
			if key != "externalURL" || f.isReachable(p, v) {
				kept[key] = clean(v, maxName)
			}
		case bool, float64:
			kept[key] = v
		}
		if len(kept) == maxItems {
			break
		}
	}
	return kept
}

func cleanAll(texts []string, items, bytes int) []string {
	texts = slices.Clone(texts[:min(len(texts), items)]) // without the memory of the others
	for i := range texts {
		texts[i] = clean(texts[i], bytes)
	}
	return texts
}

// clean returns a text of a peer, cut to a number of bytes. It replaces line feeds and tabs by
// spaces. It removes other control characters, and the characters that change the direction of the
// text around them.
func clean(text string, bytes int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			return -1
		default:
			return r
		}
	}, text)
	if len(text) <= bytes {
		return text
	}
	text = text[:bytes]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return strings.Clone(text) // without the memory of the rest
}
