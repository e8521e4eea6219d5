// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

func TestParseQuery(t *testing.T) {
	tests := map[string]Query{
		"":                        {limit: 50},
		"skill=echo":              {limit: 50, terms: []string{"s:echo"}},
		"skill=b&skill=a&skill=b": {limit: 50, terms: []string{"s:a", "s:b"}},
		"tag=Web&tag=news":        {limit: 50, terms: []string{"t:news", "t:web"}},
		"text=Find+books%2C+now":  {limit: 50, terms: []string{"w:books", "w:find", "w:now"}},
		"inputMode=Text/Plain":    {limit: 50, terms: []string{"i:text/plain"}},
		"outputMode=image/png":    {limit: 50, terms: []string{"o:image/png"}},
		"namespace=team-a":        {limit: 50, terms: []string{"n:team-a"}, namespace: "team-a"},
		"ready=true":              {limit: 50, terms: []string{"r:true"}},
		"ready=false":             {limit: 50, terms: []string{"r:false"}},
		"remote=true":             {limit: 50, terms: []string{"e:true"}},
		"capability=streaming":    {limit: 50, terms: []string{"c:streaming"}},
		"capability=urn:x":        {limit: 50, terms: []string{"c:urn:x"}},
		"protocol=1.0":            {limit: 50, terms: []string{"v:1.0"}},
		"binding=http%2Bjson":     {limit: 50, terms: []string{"b:HTTP+JSON"}},
		"binding=HTTP+JSON":       {limit: 50, terms: []string{"b:HTTP+JSON"}},
		"provider=ACME+Inc":       {limit: 50, terms: []string{"p:acme inc"}},
		"minRevision=7-0":         {limit: 50, minRevision: Revision{Agents: 7}},
		"watch=true&since=x":      {limit: 50, watch: true, since: "x"},
		"limit=1":                 {limit: 1},
		"limit=200":               {limit: 200},
		"q=echo":                  {limit: 50, ranked: text.ParseQuery("echo"), rankedText: "echo"},
		"cursor=" + url.QueryEscape(position{Key: Key{"ns", "name"}}.cursor()): {limit: 50, after: position{Key: Key{"ns", "name"}}},
		"q=echo&cursor=" + url.QueryEscape(position{Key: Key{"ns", "name"}, ranked: true, score: 1.5}.cursor()): {
			limit: 50, ranked: text.ParseQuery("echo"), rankedText: "echo", after: position{Key: Key{"ns", "name"}, ranked: true, score: 1.5},
		},
	}
	for raw, want := range tests {
		t.Run(raw, func(t *testing.T) {
			got, err := ParseQuery(raw)
			if err != nil {
				t.Fatalf("ParseQuery() error = %v", err)
			}
			if diff := cmp.Diff(&want, got, cmp.AllowUnexported(Query{}, position{}), cmpopts.IgnoreFields(Query{}, "hashes")); diff != "" {
				t.Errorf("ParseQuery() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseQueryRejectsInvalidParameters(t *testing.T) {
	tests := map[string]struct{ raw, field, cure string }{
		"unknown parameter":   {"skil=echo", "skil", "use binding, capability, cursor, inputMode, limit, minRevision, namespace, outputMode, protocol, provider, q, ready, remote, since, skill, tag, text, watch"},
		"case matters":        {"Skill=echo", "Skill", "use binding, capability, cursor"},
		"empty value":         {"skill=", "skill", "omit it"},
		"long value":          {"tag=" + strings.Repeat("x", 513), "tag", "shorten"},
		"text without a word": {"text=%21%3F", "text", "letters or digits"},
		"too many conditions": {"text=" + strings.Repeat("+x", 33), "query", "omit some"},
		"bad namespace":       {"namespace=Team_A", "namespace", "lower case"},
		"two namespaces":      {"namespace=a&namespace=b", "namespace", "once"},
		"ready not a bool":    {"ready=yes", "ready", "true or false"},
		"remote not a bool":   {"remote=1", "remote", "true or false"},
		"two remotes":         {"remote=true&remote=false", "remote", "once"},
		"unknown capability":  {"capability=Streaming", "capability", "pushNotifications"},
		"no version":          {"protocol=v1", "protocol", "such as 1.0"},
		"unknown binding":     {"binding=SOAP", "binding", "GRPC"},
		"bad revision":        {"minRevision=7", "minRevision", "earlier response"},
		"negative revision":   {"minRevision=-7-1", "minRevision", "earlier response"},
		"watch not a bool":    {"watch=1", "watch", "true or false"},
		"page of a watch":     {"watch=true&limit=1", "limit", "omit it"},
		"cursor of a watch":   {"watch=true&cursor=MXRlYW0vYQ", "cursor", "omit it"},
		"since without watch": {"since=x", "since", "watch=true"},
		"two ids":             {"watch=true&since=x&since=y", "since", "once"},
		"limit zero":          {"limit=0", "limit", "1 to 200"},
		"limit too high":      {"limit=201", "limit", "follow nextCursor"},
		"limit no number":     {"limit=ten", "limit", "1 to 200"},
		"cursor not base64":   {"cursor=%2F%2F", "cursor", "nextCursor"},
		"cursor of others":    {"cursor=MnRlYW0vYQ", "cursor", "nextCursor"},
		"cursor of a list":    {"q=x&cursor=" + position{Key: Key{"a", "b"}}.cursor(), "cursor", "first page"},
		"cursor of a ranking": {"cursor=" + position{Key: Key{"a", "b"}, ranked: true, score: 1}.cursor(), "cursor", "first page"},
		"cursor without end":  {"q=x&cursor=" + position{Key: Key{"a", "b"}, ranked: true, score: math.Inf(1)}.cursor(), "cursor", "nextCursor"},
		"cursor of no score":  {"q=x&cursor=" + position{Key: Key{"a", "b"}, ranked: true, score: math.NaN()}.cursor(), "cursor", "nextCursor"},
		"q without a word":    {"q=%21%3F", "q", "letters or digits"},
		"two rankings":        {"q=a&q=b", "q", "once"},
		"bad escape":          {"skill=%zz", "query", "escape"},
		"semicolon":           {"skill=a;b", "query", "escape"},
		"too many parameters": {strings.Repeat("skill=a&", maxParameters+1), "query", "omit some"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParseQuery(tt.raw)
			var mistake *ParameterError
			if !errors.As(err, &mistake) {
				t.Fatalf("ParseQuery(%q) error = %v, want *ParameterError", tt.raw, err)
			}
			if mistake.Field != tt.field || !strings.Contains(mistake.Cure, tt.cure) {
				t.Errorf("ParseQuery(%q) = %q, want field %q and cure %q", tt.raw, mistake, tt.field, tt.cure)
			}
		})
	}
}

// parseParameters accepts and refuses the same queries as url.ParseQuery, up to maxParameters, and
// returns the same parameters.
func FuzzParameters(f *testing.F) {
	for _, raw := range []string{"", "&&", "a", "a=", "=b", "b=2&a=1&b=1&a=2", "a=%20+&%61=c", "a=%zz", "a;b=c", "a=b=c&%=d", strings.Repeat("z&a=1&", 20)} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := parseParameters(raw, nil)
		want, wantErr := url.ParseQuery(raw)
		if strings.Count(raw, "&") >= maxParameters {
			return
		}
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("parseParameters(%q) error = %v, want %v", raw, err, wantErr)
		}
		if err != nil {
			return
		}
		values := url.Values{}
		for i, p := range got {
			if i > 0 && p.name < got[i-1].name {
				t.Errorf("parameters of %q are not sorted: %v", raw, got)
			}
			values.Add(p.name, p.value)
		}
		if diff := cmp.Diff(want, values); diff != "" {
			t.Errorf("parameters of %q (-want +got):\n%s", raw, diff)
		}
	})
}

func FuzzParseQuery(f *testing.F) {
	f.Add("skill=a&tag=b&text=c+d&limit=3&cursor=MXRlYW0vYQ")
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := ParseQuery(raw)
		var mistake *ParameterError
		if err != nil && !errors.As(err, &mistake) {
			t.Fatalf("error of another type: %v", err)
		}
		if err == nil && (q.limit < 1 || q.limit > maxLimit || len(q.terms) > maxConditions) {
			t.Fatalf("accepted out of bounds: %+v", q)
		}
	})
}
