// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
)

// Bounds on a card. What is listed is kept in a ConfigMap.
const (
	maxCard   = 512 << 10
	maxSkills = 256
)

// wellKnown are the places of a card, that of 0.3 and later first.
var wellKnown = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// look reads the card of an agent within the time of ctx. With an error what is seen has a Failure.
func (s *Source) look(ctx context.Context, a *a2av1alpha1.Agent) (*clusterstate.Remote, error) {
	seen, err := s.read(ctx, a)
	if err != nil {
		return &clusterstate.Remote{Failure: failureOf(a, err)}, err
	}
	return seen, nil
}

func (s *Source) read(ctx context.Context, a *a2av1alpha1.Agent) (*clusterstate.Remote, error) {
	origin, err := url.Parse(a.Spec.Remote.URL)
	if err != nil {
		return nil, fmt.Errorf("%w: spec.remote.url cannot be read", errInvalid)
	}
	name, value, err := s.credential(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCredentials, err)
	}
	text, err := s.fetch(ctx, origin, a.Spec.Remote.CardPath, name, value)
	if err != nil {
		return nil, err
	}
	c, err := card.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	return pin(c, origin)
}

// pin keeps of a card the addresses at its agent's own origin: who calls by
// what the registry says calls whom the Agent names, and nobody else.
func pin(c *card.Card, origin *url.URL) (*clusterstate.Remote, error) {
	if len(c.Skills) > maxSkills {
		return nil, fmt.Errorf("%w: it has more than %d skills", errInvalid, maxSkills)
	}
	all := len(c.Interfaces)
	c.Interfaces = slices.DeleteFunc(c.Interfaces, func(i card.Interface) bool { return !within(i, origin) })
	if len(c.Interfaces) == 0 {
		return nil, fmt.Errorf("%w: none of its %d addresses is at %s", errInvalid, all, base(origin))
	}
	return &clusterstate.Remote{Card: c, OmittedAddresses: all - len(c.Interfaces)}, nil
}

// within tells whether an interface is served at an origin. Those of gRPC are a
// host and a port.
func within(i card.Interface, origin *url.URL) bool {
	text := i.URL
	if i.Binding == card.GRPC && !strings.Contains(text, "://") {
		text = origin.Scheme + "://" + text
	}
	u, err := url.Parse(text)
	return err == nil && u.User == nil && base(u) == base(origin)
}

// base is the origin of a URL (RFC 6454), with its port.
func base(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// fetch reads the card at its place, or at the first of the well-known ones
// that has one.
func (s *Source) fetch(ctx context.Context, origin *url.URL, cardPath, header, value string) ([]byte, error) {
	places := []string{base(origin) + cardPath}
	if cardPath == "" {
		places = places[:0]
		for _, path := range wellKnown {
			places = append(places, base(origin)+strings.TrimSuffix(origin.EscapedPath(), "/")+path)
		}
	}
	var missing error
	for _, place := range places {
		text, err := s.get(ctx, place, header, value)
		if err == nil || !errors.Is(err, errNotServed) {
			return text, err
		}
		if missing == nil {
			missing = err
		}
	}
	return nil, missing
}

func (s *Source) get(ctx context.Context, place, header, value string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, place, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%w: spec.remote.url and cardPath make no URL", errInvalid)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", a2av1alpha1.ManagedBy)
	// Who serves a card in each version is asked for that of the latest.
	request.Header.Set("A2A-Version", "1.0")
	if header != "" {
		request.Header.Set(header, value)
	}
	response, err := s.options.Guard.RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("get card: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, refusal{status: response.StatusCode, path: request.URL.Path, location: response.Header.Get("Location")}
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxCard+1))
	if err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	if len(text) > maxCard {
		return nil, fmt.Errorf("%w: it has more than %d KiB", errInvalid, maxCard>>10)
	}
	return text, nil
}
