// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/embedding"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

const (
	// maxARDBody bounds the body of a request.
	maxARDBody = 64 << 10
	// catalogPage is the number of agents in one catalog of a namespace.
	catalogPage = 200
	// scanLimit bounds the agents that one request compares with a filter. A page with
	// fewer matches has a token for the rest.
	scanLimit = 2000
)

// ardAPI serves ARD and the AI Catalog: manifests, search, exploration and lists.
type ardAPI struct {
	*api
	publisher *ard.Publisher
	// explorations has a slot for one exploration, which reads all matches: others wait,
	// and searches have slots of their own.
	explorations chan struct{}
	// anonymous bounds the requests without a token, which see anonymousSet.
	anonymous    *searches
	anonymousSet *access.Set
	// isOutside is true for the catalog outside of the cluster.
	isOutside bool
}

// ardEndpoint serves a request. It returns what is encoded.
type ardEndpoint struct {
	serve func(r *ardRequest) (any, error)
	// cost is the number of searches that a request counts for, and slots where it runs
	// with a token.
	cost  int
	slots chan struct{}
	// prepare completes the request before it runs in a slot; nil for none.
	prepare func(*ardRequest)
	// finish changes the result outside of the slots; nil for none.
	finish func(w http.ResponseWriter, r *ardRequest, result any) (any, error)
}

// ardRequest is a request with its body, the agents, and the set of those that the caller
// sees.
type ardRequest struct {
	*http.Request
	from  requester
	route federation.Route
	body  []byte
	set   *access.Set
	s     *index.Snapshot
	// vector is that of the query's text, nil without one.
	vector *embedding.Vector
}

// restrictToExports leaves in the set what leaves the cluster, if another registry sent the
// request: federated agents if it is a peer, and public ones.
func (r *ardRequest) restrictToExports() {
	if r.route.IsForwarded() {
		r.set = access.NewSet(max(access.VisibilityFederated, r.set.Least()))
	}
}

// entry returns the entry of an agent. It is not shown to another registry if it has no URL
// outside of the cluster.
func (d *ardAPI) entry(r *ardRequest, e *index.Entry) (entry ard.Entry, shown bool, err error) {
	if r.route.IsForwarded() && !d.isOutside { // outside, all entries have such a URL
		return d.publisher.ExternalEntry(e.Body())
	}
	entry, err = d.publisher.AgentEntry(e.Body())
	return entry, true, err
}

func (a *api) handleARD(mux *http.ServeMux, publisher *ard.Publisher) {
	d := &ardAPI{
		api: a, publisher: publisher, explorations: make(chan struct{}, 1),
		anonymous: newAnonymousSearches(a.searches.clock), anonymousSet: access.NewSet(access.VisibilityPublic),
	}
	d.handleRoutes(mux)
}

func (d *ardAPI) handleRoutes(mux *http.ServeMux) {
	search := func(serve func(*ardRequest) (any, error)) ardEndpoint {
		return ardEndpoint{serve: serve, cost: 1, slots: d.searches.slots}
	}
	for _, path := range []string{ard.ManifestPath, ard.CatalogPath} {
		mux.HandleFunc("GET "+path, d.handle(ard.TypeCatalog, search(d.manifest)))
	}
	mux.HandleFunc("GET "+ard.NamespacePath+"{namespace}", d.handle(ard.TypeCatalog, search(d.catalog)))
	mux.HandleFunc("POST "+ard.BasePath+"/search", d.handle(mediaJSON, ardEndpoint{serve: d.search, cost: 1, slots: d.searches.slots, prepare: d.embedQuery, finish: d.searchPeers}))
	mux.HandleFunc("POST "+ard.BasePath+"/explore", d.handle(mediaJSON, ardEndpoint{serve: d.explore, cost: exploreCost, slots: d.explorations}))
	mux.HandleFunc("GET "+ard.BasePath+"/agents", d.handle(mediaJSON, search(d.list)))
	mux.HandleFunc(ard.BasePath+"/", d.unknown)
	mux.HandleFunc("GET "+ard.BasePath+"/agents/{identifier}", d.handle(mediaJSON, search(d.agent)))
}

const mediaJSON = "application/json"

// ardError is an error of ARD (appendix B).
type ardError struct {
	status  int
	Code    string `json:"errorCode"`
	Message string `json:"message"`
}

func (e *ardError) Error() string { return e.Message }

