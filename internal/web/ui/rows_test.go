// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/inprocess"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

// agentsOf returns agents with these names.
func agentsOf(t *testing.T, names ...string) []Listed {
	t.Helper()
	agents := make([]Listed, len(names))
	for i, name := range names {
		if err := json.Unmarshal(fmt.Appendf(nil, `{"namespace":"team","name":%q}`, name), &agents[i]); err != nil {
			t.Fatal(err)
		}
	}
	return agents
}

func TestRowsThatTheBrowserHasAreNamedByTheirPlaces(t *testing.T) {
	agents := agentsOf(t, "a", "b", "c", "d", "new", "e")
	known := make([]string, 0, len(agents)+1)
	for _, i := range []int{0, 1, 5, 3, 2} { // a b e d c
		known = append(known, agents[i].version)
	}
	got := ""
	for _, r := range rowsOf(agents, append(known, "removed")) {
		if r.Agent != nil {
			got += " " + r.Agent.Name
			continue
		}
		got += fmt.Sprintf(" %d+%d", r.From, r.Count)
	}
	if got != " 0+2 4+1 3+1 new 2+1" {
		t.Errorf("the rows are%s", got)
	}
}

func TestARowHasAnotherVersionAfterEachChange(t *testing.T) {
	agent := agentsOf(t, "a")[0]
	before := agent.version
	if err := json.Unmarshal([]byte(`{"namespace":"team","name":"a","version":"2"}`), &agent); err != nil {
		t.Fatal(err)
	}
	if after := agent.version; after == before {
		t.Errorf("both versions are %s", after)
	}
}

// busyRegistry is a fake registry with 10,000 agents. change changes one of them.
type busyRegistry struct {
	watchedRegistry

	mu     sync.Mutex
	agents []Listed
	events chan registryapi.Event
}

func (r *busyRegistry) Search(_ context.Context, q registryapi.Query) (*registryapi.PageOf[Listed], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &registryapi.PageOf[Listed]{Agents: append([]Listed(nil), r.agents[:q.Limit]...), Total: len(r.agents), NextCursor: "next"}, nil
}

func (r *busyRegistry) Watch(ctx context.Context, _ registryapi.Query, _ string, each func(registryapi.Event) error) error {
	if err := each(registryapi.Event{Type: registryapi.Synced}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event := <-r.events:
			if err := each(event); err != nil {
				return err
			}
		}
	}
}

func (r *busyRegistry) change(i, revision int) {
	r.mu.Lock()
	text := fmt.Appendf(nil, `{"namespace":"team","name":"agent-%05d","displayName":"Agent %d","description":%q,"ready":true,"updatedAt":%q,"skills":[{"id":"s","name":"Skill %d"}]}`,
		i, i, strings.Repeat("words ", 30), time.Now().UTC().Format(time.RFC3339), revision)
	if err := json.Unmarshal(text, &r.agents[i]); err != nil {
		panic(err)
	}
	r.mu.Unlock()
	r.events <- registryapi.Event{Type: registryapi.Upsert, Agent: registryapi.Agent{Namespace: "team", Name: r.agents[i].Name}}
}

// placeOrVersion matches the rows of a fragment.
var placeOrVersion = regexp.MustCompile(`<tr data-(?:version="([^"]+)"|from="(\d+)" data-count="(\d+)")`)

// TestAPageOfTenThousandChangingAgentsReceivesItsOwnChanges is a page in place of a browser: it reads its rows again when the
// stream says so, and names the rows that it has.
func TestAPageOfTenThousandChangingAgentsReceivesItsOwnChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const span, perSecond = 20 * time.Second, 50
		r := &busyRegistry{agents: make([]Listed, 10_000), events: make(chan registryapi.Event, 100_000)}
		for i := range r.agents {
			r.change(i, 0)
		}
		r.events = make(chan registryapi.Event) // the watch sends the agents of the start without events
		ctx, cancel := context.WithCancel(t.Context())
		pages := New(ctx, Options{Registry: r, Viewer: func(*http.Request) Viewer { return Viewer{Base: "/"} }, MaxViewers: 1, MaxStreams: 1, MaxStreamsPerViewer: 1, Now: time.Now})
		defer pages.Wait()
		defer cancel()
		client := &inprocess.Transport{Handler: pages}
		var sent atomic.Int64 // the stream adds to it while the page reads
		call := func(path, rows string) *http.Response {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Fragment", "1")
			request.Header.Set(rowsHeader, rows)
			response, err := client.RoundTrip(request)
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatal(response, err)
			}
			for name := range response.Header {
				sent.Add(int64(len(name) + len(response.Header.Get(name))))
			}
			return response
		}
		var known []string
		read := func() {
			body, err := io.ReadAll(call("/", strings.Join(known, " ")).Body)
			if err != nil {
				t.Fatal(err)
			}
			sent.Add(int64(len(body)))
			var next []string
			for _, row := range placeOrVersion.FindAllStringSubmatch(string(body), -1) {
				from, _ := strconv.Atoi(row[2]) // the expression matches digits
				count, _ := strconv.Atoi(row[3])
				if row[1] != "" {
					next = append(next, row[1])
				} else {
					next = append(next, known[from:from+count]...)
				}
			}
			known = next
		}
		read()
		if first := sent.Load(); first < 30_000 {
			t.Errorf("the first page has %d bytes", first)
		}
		sent.Store(0)
		stream := call("/changes", "")
		events := make(chan struct{}, 1000)
		go func() {
			lines := bufio.NewScanner(stream.Body)
			for lines.Scan() {
				sent.Add(int64(len(lines.Text()) + 1))
				if strings.Contains(lines.Text(), `"changed":true`) {
					events <- struct{}{}
				}
			}
		}()
		reads := 0
		for i := range int(span.Seconds()) * perSecond {
			time.Sleep(time.Second / perSecond)
			r.change(i*7919%len(r.agents), i+1)
			if i%100 == 0 {
				r.change(i/100, i+1) // a visible one
			}
			synctest.Wait()
			select {
			case <-events:
				read()
				reads++
			default:
			}
		}
		r.change(0, 1_000_000)
		time.Sleep(2 * interval)
		synctest.Wait()
		select {
		case <-events:
			read()
		default:
			t.Error("the page hears nothing of the last change")
		}
		for i := range known {
			if want := r.agents[i].version; known[i] != want {
				t.Errorf("row %d of the page is old", i)
			}
		}
		t.Logf("%d reads, %d bytes", reads, sent.Load())
		if len(known) != pageSize || reads < 15 || sent.Load() > 100_000 {
			t.Errorf("the page has %d rows after %d reads and %d bytes", len(known), reads, sent.Load())
		}
	})
}
