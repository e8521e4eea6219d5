// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Remote is an agent that runs elsewhere, as the registry tells of it. It is
// never changed.
type Remote struct {
	Namespace, Name string
	// URL is where its Agent says that it is, and Card what it was found to
	// serve there; Digest names that.
	URL    string
	Card   []byte
	Digest string
}

// Remotes serve agents that run elsewhere.
type Remotes interface {
	// ServeRemote answers a request whose path is the one that the agent would
	// see. base is where the agent is reached through the gateway.
	ServeRemote(w http.ResponseWriter, r *http.Request, agent *Remote, base string)
}

const (
	// remoteAge is how long it is believed what the registry said of an agent that
	// runs elsewhere, and remoteAgeLost while the registry does not answer.
	remoteAge     = 15 * time.Second
	remoteAgeLost = 10 * time.Minute
	// missingAge is how long it is believed that there is none.
	missingAge = 2 * time.Second
	// maxKnown and maxCards bound what is remembered, and maxEntry one answer.
	maxKnown = 256
	maxCards = 8 << 20
	maxEntry = 1 << 20
	// lookupTimeout bounds both questions.
	lookupTimeout = 5 * time.Second
)

// directory knows which agents run elsewhere.
type directory struct {
	transport http.RoundTripper
	now       func() time.Time
	asking    singleflight.Group

	mu sync.Mutex
	// known has those that were asked for, by namespace and name. It is made when
	// the first is.
	known map[string]entry
	// cards is what their cards take, in bytes.
	cards int
}

// entry is what the registry said; agent is nil for one that is not elsewhere.
type entry struct {
	agent *Remote
	asked time.Time
}

func (e entry) size() int {
	if e.agent == nil {
		return 0
	}
	return len(e.agent.Card)
}

func (e entry) age() time.Duration {
	if e.agent == nil {
		return missingAge
	}
	return remoteAge
}

// errRegistry is that of a registry that does not answer as it should, and
// errNoCard of an agent whose card was never read.
var (
	errRegistry = errors.New("the registry does not answer as it should")
	errNoCard   = errors.New("agent has no card yet")
)

// remembers reports whether an agent ran elsewhere when it was last asked for.
func (d *directory) remembers(w *way) bool {
	last, _ := d.recall(w.agent())
	return last.agent != nil
}

// find returns the agent, nil for one that is not elsewhere, or not to be seen.
func (d *directory) find(ctx context.Context, c *Config, w *way) (*Remote, error) {
	key := w.agent()
	last, age := d.recall(key)
	if age < last.age() {
		return last.agent, nil
	}
	// Who asks first may leave first.
	asking := context.WithoutCancel(ctx)
	found, err, _ := d.asking.Do(key, func() (any, error) { return d.ask(asking, c, w) })
	switch {
	case err == nil:
		agent, _ := found.(*Remote)
		return agent, nil
	case errors.Is(err, errRegistry) && last.agent != nil && age < remoteAgeLost:
		return last.agent, nil
	default:
		return nil, err //nolint:wrapcheck // it is ask's own
	}
}

// ask asks the registry, and keeps the answer.
func (d *directory) ask(ctx context.Context, c *Config, w *way) (*Remote, error) {
	last, age := d.recall(w.agent())
	if age < last.age() {
		return last.agent, nil // somebody has asked a moment ago
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	agent, err := d.look(ctx, c, w, last.agent)
	if err != nil {
		return nil, err
	}
	d.keep(w.agent(), entry{agent, d.now()})
	return agent, nil
}

// recall returns what the registry said last, and how long ago.
func (d *directory) recall(key string) (entry, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known[key]
	return e, d.now().Sub(e.asked)
}

func (d *directory) keep(key string, e entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cards += e.size() - d.known[key].size()
	if len(d.known) >= maxKnown || d.cards > maxCards || d.known == nil {
		d.known, d.cards = map[string]entry{}, e.size()
	}
	d.known[key] = e
}

// look reads the agent's entry and, unless it is the one that is known, its
// card.
func (d *directory) look(ctx context.Context, c *Config, w *way, last *Remote) (*Remote, error) {
	var listed struct {
		URL        string `json:"url"`
		Remote     bool   `json:"remote"`
		CardDigest string `json:"cardDigest"`
	}
	place := "/v1/agents/" + w.namespace + "/" + w.name
	text, found, err := d.get(ctx, c, place, w.token)
	if err != nil || !found {
		return nil, err
	}
	if err := json.Unmarshal(text, &listed); err != nil {
		return nil, fmt.Errorf("%w: %w", errRegistry, err)
	}
	if !listed.Remote {
		return nil, nil
	}
	if last != nil && last.URL == listed.URL && last.Digest == listed.CardDigest {
		return last, nil
	}
	text, found, err = d.get(ctx, c, place+"/card", w.token)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, errNoCard
	}
	return &Remote{Namespace: w.namespace, Name: w.name, URL: listed.URL, Card: text, Digest: listed.CardDigest}, nil
}

func (d *directory) get(ctx context.Context, c *Config, place, token string) (text []byte, found bool, err error) {
	address, err := url.Parse(strings.TrimSuffix(c.RegistryURL, "/") + place)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errRegistry, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errRegistry, err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("A2A-Version", "1.0")
	response, err := d.transport.RoundTrip(r)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errRegistry, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, false, nil
	default:
		return nil, false, fmt.Errorf("%w: %s", errRegistry, response.Status)
	}
	text, err = io.ReadAll(io.LimitReader(response.Body, maxEntry+1))
	if err == nil && len(text) > maxEntry {
		err = fmt.Errorf("answer is larger than %d bytes", maxEntry)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errRegistry, err)
	}
	return text, true, nil
}

// elsewhere returns the agent of a way when it runs elsewhere. An agent of the
// cluster has a Service: the registry is asked only about a name that leads
// nowhere, and about those that were elsewhere before.
func (h *Handler) elsewhere(ctx context.Context, c *Config, w *way) (*Remote, error) {
	if h.remotes == nil || w.base == "" {
		return nil, nil
	}
	if h.directory.remembers(w) {
		return h.directory.find(ctx, c, w)
	}
	if !named(w.target) {
		return nil, nil
	}
	_, err := h.schemes.of(ctx, w.target.Host)
	if _, nowhere := errors.AsType[*net.DNSError](err); !nowhere {
		return nil, err
	}
	agent, findErr := h.directory.find(ctx, c, w)
	if agent != nil || findErr != nil {
		return agent, findErr
	}
	return nil, err
}

// serveRemote hands a request on to who speaks with the agent. What the agent
// said of its own task is for others of the cluster.
func (h *Handler) serveRemote(w http.ResponseWriter, r *http.Request, agent *Remote, way *way) {
	out := r.Clone(r.Context())
	out.URL.Path, out.URL.RawPath = way.path()
	out.Header.Del(headerTask)
	h.remotes.ServeRemote(w, out, agent, way.base)
}
