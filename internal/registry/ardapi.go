// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

const (
	// maxARDBody bounds the body of a request, in bytes.
	maxARDBody = 64 << 10
	// catalogPage is the maximum number of agents on one page of a namespace's catalog. It is also
	// the number of agents that a search or a list reads from the index at a time.
	catalogPage = 200
)

// ardAPI serves ARD and the AI Catalog: manifests, search, exploration and lists.
type ardAPI struct {
	*api
	publisher *ard.Publisher
	// anonymous has the limits of requests without a token. anonymousSet is the set of agents that
	// clients without a token see.
	anonymous    *searchLimits
	anonymousSet *access.Set
	// isOutside is true for the catalog outside of the cluster.
	isOutside bool
}

// ardEndpoint serves the requests of one route. The response is the encoded result of finish or, if
// finish is nil, of serve.
type ardEndpoint struct {
	serve func(r *ardRequest) (any, error)
	// cost is the number of searches for which the caller is charged. explores is true for an exploration.
	cost     int
	explores bool
	// words returns the text of a ranked search in the body of a request. It may be nil.
	words func(body []byte) string
	// finish is called after the request has released its slot, and returns the result to send, for which
	// it reserves the memory. It may be nil.
	finish func(out *sender, r *ardRequest, result any) (any, error)
}

// ardRequest is a request with its body, and what its sender sees.
type ardRequest struct {
	*http.Request
	*view
	from  *requester
	route federation.Route
	body  []byte
}

// exports returns the sender of a request, which sees less if it is another registry: only the agents that other
// registries may receive, which are public agents and, if the caller is a peer or sees all agents, federated
// agents. A caller with the right of a peer counts as a registry, even if its request lacks the
// headers of a forwarded query.
func (r *ardRequest) exports() *requester {
	from := *r.from
	from.visibleSet = func(ctx context.Context) (*access.Set, error) {
		set, err := r.from.visibleSet(ctx)
		if err != nil {
			return nil, err
		}
		r.route.FromPeer = set.IsPeer()
		if r.route.IsForwarded() {
			set = access.NewSet(max(access.VisibilityFederated, set.Minimum()))
		}
		return set, nil
	}
	return &from
}

// entry returns the entry of an agent for the response to a request. It returns the error of the request's context after
// the client has left. If the request comes from
// another registry, entry cuts the entry to ard.MaxExported bytes, so that no agent makes a page
// too large. shown is false in one case: another registry sends the request to the listener inside
// the cluster, and the agent has no external URL. Clients of that registry could not call such an
// agent.
func (d *ardAPI) entry(r *ardRequest, e *index.Entry) (entry ard.Entry, shown bool, err error) {
	if err := r.Context().Err(); err != nil {
		return ard.Entry{}, false, err
	}
	shown = true
	if r.route.IsForwarded() && !d.isOutside { // the catalog outside of the cluster has only agents with an external URL
		if !e.HasExternalURL() {
			return ard.Entry{}, false, nil
		}
		entry, shown, err = d.publisher.ExternalEntry(e.Body())
	} else {
		entry, err = d.publisher.AgentEntry(e.Body())
	}
	if shown && r.route.IsForwarded() {
		entry.Cut(ard.MaxExported)
	}
	return entry, shown, err
}

// sender returns the sender of a request. A client without a token sees public agents. For an
// invalid token, sender returns an error with the status 401. The catalog outside of the
// cluster accepts no token: for any token, sender returns an error with the status 400.
func (d *ardAPI) sender(r *http.Request) (*requester, error) {
	switch {
	case len(r.Header.Values("Authorization")) == 0:
		address := a2a.AccountingPrincipalAt(r.RemoteAddr)
		return &requester{
			principal: address, share: address, limits: d.anonymous, isAnonymous: true,
			visibleSet: func(context.Context) (*access.Set, error) { return d.anonymousSet, nil },
		}, nil
	case d.isOutside:
		return nil, &ard.RequestError{Field: "Authorization", Cure: "this catalog is public and accepts no credentials; omit the header"}
	}
	caller, err := d.caller(r)
	if err != nil {
		return nil, err
	}
	from := d.requester(&caller)
	from.visibleSet = func(ctx context.Context) (*access.Set, error) { return d.authz.VisibleSet(ctx, caller) }
	return from, nil
}

