// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/web/ui"
)

// fatRegistry has an agent whose owner has chosen all texts, and others with a name.
type fatRegistry struct {
	fat string
	// read is called while a page reads the agent. It may be nil.
	read func()
}

// newFatRegistry returns a registry with the agent of which a page is the largest: many skills, whose texts HTML escapes.
func newFatRegistry() *fatRegistry {
	skill := `{"id":"","name":"","description":"` + strings.Repeat("'", 300) + `","tags":["",` + strings.Repeat(`"",`, 18) + `""]}`
	return &fatRegistry{fat: `{"namespace":"team","name":"fat","skills":[` + strings.Repeat(skill+",", 299) + skill + `]}`}
}

func (f *fatRegistry) ServeCaller(w http.ResponseWriter, r *http.Request, _ access.Caller) {
	body := `{"namespace":"team","name":"thin","displayName":"Thin agent"}`
	if strings.HasSuffix(r.URL.Path, "/fat") {
		body = f.fat
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = io.WriteString(w, body[:1])
	if f.read != nil {
		f.read()
	}
	_, _ = io.WriteString(w, body[1:])
}

func (*fatRegistry) SeesNamespace(context.Context, access.Caller, string) (bool, error) {
	return false, nil
}

// sitePagesOf returns the pages with a registry, and their turns.
func sitePagesOf(t *testing.T, registry Registry) (*ui.Pages, *turns) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	pages := (&Server{options: Options{Registry: registry, Agents: fake.NewClientBuilder().Build(), Clock: clock.RealClock{}}}).pages(ctx)
	t.Cleanup(func() {
		cancel()
		pages.Wait()
	})
	return pages, newTurns(clock.RealClock{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
}

// pagesOf returns the turns of the pages with a registry, and a function that opens one for a person.
func pagesOf(t *testing.T, registry Registry) (*turns, func(w http.ResponseWriter, person, name string)) {
	t.Helper()
	pages, turns := sitePagesOf(t, registry)
	handler := turns.rendered(pages)
	return turns, func(w http.ResponseWriter, person, name string) {
		ctx := withReader(t.Context(), access.Caller{Username: person})
		handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/agents/team/"+name, http.NoBody))
	}
}

// stalledBrowser reads nothing until its deadline.
type stalledBrowser struct {
	header http.Header
	ended  context.Context //nolint:containedctx // the end of the connection
	end    context.CancelFunc
	once   sync.Once
	// holds is called with the size of the page whose write begins, and then with its negative.
	holds func(bytes int)
}

func (s *stalledBrowser) Header() http.Header { return s.header }

func (s *stalledBrowser) WriteHeader(int) {}

func (s *stalledBrowser) Write(text []byte) (int, error) {
	size := len(text)
	if length, err := strconv.Atoi(s.header.Get("Content-Length")); err == nil {
		size = length
	}
	s.holds(size)
	defer s.holds(-size)
	<-s.ended.Done()
	return 0, os.ErrDeadlineExceeded
}

func (s *stalledBrowser) SetWriteDeadline(at time.Time) error {
	s.once.Do(func() { time.AfterFunc(time.Until(at), s.end) })
	return nil
}

// TestPagesThatNobodyReadsAreBounded opens the page of an agent with many skills many times, and reads none of them: one person, and many
// people. What the manager holds for them is bounded, and another person gets pages.
func TestPagesThatNobodyReadsAreBounded(t *testing.T) {
	registry := newFatRegistry()
	for name, person := range map[string]func(i int) string{
		"one person":  func(int) string { return "mallory" },
		"many people": func(i int) string { return fmt.Sprint("mallory-", i%8) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns, open := pagesOf(t, registry)
				const memory = 1 << 20
				turns.memory.Set(memory)
				var mu sync.Mutex
				held := 0
				most := 0
				stalled := 0
				holds := func(bytes int) {
					mu.Lock()
					defer mu.Unlock()
					held += bytes
					most = max(most, held)
					if bytes > 64<<10 {
						stalled++
					}
				}
				ended, end := context.WithCancel(t.Context())
				var group sync.WaitGroup
				for i := range 16 {
					group.Go(func() {
						ctx, cancel := context.WithCancel(ended)
						open(&stalledBrowser{header: http.Header{}, ended: ctx, end: cancel, holds: holds}, person(i), "fat")
					})
				}
				time.Sleep(time.Second)
				for name, want := range map[string]string{"thin": "Thin agent", "fat": "100 more skills are only on the"} {
					w := httptest.NewRecorder()
					open(w, "jane", name)
					if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
						t.Errorf("another person gets %d, %d bytes for the agent %s", w.Code, w.Body.Len(), name)
					}
				}
				time.Sleep(time.Minute)
				end()
				group.Wait()
				if most > memory || stalled == 0 {
					t.Errorf("%d pages were being sent, at most %d bytes of them at a time", stalled, most)
				}
				if used := turns.memory.Used(); used != 0 {
					t.Errorf("%d bytes stay reserved", used)
				}
			})
		})
	}
}

