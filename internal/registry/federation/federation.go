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

// Query is a search of this registry that it sends to its peers.
type Query struct {
	Search *ard.Search
	Route  Route
	// Caller is the accounting principal of the search. Each one has a share of the limits of
	// a peer.
	Caller a2a.AccountingPrincipal
}

// Report is the outcome of the search of one peer.
type Report struct {
	Peer    string  `json:"peer"`
	Outcome Outcome `json:"outcome"`
	// Message is empty for Success.
	Message string `json:"message,omitempty"`
	// Results is the number of usable results.
	Results int `json:"results"`
}

// Peers returns the number of peers that Search sends a query to: the peers with the mode
// Forward that the query has not passed. It is 0 if the query has no hops left, or has
// another federation mode than auto.
func (f *Federation) Peers(q Query) int {
	peers, _ := f.targets(f.current.Load(), q)
	return len(peers)
}

// targets returns the peers of a set that receive a query, and the hops that the query has
// left after them.
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

// LocalToken returns the page token of the local results, which is a part of token, the page token
// of a search. It is "" for the first page. ended is true if no local result is left. The error of
// LocalToken is an *ard.RequestError.
func LocalToken(token string) (local string, ended bool, err error) {
	p, err := parsePosition(token)
	return p.Local, p.LocalEnded, err
}

// Search sends a query to its peers concurrently (fan-out), and merges their results with a page
// of local results. A peer that fails delays Search by at most 1.5 times its timeout. The reports
// have the outcome of each peer: Limited for all of them if no memory is free within
// reserveTimeout. Without peers for the query, Search returns the local page.
//
// This registry sends the query of a client with the token that is configured for the peer, and
// without data of the client. It forwards the query of another registry without a token: with a
// token, a peer returns results that are not public, which this registry must not return to other
// registries.
func (f *Federation) Search(ctx context.Context, q Query, local LocalPage) (ard.SearchResponse, []Report, error) {
	set := f.current.Load()
	peers, hops := f.targets(set, q)
	if len(peers) == 0 {
		if local.Results == nil {
			local.Results = []ard.Result{}
		}
		return ard.SearchResponse{Results: local.Results, PageToken: local.Next}, nil, nil
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
	return response, reports(answers), err
}

// outgoing is the body of a search that this registry sends to a peer.
type outgoing struct {
	Query struct {
		Text   string     `json:"text"`
		Filter ard.Filter `json:"filter,omitempty"`
	} `json:"query"`
	Federation string `json:"federation"`
	PageSize   int    `json:"pageSize"`
}

// ask sends a query to the peers of the answers concurrently, and sets the results or the
// failures of the answers.
func (f *Federation) ask(ctx context.Context, q Query, set *peerSet, answers []*answer, hops int, begin position) error {
	header := http.Header{}
	for name, value := range map[string]string{
		"Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": "application/json", "User-Agent": userAgent,
		ViaHeader: strings.Join(append(slices.Clone(q.Route.Via), f.options.Publisher.Domain), ", "), HopsHeader: strconv.Itoa(hops),
	} {
		header.Set(name, value)
	}
	var all sync.WaitGroup
	defer all.Wait()
	for _, a := range answers {
		limit, skip := asked(begin, a.Name, *q.Search.PageSize), begin.Peers[a.Name]
		if limit == skip {
			continue // earlier pages have maxDepth results of the peer
		}
		body := outgoing{Federation: modeNone, PageSize: limit}
		if hops > 0 {
			body.Federation = modeAuto
		}
		body.Query.Text, body.Query.Filter = q.Search.Query.Text, q.Search.Query.Filter
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encode search: %w", err)
		}
		all.Go(func() {
			a.failed = f.search(ctx, a.peer, &request{q.Caller, text, header, !q.Route.IsForwarded()}, func(response []byte) error {
				return f.read(a, response, window{set, q.Search.Query.Filter, skip, limit})
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
		all[i] = Report{Peer: a.Name, Outcome: Success, Results: len(a.results)}
		if a.failed != nil {
			all[i].Outcome, all[i].Message = a.failed.outcome, a.failed.message
		}
	}
	return all
}

// PeersHeader lists the searched peers with their outcomes, as a list of structured fields
// (RFC 9651): west;outcome=success;results=3, east;outcome=timeout.
const PeersHeader = "A2A-Registry-Peers"

// HeaderOf returns the value of PeersHeader.
func HeaderOf(reports []Report) string {
	items := make([]string, len(reports))
	for i, r := range reports {
		items[i] = r.Peer + ";outcome=" + string(r.Outcome)
		if r.Outcome == Success {
			items[i] += ";results=" + strconv.Itoa(r.Results)
		}
	}
	return strings.Join(items, ", ")
}

// WantsReferrals reports whether a search asks for referrals.
func WantsReferrals(s *ard.Search) bool { return s.Federation == modeReferrals }