// unknown responds to a path or a method that ARD does not have.
func (d *ardAPI) unknown(w http.ResponseWriter, r *http.Request) {
	err := &ardError{http.StatusNotFound, "NOT_FOUND", "no such path; /openapi.yaml lists them"}
	if d.isOutside {
		err.Message = "no such path; " + ard.ManifestPath + " leads to all agents"
	}
	switch r.URL.Path {
	case ard.BasePath + "/search", ard.BasePath + "/explore":
		w.Header().Set("Allow", "POST")
		err = &ardError{http.StatusMethodNotAllowed, "INVALID_ARGUMENT", "use POST with a JSON body"}
	case ard.BasePath + "/agents":
		w.Header().Set("Allow", "GET, HEAD")
		err = &ardError{http.StatusMethodNotAllowed, "INVALID_ARGUMENT", "use GET"}
	}
	d.fail(w, r, err)
}

// requester is the sender of a request: a caller, or a client without a token.
type requester struct {
	// principal pays for the request in searches.
	principal a2a.AccountingPrincipal
	searches  *searches
	// visibleSet resolves which agents the sender sees.
	visibleSet  func(context.Context) (*access.Set, error)
	isAnonymous bool
}

// requester returns the sender of a request. A client without a token sees public agents.
// A token that is not valid is an error, and outside of the cluster every token is.
func (d *ardAPI) requester(r *http.Request) (requester, error) {
	switch {
	case len(r.Header.Values("Authorization")) == 0:
		return requester{
			principal: a2a.AccountingPrincipalAt(r.RemoteAddr), searches: d.anonymous, isAnonymous: true,
			visibleSet: func(context.Context) (*access.Set, error) { return d.anonymousSet, nil },
		}, nil
	case d.isOutside:
		return requester{}, &ardError{http.StatusBadRequest, "INVALID_ARGUMENT", "Authorization: this catalog is public and accepts no credentials; omit the header"}
	}
	caller, known, err := d.authn.Caller(r)
	if err == nil && !known {
		err = &ardError{http.StatusUnauthorized, "UNAUTHENTICATED", challengeMessage}
	}
	return requester{
		principal: principalOf(&caller), searches: d.searches,
		visibleSet: func(ctx context.Context) (*access.Set, error) { return d.authz.VisibleSet(ctx, caller) },
	}, err
}

// manifest serves the root: the registry's own entry, a catalog for each namespace, and the
// peers for callers with a token.
func (d *ardAPI) manifest(r *ardRequest) (any, error) {
	root := d.publisher.Root(r.s.Namespaces(r.set))
	if !r.from.isAnonymous {
		root.Entries = append(root.Entries, d.referrals(false)...)
	}
	return root, nil
}

// anonymousCacheControl lets caches keep a response to a client without a token for a
// minute. All such clients get the same.
const anonymousCacheControl = "public, max-age=60"

// handle finds the sender of a request before next, and writes its result or error.
func (d *ardAPI) handle(mediaType string, next ardEndpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, no-cache")
		w.Header().Set("Vary", "Authorization")
		from, err := d.requester(r)
		if err != nil {
			d.fail(w, r, err)
			return
		}
		release, ok := from.searches.hold(from.principal)
		if !ok {
			countLimited(w, "responses", limit.Refusal{Wait: time.Second})
			d.fail(w, r, &ardError{http.StatusTooManyRequests, "RATE_LIMIT_EXCEEDED", responsesMessage})
			return
		}
		defer release()
		body, sent, err := d.call(w, r, from, next)
		if err != nil {
			d.fail(w, r, err)
			return
		}
		defer sent()
		if from.isAnonymous {
			w.Header().Set("Cache-Control", anonymousCacheControl)
		}
		d.respond(w, r, mediaType, body)
	}
}

// call returns the encoded result of next. The sender is charged for its memory until sent.
func (d *ardAPI) call(w http.ResponseWriter, r *http.Request, from requester, next ardEndpoint) (body []byte, sent func(), err error) {
	snapshot := d.feed.Current()
	if snapshot == nil {
		return nil, nil, errNotIndexed
	}
	route, err := federation.ParseRoute(r.Header)
	if err != nil {
		return nil, nil, err
	}
	request := &ardRequest{Request: r, from: from, route: route, s: snapshot}
	if r.Method == http.MethodPost {
		if request.body, err = readARDBody(r); err != nil {
			return nil, nil, err
		}
	}
	if refusal, ok := from.searches.charge(from.principal, next.cost); !ok {
		countLimited(w, "searches", refusal)
		return nil, nil, &ardError{http.StatusTooManyRequests, "RATE_LIMIT_EXCEEDED", from.searches.message}
	}
	ctx := r.Context()
	if request.set, err = from.visibleSet(ctx); err != nil {
		return nil, nil, err
	}
	request.restrictToExports()
	if next.prepare != nil {
		next.prepare(request)
	}
	slots := next.slots
	if from.isAnonymous {
		slots = from.searches.slots
	}
	var result any
	encode := func() {
		if body, err = json.Marshal(result); err == nil {
			sent, err = from.searches.reserve(ctx, from.principal, len(body))
		}
	}
	runErr := runIn(ctx, slots, d.searches.clock, func() {
		result, err = next.serve(request)
		if err == nil && next.finish == nil {
			encode() // a response that waits for its memory keeps its slot, so that few wait
		}
	})
	if runErr != nil {
		return nil, nil, runErr
	}
	if err == nil && next.finish != nil {
		if result, err = next.finish(w, request, result); err == nil {
			encode()
		}
	}
	return body, sent, err
}

