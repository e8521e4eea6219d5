// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

var (
	keyA = strings.Repeat("a", 32)
	keyB = strings.Repeat("b", 32)
	keyC = strings.Repeat("c", MaxAPIKey)
)

func TestParseAPIKeys(t *testing.T) {
	long := strings.Repeat("d", MaxAPIKey+1)
	tests := map[string]struct {
		files   map[string]string
		callers map[string]string
		refused []string
	}{
		"none":           {nil, nil, nil},
		"one":            {map[string]string{"alice": keyA}, map[string]string{keyA: "alice"}, nil},
		"line ends":      {map[string]string{"alice": "\n" + keyA + "\r\n\n"}, map[string]string{keyA: "alice"}, nil},
		"two of one":     {map[string]string{"alice": keyA + "\n" + keyB}, map[string]string{keyA: "alice", keyB: "alice"}, nil},
		"twice the same": {map[string]string{"alice": keyA + "\n" + keyA}, map[string]string{keyA: "alice"}, nil},
		"three of one":   {map[string]string{"alice": keyA + "\n" + keyB + "\n" + keyC}, nil, []string{`"alice" has 3 API keys`}},
		"short": {
			map[string]string{"alice": keyA[1:], "bob": keyB},
			map[string]string{keyB: "bob"},
			[]string{`API key 1 of "alice" has 31 characters, needs at least 32`},
		},
		"next one is short": {
			map[string]string{"alice": keyA + "\nx"},
			map[string]string{keyA: "alice"},
			[]string{`API key 2 of "alice" has 1 characters`},
		},
		"longest":  {map[string]string{"alice": keyC}, map[string]string{keyC: "alice"}, nil},
		"too long": {map[string]string{"alice": long}, nil, []string{`API key 1 of "alice" has 513 characters, may have 512`}},
		"empty":    {map[string]string{"alice": " \n"}, nil, []string{`"alice" has no API key`}},
		"a space":  {map[string]string{"alice": keyA + " " + keyA}, nil, []string{"visible ASCII"}},
		"not text": {map[string]string{"alice": keyA + "\xff"}, nil, []string{"visible ASCII"}},
		"of two callers": {
			map[string]string{"alice": keyA, "bob": keyA, "carol": keyA, "dave": keyB},
			map[string]string{keyB: "dave"},
			[]string{`API key 1 of "bob" is also a key of "alice"`, `API key 1 of "carol" is also a key of "alice"`},
		},
		"a name with a slash": {map[string]string{"a/b": keyA}, nil, []string{`caller "a/b" must be named by`}},
		"a name with a dot":   {map[string]string{".a": keyA, "a.next": keyB}, map[string]string{keyB: "a.next"}, []string{`caller ".a"`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string][]byte{}
			for name, text := range test.files {
				files[name] = []byte(text)
			}
			ring, refused := ParseAPIKeys(files)
			callers := map[string]string{}
			for _, key := range []string{keyA, keyB, keyC, long} {
				if caller, ok := ring.find(key); ok {
					callers[key] = caller
				}
			}
			if test.callers == nil {
				test.callers = map[string]string{}
			}
			if diff := cmp.Diff(test.callers, callers); diff != "" {
				t.Errorf("callers (-want +got):\n%s", diff)
			}
			if ring.Len() != len(callers) || len(refused) != len(test.refused) {
				t.Fatalf("%d keys, refused %v", ring.Len(), refused)
			}
			for i, want := range test.refused {
				text := refused[i].Error()
				if !strings.Contains(text, want) {
					t.Errorf("refused %q, want %q", text, want)
				}
				if strings.Contains(text, "aaaa") || strings.Contains(text, "dddd") {
					t.Errorf("an error contains a key: %q", text)
				}
			}
		})
	}
}

func TestAPIKeysAreBounded(t *testing.T) {
	files := map[string][]byte{}
	for i := range maxAPIKeys + 3 {
		name := "c" + strings.Repeat("x", i%50) + "." + strings.Repeat("y", i/50)
		files[name] = []byte(strings.Repeat("k", 32) + name)
	}
	ring, refused := ParseAPIKeys(files)
	if ring.Len() != maxAPIKeys || len(refused) != 3 {
		t.Errorf("%d keys, %d refused", ring.Len(), len(refused))
	}
}

func newKeys(files map[string]string) *APIKeys {
	read := map[string][]byte{}
	for name, text := range files {
		read[name] = []byte(text)
	}
	ring, _ := ParseAPIKeys(read)
	keys := &APIKeys{}
	keys.Swap(ring)
	return keys
}

