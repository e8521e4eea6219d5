// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registryclient is the CLI's client of the registry: it searches agents, reads their
// cards, and watches changes.
//
// It returns errors of package failure.
package registryclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/sse"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

const (
	// maxResponse bounds a response that is no stream, in bytes. A page of the registry has at most 4 MiB.
	maxResponse = 8 << 20
	// requestTimeout bounds a request whose response is no stream.
	requestTimeout = 30 * time.Second
)

// Client calls one registry. It is safe for concurrent use.
type Client struct {
	// HTTP sends the requests. Required.
	HTTP *http.Client
	// Caller names the identity for which the registry answers, for people: "you" or, for example, a ServiceAccount.
	Caller string
	// URL is the root of the registry. Required.
	URL *url.URL
	// Token returns a token for the registry, "" for none. It is called before each request, as a
	// watch may last longer than a token. Required.
	Token func(ctx context.Context) (string, error)
}

// Search returns a page of agents that match.
func (c *Client) Search(ctx context.Context, q registryapi.Query) (*registryapi.Page, error) {
	return Search[registryapi.Agent](ctx, c, q)
}

// Search is Client.Search for agents that are decoded as A.
func Search[A any](ctx context.Context, c *Client, q registryapi.Query) (*registryapi.PageOf[A], error) {
	page := &registryapi.PageOf[A]{}
	if err := c.get(ctx, q.PageParameters(), page, "v1", "agents"); err != nil {
		return nil, err
	}
	return page, nil
}

// Agent returns an agent. For an agent that does not exist or that the caller may not see, it
// returns a failure with the code CardNotFound.
func (c *Client) Agent(ctx context.Context, namespace, name string) (*registryapi.Agent, error) {
	agent := &registryapi.Agent{}
	if err := c.get(ctx, nil, agent, "v1", "agents", url.PathEscape(namespace), url.PathEscape(name)); err != nil {
		return nil, err
	}
	return agent, nil
}

// Card returns the text of a card: the card of A2A 1.0 for the version 1.0, and the union card
// for "".
func (c *Client) Card(ctx context.Context, namespace, name, version string) ([]byte, error) {
	header := http.Header{}
	if version != "" {
		header.Set("A2a-Version", version)
	}
	return c.read(ctx, header, nil, "v1", "agents", url.PathEscape(namespace), url.PathEscape(name), "card")
}

var errSlow = failure.New(failure.Unreachable, "the registry did not respond within %s", requestTimeout)

func (c *Client) get(ctx context.Context, query url.Values, into any, path ...string) error {
	text, err := c.read(ctx, http.Header{}, query, path...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return failure.Wrap(failure.Internal, err, "read the response of the registry").WithHint("%s may not be a registry", c.URL)
	}
	return nil
}

// read returns the body of a response with status 200.
func (c *Client) read(ctx context.Context, header http.Header, query url.Values, path ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
	defer cancel()
	response, err := c.do(ctx, header, query, path...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	if len(text) > maxResponse {
		return nil, failure.New(failure.Internal, "the response of the registry has more than %d bytes", maxResponse)
	}
	return text, nil
}

// do returns a response with status 200. The caller closes its body.
func (c *Client) do(ctx context.Context, header http.Header, query url.Values, path ...string) (*http.Response, error) {
	token, err := c.Token(ctx)
	if err != nil {
		return nil, err
	}
	u := c.URL.JoinPath(path...)
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, failure.Wrap(failure.Internal, err, "make request")
	}
	r.Header = header
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	if response.StatusCode != http.StatusOK {
		defer func() { _ = response.Body.Close() }()
		return nil, refusal(response, token != "")
	}
	return response, nil
}

// tokenHint is the hint for a refused token.
const tokenHint = "the registry accepts tokens of ServiceAccounts for the audience a2a-operator.dev, and of its OpenID Connect issuer: set A2ACLI_REGISTRY_TOKEN"

// refusal returns the failure for a response with another status than 200.
func refusal(response *http.Response, authenticated bool) error {
	const maxError = 64 << 10
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxError)) // without a body, the message is the status
	_ = json.Unmarshal(text, &body)
	message := cmp.Or(body.Error.Message, response.Status)
	switch {
	case response.StatusCode == http.StatusUnauthorized && !authenticated:
		return failure.New(failure.CredentialsMissing, "the registry needs a token").WithHint(tokenHint)
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden:
		return failure.New(failure.AuthFailed, "the registry does not accept the token: %s", message).WithHint(tokenHint)
	case response.StatusCode == http.StatusNotFound && strings.HasSuffix(response.Request.URL.Path, "/v1/agents"):
		return failure.New(failure.Unreachable, "%s is not a registry", response.Request.URL.Host).WithHint("name the URL of the registry, without a path")
	case response.StatusCode == http.StatusNotFound:
		return failure.New(failure.CardNotFound, "there is no such agent, or you may not see it")
	case response.StatusCode == http.StatusBadRequest:
		return failure.New(failure.Usage, "the registry refuses the search: %s", message)
	default:
		return failure.New(failure.Unreachable, "the registry does not respond to the request: %s", message).WithHint("try again")
	}
}

// explain returns the failure for the error of a connection. If ctx has ended, it returns context.Cause(ctx).
func (c *Client) explain(ctx context.Context, err error) error {
	return a2aclient.ExplainConnection(ctx, err, c.URL)
}

// watchIdle is the time without an event after which the client ends a watch as broken. The registry sends a bookmark
// every 20 s.
const watchIdle = time.Minute

var errIdle = failure.New(failure.Unreachable, "the registry sent nothing for %s", watchIdle)

