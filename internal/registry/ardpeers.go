// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
)

// localSearch is a search of ARD with a page of the results of this registry.
type localSearch struct {
	request *ard.Search
	page    federation.LocalPage
}

// Size returns an upper bound of the size of the results as JSON, in bytes.
func (l *localSearch) Size() int { return ard.SearchResponse{Results: l.page.Results}.Size() }

// searchPeers returns the response to a search: the local results, merged with the results of
// peers if the search has the federation mode auto, or followed by referrals if it has the mode
// referrals. The caller is charged one search for each peer that is asked. A client without a
// token receives the local results only.
func (d *ardAPI) searchPeers(w http.ResponseWriter, r *ardRequest, result any) (any, error) {
	local, ok := result.(*localSearch)
	if !ok {
		return result, nil
	}
	response := ard.SearchResponse{Results: local.page.Results, PageToken: local.page.Next}
	if d.federation == nil || r.from.isAnonymous {
		return response, nil
	}
	if federation.WantsReferrals(local.request) {
		response.Referrals = d.referrals(true)
		return response, nil
	}
	query := federation.Query{Search: local.request, Route: r.route, Caller: r.from.principal}
	peers := d.federation.Peers(query)
	if peers == 0 {
		return response, nil
	}
	if refusal, ok := d.searches.charge(r.from.principal, peers); !ok {
		countLimited(w, "searches", refusal)
		return nil, &ardError{http.StatusTooManyRequests, "RATE_LIMIT_EXCEEDED", searchesMessage}
	}
	response, reports, err := d.federation.Search(r.Context(), query, local.page)
	if err == nil {
		w.Header().Set(federation.PeersHeader, federation.HeaderOf(reports))
	}
	return response, err
}

// referrals returns the entries of the peers, for a search or for a manifest.
func (d *ardAPI) referrals(forSearch bool) []ard.Entry {
	if d.federation == nil {
		return nil
	}
	return d.federation.Referrals(forSearch)
}
