// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// listedAge is how long a listing is used before the registry is asked again,
	// and missingAge how long it is believed that there is none.
	listedAge  = 15 * time.Second
	missingAge = 2 * time.Second
	// listedAgeLost is how long a listing of an agent of the cluster is used while
	// the registry does not answer, and remoteAgeLost that of one that runs
	// elsewhere. The registry is asked again after retryAge.
	listedAgeLost = time.Hour
	remoteAgeLost = 10 * time.Minute
	retryAge      = 5 * time.Second
	// maxKnown and maxCards bound what is remembered, and maxEntry one answer.
	maxKnown = 256
	maxCards = 8 << 20
	maxEntry = 1 << 20
	// lookupTimeout bounds both questions.
	lookupTimeout = 5 * time.Second
)

// directory knows what the registry lists. Whatever it does not list for the
// names of a request is not called.
type directory struct {
	transport http.RoundTripper
	now       func() time.Time
	asking    singleflight.Group

	mu sync.Mutex
	// known has those that were asked for, by namespace and name.
	known map[string]*listing
	// cards is what the cards of remote agents take, in bytes.
	cards int
}

// listing is what the registry said of a name. It does not change, but for tried.
type listing struct {
	// found is true when the registry lists an agent, and address when that has
	// one: until then nobody knows whose Service has its name.
	found, address bool
	// agent is nil for an agent of the cluster.
	agent *Remote
	asked time.Time
	// tried is when the registry last failed to answer about it. directory.mu guards it.
	tried time.Time
}

func (l *listing) size() int {
	if l.agent == nil {
		return 0
	}
	return len(l.agent.Card)
}

// fresh reports whether the registry need not be asked.
func (l *listing) fresh(now time.Time) bool {
	age := listedAge
	if !l.found || !l.address {
		age = missingAge
	}
	return now.Sub(l.asked) < age
}

// holds reports whether the listing is used while the registry does not answer.
func (l *listing) holds(now time.Time) bool {
	age := listedAgeLost
	if l.agent != nil {
		age = remoteAgeLost
	}
	return l.found && l.address && now.Sub(l.asked) < age
}

// err says why the agent cannot be called; nil when it can.
func (l *listing) err() error {
	switch {
	case !l.found:
		return errNotListed
	case !l.address:
		return errNoAddress
	default:
		return nil
	}
}

// find returns the listing of an agent that may be called.
func (d *directory) find(ctx context.Context, c *Config, w *way) (*listing, error) {
	key, now := w.agent(), d.now()
	last, tried := d.recall(key)
	if last != nil && (last.fresh(now) || last.holds(now) && now.Sub(tried) < retryAge) {
		return last, last.err()
	}
	// Who asks first may leave first.
	asking := context.WithoutCancel(ctx)
	found, err, _ := d.asking.Do(key, func() (any, error) { return d.ask(asking, c, w) })
	if err != nil {
		if errors.Is(err, errRegistry) && last != nil && last.holds(now) {
			return last, nil
		}
		return nil, err //nolint:wrapcheck // it is ask's own
	}
	next, _ := found.(*listing)
	return next, next.err()
}

// ask asks the registry, and keeps the answer.
func (d *directory) ask(ctx context.Context, c *Config, w *way) (*listing, error) {
	last, _ := d.recall(w.agent())
	if last != nil && last.fresh(d.now()) {
		return last, nil // another request has asked a moment ago
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	next, err := d.look(ctx, c, w, last)
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if last != nil {
			last.tried = d.now()
		}
		return nil, err
	}
	next.asked = d.now()
	d.keep(w.agent(), next)
	return next, nil
}

// recall returns what the registry said last, nil for nothing, and when it last
// failed to say more.
func (d *directory) recall(key string) (last *listing, tried time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last = d.known[key]; last != nil {
		tried = last.tried
	}
	return last, tried
}

// keep remembers a listing. The oldest give way.
func (d *directory) keep(key string, l *listing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(key)
	for len(d.known) > 0 && (len(d.known) >= maxKnown || d.cards+l.size() > maxCards) {
		oldest := ""
		for other, o := range d.known {
			if oldest == "" || o.asked.Before(d.known[oldest].asked) {
				oldest = other
			}
		}
		d.forget(oldest)
	}
	d.known[key] = l
	d.cards += l.size()
}

// forget needs mu.
func (d *directory) forget(key string) {
	if l := d.known[key]; l != nil {
		d.cards -= l.size()
		delete(d.known, key)
	}
}

// look reads the agent's entry and, for one that runs elsewhere, its card, unless
// that is the one that is known.
func (d *directory) look(ctx context.Context, c *Config, w *way, last *listing) (*listing, error) {
	var listed struct {
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
		URL        string `json:"url"`
		Remote     bool   `json:"remote"`
		CardDigest string `json:"cardDigest"`
	}
	place := "/v1/agents/" + w.namespace + "/" + w.name
	text, found, err := d.get(ctx, c, place, w.token)
	if err != nil {
		return nil, err
	}
	if !found {
		return &listing{}, nil
	}
	if err := json.Unmarshal(text, &listed); err != nil {
		return nil, fmt.Errorf("%w: %w", errRegistry, err)
	}
	if listed.Namespace != w.namespace || listed.Name != w.name {
		return nil, fmt.Errorf("%w: it was asked for %s, and answers with %s/%s", errRegistry, w.agent(), listed.Namespace, listed.Name)
	}
	if !listed.Remote {
		return &listing{found: true, address: listed.URL != ""}, nil
	}
	if last != nil && last.agent != nil && last.agent.URL == listed.URL && last.agent.Digest == listed.CardDigest {
		return &listing{found: true, address: true, agent: last.agent}, nil
	}
	text, found, err = d.get(ctx, c, place+"/card", w.token)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, errNoCard
	}
	return &listing{found: true, address: true, agent: &Remote{
		Namespace: w.namespace, Name: w.name, URL: listed.URL, Card: text, Digest: listed.CardDigest,
	}}, nil
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