// respond writes an encoded result.
func (d *ardAPI) respond(w http.ResponseWriter, r *http.Request, mediaType string, body []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodGet && unchanged(w, r, weakETag(body)) {
		return
	}
	write(w, append(body, '\n'))
}

// fail writes an error in the shape of ARD.
func (d *ardAPI) fail(w http.ResponseWriter, r *http.Request, err error) {
	known := d.errorOf(w, r, err)
	if known == nil {
		return
	}
	body, err := json.Marshal(known)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", mediaJSON)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(known.status)
	write(w, body)
}

// errorOf returns the response to an error, and sets its headers. It returns nil if the
// client has left.
func (d *ardAPI) errorOf(w http.ResponseWriter, r *http.Request, err error) *ardError {
	var (
		known     *ardError
		refused   access.LimitedError
		mistake   *ard.RequestError
		header    *federation.HeaderError
		parameter *index.ParameterError
		busy      *problem
	)
	switch {
	case errors.As(err, &known):
		if known.status == http.StatusUnauthorized {
			setChallenge(w, r)
		}
		return known
	case errors.As(err, &refused):
		countLimited(w, "token_reviews", refused.Refusal)
		return &ardError{http.StatusTooManyRequests, "RATE_LIMIT_EXCEEDED", unknownTokensMessage}
	case errors.As(err, &mistake):
		return &ardError{http.StatusBadRequest, "INVALID_ARGUMENT", mistake.Error()}
	case errors.As(err, &header):
		return &ardError{http.StatusBadRequest, "INVALID_ARGUMENT", header.Error()}
	case errors.As(err, &parameter):
		return &ardError{http.StatusBadRequest, "INVALID_ARGUMENT", ardField(parameter.Field) + ": " + parameter.Cure}
	case errors.As(err, &busy):
		w.Header().Set("Retry-After", "1")
		return &ardError{busy.status, "UNAVAILABLE", busy.Message}
	case d.logFailure(w, r, err):
		return &ardError{http.StatusServiceUnavailable, "UNAVAILABLE", unavailableMessage}
	default:
		return nil
	}
}

// ardField returns the name that ARD has for a parameter of the index.
func ardField(name string) string {
	switch name {
	case "q":
		return "query.text"
	case "cursor":
		return "pageToken"
	default:
		return name
	}
}

// weakETag returns a validator for a body.
func weakETag(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + hex.EncodeToString(sum[:8]) + `"`
}

// query returns the query of the index for all agents, those with a text, or those
// of a namespace, after a page token.
func (d *ardAPI) query(parameter, value, token string, limit int) (*index.Query, error) {
	parameters := url.Values{"limit": {strconv.Itoa(limit)}}
	if value != "" {
		parameters.Set(parameter, value)
	}
	if token != "" {
		parameters.Set("cursor", token)
	}
	return index.ParseQuery(parameters.Encode())
}

// catalog serves the agents of a namespace.
func (d *ardAPI) catalog(r *ardRequest) (any, error) {
	namespace := r.PathValue("namespace")
	missing := &ardError{http.StatusNotFound, "NOT_FOUND", "no agent of namespace " + strconv.Quote(namespace) + " exists, or you may not see it"}
	if !(index.Key{Namespace: namespace, Name: "x"}).Valid() {
		return nil, missing
	}
	token, err := onlyPageToken(r.Request)
	if err != nil {
		return nil, err
	}
	q, err := d.query("namespace", namespace, token, catalogPage)
	if err != nil {
		return nil, err
	}
	page := r.s.Search(q, r.set)
	if page.Total == 0 {
		return nil, missing
	}
	entries := make([]ard.Entry, 0, len(page.Entries))
	for _, e := range page.Entries {
		entry, shown, err := d.entry(r, e)
		if err != nil {
			return nil, err
		}
		if shown {
			entries = append(entries, entry)
		}
	}
	return d.publisher.Catalog(namespace, entries, page.NextCursor()), nil
}

