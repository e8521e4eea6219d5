// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-logr/logr"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

//go:embed openapi.yaml
var openapi []byte

// api answers requests. It reads snapshots, and changes nothing but the
// conditions of pods whose sidecars report their health.
type api struct {
	// current returns the latest snapshot, nil while the first is being made.
	current func() *Snapshot
	authn   *authenticator
	authz   *authorizer
	health  *healthReports
	log     logr.Logger
}

// errNotIndexed is why a replica that has just started does not answer.
var errNotIndexed = errors.New("the first index is being made")

// problem is the answer to a request that failed.
type problem struct {
	status  int
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
}

func notFound(message string) *problem {
	return &problem{status: http.StatusNotFound, Code: "NotFound", Message: message}
}

// endpoint answers an authenticated request from a snapshot.
type endpoint func(w http.ResponseWriter, r *http.Request, c Caller, s *Snapshot) error

func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		write(w, []byte("ok\n"))
	})
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		write(w, openapi)
	})
	mux.HandleFunc("GET /v1/agents", a.authenticated(a.search))
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}", a.authenticated(a.agent))
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}/card", a.authenticated(a.card))
	mux.HandleFunc("PUT "+sidecarconfig.HealthPath, a.authenticated(a.health.put))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			fail(w, &problem{status: http.StatusMethodNotAllowed, Code: "MethodNotAllowed", Message: "what the registry lists is read only; use GET"})
			return
		}
		fail(w, notFound("no such path; /openapi.yaml lists them"))
	})
	return mux
}

// authenticated wraps an endpoint: who calls, is there an index, what went wrong.
func (a *api) authenticated(next endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, no-cache")
		w.Header().Set("Vary", "Authorization, A2A-Version")
		caller, known, err := a.authn.caller(r)
		if refused, ok := errors.AsType[limitedError](err); ok {
			tooMany(w, "token_reviews", refused.Refusal, "too many tokens of this address are new; use one token for its lifetime")
			return
		}
		if err != nil {
			a.unavailable(w, r, err)
			return
		}
		if !known {
			challenge(w, r)
			return
		}
		snapshot := a.current()
		if snapshot == nil {
			a.unavailable(w, r, errNotIndexed)
			return
		}
		a.finish(w, r, next(w, r, caller, snapshot))
	}
}

func (a *api) finish(w http.ResponseWriter, r *http.Request, err error) {
	var (
		mistake *invalid
		known   *problem
	)
	switch {
	case err == nil:
	case errors.As(err, &mistake):
		fail(w, &problem{status: http.StatusBadRequest, Code: "InvalidParameter", Message: mistake.Error(), Field: mistake.field})
	case errors.As(err, &known):
		fail(w, known)
	default:
		a.unavailable(w, r, err)
	}
}

// challenge answers a request without a valid token (RFC 6750, section 3).
func challenge(w http.ResponseWriter, r *http.Request) {
	header := `Bearer realm="a2a-operator.dev"`
	if r.Header.Get("Authorization") != "" {
		header += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", header)
	fail(w, &problem{
		status: http.StatusUnauthorized, Code: "Unauthenticated",
		Message: "send a ServiceAccount token for the audience a2a-operator.dev as Authorization: Bearer",
	})
}

// unavailable answers when the API server cannot be asked. The reason is
// logged, and not for the caller.
func (a *api) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // nobody is listening
	}
	if !errors.Is(err, errTooManyReviews) { // which is counted, and may be many
		a.log.Error(err, "cannot answer", "path", r.URL.Path)
	}
	w.Header().Set("Retry-After", "1")
	fail(w, &problem{status: http.StatusServiceUnavailable, Code: "Unavailable", Message: "the registry cannot answer now; try again"})
}

func (a *api) search(w http.ResponseWriter, r *http.Request, c Caller, s *Snapshot) error {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	sees, err := a.authz.visible(r.Context(), c, func() []string {
		if q.namespace != "" { // asked for whether it holds a match or not, so that time tells nothing
			return []string{q.namespace}
		}
		return s.Namespaces(q.terms)
	})
	if err != nil {
		return err
	}
	page := s.Search(q.terms, sees, q.after, q.limit)
	etag, tail := page.seal()
	if unchanged(w, r, etag) {
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, page.encode(tail))
	return nil
}

// seal returns what follows the items in the body, and a name for the whole.
func (p *Page) seal() (etag, tail string) {
	next := ""
	if p.More {
		next = cursorAfter(p.Entries[len(p.Entries)-1].Key)
	}
	tail = `],"nextCursor":"` + next + `","total":` + strconv.Itoa(p.Total) + "}\n"
	var names bytes.Buffer
	for _, e := range p.Entries {
		names.WriteString(e.digest)
	}
	names.WriteString(tail)
	return `"` + digest(names.Bytes()) + `"`, tail
}

func (p *Page) encode(tail string) []byte {
	const head = `{"items":[`
	size := len(head) + len(tail)
	for _, e := range p.Entries {
		size += len(e.body) + 1
	}
	body := append(make([]byte, 0, size), head...)
	for i, e := range p.Entries {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, e.body...)
	}
	return append(body, tail...)
}

func (a *api) agent(w http.ResponseWriter, r *http.Request, c Caller, s *Snapshot) error {
	e, err := a.find(r, c, s)
	if err != nil {
		return err
	}
	if unchanged(w, r, `"`+e.digest+`"`) {
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, e.body)
	return nil
}

func (a *api) card(w http.ResponseWriter, r *http.Request, c Caller, s *Snapshot) error {
	e, err := a.find(r, c, s)
	if err != nil {
		return err
	}
	if e.card == nil {
		return notFound("agent " + e.Key.Namespace + "/" + e.Key.Name + " has no card yet; see the conditions of the Agent")
	}
	rendered := e.card.forVersion(r.Header.Get("A2A-Version"))
	if unchanged(w, r, rendered.etag) {
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, rendered.body)
	return nil
}

// find returns the agent that the path names. What the caller does not see
// does not exist, and takes the same time: access is decided first. An agent whose
// rules may let a ServiceAccount in is found by that one, which has to know its
// names: its gateway calls only agents that it finds here.
func (a *api) find(r *http.Request, c Caller, s *Snapshot) (*Entry, error) {
	if r.URL.RawQuery != "" {
		name, _, _ := strings.Cut(r.URL.RawQuery, "=")
		return nil, refuse(name, "this path takes no parameters; leave them out")
	}
	key := Key{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	missing := notFound("agent " + key.Namespace + "/" + key.Name + " does not exist, or you may not see it")
	if !isLabel(key.Namespace) || !isLabel(key.Name) {
		return nil, missing
	}
	sees, err := a.authz.sees(r.Context(), c, key.Namespace)
	if err != nil {
		return nil, err
	}
	if e := s.Get(key); e != nil && (sees || e.facts.admits(c.home)) {
		return e, nil
	}
	return nil, missing
}

func (p *problem) Error() string { return p.Message }

// fail writes {"error": ...}.
func fail(w http.ResponseWriter, p *problem) {
	body, err := json.Marshal(map[string]*problem{"error": p})
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	body = append(body, '\n')
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.status)
	write(w, body)
}

// unchanged answers 304 when the client has what etag names (RFC 9110,
// section 13.1.2).
func unchanged(w http.ResponseWriter, r *http.Request, etag string) bool {
	w.Header().Set("ETag", etag)
	for _, header := range r.Header.Values("If-None-Match") {
		for candidate := range strings.SplitSeq(header, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == etag || candidate == "*" {
				w.WriteHeader(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}

// write sends a body. A client that went away is no event for the registry.
func write(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}
