// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"context"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// ExtendedPath is the path of the extended card in 0.2.
const ExtendedPath = "/agent/authenticatedExtendedCard"

// Extended returns the extended card for the caller of a request, in the form of a version.
// The card has the interfaces of the base that the request selects. The error is an
// *a2a.Error.
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
