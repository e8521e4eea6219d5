// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// The registry renders the card with the bytes and the ETag that the sidecar serves at the
// well-known path.
func TestCardEqualsTheCardOfTheSidecar(t *testing.T) {
	c := card.Card{
		Name: "Echo", Description: "Echoes <everything>", Version: "1.0.0",
		SecuritySchemes: []card.SecurityScheme{{Name: "kubernetes", Type: card.SchemeHTTP, Scheme: "bearer"}},
	}
	// The card for callers outside of the cluster differs from the card in the registry.
	inside := card.NewBase("http://echo.team-a.svc/")
	c = *c.At(inside)
	bases := []card.Base{card.NewBase("https://agents.example.com/echo/"), inside}
	encoded, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": c, "bases": bases})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEntry(Facts{Key: Key{"team-a", "echo"}}, CardSource{Text: string(encoded)})
	if err != nil {
		t.Fatal(err)
	}
	sidecar := &wellknown.Handler{}
	err = sidecar.Swap(wellknown.Content{Card: &c, Bases: bases})
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"", "0.3", "1", "1.0", "1.2", "nonsense"} {
		request := httptest.NewRequest(http.MethodGet, wellknown.Path, nil)
		request.Header.Set("A2A-Version", version)
		request.Host = "echo.team-a.svc"
		answer := httptest.NewRecorder()
		sidecar.ServeHTTP(answer, request)
		got, err := e.Card(version)
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Body) != answer.Body.String() || got.ETag != answer.Header().Get("ETag") {
			t.Errorf("A2A-Version %q: the registry has %s %s, the sidecar %s %s", version, got.ETag, got.Body, answer.Header().Get("ETag"), answer.Body)
		}
	}
}

// Users may edit the ConfigMap of their Agent. The decoded form of a text with many empty skills
// would need hundreds of times the memory of the text, in every manager. NewEntry refuses such a
// text before it decodes it.
func TestHostileConfigMapNeedsLittleMemory(t *testing.T) {
	skills := `"skills":[` + strings.Repeat("{},", 300_000) + `{}]`
	for _, source := range []CardSource{
		{Text: `{"version":"` + sidecarconfig.Version + `","card":{"name":"a",` + skills + `}}`},
		{Text: `{"name":"a",` + skills + `}`, Remote: true},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := NewEntry(Facts{Key: Key{"team-a", "echo"}}, source)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; err == nil || allocated > 1<<20 {
			t.Errorf("NewEntry() = %v, and allocated %d bytes", err, allocated)
		}
	}
}

// Normalization makes 11 bytes of each byte of these texts. An agent with many of them costs a bounded amount of work when it
// enters the index, and is found by its first ones.
func TestTextsThatExpandNeedLittleMemory(t *testing.T) {
	description := "newword " + strings.Repeat("\ufdfa", 80_000)
	tags := []string{"found"}
	for i := range 500 {
		tags = append(tags, strconv.Itoa(i)+strings.Repeat("\ufdfa", 150))
	}
	tags = append(tags, description)
	encoded, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": card.Card{
		Name: "wide", Description: description, Version: "1.0.0", Provider: &card.Provider{Organization: description},
		Skills: []card.Skill{{ID: description, Name: description, Tags: tags, Examples: []string{description}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	e, err := NewEntry(Facts{Key: Key{"team-a", "wide"}}, CardSource{Text: string(encoded)})
	if err != nil {
		t.Fatal(err)
	}
	s := snapshotOf(e)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 60<<20 {
		t.Errorf("an agent of %d KB allocates %d KB", len(encoded)>>10, allocated>>10)
	}
	for _, query := range []string{"tag=found", "text=newword", "q=newwodr"} {
		q, err := ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if page := s.Search(q, nil); page.Total != 1 {
			t.Errorf("%s finds %d agents", query, page.Total)
		}
	}
	securitypage.Attempts(t, "T-INDEX", len(tags)-1+5)
}
