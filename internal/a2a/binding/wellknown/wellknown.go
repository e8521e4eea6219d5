// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wellknown serves the Agent Card and the public keys of its
// signatures. Anybody may read them, so they ask for no credential and tell
// nothing but themselves; the URLs on a card come from the card and never from
// the request. The extended card, for callers who are known, is kept here too
// and handed to the bindings.
package wellknown

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// The paths of a card: that of 0.3 and later, and the one before.
const (
	Path       = "/.well-known/agent-card.json"
	LegacyPath = "/.well-known/agent.json"
)

// maxAge is short: an edit of a skill should be seen, and a 304 costs little.
const maxAge = "public, max-age=60"

// Content is what is served.
type Content struct {
	Card *card.Card
	// Profile says which form is served where.
	Profile card.Profile
	// Signer signs the card; nil leaves it unsigned.
	Signer *signing.Signer
}

// Handler serves one card at both paths, from the first Swap on. The card can
// be replaced at any time.
type Handler struct {
	// Admit says which skills stand on the extended card of the context's caller,
	// nil for all, or returns an *a2a.Error for one that may have none. Nil
	// admits everybody.
	Admit func(ctx context.Context, tenant string) (shown func(*card.Skill) bool, err error)

	current atomic.Pointer[rendered]
}

// Swap replaces what is served. On error the former content stays.
func (h *Handler) Swap(c Content) error {
	next, err := render(c)
	if err != nil {
		return fmt.Errorf("render card: %w", err)
	}
	h.current.Store(next)
	return nil
}

// ServeHTTP answers GET, HEAD and a browser's OPTIONS.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serve(w, r, version.Name, h.choose)
}

// ServeKeys is ServeHTTP for the public keys.
func (h *Handler) ServeKeys(w http.ResponseWriter, r *http.Request) {
	serve(w, r, "", func(*http.Request) *variant { return h.current.Load().keys })
}

// choose gives 1.x the card of 1.0, and everybody else the one that all read.
func (h *Handler) choose(r *http.Request) *variant {
	current := h.current.Load()
	if v, ok := version.Of(r); ok && v.Major == 1 {
		return current.v10
	}
	if current.profile == card.ProfileV1 && strings.HasSuffix(r.URL.Path, Path) {
		return current.v10
	}
	return current.union
}

// serve answers with the variant that find chooses by the header vary; nil is
// not found.
func serve(w http.ResponseWriter, r *http.Request, vary string, find func(*http.Request) *variant) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		header.Set("Access-Control-Allow-Methods", "GET, HEAD")
		header.Set("Access-Control-Allow-Headers", "A2A-Version, A2A-Extensions, Authorization, Content-Type")
		header.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		header.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "method must be GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	v := find(r)
	if v == nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	header.Set("Access-Control-Expose-Headers", "ETag")
	header.Set("Cache-Control", maxAge)
	header.Set("ETag", v.etag)
	if vary != "" {
		header.Set("Vary", vary)
	}
	if matches(r.Header.Values("If-None-Match"), v.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	v.write(w, r)
}

func (v *variant) write(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(v.body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(v.body)
	}
}

// matches compares weakly, as If-None-Match asks for.
func matches(values []string, etag string) bool {
	for _, value := range values {
		for candidate := range strings.SplitSeq(value, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == etag {
				return true
			}
		}
	}
	return false
}
