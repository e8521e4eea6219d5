// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wellknown serves the Agent Card and the public keys of its
// signatures. Anybody may read them, so they ask for no credential and tell
// nothing but themselves; the URLs on a card are those of a configured base,
// which the request's host chooses, and never come from the request. The extended
// card, for callers who are known, is kept here too and handed to the bindings.
package wellknown

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

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
	// Bases are where the agent is served, the primary one first. A request for
	// the host of one gets the card with the interfaces of that base, any other
	// request that of the primary one. Without bases the card is served as it is.
	Bases []card.Base
	// Profile says which form is served where.
	Profile card.Profile
	// Signer signs the card; nil leaves it unsigned.
	Signer *signing.Signer
	// Modified is when the content was written; zero is now.
	Modified time.Time
}

// Handler serves one card at both paths, from the first Swap on. The card can
// be replaced at any time.
type Handler struct {
	// Admit says which skills stand on the extended card of the context's caller,
	// nil for all, or returns an *a2a.Error for one that may have none. Nil
	// admits everybody.
	Admit func(ctx context.Context, tenant string) (shown func(*card.Skill) bool, err error)
	// Now is the clock; without one answers have no Last-Modified.
	Now func() time.Time

	current atomic.Pointer[rendered]
}

// Prepare renders a card and returns the function that serves it from then on, or
// an error, which changes nothing. No other call of Prepare, commit or Swap may
// run between Prepare and commit.
func (h *Handler) Prepare(c Content) (commit func(), err error) {
	next, err := render(c)
	if err != nil {
		return nil, fmt.Errorf("render card: %w", err)
	}
	if h.Now != nil {
		next.follow(h.current.Load(), c.Modified, h.Now())
	}
	return func() { h.current.Store(next) }, nil
}

// Swap prepares a card and serves it. On error the former card stays.
func (h *Handler) Swap(c Content) error {
	commit, err := h.Prepare(c)
	if err == nil {
		commit()
	}
	return err
}

// ServeHTTP answers GET, HEAD and a browser's OPTIONS.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	current := h.current.Load()
	serve(w, r, version.Name, current.modified, func() (*variant, error) {
		return current.public.of(current.bases.of(r), nil, current.form(r))
	})
}

// ServeKeys is ServeHTTP for the public keys.
func (h *Handler) ServeKeys(w http.ResponseWriter, r *http.Request) {
	current := h.current.Load()
	serve(w, r, "", current.modified, func() (*variant, error) { return current.keys, nil })
}

// form gives 1.x the card of 1.0, and everybody else the one that all read.
func (c *rendered) form(r *http.Request) card.Form {
	if v, ok := version.Of(r); ok && v.Major == 1 {
		return card.FormV10
	}
	if c.profile == card.ProfileV1 && strings.HasSuffix(r.URL.Path, Path) {
		return card.FormV10
	}
	return card.FormUnion
}

// serve answers with the variant that find chooses by the header vary; nil is
// not found.
func serve(w http.ResponseWriter, r *http.Request, vary string, modified time.Time, find func() (*variant, error)) {
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
	v, err := find()
	if err != nil {
		http.Error(w, "the card cannot be rendered", http.StatusInternalServerError)
		return
	}
	if v == nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	header.Set("Access-Control-Expose-Headers", "ETag")
	header.Set("Cache-Control", maxAge)
	header.Set("ETag", v.etag)
	if !modified.IsZero() {
		header.Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
	}
	if vary != "" {
		header.Set("Vary", vary)
	}
	if v.unchanged(r, modified) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	v.write(w, r)
}

// unchanged reports whether a client has the variant already: by its ETag, or,
// where the client names none, by the time at which it changed. Only that very
// time counts: replicas do not change at the same one, so that an earlier or a
// later one may be that of another card.
func (v *variant) unchanged(r *http.Request, modified time.Time) bool {
	if etags := r.Header.Values("If-None-Match"); len(etags) > 0 {
		return matches(etags, v.etag)
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	return err == nil && !modified.IsZero() && since.Equal(modified)
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