// TestRefusalsForWantOfMemory fills the memory for pages. A refusal has no headers of the page that it replaces, and a decision that is
// refused was not made.
func TestRefusalsForWantOfMemory(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		synctest.Test(t, func(t *testing.T) {
			turns := newTurns(clock.RealClock{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
			turns.memory.Set(0)
			decided := false
			handler := turns.rendered(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				decided = true
				w.Header().Set("Content-Disposition", "attachment; filename=card.json")
				_, _ = w.Write(make([]byte, 1<<20))
			}))
			w := httptest.NewRecorder()
			w.Header().Set("X-Frame-Options", "DENY")
			ctx := withReader(t.Context(), access.Caller{Username: "jane"})
			handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, "/", http.NoBody))
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Content-Disposition") != "" || w.Header().Get("X-Frame-Options") != "DENY" {
				t.Errorf("%s: %d with %v", method, w.Code, w.Header())
			}
			if method == http.MethodPost && decided {
				t.Error("a decision was made and refused")
			}
		})
	}
}

// TestFirstStatusIsSent checks that a page has the status that it has without turns.
func TestFirstStatusIsSent(t *testing.T) {
	for name, handle := range map[string]http.HandlerFunc{
		"after another": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.WriteHeader(http.StatusTeapot)
		},
		"after a body": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("x"))
			w.WriteHeader(http.StatusTeapot)
		},
		"informational": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusEarlyHints) },
	} {
		t.Run(name, func(t *testing.T) {
			turns := newTurns(clock.RealClock{}, http.NotFound)
			w := httptest.NewRecorder()
			ctx := withReader(t.Context(), access.Caller{Username: "jane"})
			turns.rendered(handle).ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
			if w.Code != http.StatusOK {
				t.Errorf("status %d", w.Code)
			}
		})
	}
}

// TestPeopleTakeTurns checks how many pages are made at a time, of one person and of all.
func TestPeopleTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := newFatRegistry()
		goOn := make(chan struct{})
		reads := make(chan struct{}, 100)
		registry.read = func() {
			reads <- struct{}{}
			<-goOn
		}
		_, open := pagesOf(t, registry)
		var group sync.WaitGroup
		openAll := func(person string) {
			for range 10 {
				group.Go(func() { open(httptest.NewRecorder(), person, "thin") })
			}
			synctest.Wait()
		}
		openAll("mallory")
		if n := len(reads); n != turnSlotsOfOne {
			t.Errorf("%d pages of one person are made at a time", n)
		}
		for i := range turnSlots {
			openAll(fmt.Sprint("person-", i))
		}
		if n := len(reads); n != turnSlots {
			t.Errorf("%d pages are made at a time", n)
		}
		close(goOn)
		group.Wait()
		if n, all := len(reads), 10+10*turnSlots; n != all {
			t.Errorf("%d of %d pages were made", n, all)
		}
	})
}

// slowRegistry takes a time for each response.
type slowRegistry struct {
	*fatRegistry
	takes time.Duration
}

func (s *slowRegistry) ServeCaller(w http.ResponseWriter, r *http.Request, c access.Caller) {
	select {
	case <-time.After(s.takes):
		s.fatRegistry.ServeCaller(w, r, c)
	case <-r.Context().Done():
	}
}

// TestManyTabsOfOneDelayNoOther opens many lists and streams of one person, which are slow to make. The pages of another person are made in
// their turn, and receive changes.
func TestManyTabsOfOneDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 100 * time.Millisecond
		pages, turns := sitePagesOf(t, &slowRegistry{newFatRegistry(), takes})
		handler := turns.rendered(pages)
		serve := func(ctx context.Context, w http.ResponseWriter, handler http.Handler, person, path string) {
			handler.ServeHTTP(w, httptest.NewRequestWithContext(withReader(ctx, access.Caller{Username: person}), http.MethodGet, path, http.NoBody))
		}
		closing, closeAll := context.WithCancel(t.Context())
		var tabs sync.WaitGroup
		for range 2 * maxStreams {
			tabs.Go(func() { serve(closing, httptest.NewRecorder(), pages, "mallory", "/changes") })
			tabs.Go(func() { serve(closing, httptest.NewRecorder(), handler, "mallory", "/agents/team/thin") })
		}
		synctest.Wait()
		for range 10 {
			began := time.Now()
			w := httptest.NewRecorder()
			serve(t.Context(), w, handler, "jane", "/agents/team/thin")
			if w.Code != http.StatusOK || time.Since(began) > 2*takes {
				t.Errorf("a page of another person = %d after %s", w.Code, time.Since(began))
			}
		}
		watching, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		w := httptest.NewRecorder()
		serve(watching, w, pages, "jane", "/changes")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("the changes of another person = %d", w.Code)
		}
		closeAll()
		tabs.Wait()
	})
}
