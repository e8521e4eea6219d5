// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

func (a *api) search(w http.ResponseWriter, r *http.Request, c access.Caller, s *index.Snapshot) error {
	q, err := index.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	if _, streams := q.Watch(); streams {
		if !a.searches.admit(w, &c, watchCost) {
			return nil
		}
		return a.watches.get(w, r, c, q, a.visibleSet)
	}
	if !a.searches.admit(w, &c, 1) {
		return nil
	}
	release, ok := a.searches.receive(w, &c)
	if !ok {
		return nil
	}
	defer release()
	if s, err = a.atLeast(r.Context(), q.MinRevision(), s); err != nil {
		return err
	}
	set, err := a.visibleSet(r.Context(), c)
	if err != nil {
		return err
	}
	var page index.Page
	a.embeddings.rankBySimilarity(q, a.embeddings.vector(r.Context(), principalOf(&c), q.RankedText()))
	if err := a.searches.run(r.Context(), func() { page = s.Search(q, set) }); err != nil {
		return err
	}
	defer page.Release()
	if unchanged(w, r, page.ETag()) {
		return nil
	}
	sent, err := a.searches.reserve(r.Context(), principalOf(&c), page.Size())
	if err != nil {
		return err
	}
	defer sent()
	writePage(w, &page)
	return nil
}

func (a *api) agent(w http.ResponseWriter, r *http.Request, c access.Caller, s *index.Snapshot) error {
	e, err := a.find(r, c, s)
	if err != nil {
		return err
	}
	if unchanged(w, r, e.ETag()) {
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, e.Body())
	return nil
}

func (a *api) card(w http.ResponseWriter, r *http.Request, c access.Caller, s *index.Snapshot) error {
	if !a.searches.admit(w, &c, 1) {
		return nil
	}
	release, ok := a.searches.receive(w, &c)
	if !ok {
		return nil
	}
	defer release()
	e, err := a.find(r, c, s)
	if err != nil {
		return err
	}
	rendered, omitted, err := a.signedCard(r.Context(), e, r.Header.Get("A2A-Version"))
	if err != nil {
		return err
	}
	if omitted {
		w.Header().Set(signaturesHeader, signaturesOmitted)
	}
	if rendered == nil {
		return notFound("agent " + e.Key.Namespace + "/" + e.Key.Name + " has no card yet; see the conditions of the Agent")
	}
	if unchanged(w, r, rendered.ETag) {
		return nil
	}
	sent, err := a.searches.reserve(r.Context(), principalOf(&c), len(rendered.Body))
	if err != nil {
		return err
	}
	defer sent()
	w.Header().Set("Content-Type", "application/json")
	write(w, rendered.Body)
	return nil
}

// find returns the agent that the path names if the caller may find it, else an error.
func (a *api) find(r *http.Request, c access.Caller, s *index.Snapshot) (*index.Entry, error) {
	if r.URL.RawQuery != "" {
		name, _, _ := strings.Cut(r.URL.RawQuery, "=")
		return nil, index.Invalid(name, "this path has no parameters; omit them")
	}
	key := index.Key{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	missing := notFound("agent " + key.Namespace + "/" + key.Name + " does not exist, or you may not see it")
	if !key.Valid() {
		return nil, missing
	}
	e, err := a.findKey(r.Context(), c, s, key)
	if err == nil && e == nil {
		err = missing
	}
	return e, err
}
