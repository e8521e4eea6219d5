// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/a2a-operator/a2a-operator/internal/operator/cachedlabels"
)

func parse(t *testing.T, text string) *Rules {
	t.Helper()
	rules, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func permits(permissions []Permission, at types.NamespacedName, host, path string) bool {
	for _, p := range permissions {
		if p.Permits(at, host, path) {
			return true
		}
	}
	return false
}

// TestPermits checks the hostnames that a tenant may request, against one rule.
func TestPermits(t *testing.T) {
	public := types.NamespacedName{Namespace: "gateways", Name: "public"}
	for _, test := range []struct {
		rule       string
		host, path string
		at         types.NamespacedName
		want       bool
	}{
		{rule: `hostnames: [a.example]`, host: "a.example", want: true},
		{rule: `hostnames: [a.example]`, host: "b.example"},
		{rule: `hostnames: [a.example]`, host: "x.a.example"},
		{rule: `hostnames: [a.example]`, host: "*.example"},
		{rule: `hostnames: [a.example]`, host: ""},
		{rule: `hostnames: ["*.example"]`, host: "a.example", want: true},
		{rule: `hostnames: ["*.example"]`, host: "b.a.example", want: true},
		{rule: `hostnames: ["*.example"]`, host: "*.example", want: true},
		{rule: `hostnames: ["*.example"]`, host: "*.a.example", want: true},
		{rule: `hostnames: ["*.example"]`, host: "example"},
		{rule: `hostnames: ["*.example"]`, host: "aexample"},
		{rule: `hostnames: ["*.a.example"]`, host: "*.example"},
		{rule: `hostnames: ["*.example"]`, host: ""},
		{rule: `hostnames: ["*"]`, host: "", want: true},
		{rule: `hostnames: ["*"]`, host: "*.example", want: true},
		{rule: `hostnames: ["*.{namespace}.example"]`, host: "a.team.example", want: true},
		{rule: `hostnames: ["*.{namespace}.example"]`, host: "a.other.example"},
		{rule: `hostnames: ["*"], paths: [/a]`, path: "/a", want: true},
		{rule: `hostnames: ["*"], paths: [/a]`, path: "/a/b", want: true},
		{rule: `hostnames: ["*"], paths: [/a]`, path: "/ab"},
		{rule: `hostnames: ["*"], paths: [/a]`, path: "/"},
		{rule: `hostnames: ["*"], paths: [/]`, path: "/ab", want: true},
		{rule: `hostnames: ["*"], paths: ["/{namespace}"]`, path: "/team/echo", want: true},
		{rule: `hostnames: ["*"], gateways: [{namespace: gateways, name: public}]`, at: public, want: true},
		{rule: `hostnames: ["*"], gateways: [{namespace: gateways, name: public}]`, at: types.NamespacedName{Namespace: "team", Name: "public"}},
		{rule: `hostnames: ["*"], gateways: [{name: public}]`, at: types.NamespacedName{Namespace: "team", Name: "public"}, want: true},
		{rule: `hostnames: ["*"], gateways: [{name: public}]`, at: public},
	} {
		rules := parse(t, "allowed: [{namespaces: [team], "+test.rule+"}]")
		path := test.path
		if path == "" {
			path = "/"
		}
		if got := permits(rules.For("team", nil), test.at, test.host, path); got != test.want {
			t.Errorf("%s permits %q at %s, path %q: %t", test.rule, test.host, test.at, path, got)
		}
		if permits(rules.For("other", nil), test.at, test.host, path) {
			t.Errorf("%s permits a namespace that it does not name", test.rule)
		}
	}
	if got := (*Rules)(nil).For("team", nil); got != nil {
		t.Errorf("no rules allow %v", got)
	}
}

// TestPermitsURL checks the URLs that a tenant may put on the card.
func TestPermitsURL(t *testing.T) {
	below := Permission{Hostnames: []string{"*.team.example"}, Paths: []string{"/a"}}
	everything := Permission{Hostnames: []string{"*"}}
	for address, want := range map[string]bool{
		"https://x.team.example/a":                true,
		"https://X.Team.Example:8443/a/b":         true,
		"http://x.team.example/a":                 true,
		"https://x.team.example/":                 false,
		"https://x.team.example/a/../b":           false,
		"https://x.team.example/a/%2e%2e/b":       false,
		"https://team.example/a":                  false,
		"https://other.example/a?x=.team.example": false,
		"https://other.example/.team.example/a":   false,
		"https://other.example%00.team.example/a": false,
		"https://other.example\\.team.example/a":  false,
		"https://x.team.example.other.example/a":  false,
		"https://x.team.example@other.example/a":  false,
		"https://xn--.team.example/a":             false,
		"https://\u0430.team.example/a":           false,
		"https://192.0.2.1/a":                     false,
		"https://[2001:db8::1]/a":                 false,
		"https://x.team.example./a":               false,
		"https://x.team.example/a/":               true,
		"https://x.team.example/a/b/..":           false,
		"https://x.team.example/b/../a/":          false,
		"https://x.team.example/b/..%2fa/":        false,
		"https://x.team.example/a%2f..%2fb/":      false,
		"https://x.team.example/b/%2e%2e/a/":      false,
		"https://x.team.example/b/..%5ca":         false,
		"https://x.team.example/a/..;/b/":         false,
		"https://x.team.example/a/..\\..\\b":      false,
		"https://x.team.example//a/":              false,
		"https://x.team.example/a//b":             false,
		"ftp://x.team.example/a":                  false,
		"//x.team.example/a":                      false,
		"https://*.team.example/a":                false,
	} {
		if got := below.PermitsURL(types.NamespacedName{}, address); got != want {
			t.Errorf("PermitsURL(%q) = %t", address, got)
		}
	}
	for _, address := range []string{"https://[2001:db8::1]/", "https://192.0.2.1/", "https://x.example", "https://x.example/%C3%A4;v=1"} {
		if !everything.PermitsURL(types.NamespacedName{}, address) {
			t.Errorf("* does not permit %s", address)
		}
	}
}

func TestNamespaceSelector(t *testing.T) {
	rules := parse(t, `{allowed: [{namespaceSelector: {matchLabels: {tier: gold}}, hostnames: [a.example]}]}`)
	for value, want := range map[string]int{"gold": 1, "silver": 0} {
		if got := rules.For("any", map[string]string{"tier": value}); len(got) != want {
			t.Errorf("tier %s: %v", value, got)
		}
	}
	if got := rules.For("any", nil); len(got) != 0 {
		t.Errorf("without labels: %v", got)
	}
	if got := parse(t, `allowed: [{namespaceSelector: {}, hostnames: [a.example]}]`).For("any", nil); len(got) != 1 {
		t.Errorf("a selector of all namespaces: %v", got)
	}
}

// TestUnknownLabelsMatchNoSelector checks the selectors that match a namespace without labels, for a
// namespace whose labels the cache does not have.
func TestUnknownLabelsMatchNoSelector(t *testing.T) {
	for _, selector := range []string{
		`{matchExpressions: [{key: tier, operator: DoesNotExist}]}`,
		`{matchExpressions: [{key: tier, operator: NotIn, values: [silver]}]}`,
		`{}`,
	} {
		rules := parse(t, `{allowed: [{namespaces: [listed], namespaceSelector: `+selector+`, hostnames: [a.example]}]}`)
		unknown := cachedlabels.Unknown()
		if got := rules.For("any", unknown); got != nil {
			t.Errorf("%s allows %v", selector, got)
		}
		if got := rules.For("any", nil); len(got) != 1 {
			t.Errorf("%s without labels: %v", selector, got)
		}
		if got := rules.For("listed", unknown); len(got) != 1 {
			t.Errorf("%s for a listed namespace: %v", selector, got)
		}
	}
}

// TestParseNamesTheField checks that a mistake refuses the rules: a rule without its restriction would allow more.
func TestParseNamesTheField(t *testing.T) {
	for text, want := range map[string]string{
		`allowed: [{hostnames: [a.example]}]`:                                               "allowed[0].namespaces is empty",
		`allowed: [{namespaces: [a]}]`:                                                      "allowed[0].hostnames is empty",
		`allowed: [{namespaces: [a], hostnames: [""]}]`:                                     `allowed[0].hostnames[0] is ""`,
		`allowed: [{namespaces: [a], hostnames: [A.example]}]`:                              `allowed[0].hostnames[0] is "A.example"`,
		`allowed: [{namespaces: [a], hostnames: ["a.*"]}]`:                                  `allowed[0].hostnames[0] is "a.*"`,
		`allowed: [{namespaces: [a], hostnames: ["*example"]}]`:                             `allowed[0].hostnames[0]`,
		`allowed: [{namespaces: [a], hostnames: ["*."]}]`:                                   `allowed[0].hostnames[0]`,
		`allowed: [{namespaces: ["*"], hostnames: [a.example]}]`:                            `allowed[0].namespaces[0] is "*"`,
		`allowed: [{namespaces: [a], hostnames: [a.example], paths: [a]}]`:                  `allowed[0].paths[0] is "a"`,
		`allowed: [{namespaces: [a], hostnames: [a.example], paths: [/a/]}]`:                `allowed[0].paths[0] is "/a/"`,
		`allowed: [{namespaces: [a], hostnames: [a.example], path: [/a]}]`:                  `unknown field "path"`,
		`allowed: [{namespaces: [a], hostnames: [a.example], gateways: [{}]}]`:              "allowed[0].gateways[0].name is empty",
		`allowed: [{namespaces: [a], hostnames: [a.example], gateways: [public]}]`:          "gateways",
		`allowed: [{namespaceSelector: {matchLabels: {"a b": c}}, hostnames: [a.example]}]`: "allowed[0].namespaceSelector is not valid",
		`permitted: []`: `unknown field "permitted"`,
		`[]`:            "must have the field allowed",
		`allowed: [` + strings.Repeat("{},", maxRules+1) + `]`: "allowed has 1025 items, must have at most 1024",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.80q) = %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"", "allowed: []", "{}"} {
		if got := parse(t, text).For("a", nil); got != nil {
			t.Errorf("%q allows %v", text, got)
		}
	}
	if _, err := Parse(fmt.Appendf(nil, "allowed: [{namespaces: [a], hostnames: [%q]}]", "*.{namespace}.agents.example")); err != nil {
		t.Error(err)
	}
}
