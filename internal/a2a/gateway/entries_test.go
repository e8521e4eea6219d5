// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// TestSearchResultsHaveURLsOfTheGateway reads search results and an entry. Only the URLs
// of agents change.
func TestSearchResultsHaveURLsOfTheGateway(t *testing.T) {
	const (
		entry = `{"namespace":"team","name":"echo","displayName":"E <1>","url":"http://echo.team.svc/","externalURL":"https://a.example/echo",` +
			`"ready":true,"skills":[{"id":"url","url":"http://not.an.agent/"}],"big":9007199254740993}`
		// The name of an entry may follow its URL.
		remote = `{"url":"https://w.example/a","remote":true,"name":"weather","namespace":"far"}`
		none   = `{"namespace":"team","name":"blocked","url":""}`
	)
	moved := func(text, gateway string) string {
		return strings.NewReplacer(`"http://echo.team.svc/"`, `"`+gateway+`/agents/team/echo/"`, `"https://a.example/echo"`, `"`+gateway+`/agents/team/echo/"`,
			`"https://w.example/a"`, `"`+gateway+`/agents/far/weather/"`).Replace(text)
	}
	for path, answer := range map[string]string{
		"/registry/v1/agents?skill=url":    ` {"items":[` + entry + `, ` + remote + `,` + none + `],"nextCursor":"","total":3}` + "\n",
		"/registry/v1/agents":              `{"total":0,"items":[]}`,
		"/registry/v1/agents?both=1":       `{"url":"http://echo.team.svc/","items":[` + remote + `],"namespace":"team","name":"echo"}`,
		"/registry/v1/agents/team/echo":    entry,
		"/registry/v1/agents/far/weather":  remote,
		"/registry/v1/agents/team/blocked": none,
		"/registry/openapi.yaml":           `{"url":"http://echo.team.svc/"}`,
	} {
		t.Run(path, func(t *testing.T) {
			c := newCluster(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("ETag", `"1"`)
				_, _ = io.WriteString(w, answer)
			})
			want := moved(answer, c.gateway.URL)
			if strings.HasSuffix(path, ".yaml") {
				want = answer
			}
			response, got := c.do(t, "GET", path, "", "Accept-Encoding", "gzip")
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if response.Header.Get("ETag") != `"1"` {
				t.Error("the ETag is lost, so that the agent cannot ask again at little cost")
			}
			if head, _ := c.do(t, "HEAD", path, ""); head.StatusCode != http.StatusOK {
				t.Errorf("HEAD gives %d", head.StatusCode)
			}
		})
	}
}

// TestCardFromTheRegistryHasURLsOfTheGateway reads the card of an agent from the registry.
func TestCardFromTheRegistryHasURLsOfTheGateway(t *testing.T) {
	const card = `{"name":"Echo","signatures":[{}],"url":"http://echo.team.svc/","supportedInterfaces":[{"url":"http://echo.team.svc/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`
	c := newCluster(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, card) })
	_, copied := c.do(t, "GET", "/registry/ard/cards/team/echo", "")
	_, body := c.do(t, "GET", "/registry/v1/agents/team/echo/card", "")
	if copied != body {
		t.Errorf("the copy of the card is %s, want %s", copied, body)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	base := c.gateway.URL + "/agents/team/echo/"
	want := map[string]any{"name": "Echo", "url": base, "supportedInterfaces": []any{
		map[string]any{"url": base, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
	}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("card (-want +got):\n%s", diff)
	}
}

// TestInvalidRegistryResponseIsUnavailable makes the registry send responses that are not
// lists of entries.
func TestInvalidRegistryResponseIsUnavailable(t *testing.T) {
	for name, answer := range map[string]string{
		"no JSON":        `<html>`,
		"a list":         `[{"namespace":"team","name":"echo","url":"http://x/"}]`,
		"broken":         `{"items":[{"namespace":"team","name":"echo","url":"http://x/"}`,
		"text in a list": `{"items":["x"]}`,
		"a wrong name":   `{"items":[{"namespace":"team","name":"../x","url":"http://x/"}]}`,
		"no name":        `{"url":"http://x/"}`,
		"too large":      `{"items":[],"x":"` + strings.Repeat("x", maxEntries) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
			response, body := c.do(t, "GET", "/registry/v1/agents", "")
			if response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, `"code":"Unavailable"`) {
				t.Errorf("%d %.200s", response.StatusCode, body)
			}
		})
	}
}

func TestRewrittenResponsesAreCharged(t *testing.T) {
	page := `{"items":[{"namespace":"team","name":"echo","url":"http://x/","description":"` + strings.Repeat("x", 3<<20) + `"}]}`
	c := newCluster(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	held := &limit.Reservation{}
	if !c.bodies.TryGrow(held, a2a.AccountingPrincipal{Principal: "other"}, c.bodies.Largest()) {
		t.Fatal("the budget is in use")
	}
	if response, body := c.do(t, "GET", "/registry/v1/agents", ""); response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
		t.Errorf("without memory: %d %.200s", response.StatusCode, body)
	}
	held.Release()
	if response, body := c.do(t, "GET", "/registry/v1/agents", ""); response.StatusCode != http.StatusOK || !strings.Contains(body, "/agents/team/echo/") {
		t.Errorf("with memory: %d %.200s", response.StatusCode, body)
	}
	if used := c.bodies.Used(); used != 0 {
		t.Errorf("%d bytes are charged after the response", used)
	}
}

// TestWatchEventsHaveURLsOfTheGateway reads each event before the registry sends the next
// one, so that no event is buffered.
func TestWatchEventsHaveURLsOfTheGateway(t *testing.T) {
	proceed := make(chan struct{})
	events := []string{
		": comment\n",
		"event: upsert\n", `data: {"namespace":"team","name":"echo","url":"http://echo.team.svc/","description":"` + strings.Repeat("x", 100_000) + `"}` + "\n", "\n",
		"event: remove\n", `data: {"namespace":"team","name":"echo"}` + "\n", "\n",
		"event: synced\n", "data:\n", "\n", "id: 7-8\n", "data: text\n", "\n",
	}
	c := newCluster(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, each := range events {
			_, _ = io.WriteString(w, each)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-proceed:
			case <-r.Context().Done():
				return
			}
		}
		_, _ = io.WriteString(w, `data: {"url":"http://no.name/"}`+"\n")
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.gateway.URL+"/registry/v1/agents?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for _, each := range events {
		want := strings.Replace(each, "http://echo.team.svc/", c.gateway.URL+"/agents/team/echo/", 1)
		if line, err := lines.ReadString('\n'); err != nil || line != want {
			t.Fatalf("read %.200q, %v, want %.200q", line, err, want)
		}
		proceed <- struct{}{}
	}
	if line, err := lines.ReadString('\n'); err == nil {
		t.Errorf("an entry without a name arrives as %q", line)
	}
}
