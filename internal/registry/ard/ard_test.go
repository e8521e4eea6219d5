// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

func TestNewPublisher(t *testing.T) {
	for name, test := range map[string]struct {
		domain, url string
		want        *ard.Publisher
	}{
		"a domain":             {"Agents.Example.com", "https://registry.svc/", &ard.Publisher{Domain: "agents.example.com", BaseURL: "https://registry.svc"}},
		"the host of the URL":  {"", "http://registry.a2a.svc:8080", &ard.Publisher{Domain: "registry.a2a.svc", BaseURL: "http://registry.a2a.svc:8080"}},
		"a URL without a host": {"", "registry", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ard.NewPublisher(test.domain, test.url)
			if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != (test.want == nil) {
				t.Errorf("NewPublisher() error = %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestEntryOfAnAgent(t *testing.T) {
	p := &ard.Publisher{Domain: "acme.com", BaseURL: "http://registry"}
	for name, test := range map[string]struct {
		item string
		want ard.Entry
	}{
		"without a card": {
			`{"namespace":"shop","name":"cart","displayName":"","ready":false,"skills":[]}`,
			ard.Entry{
				Identifier: "urn:air:acme.com:shop:cart", DisplayName: "cart", Type: ard.TypeAgentCard, URL: "http://registry/ard/cards/shop/cart",
				Metadata: map[string]any{"namespace": "shop", "name": "cart", "ready": false, "remote": false, "streaming": false},
			},
		},
		"remote, with a provider": {
			`{"namespace":"shop","name":"cart","displayName":"Cart","url":"https://cart.example","externalURL":"https://x.example","ready":true,"remote":true,
			  "updatedAt":"2026-01-31T12:00:00Z","provider":{"organization":"ACME"},"capabilities":{"streaming":true},"skills":[]}`,
			ard.Entry{
				Identifier: "urn:air:acme.com:shop:cart", DisplayName: "Cart", Type: ard.TypeAgentCard, URL: "http://registry/ard/cards/shop/cart",
				UpdatedAt: "2026-01-31T12:00:00Z", RepresentativeQueries: []string{"Cart", "cart"},
				Metadata: map[string]any{
					"namespace": "shop", "name": "cart", "ready": true, "remote": true, "streaming": true, "provider": "ACME", "externalURL": "https://x.example",
				},
			},
		},
		"without a ready pod": {
			`{"namespace":"shop","name":"cart","displayName":"Cart","url":"http://cart/","skills":[]}`,
			ard.Entry{
				Identifier: "urn:air:acme.com:shop:cart", DisplayName: "Cart", Type: ard.TypeAgentCard, URL: "http://registry/ard/cards/shop/cart",
				RepresentativeQueries: []string{"Cart", "cart"},
				Metadata:              map[string]any{"namespace": "shop", "name": "cart", "ready": false, "remote": false, "streaming": false},
			},
		},
		"an example of each skill first": {
			`{"namespace":"shop","name":"cart","displayName":"Cart","url":"http://cart/","ready":true,"skills":[
			  {"id":"a","examples":["a1","a2","a3","a4"],"tags":["t","u"]},{"id":"b","examples":["b1","a2"," "],"tags":["u"]}]}`,
			ard.Entry{
				Identifier: "urn:air:acme.com:shop:cart", DisplayName: "Cart", Type: ard.TypeAgentCard, URL: "http://cart/.well-known/agent-card.json",
				Tags: []string{"t", "u"}, Capabilities: []string{"a", "b"}, RepresentativeQueries: []string{"a1", "b1", "a2", "a3", "a4"},
				Metadata: map[string]any{"namespace": "shop", "name": "cart", "ready": true, "remote": false, "streaming": false},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := p.AgentEntry([]byte(test.item))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("AgentEntry() (-want +got):\n%s", diff)
			}
			namespace, agent, ok := p.ParseAgentID(got.Identifier)
			if !ok || namespace != "shop" || agent != "cart" {
				t.Errorf("ParseAgentID() = %s/%s, %t", namespace, agent, ok)
			}
		})
	}
}

func TestEntryOfAnAgentWithManyTags(t *testing.T) {
	tags := make([]string, 0, 140_000)
	for i := range cap(tags) {
		tags = append(tags, fmt.Sprint(i/2))
	}
	item, err := json.Marshal(map[string]any{"namespace": "shop", "name": "cart", "skills": []any{map[string]any{"id": "a", "tags": tags}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&ard.Publisher{Domain: "acme.com"}).AgentEntry(item)
	if err != nil || len(got.Tags) != cap(tags)/2 {
		t.Errorf("AgentEntry() has %d tags, error %v", len(got.Tags), err)
	}
}

func TestListByTime(t *testing.T) {
	l, err := ard.ParseList("filter=updatedAfter+%3E+%272026-02-01%27+AND+version%3D1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	for updated, want := range map[string]bool{"2026-02-01T00:00:01Z": true, "2026-02-01T00:00:00Z": false, "": false} {
		if got := l.IsUpdated(&ard.Entry{UpdatedAt: updated}); got != want {
			t.Errorf("an entry of %q is updated: %t", updated, got)
		}
	}
	p := &ard.Publisher{Domain: "acme.com"}
	for version, want := range map[string]bool{"1.0.0": true, "2.0.0": false} {
		if got := p.Matches(l.Filter.Matcher(), &ard.Entry{Version: version}); got != want {
			t.Errorf("an entry of version %s matches: %t", version, got)
		}
	}
}

// A filter matches texts in both encodings of Unicode, and ignores the case of types and publishers.
func TestFilterComparesValues(t *testing.T) {
	p := &ard.Publisher{Domain: "acme.com"}
	e := &ard.Entry{Type: ard.TypeAgentCard, Tags: []string{"a", "cafe\u0301"}, Metadata: map[string]any{"ready": true}}
	for _, test := range []struct {
		filter  ard.Filter
		matches bool
	}{
		{ard.Filter{"tags": {"x", "caf\u00e9"}}, true},
		{ard.Filter{"tags": {"cafe\u0301"}, "metadata.ready": {"true"}}, true},
		{ard.Filter{"tags": {"cafe"}}, false},
		{ard.Filter{"tags": {"A"}}, false},
		{ard.Filter{"tags": {"a"}, "metadata.ready": {"false"}}, false},
		{ard.Filter{"type": {"Application/A2A-Agent-Card+JSON ; x=1"}, "publisher": {"ACME.com"}}, true},
		{ard.Filter{"type": {"text/plain"}}, false},
		{ard.Filter{"publisher": {"other.example"}}, false},
		{ard.Filter{"metadata.provider": {"true"}}, false},
	} {
		if got := p.Matches(test.filter.Matcher(), e); got != test.matches {
			t.Errorf("%q matches: %t", test.filter, got)
		}
	}
}

// A filter with texts that are not in NFC normalizes each text of an entry once, whatever the number of its own texts.
func TestFilterNormalizesEachTextOnce(t *testing.T) {
	p := &ard.Publisher{Domain: "acme.com"}
	text := func(kind string, i int) string { return fmt.Sprint(kind, i, strings.Repeat("a\u0327\u0301", 80)) }
	e := &ard.Entry{}
	for i := range 20 {
		e.Tags = append(e.Tags, text("entry", i))
	}
	allocations := func(n int) float64 {
		f := ard.Filter{}
		for i := range n {
			f["tags"] = append(f["tags"], text("filter", i))
		}
		m := f.Matcher()
		return testing.AllocsPerRun(10, func() {
			if p.Matches(m, e) {
				t.Error("the entry matches")
			}
		})
	}
	if one, many := allocations(1), allocations(64); many > one {
		t.Errorf("an entry costs %v allocations for one text and %v for 64, want as many", one, many)
	}
	securitypage.Attempts(t, "T-SEARCH", 64)
}

// A request that is parsed is within the limits. Otherwise, the error names a field and its message
// is bounded.
func FuzzParse(f *testing.F) {
	f.Add(`{"query":{"text":"x","filter":{"tags":["a"],"type":"b"}},"federation":"auto","pageSize":3,"pageToken":"t"}`)
	f.Add(`{"query":{},"resultType":{"facets":[{"field":"tags","limit":3,"minCount":2}]}}`)
	f.Add(`filter=tags+%3D+%27a,b%27+AND+updatedAfter+%3E+2026-01-31&pageSize=3`)
	f.Fuzz(func(t *testing.T, body string) {
		check := func(err error) bool {
			if err == nil {
				return true
			}
			mistake, ok := errors.AsType[*ard.RequestError](err)
			if !ok || mistake.Field == "" || len(mistake.Cure) > 512 {
				t.Errorf("%q: %v", body, err)
			}
			return false
		}
		if s, err := ard.ParseSearch([]byte(body)); check(err) && (*s.PageSize < 1 || *s.PageSize > 100 || s.Query.Text == "") {
			t.Errorf("search %+v of %q", s, body)
		}
		if e, err := ard.ParseExplore([]byte(body)); check(err) {
			p := &ard.Publisher{Domain: "acme.com"}
			counter := p.NewCounter(e)
			counter.Add(&ard.Entry{Tags: []string{"a"}})
			if _, err := json.Marshal(counter.Response()); err != nil {
				t.Error(err)
			}
		}
		if l, err := ard.ParseList(body); check(err) && (l.PageSize < 1 || l.PageSize > 100) {
			t.Errorf("list %+v of %q", l, body)
		}
		if strings.Count(body, ":") == 4 {
			(&ard.Publisher{Domain: "acme.com"}).ParseAgentID(body)
		}
	})
}
