// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package completions_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
)

// keys has two API keys: the backend begins with now, and RefreshKey reads next.
type keys struct {
	now, next string
	reads     atomic.Int32
}

func (k *keys) options() options {
	current := k.now
	return withModel(options{Options: completions.Options{
		Key:        func() string { return current },
		RefreshKey: func() string { k.reads.Add(1); current = k.next; return current },
	}})
}

// TestAPIKey checks that the backend reads a refused key again once. The failure names the
// field to correct, and does not contain the key.
func TestAPIKey(t *testing.T) {
	const good, bad = "sk-good-0123456789", "sk-bad-0123456789"
	tests := map[string]struct {
		keys    *keys
		status  int
		shown   []string
		outcome string
	}{
		"accepted": {keys: &keys{now: good, next: good}, shown: []string{good}, outcome: "ended"},
		"rotated":  {keys: &keys{now: bad, next: good}, status: 401, shown: []string{bad, good}, outcome: "ended"},
		"refused": {
			keys: &keys{now: bad, next: bad}, status: 401, shown: []string{bad},
			outcome: "failed: The model server refused the API key: 401 Unauthorized; correct the key in the Secret of spec.model.apiKeySecretRef (--model-api-key-file)",
		},
		"forbidden": {
			keys: &keys{now: bad, next: bad + "2"}, status: 403, shown: []string{bad, bad + "2"},
			outcome: "failed: The model server refused the API key: 403 Forbidden; correct the key in the Secret of spec.model.apiKeySecretRef (--model-api-key-file)",
		},
		"none": {
			keys: &keys{}, status: 401, shown: []string{""},
			outcome: "failed: The model server requires an API key: 401 Unauthorized; set one in spec.model.apiKeySecretRef (--model-api-key-file)",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var shown []string
			b := newModel(t, tt.keys.options(), func(w http.ResponseWriter, r *http.Request) {
				key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
				if shown = append(shown, key); key != good {
					http.Error(w, "no such key: "+key, tt.status)
					return
				}
				respondsWith(sse, textChunk("x"), stop, done)(w, r)
			})
			output, outcome := run(t, b, newTurn())
			if diff := cmp.Diff(tt.shown, shown); diff != "" || outcome != tt.outcome {
				t.Errorf("Run() = %s, want %s; keys that were sent (-want +got):\n%s", outcome, tt.outcome, diff)
			}
			if strings.Contains(output+outcome, "0123456789") {
				t.Errorf("the key is in the output: %s %s", output, outcome)
			}
		})
	}
}

// TestListOfModelsIsRequestedWithTheKey checks that a request for the list of models has
// the same key as a request for completions.
func TestListOfModelsIsRequestedWithTheKey(t *testing.T) {
	var got []string
	b := newModel(t, options{Options: completions.Options{
		Key:     func() string { return "sk-1" },
		Headers: []completions.Header{{Name: "X-Team", Value: "blue"}},
	}}, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.Header.Get("Authorization")+" "+r.Header.Get("X-Team"))
		if r.Method == http.MethodGet {
			respondsWith("application/json", `{"data":[{"id":"m"}]}`)(w, r)
			return
		}
		respondsWith(sse, textChunk("x"), stop, done)(w, r)
	})
	_, outcome := run(t, b, newTurn())
	want := []string{"GET Bearer sk-1 blue", "POST Bearer sk-1 blue"}
	if diff := cmp.Diff(want, got); diff != "" || outcome != "ended" {
		t.Errorf("Run() = %s; (-want +got):\n%s", outcome, diff)
	}
}