func onlyPageToken(r *http.Request) (string, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", &ard.RequestError{Field: "query", Cure: "cannot be decoded: escape the special characters of every value"}
	}
	for name, all := range values {
		if name != "pageToken" || len(all) > 1 {
			return "", &ard.RequestError{Field: "query", Cure: "this path has the parameter pageToken only, once; omit the rest"}
		}
	}
	return values.Get("pageToken"), nil
}

// search returns a *localSearch.
// embedQuery finds the vector of the text of a search. Callers without a token cause no requests to the endpoint.
func (d *ardAPI) embedQuery(r *ardRequest) {
	if request, err := ard.ParseSearch(r.body); err == nil && !r.from.isAnonymous {
		r.vector = d.embeddings.vector(r.Context(), request.Query.Text)
	}
}

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
	matches := func(e *ard.Entry) bool { return d.publisher.Matches(request.Query.Filter, e) }
	if d.publisher.Excludes(request.Query.Filter) {
		matches = func(*ard.Entry) bool { return false }
	}
	local.page.Next, err = d.page(r, pageRequest{
		parameter: "q", value: request.Query.Text, token: token, size: *request.PageSize, matches: matches,
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
	response := ard.ListResponse{Items: []ard.Entry{}}
	response.PageToken, err = d.page(r, pageRequest{
		token: request.PageToken, size: request.PageSize,
		matches: func(e *ard.Entry) bool { return d.publisher.MatchesList(request, e) },
	}, func(e ard.Entry, _ float64, _ string) { response.Items = append(response.Items, e) })
	return response, err
}

// pageRequest selects a page: agents by a parameter of the index, and of these the
// entries that match.
type pageRequest struct {
	parameter, value string
	token            string
	size             int
	matches          func(*ard.Entry) bool
}

// page adds the entries of a page, each with its score and the token of the page after
// it, and returns the token of the next page.
func (d *ardAPI) page(r *ardRequest, p pageRequest, add func(e ard.Entry, score float64, after string)) (next string, err error) {
	for scanned, added := 0, 0; r.Context().Err() == nil; {
		q, err := d.query(p.parameter, p.value, p.token, catalogPage)
		if err != nil {
			return "", err
		}
		d.embeddings.rankBySimilarity(q, r.vector)
		page := r.s.Search(q, r.set)
		for i, e := range page.Entries {
			if added == p.size || scanned == scanLimit {
				return p.token, nil
			}
			entry, shown, err := d.entry(r, e)
			if err != nil {
				return "", err
			}
			p.token = page.CursorAfter(i)
			if shown && p.matches(&entry) {
				add(entry, page.Score(i), p.token)
				added++
			}
			scanned++
		}
		if !page.More {
			return "", nil
		}
	}
	return "", r.Context().Err()
}

func (d *ardAPI) explore(r *ardRequest) (any, error) {
	request, err := ard.ParseExplore(r.body)
	if err != nil {
		return nil, err
	}
	q, err := d.query("q", request.Query.Text, "", 1)
	if err != nil {
		return nil, err
	}
	counter := d.publisher.NewCounter(request)
	if d.publisher.Excludes(request.Query.Filter) {
		return counter.Response(), nil
	}
	for e := range r.s.Matching(q, r.set) {
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		entry, shown, err := d.entry(r, e)
		if err != nil {
			return nil, err
		}
		if shown && d.publisher.Matches(request.Query.Filter, &entry) {
			counter.Add(&entry)
		}
	}
	return counter.Response(), nil
}

// agent serves the entry of an agent.
func (d *ardAPI) agent(r *ardRequest) (any, error) {
	if r.URL.RawQuery != "" {
		return nil, &ard.RequestError{Field: "query", Cure: "this path has no parameters; omit them"}
	}
	missing := &ardError{http.StatusNotFound, "NOT_FOUND", "the agent does not exist, or you may not see it"}
	namespace, name, ok := d.publisher.ParseAgentID(r.PathValue("identifier"))
	key := index.Key{Namespace: namespace, Name: name}
	if !ok || !key.Valid() {
		return nil, missing
	}
	e := r.s.Get(key)
	if e == nil || !e.VisibleTo(r.set) {
		return nil, missing
	}
	entry, shown, err := d.entry(r, e)
	if err == nil && !shown {
		err = missing
	}
	return entry, err
}

// readARDBody reads the body of a request.
func readARDBody(r *http.Request) ([]byte, error) {
	if r.URL.RawQuery != "" {
		return nil, &ard.RequestError{Field: "query", Cure: "this path has no parameters; put them into the body"}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxARDBody+1))
	switch {
	case err != nil:
		return nil, &ard.RequestError{Field: "body", Cure: "could not be read; send it again"}
	case len(body) > maxARDBody:
		return nil, &ard.RequestError{Field: "body", Cure: "is longer than 64 KiB; shorten it"}
	}
	return body, nil
}
