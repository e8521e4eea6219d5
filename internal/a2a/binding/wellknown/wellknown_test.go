// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wellknown

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 5, time.UTC)

// as returns a request to a host. Its context holds the caller.
func as(ctx context.Context, host string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	r.Host = host
	return r
}

func example() *card.Card {
	return &card.Card{
		Name: "n", Description: "d", Version: "1",
		Interfaces: []card.Interface{{URL: "http://a/", Binding: card.JSONRPC, ProtocolVersion: "0.3"}},
	}
}

func newHandler(t *testing.T) *Handler {
	t.Helper()
	h := &Handler{Now: func() time.Time { return newYear }}
	err := h.Swap(Content{Card: example()})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func get(h http.Handler, method, target string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestWire18_Variants(t *testing.T) {
	h := newHandler(t)
	tests := map[string]struct {
		target  string
		version string
		legacy  bool
	}{
		"no version":    {target: Path, legacy: true},
		"old path":      {target: LegacyPath, legacy: true},
		"0.3":           {target: Path, version: "0.3", legacy: true},
		"garbage":       {target: Path, version: "x", legacy: true},
		"1.0":           {target: Path, version: "1.0"},
		"1.1":           {target: Path, version: "1.1"},
		"1.0 old path":  {target: LegacyPath, version: "1.0.1"},
		"1.0 parameter": {target: Path + "?A2A-Version=1.0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			response := get(h, http.MethodGet, test.target, "A2A-Version", test.version)
			body := make([]byte, response.ContentLength)
			_, _ = response.Body.Read(body)
			if got := strings.Contains(string(body), `"url":"http://a/","preferredTransport"`); got != test.legacy {
				t.Errorf("card has legacy members = %v, want %v: %s", got, test.legacy, body)
			}
			want := http.Header{
				"Access-Control-Allow-Origin":   {"*"},
				"Access-Control-Expose-Headers": {"ETag"},
				"Cache-Control":                 {"public, max-age=60"},
				"Content-Length":                response.Header["Content-Length"],
				"Content-Type":                  {"application/json"},
				"Etag":                          response.Header["Etag"],
				"Last-Modified":                 {"Thu, 01 Jan 2026 00:00:00 GMT"},
				"Vary":                          {"A2A-Version"},
			}
			if diff := cmp.Diff(want, response.Header); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWire18_ConditionalRequests(t *testing.T) {
	h := newHandler(t)
	union := get(h, http.MethodHead, Path).Header.Get("ETag")
	v1 := get(h, http.MethodHead, Path, "A2A-Version", "1.0").Header.Get("ETag")
	if union == v1 || len(union) != 34 || union[0] != '"' {
		t.Fatalf("ETags are %s and %s", union, v1)
	}
	for _, value := range []string{union, "W/" + union, `"a", ` + union, "*"} {
		if got := get(h, http.MethodGet, Path, "If-None-Match", value).StatusCode; got != http.StatusNotModified {
			t.Errorf("If-None-Match: %s gives %d", value, got)
		}
	}
	if got := get(h, http.MethodGet, Path, "If-None-Match", v1).StatusCode; got != http.StatusOK {
		t.Errorf("the ETag of another variant gives %d", got)
	}

	if err := h.Swap(Content{Card: &card.Card{Name: "other"}}); err != nil {
		t.Fatal(err)
	}
	if got := get(h, http.MethodGet, Path, "If-None-Match", union).StatusCode; got != http.StatusOK {
		t.Errorf("the ETag of a former card gives %d", got)
	}
}

func TestMethods(t *testing.T) {
	h := newHandler(t)
	want := map[string]int{
		http.MethodGet: 200, http.MethodHead: 200, http.MethodOptions: 204,
		http.MethodPost: 405, http.MethodDelete: 405,
	}
	for method, status := range want {
		response := get(h, method, Path)
		if response.StatusCode != status {
			t.Errorf("%s gives %d, want %d", method, response.StatusCode, status)
		}
		if response.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s allows credentials", method)
		}
	}
}

// TestWire18_ProfileV1 tests the profile for clients that refuse members that 1.0 does not
// define.
func TestWire18_ProfileV1(t *testing.T) {
	h := &Handler{}
	err := h.Swap(Content{Card: example(), Profile: card.ProfileV1})
	if err != nil {
		t.Fatal(err)
	}
	for target, legacy := range map[string]bool{Path: false, LegacyPath: true, "/rpc" + Path: false, "/rpc" + LegacyPath: true} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		if got := strings.Contains(w.Body.String(), `"url":"http://a/","preferredTransport"`); got != legacy {
			t.Errorf("%s has legacy members = %v, want %v: %s", target, got, legacy, w.Body)
		}
	}
}

func TestExtended(t *testing.T) {
	c := example()
	c.Capabilities.ExtendedCard = true
	c.Skills = []card.Skill{{ID: "hidden", Extended: true}}
	h := &Handler{}
	err := h.Swap(Content{Card: c})
	if err != nil {
		t.Fatal(err)
	}
	known := auth.WithCaller(t.Context(), auth.Caller{Owner: "somebody"})
	for _, form := range []card.Form{card.FormV03, card.FormV03Proto, card.FormV10} {
		if text, err := h.Extended(as(known, "a"), "", form); err != nil || !strings.Contains(string(text), "hidden") {
			t.Errorf("Extended(%d) = %s, %v", form, text, err)
		}
	}
	tests := map[string]struct {
		caller auth.Caller
		form   card.Form
		want   a2a.Reason
	}{
		"anonymous": {auth.Caller{Anonymous: true}, card.FormV10, a2a.ReasonUnauthenticated},
		"union":     {auth.Caller{Owner: "somebody"}, card.FormUnion, a2a.ReasonUnsupportedOperation},
	}
	if _, err := h.Extended(as(t.Context(), "a"), "", card.FormV10); a2a.ErrorOf(err).Reason != a2a.ReasonUnauthenticated {
		t.Errorf("Extended() for nobody = %v", err)
	}
	for name, test := range tests {
		if _, err := h.Extended(as(auth.WithCaller(t.Context(), test.caller), "a"), "", test.form); a2a.ErrorOf(err).Reason != test.want {
			t.Errorf("Extended() for %s = %v, want %s", name, err, test.want)
		}
	}
	if err := h.Swap(Content{Card: example()}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Extended(as(known, "a"), "", card.FormV10); a2a.ErrorOf(err).Reason != a2a.ReasonUnsupportedOperation {
		t.Errorf("Extended() of a card without = %v", err)
	}
}

// TestViewsAreBounded checks that the cached views stay within their limits if each request
// sees another selection of skills.
func TestViewsAreBounded(t *testing.T) {
	c := example()
	c.Capabilities.ExtendedCard = true
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		c.Skills = append(c.Skills, card.Skill{ID: id, Extended: true})
	}
	var selection int
	h := &Handler{Admit: func(context.Context, string) (func(*card.Skill) bool, error) {
		return func(s *card.Skill) bool { return selection>>(s.ID[0]-'a')&1 == 1 }, nil
	}}
	if err := h.Swap(Content{Card: c}); err != nil {
		t.Fatal(err)
	}
	known := auth.WithCaller(t.Context(), auth.Caller{Owner: "somebody"})
	for range 2 {
		for selection = range 256 {
			text, err := h.Extended(as(known, "a"), "", card.FormV10)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range c.Skills {
				if shown := strings.Contains(string(text), `"id":"`+s.ID+`"`); shown != (selection>>i&1 == 1) {
					t.Fatalf("selection %b: skill %s is shown: %v", selection, s.ID, shown)
				}
			}
			if kept := len(h.current.Load().extended.made); kept > maxViews {
				t.Fatalf("%d views are kept, the bound is %d", kept, maxViews)
			}
		}
	}
}
