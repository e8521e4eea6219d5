// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package federation searches the registries of other clusters and merges their
// results with the results of this registry. It does not depend on the index. A query
// that it sends does not contain the identity of a caller.
//
// Source: the specification of ARD v0.91, sections 7.2 (search) and 8 (federation).
package federation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

// Values of the JSON member "federation" of a search (section 8 of ARD).
const (
	modeAuto      = "auto"
	modeNone      = "none"
	modeReferrals = "referrals"
)

// Query is a search of this registry for which it also searches its peers.
type Query struct {
	Search *ard.Search
	Route  Route
	// Caller is the accounting principal of the search. It determines which share of the limits of
	// a peer the search uses.
	Caller a2a.AccountingPrincipal
}

// Report is the outcome of the search of one peer, for clients.
type Report struct {
	Peer    string  `json:"peer"`
	Outcome Outcome `json:"outcome"`
	// Message is the message of the failure, "" for Success.
	Message string `json:"message,omitempty"`
	// Results is the number of usable results.
	Results int `json:"results"`
	// Partial is true if the peer has further results, but did not return them within the bounds of a search.
	Partial bool `json:"partial,omitempty"`
}

// Peers returns the number of peers to which Search sends a query: the peers with the mode Forward
// that the query has not passed yet. It returns 0 if the query has no hops left, or if its
// federation mode is not auto.
func (f *Federation) Peers(q Query) int {
	peers, _ := f.targets(f.current.Load(), q)
	return len(peers)
}

// targets returns the peers of a set to which a query is sent, and the hops that the query has
// left when a peer receives it.
func (f *Federation) targets(set *peerSet, q Query) (peers []*peer, hops int) {
	if mode := q.Search.Federation; mode != "" && mode != modeAuto {
		return nil, 0
	}
	hops = q.Route.hopsFrom(f.options.Publisher.Domain, set.hops)
	if hops == 0 {
		return nil, 0
	}
	for _, p := range set.peers {
		if p.Mode == Forward && !slices.Contains(q.Route.Via, p.Publisher) {
			peers = append(peers, p)
		}
	}
	return peers, hops - 1
}

// LocalToken returns the part of a page token that is for the local results. local is the page
// token of the index, "" for the first page. ended is true if there are no further local results.
// The error is an *ard.RequestError.
func LocalToken(token string) (local string, ended bool, err error) {
	p, err := parsePosition(token)
	return p.Local, p.LocalEnded, err
}

// Search sends a query to its peers concurrently (fan-out), and merges the results of the peers
// with a page of local results. A peer that fails delays Search by at most 1.5 times the peer's
// timeout. The reports have the outcome of each peer. If no memory is free within reserveTimeout,
// this is Limited for all peers. If no peer receives the query, Search returns the local page.
//
// For the query of a client, the registry sends each peer the token that is configured for the
// peer, and no data of the client. It forwards the query of another registry without a token: with
// a token, a peer also returns results that are not public, which this registry must not return to
// other registries.
//
// Search calls reserve with the size of the response before it frees the memory for the answers of the peers, and returns its error.
func (f *Federation) Search(ctx context.Context, q Query, local LocalPage, reserve func(size int) error) (ard.SearchResponse, []Report, error) {
	set := f.current.Load()
	defer f.leave(set)
	peers, hops := f.targets(set, q)
	if len(peers) == 0 {
		if local.Results == nil {
			local.Results = []ard.Result{}
		}
		response := ard.SearchResponse{Results: local.Results, PageToken: local.Next}
		return response, nil, reserve(response.Size())
	}
	begin, err := parsePosition(q.Search.PageToken)
	if err != nil {
		return ard.SearchResponse{}, nil, err
	}
	answers := make([]*answer, len(peers))
	for i, p := range peers {
		answers[i] = &answer{peer: p}
	}
	release, ok := f.reserve(ctx, q.Caller, len(peers))
	if ok {
		defer release()
		err = f.ask(ctx, q, set, answers, hops, begin)
	} else {
		for _, a := range answers {
			a.failed = &failure{outcome: Limited, message: "too many searches of peers are running"}
			requests.WithLabelValues(a.Name, string(Limited)).Inc()
		}
		err = ctx.Err()
	}
	if err != nil {
		return ard.SearchResponse{}, nil, err
	}
	response := ard.SearchResponse{}
	response.Results, response.PageToken, err = merge(begin, &local, answers, *q.Search.PageSize)
	if q.Route.IsForwarded() {
		for i := range response.Results {
			response.Results[i].Cut(ard.MaxExported)
		}
	}
	if err == nil {
		err = reserve(response.Size())
	}
	return response, reports(answers), err
}

