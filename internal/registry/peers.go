// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// peers serves GET /v1/peers: the states of the peers as this replica observed them.
func (a *api) peers(w http.ResponseWriter, r *http.Request, c access.Caller, _ *index.Snapshot) error {
	if r.URL.RawQuery != "" {
		return &index.ParameterError{Field: "query", Cure: "this path has no parameters; omit them"}
	}
	if !a.searches.admit(w, &c, 1) {
		return nil
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

// peerAgents serves GET /v1/peers/agents: a search of the peers with the mode Forward. The
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
	query := federation.Query{Search: search, Caller: principalOf(&c)}
	peers := 0
	if a.federation != nil {
		peers = a.federation.Peers(query)
	}
	if !a.searches.admit(w, &c, max(1, peers)) {
		return nil
	}
	release, ok := a.searches.receive(w, &c)
	if !ok {
		return nil
	}
	defer release()
	if _, err := a.visibleSet(r.Context(), c); err != nil {
		return err
	}
	if peers > 0 {
		found, reports, err := a.federation.Search(r.Context(), query, federation.LocalPage{})
		if err != nil {
			return err
		}
		reservation := &limit.Reservation{}
		defer reservation.Release()
		if err := a.searches.reserveNow(reservation, principalOf(&c), found.Size()); err != nil {
			return err
		}
		response.Items, response.Peers = append(response.Items, found.Results...), append(response.Peers, reports...)
	}
	return writeJSON(w, response)
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
	text, limit := values.Get("q"), defaultPeerItems
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
