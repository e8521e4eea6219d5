// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wellknown serves the public Agent Card. Anybody may read it, so it
// asks for no credential and tells nothing but the card; its URLs come from
// the card and never from the request.
package wellknown

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// The paths of a card: that of 0.3 and later, and the one before.
const (
	Path       = "/.well-known/agent-card.json"
	LegacyPath = "/.well-known/agent.json"
)

// maxAge is short: an edit of a skill should be seen, and a 304 costs little.
const maxAge = "public, max-age=60"

// Handler serves one card at both paths. The card can be replaced at any time.
type Handler struct {
	current atomic.Pointer[rendered]
}

// rendered is a card with all that depends on it, so that a request sees one
// card or the next and never some of both.
type rendered struct {
	union, v1 variant
}

type variant struct {
	body []byte
	etag string
}

// New returns a handler of a card.
func New(c card.Card) (*Handler, error) {
	h := &Handler{}
	return h, h.Swap(c)
}

// Swap replaces the card. On error the former one stays.
func (h *Handler) Swap(c card.Card) error {
	union, err := card.Union(c)
	if err != nil {
		return fmt.Errorf("render union card: %w", err)
	}
	v1, err := card.V1(c)
	if err != nil {
		return fmt.Errorf("render card of 1.0: %w", err)
	}
	h.current.Store(&rendered{union: newVariant(union), v1: newVariant(v1)})
	return nil
}

func newVariant(body []byte) variant {
	sum := sha256.Sum256(body)
	return variant{body: body, etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// ServeHTTP answers GET, HEAD and a browser's OPTIONS.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	v := h.choose(r)
	header.Set("Access-Control-Expose-Headers", "ETag")
	header.Set("Cache-Control", maxAge)
	header.Set("ETag", v.etag)
	header.Set("Vary", version.Name)
	if matches(r.Header.Values("If-None-Match"), v.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(v.body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(v.body)
}

// choose gives 1.x the card of 1.0, and everybody else the one that all read.
func (h *Handler) choose(r *http.Request) *variant {
	current := h.current.Load()
	if v, ok := version.Of(r); ok && v.Major == 1 {
		return &current.v1
	}
	return &current.union
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
