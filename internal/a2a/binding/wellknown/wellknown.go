// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wellknown serves the public agent card and the public keys of its
// signatures, without authentication. The URLs of a card come from a configured base,
// which the host of the request selects, and never from the request. The package also
// renders the extended card, which the bindings serve to authenticated callers.
package wellknown

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// The paths of the card: Path in 0.3 and later, LegacyPath in earlier versions.
const (
	Path       = "/.well-known/agent-card.json"
	LegacyPath = "/.well-known/agent.json"
)

// maxAge is the value of Cache-Control. It is short, so that clients soon see an edited
// skill; a revalidation with 304 costs little.
const maxAge = "public, max-age=60"

// Handler serves one card at Path and LegacyPath. Swap, or Prepare and its commit, must be
// called before the first request, and may be called again at any time.
type Handler struct {
	// Admit returns a function that selects the skills on the extended card of the
	// context's caller; a nil function selects all. It returns an *a2a.Error if the caller
	// may not read the card. If Admit is nil, every caller gets all skills.
	Admit func(ctx context.Context, tenant string) (shown func(*card.Skill) bool, err error)
	// Now is the clock; if it is nil, responses have no Last-Modified.
	Now func() time.Time

	current atomic.Pointer[rendered]
}

// Prepare renders a card and returns a function that makes the handler serve it. An error
// changes nothing. No other call of Prepare, commit or Swap may run between Prepare and
// commit.
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

// Swap renders a card and serves it. On an error, the handler serves the former card.
func (h *Handler) Swap(c Content) error {
	commit, err := h.Prepare(c)
	if err == nil {
		commit()
	}
	return err
}

// ServeHTTP serves the card to GET and HEAD, and responds to the OPTIONS of a browser (CORS
// preflight).
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	current := h.current.Load()
	serve(w, r, version.Name, current.modified, func() (*variant, error) {
		return current.public.of(current.bases.of(r), nil, current.form(r))
	})
}

// ServeKeys serves the public keys of the card's signatures, like ServeHTTP. If the card is
// not signed, it responds with 404.
func (h *Handler) ServeKeys(w http.ResponseWriter, r *http.Request) {
	current := h.current.Load()
	serve(w, r, "", current.modified, func() (*variant, error) { return current.keys, nil })
}

// form returns FormV10 for clients that name version 1.x, and otherwise the form that the
// profile determines for the path.
func (c *rendered) form(r *http.Request) card.Form {
	if v, ok := version.Of(r); ok && v.Major == 1 {
		return card.FormV10
	}
	if c.profile == card.ProfileV1 && strings.HasSuffix(r.URL.Path, Path) {
		return card.FormV10
	}
	return card.FormUnion
}

// serve responds with the variant that find returns, or with 404 if the variant is nil.
// vary is the value of the Vary header, "" for none.
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
		header.Add("Vary", vary)
	}
	if v.unchanged(r, modified) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	v.write(w, r)
}

// unchanged reports whether a client already has the variant, by its ETag or, if the
// request has none, by its modification time. The times must be equal: replicas change
// their cards at different times, so a later time in the request may belong to an older
// card.
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

// matches reports whether the values of If-None-Match contain the ETag, by weak comparison.
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

// ExtendedPath is the path of the extended card in 0.2.
const ExtendedPath = "/agent/authenticatedExtendedCard"

// Extended returns the extended card for the caller of a request, in the form of a version.
// The card has the interfaces of the base that the request selects. If the agent has no
// extended card, or if the caller may not read it, the error is an *a2a.Error.
func (h *Handler) Extended(r *http.Request, tenant string, form card.Form) ([]byte, error) {
	v, err := h.extendedFor(r, tenant, form)
	if err != nil {
		return nil, err
	}
	return v.body, nil
}

// Public returns the public card in a form, with the interfaces of the base that the
// request selects.
func (h *Handler) Public(r *http.Request, form card.Form) ([]byte, error) {
	current := h.current.Load()
	v, err := current.public.of(current.bases.of(r), nil, form)
	if err != nil {
		return nil, err
	}
	return v.body, nil
}

func (h *Handler) extendedFor(r *http.Request, tenant string, form card.Form) (*variant, error) {
	current := h.current.Load()
	if current.extended == nil || form == card.FormUnion {
		return nil, &a2a.Error{Reason: a2a.ReasonUnsupportedOperation}
	}
	caller, ok := auth.CallerFrom(r.Context())
	if !ok || caller.Anonymous {
		return nil, &a2a.Error{Reason: a2a.ReasonUnauthenticated, Message: "Authentication is required for the extended card"}
	}
	var shown func(*card.Skill) bool
	if h.Admit != nil {
		var err error
		if shown, err = h.Admit(r.Context(), tenant); err != nil {
			return nil, err
		}
	}
	return current.extended.of(current.bases.of(r), shown, form)
}

// ServeExtended returns a handler that serves the extended card of 0.2 to GET and HEAD. In
// other versions, each binding has an operation for the extended card.
func (h *Handler) ServeExtended(observe func(context.Context, httpcall.Outcome)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		outcome := httpcall.Outcome{Binding: "wellknown", Method: a2a.MethodGetExtendedCard, Version: "0.2"}
		if h.Now != nil {
			outcome.Started = h.Now()
		}
		ctx := r.Context()
		defer func() { observe(ctx, outcome) }()
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			outcome = outcome.Refused(&a2a.Error{Reason: a2a.ReasonInvalidRequest})
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method must be GET or HEAD", http.StatusMethodNotAllowed)
			return
		}
		v, err := h.extendedFor(r, "", card.FormV03)
		if err != nil {
			problem := a2a.ErrorOf(err)
			outcome = outcome.Refused(problem)
			Deny(w, r, problem)
			return
		}
		httpcall.SetPrivate(w.Header())
		w.Header().Set("ETag", v.etag)
		if matches(r.Header.Values("If-None-Match"), v.etag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		v.write(w, r)
	})
}

// Deny responds to a refused request for the extended card.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	row := errormap.Lookup(problem, errormap.Profile101)
	status := row.HTTP
	switch problem.Reason {
	case a2a.ReasonUnsupportedOperation:
		// 0.2 has no error for a card that the agent does not offer.
		status = http.StatusNotFound
	case a2a.ReasonUnauthenticated:
		httpcall.SetChallenge(w.Header(), r)
	default:
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, row.Text(problem), status)
}
