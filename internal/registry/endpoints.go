// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenexchange"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

func (a *api) search(w http.ResponseWriter, r *http.Request, c access.Caller, s *index.Snapshot) error {
	q, err := index.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	if _, streams := q.Watch(); streams {
		if !a.searchLimits.admit(w, &c, watchCost) {
			return nil
		}
		return a.watches.get(w, r, c, q, a.visibleSet)
	}
	release, ok := a.searchLimits.begin(w, &c, 1)
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
	if err := a.searchLimits.run(r.Context(), &c, func() { page = s.Search(q, set) }); err != nil {
		return err
	}
	defer page.Release()
	if unchanged(w, r, page.ETag()) {
		return nil
	}
	sent, err := a.searchLimits.reserve(r.Context(), shareOf(&c), page.Size())
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
	release, ok := a.searchLimits.begin(w, &c, 1)
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
	sent, err := a.searchLimits.reserve(r.Context(), shareOf(&c), len(rendered.Body))
	if err != nil {
		return err
	}
	defer sent()
	w.Header().Set("Content-Type", "application/json")
	write(w, rendered.Body)
	return nil
}

// find returns the agent that the path of a request names. If there is no such agent or the caller
// may not find it, find returns a problem with the status 404. If the request has parameters, find
// returns an *index.ParameterError.
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

// peers serves GET /v1/peers: the state of each peer as this replica has observed it.
func (a *api) peers(w http.ResponseWriter, r *http.Request, c access.Caller, _ *index.Snapshot) error {
	if r.URL.RawQuery != "" {
		return &index.ParameterError{Field: "query", Cure: "this path has no parameters; omit them"}
	}
	if !a.searchLimits.admit(w, &c, 1) {
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
	release, ok := a.searchLimits.begin(w, &c, max(1, peers))
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
		if err := a.searchLimits.reserveNow(reservation, shareOf(&c), found.Size()); err != nil {
			return err
		}
		response.Items = append(response.Items, found.Results...)
		response.Peers = append(response.Peers, reports...)
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

// newExchange returns the handler that issues tokens. A caller receives tokens for calls to the
// agents that it may find.
func (a *api) newExchange(signer func() tokenexchange.Signer, log logr.Logger, c clock.PassiveClock) http.Handler {
	return tokenexchange.New(tokenexchange.Options{Signer: signer, Authenticate: a.subject, Log: log, Clock: c})
}

// subject returns the caller that the token of a request authenticates. It returns the error of
// tokenexchange.InvalidToken for an invalid token, and that of tokenexchange.Limited if the address
// has sent too many wrong tokens.
func (a *api) subject(r *http.Request) (*tokenexchange.Subject, error) {
	caller, known, err := a.authn.Caller(r)
	if refused, ok := errors.AsType[access.LimitedError](err); ok {
		limited.WithLabelValues("token_reviews").Inc()
		return nil, tokenexchange.Limited(refused.Wait, wrongTokensMessage)
	}
	if err != nil {
		return nil, err
	}
	if !known {
		a.denials.unauthenticated(r)
		return nil, tokenexchange.InvalidToken("subject_token is not a valid ServiceAccount token for the audience " + a2av1alpha1.Audience)
	}
	return &tokenexchange.Subject{
		Username: caller.Username, UID: caller.UID,
		PodName: caller.ExtraValue(access.ExtraPodName), PodUID: caller.ExtraValue(access.ExtraPodUID),
		NodeName: caller.ExtraValue(access.ExtraNodeName), NodeUID: caller.ExtraValue(access.ExtraNodeUID),
		Lists: func(ctx context.Context, namespace, name string) (bool, error) {
			snapshot := a.feed.Current()
			if snapshot == nil {
				return false, errNotIndexed
			}
			entry, err := a.findKey(ctx, caller, snapshot, index.Key{Namespace: namespace, Name: name})
			if errors.Is(err, errPeer) {
				err = nil
			}
			if err == nil && entry == nil { // the audit log does not distinguish a hidden agent from an absent one
				a.denials.forbidden(ctx, &caller, operationToken, namespace+"/"+name)
			}
			return entry != nil, err
		},
	}, nil
}
