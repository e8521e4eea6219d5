// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

func (a *api) search(w http.ResponseWriter, r *http.Request, c access.Caller, _ *index.Snapshot) error {
	q, err := index.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	from := a.requester(&c)
	if _, streams := q.Watch(); streams {
		if err := from.limits.charged(from.principal, watchCost); err != nil {
			return err
		}
		return a.watches.get(w, r, c, q, a.visibleSet)
	}
	release, err := from.limits.held(from.principal)
	if err != nil {
		return err
	}
	defer release()
	page, err := a.find(r.Context(), from, q)
	if err != nil {
		return err
	}
	defer page.Release()
	if unchanged(w, r, page.ETag()) {
		return nil
	}
	out := from.limits.sender(w)
	defer out.end()
	if err := from.limits.reserveIn(r.Context(), &out.reservation, from.share, page.Size()); err != nil {
		return err
	}
	writePage(out, &page)
	return nil
}

func (a *api) agent(w http.ResponseWriter, r *http.Request, c access.Caller, s *index.Snapshot) error {
	if err := a.searchLimits.chargedLookup(principalOf(&c)); err != nil {
		return err
	}
	e, err := a.named(r, c, s)
	if err != nil {
		return err
	}
	if unchanged(w, r, e.ETag()) {
		return nil
	}
	// The index may drop the entry before the caller has read it.
	out := a.searchLimits.sender(w)
	defer out.end()
	if err := a.searchLimits.reserveIn(r.Context(), &out.reservation, shareOf(&c), len(e.Body())); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	write(out, e.Body())
	return nil
}

func (a *api) card(w http.ResponseWriter, r *http.Request, c access.Caller, s *index.Snapshot) error {
	release, err := a.begin(&c, 1)
	if err != nil {
		return err
	}
	defer release()
	e, err := a.named(r, c, s)
	if err != nil {
		return err
	}
	out := a.searchLimits.sender(w)
	defer out.end()
	rendered, omitted, err := a.reservedCard(r.Context(), out, a.requester(&c), e, r.Header.Get("A2A-Version"), func(rendered *index.Rendering) int {
		if hasETag(r, rendered.ETag) {
			return 0
		}
		return len(rendered.Body)
	})
	if err != nil {
		return err
	}
	if rendered == nil {
		return apierror.NotFound("agent " + e.Key.Namespace + "/" + e.Key.Name + " has no card yet; see the conditions of the Agent")
	}
	if omitted {
		w.Header().Set(signaturesHeader, signaturesOmitted)
	}
	if unchanged(w, r, rendered.ETag) {
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	write(out, rendered.Body)
	return nil
}

// named returns the agent that the path of a request names. If there is no such agent or the caller
// may not find it, named returns an error with the status 404. If the request has parameters, named
// returns an *index.ParameterError.
func (a *api) named(r *http.Request, c access.Caller, s *index.Snapshot) (*index.Entry, error) {
	if r.URL.RawQuery != "" {
		name, _, _ := strings.Cut(r.URL.RawQuery, "=")
		return nil, index.Invalid(name, "this path has no parameters; omit them")
	}
	key := index.Key{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	missing := apierror.NotFound("agent " + key.Namespace + "/" + key.Name + " does not exist, or you may not see it")
	if !key.Valid() {
		return nil, missing
	}
	e, err := a.findKey(r.Context(), c, s, key)
	if err == nil && e == nil {
		err = missing
	}
	return e, err
}

// begin charges a caller for a request that costs as much as the given number of searches, and counts its response until
// release is called.
func (a *api) begin(c *access.Caller, cost int) (release func(), err error) {
	p := principalOf(c)
	if err := a.searchLimits.charged(p, cost); err != nil {
		return nil, err
	}
	return a.searchLimits.held(p)
}

// peers serves GET /v1/peers: the state of each peer as this replica has observed it.
func (a *api) peers(w http.ResponseWriter, r *http.Request, c access.Caller, _ *index.Snapshot) error {
	if r.URL.RawQuery != "" {
		return &index.ParameterError{Field: "query", Cure: "this path has no parameters; omit them"}
	}
	if err := a.searchLimits.charged(principalOf(&c), 1); err != nil {
		return err
	}
	if _, err := a.visibleSet(r.Context(), c); err != nil {
		return err
	}
	response := struct {
		Peers []federation.State `json:"peers"`
	}{[]federation.State{}}
	if a.federation != nil {
		response.Peers = a.federation.States()
	}
	return writeJSON(w, response)
}

// peerAgents serves GET /v1/peers/agents, which searches the peers with the mode Forward. The
// response has their results, and the outcome of the search of each peer.
func (a *api) peerAgents(w http.ResponseWriter, r *http.Request, c access.Caller, _ *index.Snapshot) error {
	search, err := parsePeerSearch(r.URL.RawQuery)
	if err != nil {
		return err
	}
	response := struct {
		Items []ard.Result        `json:"items"`
		Peers []federation.Report `json:"peers"`
	}{[]ard.Result{}, []federation.Report{}}
	query := federation.Query{Search: search, Caller: shareOf(&c)}
	peers := 0
	if a.federation != nil {
		peers = a.federation.Peers(query)
	}
	release, err := a.begin(&c, max(1, peers))
	if err != nil {
		return err
	}
	defer release()
	if _, err := a.visibleSet(r.Context(), c); err != nil {
		return err
	}
	out := a.searchLimits.sender(w)
	defer out.end()
	if peers > 0 {
		found, reports, err := a.federation.Search(r.Context(), query, federation.LocalPage{}, func(size int) error {
			return a.searchLimits.reserveIn(r.Context(), &out.reservation, shareOf(&c), size)
		})
		if err != nil {
			return err
		}
		response.Items = append(response.Items, found.Results...)
		response.Peers = append(response.Peers, reports...)
	}
	return writeJSON(out, response)
}

// Limits of a search of peers.
const (
	maxPeerText      = 512
	maxPeerItems     = 100
	defaultPeerItems = 50
)

// parsePeerSearch parses the parameters of a search of peers. Its errors are
// *index.ParameterError.
func parsePeerSearch(raw string) (*ard.Search, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, &index.ParameterError{Field: "query", Cure: "cannot be decoded: escape the special characters of every value"}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case name != "q" && name != "limit":
			return nil, index.Invalid(name, "is not a parameter of this search; use limit, q")
		case len(values[name]) > 1:
			return nil, index.Invalid(name, "is repeated; use it once")
		}
	}
	text := values.Get("q")
	limit := defaultPeerItems
	if text == "" || len(text) > maxPeerText {
		return nil, &index.ParameterError{Field: "q", Cure: "must have 1 to " + strconv.Itoa(maxPeerText) + " bytes"}
	}
	if values.Has("limit") {
		if limit, err = strconv.Atoi(values.Get("limit")); err != nil || limit < 1 || limit > maxPeerItems {
			return nil, &index.ParameterError{Field: "limit", Cure: "must be a number from 1 to " + strconv.Itoa(maxPeerItems)}
		}
	}
	return &ard.Search{Query: ard.Query{Text: text}, PageSize: &limit}, nil
}
