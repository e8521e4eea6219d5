// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// TestParseReadsRenderedCards checks that Parse returns the card that was rendered,
// except for the members that the form does not have.
func TestParseReadsRenderedCards(t *testing.T) {
	want := example()
	want.Capabilities.ExtendedCard = true
	for form, name := range map[card.Form]string{card.FormUnion: "union", card.FormV03: "0.3", card.FormV03Proto: "0.3 proto", card.FormV10: "1.0"} {
		t.Run(name, func(t *testing.T) {
			got, err := card.Parse(render(t, want, form))
			if err != nil {
				t.Fatal(err)
			}
			leniently, err := card.ParseRendered(render(t, want, form))
			if diff := cmp.Diff(got, leniently); diff != "" || err != nil {
				t.Errorf("ParseRendered() error = %v (-Parse +got):\n%s", err, diff)
			}
			versions := []string{}
			for _, i := range got.Interfaces {
				versions = append(versions, i.ProtocolVersion)
			}
			switch form {
			case card.FormUnion:
				if !slices.Contains(versions, "1.0") || !slices.Contains(versions, "0.3") {
					t.Errorf("versions %q", versions)
				}
			case card.FormV10:
				if len(got.Interfaces) != len(want.Interfaces) || versions[0] != "1.0" {
					t.Errorf("interfaces %+v", got.Interfaces)
				}
			default:
				if slices.Contains(versions, "1.0") || len(versions) == 0 {
					t.Errorf("versions %q", versions)
				}
			}
			got.Interfaces = want.Interfaces
			for i := range got.Skills {
				got.Skills[i].Security = want.Skills[i].Security
				if len(got.Skills[i].Tags) == 0 {
					got.Skills[i].Tags = want.Skills[i].Tags
				}
			}
			if len(want.DefaultInputModes) == 0 {
				got.DefaultInputModes = want.DefaultInputModes
			}
			if len(got.SecuritySchemes) > 0 && len(got.SecuritySchemes[0].Scopes) == 0 {
				got.SecuritySchemes[0].Scopes = want.SecuritySchemes[0].Scopes
			}
			if form == card.FormV03 || form == card.FormV03Proto {
				got.Capabilities.ExtendedCard = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Parse() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParse(t *testing.T) {
	tests := map[string]struct {
		text string
		want *card.Card
		err  string
	}{
		"0.1": {
			text: `{"name":"A","url":"https://a.example/","version":"1","capabilities":{"streaming":true},"authentication":{"schemes":["Bearer"]},
				"skills":[{"id":"s"}],"other":{"x":[1]}}`,
			want: &card.Card{
				Name: "A", Version: "1", Interfaces: []card.Interface{{URL: "https://a.example/", Binding: card.JSONRPC, ProtocolVersion: "0.1"}},
				Capabilities: card.Capabilities{Streaming: true}, Skills: []card.Skill{{ID: "s", Name: "s"}},
			},
		},
		"0.1 or 0.2": {
			text: `{"name":"A","url":"https://a.example/"}`,
			want: &card.Card{Name: "A", Interfaces: []card.Interface{{URL: "https://a.example/", Binding: card.JSONRPC, ProtocolVersion: "0.2"}}},
		},
		"0.3": {
			text: `{"name":"A","url":"https://a.example/","protocolVersion":"0.3.0","preferredTransport":"HTTP+JSON",
				"additionalInterfaces":[{"url":"https://a.example/","transport":"HTTP+JSON"},{"url":"https://a.example/rpc","transport":"JSONRPC"}],
				"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"X-Key"},"odd":{"type":"riddle"},
				"o":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://t.example","scopes":{"r":"read"}}}}},
				"security":[{"o":["r"]},{"k":[]}]}`,
			want: &card.Card{
				Name: "A",
				Interfaces: []card.Interface{
					{URL: "https://a.example/", Binding: card.HTTPJSON, ProtocolVersion: "0.3"},
					{URL: "https://a.example/rpc", Binding: card.JSONRPC, ProtocolVersion: "0.3"},
				},
				SecuritySchemes: []card.SecurityScheme{
					{Name: "k", Type: card.SchemeAPIKey, In: "header", ParameterName: "X-Key"},
					{Name: "o", Type: card.SchemeOAuth2, Scopes: []string{"r"}, Flow: &card.OAuthFlow{
						Type: card.FlowClientCredentials, TokenURL: "https://t.example", Scopes: map[string]string{"r": "read"},
					}},
				},
			},
		},
		"1.0": {
			text: `{"name":"A","supportedInterfaces":[{"url":"https://a.example/x","protocolBinding":"GRPC","protocolVersion":"1.0.1","tenant":"t"}],
				"securitySchemes":{"m":{"mtlsSecurityScheme":{}},"d":{"openIdConnectSecurityScheme":{"openIdConnectUrl":"https://o.example"}}},
				"securityRequirements":[{"schemes":{"d":{"list":["a"]}}}],"signatures":[{"protected":"e30","signature":"x"}]}`,
			want: &card.Card{
				Name: "A", Interfaces: []card.Interface{{URL: "https://a.example/x", Binding: card.GRPC, ProtocolVersion: "1.0", Tenant: "t"}},
				SecuritySchemes: []card.SecurityScheme{
					{Name: "d", Type: card.SchemeOpenIDConnect, OpenIDConnectURL: "https://o.example", Scopes: []string{"a"}},
					{Name: "m", Type: card.SchemeMutualTLS},
				},
			},
		},
		"no object":        {text: `[]`, err: "read card"},
		"no JSON":          {text: `<html>`, err: "read card"},
		"cut off":          {text: `{"name":"A"`, err: "read card"},
		"trailing data":    {text: `{"name":"A"} {}`, err: "read card"},
		"a member twice":   {text: `{"name":"A","name":"B"}`, err: "read card"},
		"other case":       {text: `{"Name":"A"}`, err: "name is required"},
		"no name":          {text: `{"url":"https://a.example"}`, err: "name is required"},
		"a skill, no id":   {text: `{"name":"A","skills":[{"name":"s"}]}`, err: "skills[0].id is required"},
		"a wrong type":     {text: `{"name":"A","skills":{}}`, err: "read card"},
		"params no object": {text: `{"name":"A","capabilities":{"extensions":[{"uri":"u","params":[1]}]}}`, err: "read card"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := card.Parse([]byte(test.text))
			if err != nil || test.err != "" {
				if err == nil || test.err == "" || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("Parse() = %v, want %q", err, test.err)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Parse() (-want +got):\n%s", diff)
			}
			if _, err := card.Render(got, card.FormUnion); err != nil {
				t.Errorf("Render() = %v", err)
			}
		})
	}
}

// TestParseOfManyInterfaces checks that the time of Parse does not grow with the square of the
// number of interfaces. A hostile agent may publish a card with as many interfaces as its size
// allows.
func TestParseOfManyInterfaces(t *testing.T) {
	const few, many = 4_000, 32_000
	// The square of many/few is 64.
	if ratio := float64(parseTime(t, many)) / float64(parseTime(t, few)); ratio > 40 {
		t.Errorf("Parse() of %d interfaces takes %.0f times as long as of %d", many, ratio, few)
	}
}

// parseTime returns the shortest of five times of Parse for a card with n interfaces.
func parseTime(t *testing.T, n int) time.Duration {
	t.Helper()
	interfaces := make([]string, n)
	for i := range interfaces {
		interfaces[i] = fmt.Sprintf(`{"url":"%d"}`, i)
	}
	text := []byte(`{"name":"A","supportedInterfaces":[` + strings.Join(interfaces, ",") + `]}`)
	shortest := time.Hour
	for range 5 {
		begin := time.Now()
		parsed, err := card.Parse(text)
		shortest = min(shortest, time.Since(begin))
		if err != nil || len(parsed.Interfaces) != n {
			t.Fatalf("Parse() = %v", err)
		}
	}
	return shortest
}

// TestParseNeedsLittleMemory checks that a card of 512 KiB with as many empty elements as
// possible does not need far more memory than its text. The operator reads many cards at a
// time.
func TestParseNeedsLittleMemory(t *testing.T) {
	for name, parts := range map[string][3]string{
		"skills":     {`{"name":"A","skills":[`, `{}`, `]}`},
		"extensions": {`{"name":"A","capabilities":{"extensions":[`, `{}`, `]}}`},
		"interfaces": {`{"name":"A","supportedInterfaces":[`, `{}`, `]}`},
		"modes":      {`{"name":"A","defaultInputModes":[`, `""`, `]}`},
	} {
		text := []byte(parts[0] + strings.Repeat(parts[1]+",", 512<<10/(len(parts[1])+1)-20) + parts[1] + parts[2])
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := card.Parse(text)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 1<<20 {
			t.Errorf("%s: Parse() of %d bytes allocated %d bytes", name, len(text), allocated)
		}
		if err == nil || !strings.Contains(err.Error(), "more than 65536 values") {
			t.Errorf("%s: Parse() = %v", name, err)
		}
	}
	text := `{"name":"A","description":"` + strings.Repeat(`,{[\"`, 100_000) + `","skills":[{"id":"a"}` + strings.Repeat(`,{"id":"a"}`, 20_000) + `]}`
	if c, err := card.Parse([]byte(text)); err != nil || len(c.Skills) != 20_001 {
		t.Errorf("Parse() of a long description = %v", err)
	}
}

// FuzzParse searches for a card that Parse accepts and that cannot be rendered.
func FuzzParse(f *testing.F) {
	for _, form := range []card.Form{card.FormUnion, card.FormV03, card.FormV03Proto, card.FormV10} {
		text, err := card.Render(example(), form)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"name":"A","url":"https://a.example/","securitySchemes":{"o":{"type":"oauth2","flows":{"implicit":null}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := card.Parse(text)
		if err != nil {
			return
		}
		for _, form := range []card.Form{card.FormUnion, card.FormV03, card.FormV03Proto, card.FormV10} {
			if _, err := card.Render(c, form); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}