// TestListOfModelsMayBeForbidden tests a server that forbids the list of models and allows
// completions.
func TestListOfModelsMayBeForbidden(t *testing.T) {
	b := newModel(t, options{Options: completions.Options{Key: func() string { return "sk-1" }}}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	const want = "failed: The agent does not list its models; name the model in spec.model.name"
	if _, outcome := run(t, b, newTurn()); outcome != want {
		t.Errorf("Run() = %s, want %s", outcome, want)
	}
	if err := b.Check(t.Context()); err != nil {
		t.Errorf("Check() = %v: the server answers", err)
	}
}

// TestURLs checks that a URL may be the base of an API or the URL of its completions.
func TestURLs(t *testing.T) {
	const whole = "/v1/chat/completions"
	tests := map[string]struct{ container, server string }{
		"":                               {whole, whole},
		"/":                              {whole, whole},
		"/v1":                            {whole, whole},
		"/v1/":                           {whole, whole},
		whole:                            {whole, whole},
		"/v1beta/openai":                 {"/v1beta/openai", "/v1beta/openai/chat/completions"},
		"/openai/v1?x=y":                 {"/openai/v1/chat/completions?x=y", "/openai/v1/chat/completions?x=y"},
		"/d/a%2Fb/chat/completions?v=1":  {"/d/a%2Fb/chat/completions?v=1", "/d/a%2Fb/chat/completions?v=1"},
		"/complete":                      {"/complete", "/complete/chat/completions"},
		"/api/v3/chat/completions?v=a+b": {"/api/v3/chat/completions?v=a+b", "/api/v3/chat/completions?v=a+b"},
	}
	for address, want := range tests {
		for _, external := range []bool{false, true} {
			var requested string
			o, expected := withModel(options{Options: completions.Options{URL: address}}), want.container
			if external {
				transport := &http.Transport{}
				o.Transport, o.CloseIdle, expected = transport, transport.CloseIdleConnections, want.server
			}
			b := newModel(t, o, func(w http.ResponseWriter, r *http.Request) {
				requested = r.RequestURI
				respondsWith(sse, textChunk("x"), stop, done)(w, r)
			})
			if _, outcome := run(t, b, newTurn()); outcome != "ended" || requested != expected {
				t.Errorf("%q, external %t: %s requested %s, want %s", address, external, outcome, requested, expected)
			}
		}
	}
}

// TestExternalServerDoesNotReceiveTheCaller checks that only a server in the pod of the sidecar
// receives the identity of the caller, because an external server does not belong to the
// agent.
func TestExternalServerDoesNotReceiveTheCaller(t *testing.T) {
	for _, external := range []bool{false, true} {
		var header http.Header
		o := withModel(options{})
		if external {
			transport := &http.Transport{}
			o.Transport, o.CloseIdle = transport, transport.CloseIdleConnections
		}
		b := newModel(t, o, func(w http.ResponseWriter, r *http.Request) {
			header = r.Header
			respondsWith(sse, textChunk("x"), stop, done)(w, r)
		})
		turn := newTurn()
		turn.Trace.Parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		if _, outcome := run(t, b, turn); outcome != "ended" {
			t.Fatalf("Run() = %s", outcome)
		}
		for _, name := range []string{"A2a-Principal", "A2a-Task-Id", "A2a-Context-Id"} {
			if sent := header.Get(name) != ""; sent == external {
				t.Errorf("external %t: %s = %q", external, name, header.Get(name))
			}
		}
		if header.Get("Traceparent") == "" || header.Get("Content-Type") != "application/json" {
			t.Errorf("external %t: header %v", external, header)
		}
	}
}

// TestCheck checks that Check fails if the server cannot serve turns.
func TestCheck(t *testing.T) {
	for status, want := range map[int]string{
		200: "", 404: "", 405: "",
		401: "The model server refused the API key: 401 Unauthorized; correct the key in the Secret of spec.model.apiKeySecretRef (--model-api-key-file)",
		500: "The model server answered 500 Internal Server Error",
		502: "The model server answered 502 Bad Gateway",
	} {
		b := newModel(t, withModel(options{Options: completions.Options{Key: func() string { return "sk-1" }}}), func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != "/v1/models" {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			w.WriteHeader(status)
		})
		got := ""
		if err := b.Check(t.Context()); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%d: Check() = %q, want %q", status, got, want)
		}
	}
}
