// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/embedding"
)

// embeddingsServer returns the URL of an endpoint for which paint, drawing and picture have the same meaning. The
// endpoint fails while broken is true, and counts the texts in texts.
func embeddingsServer(t *testing.T, broken *atomic.Bool, texts *atomic.Int64) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Input []string `json:"input"`
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || broken.Load() {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		texts.Add(int64(len(request.Input)))
		var data []string
		for _, text := range request.Input {
			vector := "[0.1,1]"
			if slices.ContainsFunc([]string{"paint", "drawing", "picture"}, func(word string) bool { return strings.Contains(text, word) }) {
				vector = "[1,0.1]"
			}
			data = append(data, `{"embedding":`+vector+`}`)
		}
		_, _ = fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Searches by the API and by ARD find an agent by its meaning, and only agents that their caller sees.
func TestSearchesFindAgentsByMeaning(t *testing.T) {
	var broken atomic.Bool
	var texts atomic.Int64
	url := embeddingsServer(t, &broken, &texts)
	entries := fleet(t)
	var e *embeddings
	w := newWorldWith(t, entries, func(a *api) {
		a.embeddings = newEmbeddings(Embeddings{URL: url, Model: "m"}, a.feed, clock.RealClock{}, logr.Discard())
		e = a.embeddings
	})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { e.run(ctx) })
	t.Cleanup(func() { cancel(); group.Wait() })
	waitFor(t, func() error {
		if n := texts.Load(); n < int64(len(slices.Collect(entries.All))) {
			return fmt.Errorf("%d texts", n)
		}
		if _, names := w.list(t, "admin", "/v1/agents?q=drawing"); len(names) == 0 || names[0] != "team-c/painter" {
			return fmt.Errorf("a search by meaning finds %v", names)
		}
		return nil
	})
	if _, names := w.list(t, "home", "/v1/agents?q=drawing"); slices.Contains(names, "team-c/painter") {
		t.Errorf("a caller finds an agent that it does not see: %v", names)
	}
	if _, names := w.list(t, "admin", "/v1/agents?q=drawing&skill=echo"); slices.Contains(names, "team-c/painter") {
		t.Errorf("a search with a condition finds %v", names)
	}
	if _, body := w.post(t, "admin", "/ard/search", `{"query":{"text":"a picture"}}`); !strings.Contains(body, "painter") {
		t.Errorf("a search of ARD finds %s", body)
	}
	before := texts.Load()
	w.post(t, "", "/ard/search", `{"query":{"text":"a query without a token"}}`)
	if texts.Load() != before {
		t.Error("a caller without a token causes a request to the endpoint")
	}
	broken.Store(true)
	if _, names := w.list(t, "admin", "/v1/agents?q=paints"); len(names) == 0 || names[0] != "team-c/painter" {
		t.Errorf("while the endpoint fails, a search by words finds %v", names)
	}
}

func TestTextOfAnAgentForEmbeddings(t *testing.T) {
	e := newEmbeddings(Embeddings{URL: "http://models.example/"}, feedOf(t, fleet(t)), clock.RealClock{}, logr.Discard())
	text, ok := e.text(embedding.Key{Namespace: "team-c", Name: "painter"})
	if want := "Agent painter\nWorks in team-c\nSkill paint\nDoes paint\nTag-paint"; !ok || text != want {
		t.Errorf("text() = %q, %t, want %q", text, ok, want)
	}
	if _, ok := e.text(embedding.Key{Namespace: "team-c", Name: "gone"}); ok {
		t.Error("an agent that does not exist has a text")
	}
}