// Watch calls handle for the changes of the agents that match the query, which must have no words. It begins
// with the changes after the event with lastID or, if lastID is "", with all agents. It returns nil when the registry
// ends the watch, after some minutes.
func (c *Client) Watch(ctx context.Context, q registryapi.Query, lastID string, handle func(registryapi.Event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(watchIdle, func() { cancel(errIdle) })
	defer idle.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	response, err := c.do(ctx, header, q.WatchParameters(), "v1", "agents")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var own error // the error that handle or the decoding of an event returned
	err = sse.Read(response.Body, func(sent sse.Event) error {
		idle.Reset(watchIdle)
		own = deliver(sent, handle)
		return own
	})
	if err != nil && own == nil {
		return c.explain(ctx, err)
	}
	return own
}

// deliver decodes an event and passes it to handle.
func deliver(sent sse.Event, handle func(registryapi.Event) error) error {
	e, err := registryapi.DecodeEvent(sent.Type, sent.ID, sent.Data)
	if err != nil {
		return failure.Wrap(failure.Internal, err, "read an event of the registry")
	}
	return handle(e)
}

const (
	// resumeFirst and resumeMost bound the backoff between two attempts to resume a watch.
	resumeFirst = 500 * time.Millisecond
	resumeMost  = 10 * time.Second
	// maxFailures is the number of failed attempts in a row, without an event, after which Follow gives up.
	maxFailures = 8
)

// ChangeType is the kind of a change of an agent.
type ChangeType string

// Types of changes. Removed also stands for an agent that no longer matches the search.
const (
	Added   ChangeType = "Added"
	Changed ChangeType = "Changed"
	Removed ChangeType = "Removed"
)

// Change is a change of the agents that match a search.
type Change struct {
	Type ChangeType
	// Agent is the changed agent. If it was removed, only its namespace and name are set.
	Agent registryapi.Agent
}

// Follow calls observe for each agent that matches the query, and for each later change, until ctx ends or observe
// returns an error. The query must have no words. Follow resumes a watch that ends or breaks, and reports the changes
// since that time. It calls resuming before each attempt to resume a broken watch. It returns an error if the first
// watch cannot be opened, if the registry refuses a later one, or if 8 attempts in a row fail.
//
// Follow keeps a digest of each agent in memory, so that it reports each state of an agent once.
func (c *Client) Follow(ctx context.Context, q registryapi.Query, observe func(Change) error, resuming func(cause error)) error {
	w := &follower{observe: observe, known: map[string][sha256.Size]byte{}}
	failures := 0
	pause := resumeFirst
	for first := true; ; first = false {
		w.received = false
		err := c.Watch(ctx, q, w.lastID, w.take)
		switch {
		case w.failed != nil:
			return w.failed
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case w.received:
			failures = 0
			pause = resumeFirst
		case err != nil && (first || failure.Of(err).Code != failure.Unreachable):
			return err
		default:
			err = cmp.Or(err, errEmpty)
			failures++
			if failures >= maxFailures {
				return failure.New(failure.Unreachable, "the watch of the registry broke %d times in a row: %v", failures, err)
			}
		}
		if err == nil && w.received { // the registry ends a watch after some minutes
			continue
		}
		resuming(err)
		if err := a2aclient.Sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, resumeMost)
	}
}

// errEmpty is the error for a stream without an event.
var errEmpty error = failure.New(failure.Unreachable, "the stream ended without an event")

// follower is the state of Follow.
type follower struct {
	observe func(Change) error
	lastID  string
	// known are the digests of the agents that match, by namespace and name.
	known map[string][sha256.Size]byte
	// stale are the agents that were known before a reset and that the registry has not sent again since. It is nil except
	// between the events Reset and Synced.
	stale map[string]struct{}
	// received is true after the first event of the stream. failed is the error that ends Follow.
	received bool
	failed   error
}

var errStop = errors.New("watch ends")

// take applies an event. An error of take ends the stream.
func (w *follower) take(e registryapi.Event) error {
	w.received = true
	if e.ID != "" {
		w.lastID = e.ID
	}
	w.failed = w.apply(e)
	if w.failed != nil {
		return errStop
	}
	return nil
}

func (w *follower) apply(e registryapi.Event) error {
	switch e.Type {
	case registryapi.Reset:
		w.lastID = ""
		w.stale = make(map[string]struct{}, len(w.known))
		for key := range w.known {
			w.stale[key] = struct{}{}
		}
	case registryapi.Synced:
		for key := range w.stale {
			namespace, name, _ := strings.Cut(key, "/")
			if err := w.remove(namespace, name); err != nil {
				return err
			}
		}
		w.stale = nil
	case registryapi.Upsert:
		return w.upsert(e.Agent)
	case registryapi.Remove:
		return w.remove(e.Namespace, e.Name)
	case registryapi.Bookmark:
	}
	return nil
}

func (w *follower) upsert(agent registryapi.Agent) error {
	key := agent.Namespace + "/" + agent.Name
	digest := sha256.Sum256(agent.JSON)
	delete(w.stale, key)
	before, known := w.known[key]
	w.known[key] = digest
	switch {
	case !known:
		return w.observe(Change{Type: Added, Agent: agent})
	case before != digest:
		return w.observe(Change{Type: Changed, Agent: agent})
	}
	return nil
}

func (w *follower) remove(namespace, name string) error {
	key := namespace + "/" + name
	delete(w.stale, key)
	if _, known := w.known[key]; !known {
		return nil
	}
	delete(w.known, key)
	return w.observe(Change{Type: Removed, Agent: registryapi.Agent{Namespace: namespace, Name: name}})
}