// anonymousCacheControl lets caches reuse the response to a client without a token for a minute.
// All clients without a token receive the same response. Other registries receive another one, so
// caches must distinguish the headers in varyARD.
const anonymousCacheControl = "public, max-age=60"

// varyARD names the request headers on which responses depend. A request with ViaHeader or
// HopsHeader comes from another registry, which receives other entries than a client.
const varyARD = "Authorization, " + federation.ViaHeader + ", " + federation.HopsHeader

// handle returns a handler that determines the sender of a request, calls next, and writes the
// result or the error.
func (d *ardAPI) handle(mediaType string, next ardEndpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, no-cache")
		w.Header().Set("Vary", varyARD)
		if len(r.Header.Values("Authorization")) == 0 {
			allowOrigins(w)
		}
		from, err := d.sender(r)
		if err != nil {
			d.fail(w, r, err)
			return
		}
		if next.explores {
			from.limits = from.limits.explorations
		}
		release, err := from.limits.held(from.principal)
		if err != nil {
			d.fail(w, r, err)
			return
		}
		defer release()
		out := from.limits.sender(w)
		defer out.end()
		body, err := d.call(out, r, from, next)
		if err != nil {
			d.fail(w, r, err)
			return
		}
		if from.isAnonymous {
			w.Header().Set("Cache-Control", anonymousCacheControl)
		}
		d.respond(out, r, mediaType, body)
	}
}

// call returns the encoded result of next. out reserves the memory for it.
func (d *ardAPI) call(out *sender, r *http.Request, from *requester, next ardEndpoint) (body []byte, err error) {
	if d.feed.Current() == nil {
		return nil, errNotIndexed
	}
	route, err := federation.ParseRoute(r.Header)
	if err != nil {
		return nil, err
	}
	request := &ardRequest{Request: r, from: from, route: route}
	if r.Method == http.MethodPost {
		if request.body, err = readARDBody(r); err != nil {
			return nil, err
		}
	}
	words := ""
	if next.words != nil {
		words = next.words(request.body)
	}
	var result any
	err = d.inspectReserving(r.Context(), out, request.exports(), inspection{cost: next.cost, words: words}, func(v *view, reserve func(int) error) error {
		request.view = v
		made, err := next.serve(request)
		if err != nil {
			return err
		}
		if err := reserve(sizeOf(made)); err != nil {
			return err
		}
		result = made
		return nil
	})
	if err == nil && next.finish != nil {
		result, err = next.finish(out, request, result)
	}
	if err != nil {
		return nil, err
	}
	return plainjson.Marshal(result)
}

// sizeOf returns an upper bound of the size of a result as JSON, in bytes, or 0 for a result that
// has no method Size.
func sizeOf(result any) int {
	if sized, ok := result.(interface{ Size() int }); ok {
		return sized.Size()
	}
	return 0
}

// respond writes an encoded result. For a GET request whose If-None-Match has the ETag of the
// result, it responds 304.
func (d *ardAPI) respond(w http.ResponseWriter, r *http.Request, mediaType string, body []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodGet && unchanged(w, r, weakETag(body)) {
		return
	}
	write(w, append(body, '\n'))
}

// fail writes an error as the response, in the format of ARD.
func (d *ardAPI) fail(w http.ResponseWriter, r *http.Request, err error) {
	if parameter, ok := errors.AsType[*index.ParameterError](err); ok {
		err = &index.ParameterError{Field: ardField(parameter.Field), Cure: parameter.Cure}
	}
	known := d.errorOf(r.Context(), err, "path", r.URL.Path)
	if known == nil { // the client has disconnected
		return
	}
	if known.Status == http.StatusUnauthorized {
		setChallenge(w, r)
	}
	body, _ := json.Marshal(ardError{Code: codes[known.Status].ard, Message: known.Message}) // strings have a JSON form
	known.WriteBody(w, body)
}

// readARDBody reads the body of a request, of at most maxARDBody bytes. Its errors are
// *ard.RequestError.
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

// ardError is the body of an error of ARD (appendix B).
type ardError struct {
	Code    string `json:"errorCode"`
	Message string `json:"message"`
}

// ardField returns the name of the ARD field that corresponds to a parameter of the index.
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
