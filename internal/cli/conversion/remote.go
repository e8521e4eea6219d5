// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// cardPaths are the usual paths of a card, below the path of the agent.
var cardPaths = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// cardPath is the pattern that the API server requires for spec.remote.cardPath.
var cardPath = regexp.MustCompile(`^/([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})*$`)

// FromCard returns a remote Agent for a card. place is the URL from which the card was read.
func FromCard(c *card.Card, place *url.URL, namespace, name string) (*Result, error) {
	if place == nil {
		return nil, failure.New(failure.Usage, "the card is a file, and a remote Agent needs the URL of the agent").
			WithHint("name the URL of the agent or of its card")
	}
	path := "/" + strings.TrimPrefix(place.EscapedPath(), "/")
	if place.RawQuery != "" || place.User != nil || !cardPath.MatchString(path) {
		return nil, failure.New(failure.Usage, "the URL of the card has a query, a user or a path that a remote Agent cannot have").
			WithHint("spec.remote.url is an origin with a path, and spec.remote.cardPath a path")
	}
	result := &Result{}
	s := NewSource("Card "+place.String(), map[string]any{}, nil, &result.Report)
	agent := NewAgent(namespace, AgentName(cmp.Or(name, c.Name, place.Hostname())))
	remote := &a2av1alpha1.AgentRemote{URL: (&url.URL{Scheme: place.Scheme, Host: place.Host}).String()}
	agent.Spec.Remote = remote
	remote.CardPath = path
	for _, usual := range cardPaths {
		if base, ok := strings.CutSuffix(path, usual); ok {
			remote.URL = remote.URL + base
			remote.CardPath = ""
		}
	}
	if place.Scheme == "http" {
		s.Check("the operator calls remote agents over https and at public addresses only, unless the installation allows the address", "use https, or add the address to remote.allow of the chart", "url")
	}
	s.interfaces(c, place)
	if len(c.SecuritySchemes) > 0 && !c.SecurityOptional {
		s.Check("the agent requires a credential", "set spec.remote.credentials, or let callers send the header Authorization", "securitySchemes")
	}
	result.Agents = append(result.Agents, agent)
	return result, nil
}

// interfaces reports the interfaces of the card that the operator does not list.
func (s *Source) interfaces(c *card.Card, place *url.URL) {
	listed := 0
	for i := range c.Interfaces {
		each := &c.Interfaces[i]
		u, err := url.Parse(each.URL)
		switch {
		case err != nil || u.Scheme != place.Scheme || !strings.EqualFold(u.Host, place.Host):
			s.note(LeftOut, Path("interfaces", i, "url"), "it is not at the origin of the card", "import the card from that origin if it has one")
		case each.Binding == card.GRPC:
			s.note(LeftOut, Path("interfaces", i, "url"), "agents of the cluster call remote agents over JSON-RPC or HTTP+JSON", NothingToDo)
		default:
			listed++
		}
	}
	if listed == 0 {
		s.Check("the card lists no JSON-RPC or HTTP+JSON address at its origin, so agents cannot call it", "ask the provider for such an address", "interfaces")
	}
}