// leave ends a search of a set of peers. The search can have counted for a peer that was removed meanwhile, and have left a connection
// to it.
func (f *Federation) leave(set *peerSet) {
	if current := f.current.Load(); current != set {
		set.close(current.peers)
	}
}

// outgoing is the body of a search that this registry sends to a peer.
type outgoing struct {
	Query struct {
		Text   string     `json:"text"`
		Filter ard.Filter `json:"filter,omitempty"`
	} `json:"query"`
	Federation string `json:"federation"`
	PageSize   int    `json:"pageSize"`
	PageToken  string `json:"pageToken,omitempty"`
}

// ask sends a query to the peers of the answers concurrently, and sets the results or the failure
// of each answer.
func (f *Federation) ask(ctx context.Context, q Query, set *peerSet, answers []*answer, hops int, begin position) error {
	header := http.Header{}
	for name, value := range map[string]string{
		"Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": "application/json", "User-Agent": userAgent,
		ViaHeader: strings.Join(append(slices.Clone(q.Route.Via), f.options.Publisher.Domain), ", "), HopsHeader: strconv.Itoa(hops),
	} {
		header.Set(name, value)
	}
	filter := q.Search.Query.Filter.Matcher()
	var all sync.WaitGroup
	defer all.Wait()
	for _, a := range answers {
		limit := asked(begin, a.Name, *q.Search.PageSize)
		skip := begin.Peers[a.Name]
		if limit == skip {
			continue // the earlier pages already used maxDepth results of the peer
		}
		body := outgoing{Federation: modeNone, PageSize: limit}
		if hops > 0 {
			body.Federation = modeAuto
		}
		body.Query.Text = q.Search.Query.Text
		body.Query.Filter = q.Search.Query.Filter
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encode search: %w", err)
		}
		all.Go(func() {
			a.failed = f.search(ctx, a.peer, &request{q.Caller, text, header, !q.Route.IsForwarded(), limit}, func(response []byte) ([]byte, error) {
				token, err := f.read(a, response, window{set, filter, skip, limit})
				if err != nil {
					return nil, err
				}
				a.isPartial = token != "" && a.count < limit
				if !a.isPartial {
					return nil, nil
				}
				body.PageSize = limit - a.count
				body.PageToken = token
				return json.Marshal(body)
			})
			if a.failed != nil {
				a.results = nil
			}
		})
	}
	all.Wait()
	return ctx.Err()
}

func reports(answers []*answer) []Report {
	all := make([]Report, len(answers))
	for i, a := range answers {
		all[i] = Report{Peer: a.Name, Outcome: Success, Results: len(a.results), Partial: a.failed == nil && a.isPartial}
		if a.failed != nil {
			all[i].Outcome = a.failed.outcome
			all[i].Message = a.failed.message
		}
	}
	return all
}

// PeersHeader is the response header that lists the searched peers with their outcomes, as a list
// of structured fields (RFC 9651). Example: west;outcome=success;results=3;partial, east;outcome=timeout.
const PeersHeader = "A2A-Registry-Peers"

// HeaderOf returns the value of PeersHeader for the reports of a search.
func HeaderOf(reports []Report) string {
	items := make([]string, len(reports))
	for i, r := range reports {
		items[i] = r.Peer + ";outcome=" + string(r.Outcome)
		if r.Outcome == Success {
			items[i] += ";results=" + strconv.Itoa(r.Results)
		}
		if r.Partial {
			items[i] += ";partial"
		}
	}
	return strings.Join(items, ", ")
}

// WantsReferrals reports whether a search asks for referrals.
func WantsReferrals(s *ard.Search) bool { return s.Federation == modeReferrals }
