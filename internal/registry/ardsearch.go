// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"math"

	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// scanLimit bounds the agents that one request compares with a filter. If a request reaches the
// bound, the response has the matches so far and a page token for the rest.
const scanLimit = 2000

// scanBytes bounds the same agents in bytes of JSON, because each byte costs time. The page ends after the agent with
// which the request reaches the bound. It therefore also bounds the response.
const scanBytes = 2 << 20

// exploreBytes bounds the agents of a namespace that one exploration reads, in bytes of JSON. The further agents of the namespace are not
// counted, so that it takes only its share of the time.
const exploreBytes = 32 << 20

// searchText returns the text of the search in a body, "" for a body that is none.
func searchText(body []byte) string {
	request, err := ard.ParseSearch(body)
	if err != nil {
		return ""
	}
	return request.Query.Text
}

// search returns the results of this registry, as a *localSearch. searchPeers makes the response
// from it.
func (d *ardAPI) search(r *ardRequest) (any, error) {
	request, err := ard.ParseSearch(r.body)
	if err != nil {
		return nil, err
	}
	local := &localSearch{request: request, page: federation.LocalPage{Results: []ard.Result{}}}
	token, ended, err := federation.LocalToken(request.PageToken)
	if ended || err != nil {
		return local, err
	}
	filter := request.Query.Filter.Matcher()
	matches := func(e *ard.Entry) bool { return d.publisher.Matches(filter, e) }
	if d.publisher.Excludes(filter) {
		matches = func(*ard.Entry) bool { return false }
	}
	local.page.Next, err = d.page(r, pageRequest{
		words: request.Query.Text, token: token, size: *request.PageSize, matches: matches,
	}, func(e ard.Entry, score float64, after string) {
		local.page.Results = append(local.page.Results, ard.Result{Entry: e, Score: max(1, int(math.Round(100*score))), Source: d.publisher.Source()})
		local.page.Tokens = append(local.page.Tokens, after)
	})
	return local, err
}

func (d *ardAPI) list(r *ardRequest) (any, error) {
	request, err := ard.ParseList(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	filter := request.Filter.Matcher()
	response := ard.ListResponse{Items: []ard.Entry{}}
	response.PageToken, err = d.page(r, pageRequest{
		token: request.PageToken, size: request.PageSize,
		matches: func(e *ard.Entry) bool { return request.IsUpdated(e) && d.publisher.Matches(filter, e) },
	}, func(e ard.Entry, _ float64, _ string) { response.Items = append(response.Items, e) })
	return response, err
}

// pageRequest selects a page of at most size agents. The page has only agents for which matches
// returns true. If words is not "", it ranks the agents. token is the page token, "" for the first page.
type pageRequest struct {
	words   string
	token   string
	size    int
	matches func(*ard.Entry) bool
}

// page calls add for each entry of a page, with the entry's score and a page token for the entries
// after it. It returns the token of the next page, "" if there is none.
func (d *ardAPI) page(r *ardRequest, p pageRequest, add func(e ard.Entry, score float64, after string)) (next string, err error) {
	q, err := index.Selection{Words: p.words, Cursor: p.token, Limit: catalogPage}.Query()
	if err != nil {
		return "", err
	}
	next = p.token
	scanned := 0
	scannedBytes := 0
	added := 0
	for page := range r.pages(q) {
		for i, e := range page.Entries {
			if added == p.size || scanned == scanLimit || scannedBytes >= scanBytes {
				return next, nil
			}
			entry, shown, err := d.entry(r, e)
			if err != nil {
				return "", err
			}
			next = page.CursorAfter(i)
			scanned++
			if !shown {
				continue // it was not decoded
			}
			scannedBytes += len(e.Body())
			if p.matches(&entry) {
				add(entry, page.Score(i), next)
				added++
			}
		}
	}
	return "", nil
}

func (d *ardAPI) explore(r *ardRequest) (any, error) {
	request, err := ard.ParseExplore(r.body)
	if err != nil {
		return nil, err
	}
	q, err := index.Selection{Words: request.Query.Text, Limit: 1}.Query()
	if err != nil {
		return nil, err
	}
	counter := d.publisher.NewCounter(request)
	filter := request.Query.Filter.Matcher()
	if d.publisher.Excludes(filter) {
		return counter.Response(), nil
	}
	namespace := ""
	read := 0
	for e := range r.matching(q) { // in the order of keys
		if e.Key.Namespace != namespace {
			namespace = e.Key.Namespace
			read = 0
		}
		if read >= exploreBytes {
			continue
		}
		entry, shown, err := d.entry(r, e)
		if err != nil {
			return nil, err
		}
		if shown {
			read += len(e.Body())
		}
		if shown && d.publisher.Matches(filter, &entry) {
			counter.Add(&entry)
		}
	}
	return counter.Response(), nil
}

// localSearch is a search request with a page of the results of this registry.
type localSearch struct {
	request *ard.Search
	page    federation.LocalPage
}

// Size returns an upper bound of the size of the results as JSON, in bytes.
func (l *localSearch) Size() int { return ard.SearchResponse{Results: l.page.Results}.Size() }

// searchPeers makes the response to a search. In the federation mode auto (the default), it merges
// the local results with the results of the peers, and charges the caller one search for each
// queried peer. In the mode referrals, it adds the entries of the peers. A client without a token
// receives only the local results.
func (d *ardAPI) searchPeers(out *sender, r *ardRequest, result any) (any, error) {
	local, ok := result.(*localSearch)
	if !ok {
		return result, nil
	}
	reserve := func(size int) error {
		return r.from.limits.reserveIn(r.Context(), &out.reservation, r.from.share, size)
	}
	response := ard.SearchResponse{Results: local.page.Results, PageToken: local.page.Next}
	if d.federation == nil || r.from.isAnonymous {
		return response, nil
	}
	if federation.WantsReferrals(local.request) {
		response.Referrals = d.referrals(true)
		return response, reserve(response.Size())
	}
	query := federation.Query{Search: local.request, Route: r.route, Caller: r.from.share}
	peers := d.federation.Peers(query)
	if peers == 0 {
		return response, nil
	}
	if err := d.searchLimits.charged(r.from.principal, peers); err != nil {
		return nil, err
	}
	response, reports, err := d.federation.Search(r.Context(), query, local.page, reserve)
	if err == nil {
		out.Header().Set(federation.PeersHeader, federation.HeaderOf(reports))
	}
	return response, err
}

// referrals returns the entries of all peers, with the URLs for a search or for a manifest.
func (d *ardAPI) referrals(forSearch bool) []ard.Entry {
	if d.federation == nil {
		return nil
	}
	return d.federation.Referrals(forSearch)
}
