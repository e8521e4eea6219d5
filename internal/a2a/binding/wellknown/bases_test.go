// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/test/signingtest"
)

// exposed are the bases of an agent behind a Gateway.
var exposed = []card.Base{
	{URL: "https://agents.example.com/echo/", GRPC: "grpc.example.com:443"},
	{URL: "http://agents.example.com:8080/echo/", GRPC: "grpc.example.com:443"},
	card.NewBase("http://echo.team.svc.cluster.local/"),
	card.NewBase("http://echo.team.svc/"),
	card.NewBase("https://both.example.com/"),
	card.NewBase("http://both.example.com/"),
	card.NewBase("http://port.example.com:8080/"),
	card.NewBase("https://port.example.com:8443/"),
	card.NewBase("https://other.example.com/"),
}

// at requests the card at a host, with or without TLS.
func at(h http.Handler, host string, secure bool, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, Path, nil)
	r.Host = host
	if secure {
		r.TLS = &tls.ConnectionState{}
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// urls returns the URLs of the interfaces of a card, without duplicates.
func urls(t *testing.T, text []byte) []string {
	t.Helper()
	var c struct {
		URL                                       string
		AdditionalInterfaces, SupportedInterfaces []struct{ URL string }
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	all := []string{}
	for _, i := range slices.Concat([]struct{ URL string }{{c.URL}}, c.AdditionalInterfaces, c.SupportedInterfaces) {
		if i.URL != "" && !slices.Contains(all, i.URL) {
			all = append(all, i.URL)
		}
	}
	return all
}

// TestWire18_CardOfTheBase checks that a card lists the interfaces of the base that the
// request selects. The base is always a configured one, whatever the request contains.
func TestWire18_CardOfTheBase(t *testing.T) {
	c := example()
	c.Capabilities.ExtendedCard = true
	c.Skills = []card.Skill{{ID: "hidden", Extended: true}}
	h := &Handler{}
	if err := h.Swap(Content{Card: c, Bases: exposed}); err != nil {
		t.Fatal(err)
	}
	outside := []string{"https://agents.example.com/echo/", "https://agents.example.com/echo"}
	inside := []string{"http://echo.team.svc/", "http://echo.team.svc"}
	for name, test := range map[string]struct {
		host   string
		secure bool
		want   []string
	}{
		"primary":                   {"agents.example.com", false, outside},
		"primary with its port":     {"agents.example.com:443", false, outside},
		"in capitals":               {"AGENTS.Example.COM", false, outside},
		"with the dot of the root":  {"agents.example.com.", false, outside},
		"with both":                 {"agents.example.com.:443", false, outside},
		"gRPC":                      {"grpc.example.com", true, outside},
		"another port":              {"agents.example.com:8080", false, []string{"http://agents.example.com:8080/echo/", "http://agents.example.com:8080/echo"}},
		"Service":                   {"echo.team.svc.cluster.local", false, []string{"http://echo.team.svc.cluster.local/", "http://echo.team.svc.cluster.local"}},
		"Service by a shorter name": {"echo.team.svc", false, inside},
		"Service with its port":     {"echo.team.svc:80", false, inside},
		"both schemes, with TLS":    {"both.example.com", true, []string{"https://both.example.com/", "https://both.example.com"}},
		// A Gateway that terminates TLS forwards requests of both schemes without TLS.
		"both schemes, in the clear": {"both.example.com", false, []string{"https://both.example.com/", "https://both.example.com"}},
		"both schemes, port of http": {"both.example.com:80", false, []string{"http://both.example.com/", "http://both.example.com"}},
		"a port left out by a proxy": {"port.example.com", false, []string{"https://port.example.com:8443/", "https://port.example.com:8443"}},
		"a port in the clear":        {"port.example.com:8080", false, []string{"http://port.example.com:8080/", "http://port.example.com:8080"}},
		"of no base":                 {"evil.example.com", false, outside},
		"a port of no base":          {"echo.team.svc:8641", false, outside},
		"none":                       {"", false, outside},
		"no host at all":             {"echo.team.svc/../x", false, outside},
	} {
		t.Run(name, func(t *testing.T) {
			for version, vary := range map[string]string{"0.3": "A2A-Version", "1.0": "A2A-Version"} {
				w := at(h, test.host, test.secure, "A2A-Version", version, "X-Forwarded-Host", "evil.example.com", "X-Forwarded-Proto", "https", "Forwarded", "host=evil.example.com")
				if diff := cmp.Diff(test.want, urls(t, w.Body.Bytes())); diff != "" || w.Header().Get("Vary") != vary {
					t.Errorf("version %s: interfaces (-want +got):\n%s%v", version, diff, w.Header())
				}
				// The ETag belongs to the card of this base only.
				again := at(h, test.host, test.secure, "A2A-Version", version, "If-None-Match", w.Header().Get("ETag"))
				other := at(h, "other.example.com", test.secure, "A2A-Version", version, "If-None-Match", w.Header().Get("ETag"))
				if again.Code != http.StatusNotModified || other.Code != http.StatusOK {
					t.Errorf("version %s: the ETag gives %d here and %d at another base", version, again.Code, other.Code)
				}
			}
			r := as(auth.WithCaller(t.Context(), auth.Caller{Owner: "somebody"}), test.host)
			if test.secure {
				r.TLS = &tls.ConnectionState{}
			}
			for _, form := range []card.Form{card.FormV03, card.FormV03Proto, card.FormV10} {
				extended, err := h.Extended(r, "", form)
				if err != nil || !strings.Contains(string(extended), "hidden") {
					t.Fatalf("Extended(%d) = %s, %v", form, extended, err)
				}
				if diff := cmp.Diff(test.want, urls(t, extended)); diff != "" {
					t.Errorf("extended card, form %d: interfaces (-want +got):\n%s", form, diff)
				}
				public, err := h.Public(r, form)
				if err != nil || strings.Contains(string(public), "hidden") {
					t.Fatalf("Public(%d) = %s, %v", form, public, err)
				}
				if diff := cmp.Diff(test.want, urls(t, public)); diff != "" {
					t.Errorf("public card, form %d: interfaces (-want +got):\n%s", form, diff)
				}
			}
		})
	}
}

// TestWire18_OneOrigin checks the rule of google-adk since 2.8: each URL on a card must
// have the origin from which the card was read.
func TestWire18_OneOrigin(t *testing.T) {
	h := &Handler{}
	if err := h.Swap(Content{Card: example(), Bases: exposed}); err != nil {
		t.Fatal(err)
	}
	for _, base := range exposed {
		origin, err := url.Parse(base.URL)
		if err != nil {
			t.Fatal(err)
		}
		if base.URL == "http://both.example.com/" {
			continue // the card directs clients of http to https
		}
		for _, each := range urls(t, at(h, origin.Host, origin.Scheme == "https").Body.Bytes()) {
			if u, err := url.Parse(each); err != nil || u.Scheme != origin.Scheme || u.Host != origin.Host {
				t.Errorf("the card of %s lists %s", base.URL, each)
			}
		}
	}
}

// TestWire19_SignatureOfEachBase checks that the card of each base has a valid signature.
func TestWire19_SignatureOfEachBase(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signing.ParseKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := signing.NewSigner([]*signing.Key{key}, "")
	if err != nil {
		t.Fatal(err)
	}
	h := &Handler{}
	if err := h.Swap(Content{Card: example(), Bases: exposed, Signer: signer}); err != nil {
		t.Fatal(err)
	}
	var trusted jose.JSONWebKeySet
	if err := json.Unmarshal(h.current.Load().keys.body, &trusted); err != nil {
		t.Fatal(err)
	}
	for _, base := range exposed {
		u, err := url.Parse(base.URL)
		if err != nil {
			t.Fatal(err)
		}
		for version, form := range map[string]card.Form{"0.3": card.FormV03, "1.0": card.FormV10} {
			text := at(h, u.Host, base.Secure(), "A2A-Version", version).Body.Bytes()
			if err := signingtest.Verify(text, form, trusted); err != nil {
				t.Errorf("card of %s for %s: %v", base.URL, version, err)
			}
		}
	}
}

// TestViewsOfManyBasesAreBounded checks that the cached views of a large card at many bases
// stay within their limits.
func TestViewsOfManyBasesAreBounded(t *testing.T) {
	c := example()
	c.Description = strings.Repeat("x", 200<<10)
	var many []card.Base
	for i := range 2 * maxViews {
		many = append(many, card.NewBase("http://"+strings.Repeat("a", i+1)+".example/"))
	}
	h := &Handler{}
	if err := h.Swap(Content{Card: c, Bases: many}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, base := range many {
			want := strings.TrimSuffix(base.URL, "/")
			if got := urls(t, at(h, base.Hosts()[0], false).Body.Bytes()); !slices.Contains(got, want) {
				t.Fatalf("%s lists %s", base.URL, got)
			}
			held, views := 0, h.current.Load().public
			for _, v := range views.made {
				for _, form := range v.forms {
					if form != nil {
						held += len(form.body)
					}
				}
			}
			if held > maxViewBytes || held != views.bytes || len(views.made) > maxViews {
				t.Fatalf("%d views of %d bytes are held, counted as %d", len(views.made), held, views.bytes)
			}
		}
	}
}

func TestWire18_LastModified(t *testing.T) {
	now := newYear
	h := &Handler{Now: func() time.Time { return now }}
	written := newYear.Add(-time.Hour)
	swap := func(c *card.Card, modified time.Time) string {
		t.Helper()
		if err := h.Swap(Content{Card: c, Modified: modified}); err != nil {
			t.Fatal(err)
		}
		return at(h, "a", false).Header().Get("Last-Modified")
	}
	first := swap(example(), written)
	if want := "Wed, 31 Dec 2025 23:00:00 GMT"; first != want {
		t.Errorf("Last-Modified = %q, want %q", first, want)
	}
	for since, status := range map[string]int{
		first: http.StatusNotModified, "Wed, 31 Dec 2025 22:59:59 GMT": http.StatusOK, "Thu, 01 Jan 2026 00:00:00 GMT": http.StatusOK, "yesterday": http.StatusOK,
	} {
		if got := at(h, "a", false, "If-Modified-Since", since).Code; got != status {
			t.Errorf("If-Modified-Since %q gives %d, want %d", since, got, status)
		}
	}
	if got := at(h, "a", false, "If-Modified-Since", first, "If-None-Match", `"another"`).Code; got != http.StatusOK {
		t.Errorf("another ETag gives %d: it comes before the time", got)
	}
	if again := swap(example(), newYear); again != first {
		t.Errorf("the same card changed at %s and at %s", first, again)
	}
	// Another card has another modification time, even if its file has the same time.
	other := example()
	other.Version = "2"
	now = now.Add(time.Minute)
	second := swap(other, written)
	if want := "Thu, 01 Jan 2026 00:01:00 GMT"; second != want {
		t.Errorf("Last-Modified of another card = %q, want %q", second, want)
	}
	third := swap(example(), written)
	if want := "Thu, 01 Jan 2026 00:01:01 GMT"; third != want {
		t.Errorf("Last-Modified of a third card in the same second = %q, want %q", third, want)
	}
	if code := at(h, "a", false, "If-Modified-Since", first).Code; code != http.StatusOK {
		t.Errorf("the time of a former card gives %d", code)
	}
	// The same card in another form counts as changed.
	if err := h.Swap(Content{Card: example(), Profile: card.ProfileV1, Modified: written}); err != nil {
		t.Fatal(err)
	}
	if code := at(h, "a", false, "If-Modified-Since", third).Code; code != http.StatusOK {
		t.Errorf("the time of a card in another form gives %d", code)
	}
}

// TestWire18_ChallengeOfTheExtendedCard checks that the response to an anonymous caller has
// a challenge for each authentication method, in their order.
func TestWire18_ChallengeOfTheExtendedCard(t *testing.T) {
	c := example()
	c.Capabilities.ExtendedCard = true
	c.Skills = []card.Skill{{ID: "hidden", Extended: true}}
	h := &Handler{}
	if err := h.Swap(Content{Card: c}); err != nil {
		t.Fatal(err)
	}
	gate := auth.NewGate(&auth.Policy{Authenticators: []auth.Authenticator{ways("ApiKey a"), ways("Bearer b"), ways("Bearer b"), auth.Anonymous{}}}, nil)
	w := httptest.NewRecorder()
	gate.Require(h.ServeExtended(func(context.Context, httpcall.Outcome) {})).ServeHTTP(w, as(context.Background(), "a"))
	if diff := cmp.Diff([]string{"ApiKey a", "Bearer b"}, w.Header().Values("WWW-Authenticate")); diff != "" || w.Code != http.StatusUnauthorized {
		t.Errorf("status %d, WWW-Authenticate (-want +got):\n%s", w.Code, diff)
	}
	if !strings.Contains(w.Body.String(), "Authentication is required") {
		t.Errorf("it says %q", w.Body)
	}
}

// ways is an authenticator that finds no credential, and whose value is its challenge.
type ways string

func (ways) Authenticate(*http.Request) (auth.Caller, error) {
	return auth.Caller{}, auth.ErrNoCredential
}

func (ways) VerifiedBefore(*http.Request) (auth.Credential, bool) { return auth.CredentialNone, false }
func (w ways) Challenge() string                                  { return string(w) }