func TestAPIKey(t *testing.T) {
	keys := newKeys(map[string]string{"alice": keyA + "\n" + keyB})
	inHeader, inQuery := APIKeyConfig{Header: "X-API-Key", Keys: keys}, APIKeyConfig{Query: "api_key", Keys: keys}
	tests := map[string]struct {
		config  APIKeyConfig
		target  string
		headers []string
		want    string
	}{
		"in the header":                {inHeader, "/", []string{keyA}, "apikey:alice"},
		"the next one":                 {inHeader, "/", []string{keyB}, "apikey:alice"},
		"none":                         {inHeader, "/", nil, "none"},
		"wrong":                        {inHeader, "/", []string{strings.Repeat("x", 32)}, "API key is not accepted"},
		"empty":                        {inHeader, "/", []string{""}, "API key is not accepted"},
		"a part":                       {inHeader, "/", []string{keyA[:31]}, "API key is not accepted"},
		"more":                         {inHeader, "/", []string{keyA + "a"}, "API key is not accepted"},
		"both in one":                  {inHeader, "/", []string{keyA + "\n" + keyB}, "API key is not accepted"},
		"twice":                        {inHeader, "/", []string{keyA, keyA}, "More than one API key was sent"},
		"too long":                     {inHeader, "/", []string{strings.Repeat("x", MaxAPIKey+1)}, "API key is not accepted"},
		"hash of a key":                {inHeader, "/", []string{"61be55a8e2f6b4e172338bddf184d6dbee29c98853e0a0485ecee7f27b9af0b4"}, "API key is not accepted"},
		"in the query, not the header": {inQuery, "/", []string{keyA}, "none"},
		"in the query":                 {inQuery, "/tasks?a=b&api_key=" + keyA + "&c=%64", nil, "apikey:alice"},
		"escaped":                      {inQuery, "/?%61pi_key=%61" + keyA[1:], nil, "apikey:alice"},
		"in upper case":                {inQuery, "/?API_KEY=" + keyA, nil, "none"},
		"twice in the query":           {inQuery, "/?api_key=" + keyA + "&api_key=" + keyA, nil, "More than one API key was sent"},
		"beside an invalid parameter":  {inQuery, "/?%zz&api_key=" + keyA, nil, "apikey:alice"},
		"broken":                       {inQuery, "/?api_key=%zz", nil, "API key is not accepted"},
		"without a value":              {inQuery, "/?api_key", nil, "API key is not accepted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, test.target, nil)
			for _, value := range test.headers {
				r.Header.Add("X-Api-Key", value)
			}
			caller, err := NewAPIKey(test.config).Authenticate(r)
			got := string(caller.Owner)
			if problem, ok := errors.AsType[*a2a.Error](err); ok {
				got = problem.Message
			} else if errors.Is(err, ErrNoCredential) {
				got = "none"
			}
			if got != test.want || (err == nil) != caller.Unscoped {
				t.Errorf("Authenticate() = %q %+v, want %q", got, caller, test.want)
			}
		})
	}
}

// TestGateRemovesTheAPIKey checks that handlers behind the gate receive no API key, even
// if the gate accepted another credential.
func TestGateRemovesTheAPIKey(t *testing.T) {
	keys := newKeys(map[string]string{"alice": keyA})
	for name, config := range map[string]APIKeyConfig{"header": {Header: "X-API-Key", Keys: keys}, "query": {Query: "api_key", Keys: keys}} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			look := func(r *http.Request) {
				seen = append(seen, r.URL.String(), r.RequestURI)
				for _, values := range r.Header {
					seen = append(seen, values...)
				}
			}
			gate := NewGate(&Policy{Authenticators: []Authenticator{NewAPIKey(config)}}, func(_ http.ResponseWriter, r *http.Request, _ *a2a.Error) { look(r) })
			h := gate.Require(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { look(r) }))
			wrong := strings.Repeat("a", 31) + "z"
			for _, key := range []string{keyA, wrong} {
				r := httptest.NewRequest(http.MethodGet, "/tasks?a=b", nil)
				if config.Query != "" {
					r = httptest.NewRequest(http.MethodGet, "/tasks?a=b&api_key="+key+"&api%5Fkey="+key, nil)
					if key == keyA {
						r = httptest.NewRequest(http.MethodGet, "/tasks?a=b&api_key="+key, nil)
					}
				} else {
					r.Header.Set("X-Api-Key", key)
				}
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
			if diff := cmp.Diff([]string{"/tasks?a=b", "/tasks?a=b", "/tasks?a=b", "/tasks?a=b"}, seen); diff != "" {
				t.Errorf("request behind the gate (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPIKeyChallenge(t *testing.T) {
	policy := &Policy{Authenticators: []Authenticator{
		NewAPIKey(APIKeyConfig{Header: "X-API-Key", Keys: &APIKeys{}}), NewAPIKey(APIKeyConfig{Query: "key", Keys: &APIKeys{}}),
	}}
	w := httptest.NewRecorder()
	NewGate(policy, func(w http.ResponseWriter, _ *http.Request, e *a2a.Error) {
		http.Error(w, e.Message, http.StatusUnauthorized)
	}).
		Require(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	want := []string{`ApiKey realm="a2a", in="header", name="X-API-Key"`, `ApiKey realm="a2a", in="query", name="key"`}
	if diff := cmp.Diff(want, w.Header().Values("WWW-Authenticate")); diff != "" {
		t.Errorf("WWW-Authenticate (-want +got):\n%s", diff)
	}
}
