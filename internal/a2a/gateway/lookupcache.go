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

	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/remotecredentials"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
)

const (
	// retryAge is the time until the registry is asked again after it did not respond.
	retryAge = 5 * time.Second
	// maxKnown is the maximum number of cached listings. maxCards is the default of
	// Options.MaxCards, and maxEntry the maximum size of a response, in bytes.
	maxKnown = 256
	maxCards = 8 << 20
	maxEntry = 1 << 20
	// lookupTimeout bounds the time of both requests of a lookup, for an entry and for its card.
	lookupTimeout = 5 * time.Second
)

// listings caches the entries of the registry. The gateway calls only agents that the
// registry lists.
type listings struct {
	transport http.RoundTripper
	now       func() time.Time
	// maxCards bounds cards.
	maxCards int
	// credentials gets the credentials of remote agents.
	credentials *remotecredentials.Source
	asking      singleflight.Group

	mu sync.Mutex
	// known maps an agent's namespace/name to its listing.
	known map[string]*listing
	// cards is the total size of the cards of remote agents, in bytes.
	cards int
}

// find returns the listing of an agent, from the cache or from the registry. Concurrent
// calls for an agent share one lookup (singleflight). If the registry does not respond,
// find uses a listing up to listedAgeLost old. Its error is the reason why the agent
// cannot be called.
func (d *listings) find(ctx context.Context, c *Config, to *destination) (*listing, error) {
	key := to.agent()
	now := d.now()
	last, tried := d.recall(key)
	if last != nil && (last.fresh(now) || last.holds(now) && now.Sub(tried) < retryAge) {
		return last, last.err()
	}
	// The lookup continues if ctx of this request ends, because other requests may wait for it.
	asking := context.WithoutCancel(ctx)
	found, err, _ := d.asking.Do(key, func() (any, error) { return d.ask(asking, c, to) })
	if err != nil {
		if errors.Is(err, errRegistry) && last != nil && last.holds(now) {
			return last, nil
		}
		return nil, err
	}
	next, _ := found.(*listing)
	return next, next.err()
}

// ask reads the agent's entry from the registry and caches the listing.
func (d *listings) ask(ctx context.Context, c *Config, to *destination) (*listing, error) {
	last, _ := d.recall(to.agent())
	if last != nil && last.fresh(d.now()) {
		return last, nil // another request has just read the entry
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	next, err := d.look(ctx, c, to, last)
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if last != nil {
			last.tried = d.now()
		}
		return nil, err
	}
	next.asked = d.now()
	d.keep(to.agent(), next)
	return next, nil
}

// recall returns the cached listing, or nil, and the time of the last failed request.
func (d *listings) recall(key string) (last *listing, tried time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	last = d.known[key]
	if last != nil {
		tried = last.tried
	}
	return last, tried
}

// keep caches a listing. If there is no room, it drops the oldest listings.
func (d *listings) keep(key string, l *listing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget(key)
	for len(d.known) > 0 && (len(d.known) >= maxKnown || d.cards+l.size() > d.maxCards) {
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

// forget removes a listing from the cache. d.mu must be held.
func (d *listings) forget(key string) {
	if l := d.known[key]; l != nil {
		d.cards -= l.size()
		delete(d.known, key)
	}
}

// look reads the agent's entry and, for a remote agent, its card. last is the cached
// listing, nil for none. If last contains the card that the entry names, look does not read
// the card again.
func (d *listings) look(ctx context.Context, c *Config, to *destination, last *listing) (*listing, error) {
	var listed struct {
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
		URL        string `json:"url"`
		Remote     bool   `json:"remote"`
		CardDigest string `json:"cardDigest"`
	}
	place := "/v1/agents/" + to.namespace + "/" + to.name
	text, found, err := d.get(ctx, c, place, to.registryToken)
	if err != nil {
		return nil, err
	}
	if !found {
		return &listing{}, nil
	}
	if err := json.Unmarshal(text, &listed); err != nil {
		return nil, fmt.Errorf("%w: %w", errRegistry, err)
	}
	if listed.Namespace != to.namespace || listed.Name != to.name {
		return nil, fmt.Errorf("%w: it was asked for %s, and answers with %s/%s", errRegistry, to.agent(), listed.Namespace, listed.Name)
	}
	if !listed.Remote {
		secure := strings.HasPrefix(listed.URL, "https://")
		return &listing{found: true, address: listed.URL != "", secure: secure}, nil
	}
	if last != nil && last.agent != nil && last.agent.URL == listed.URL && last.agent.Digest == listed.CardDigest {
		return &listing{found: true, address: true, agent: last.agent}, nil
	}
	text, found, err = d.get(ctx, c, place+"/card", to.registryToken)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, errNoCard
	}
	return &listing{found: true, address: true, agent: &Remote{
		Namespace: to.namespace, Name: to.name, URL: listed.URL, Card: text, Digest: listed.CardDigest,
		Credential: func(ctx context.Context, origin, refused string) (remotecredential.Credential, error) {
			return d.credentials.Get(ctx, listed.Namespace, listed.Name, origin, delegation.From(ctx), refused)
		},
	}}, nil
}

func (d *listings) get(ctx context.Context, c *Config, place, token string) (text []byte, found bool, err error) {
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
		return nil, false, fmt.Errorf("%w: %w", errRegistry, statusError(response.StatusCode))
	}
	text, err = io.ReadAll(io.LimitReader(response.Body, maxEntry+1))
	if err == nil && len(text) > maxEntry {
		err = fmt.Errorf("%w: more than %d bytes", errTooLong, maxEntry)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errRegistry, err)
	}
	return text, true, nil
}
