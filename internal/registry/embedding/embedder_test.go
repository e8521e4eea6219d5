// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package embedding

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// fakeEndpoint is an endpoint in memory. The vectors of texts with the words money, weather and food have different
// directions.
type fakeEndpoint struct {
	mu       sync.Mutex
	requests [][]string
	headers  []http.Header
	// fault replaces the response; nil for none.
	fault func(r *http.Request, count int) (*http.Response, error)
}

func (f *fakeEndpoint) setFault(fault func(*http.Request, int) (*http.Response, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

func (f *fakeEndpoint) sent() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, texts := range f.requests {
		n += len(texts)
	}
	return n
}

func response(status int, body io.Reader) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body)}
}

func (f *fakeEndpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	var request embeddingsRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.requests, f.headers = append(f.requests, request.Input), append(f.headers, r.Header)
	fault := f.fault
	f.mu.Unlock()
	if fault != nil {
		return fault(r, len(request.Input))
	}
	var data []map[string]any
	for i, text := range request.Input {
		vector := make([]float64, 3)
		for d, word := range []string{"money", "weather", "food"} {
			vector[d] = float64(strings.Count(text, word)) + 0.01
		}
		data = append(data, map[string]any{"index": i, "embedding": vector})
	}
	body, err := json.Marshal(map[string]any{"data": data})
	return response(http.StatusOK, bytes.NewReader(body)), err
}

// fixture is an embedder that runs, with documents and a log.
type fixture struct {
	*Embedder
	endpoint *fakeEndpoint
	mu       sync.Mutex
	texts    map[Key]string
	log      []string
}

func (f *fixture) set(key Key, text string) {
	f.mu.Lock()
	f.texts[key] = text
	f.mu.Unlock()
	f.Changed(key)
}

func (f *fixture) drop(key Key) {
	f.mu.Lock()
	delete(f.texts, key)
	f.mu.Unlock()
	f.Changed(key)
}

func (f *fixture) logged() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.log...)
}

// startFixture must be called in a bubble of synctest.
func startFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{endpoint: &fakeEndpoint{}, texts: map[Key]string{}}
	f.Embedder = New(Options{
		URL: "http://models.example/v1/embeddings", Model: "m", Transport: f.endpoint, Now: time.Now,
		Text: func(key Key) (string, bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			text, ok := f.texts[key]
			return text, ok
		},
		Log: funcr.New(func(_, args string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.log = append(f.log, args)
		}, funcr.Options{}),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

// nearest returns the document that is most similar to a query, and false if the query has no vector.
func (f *fixture) nearest(ctx context.Context, query string) (nearest Key, ok bool) {
	vector := f.Query(ctx, "jane", query)
	if vector == nil {
		return Key{}, false
	}
	f.mu.Lock()
	keys := slices.Collect(maps.Keys(f.texts))
	f.mu.Unlock()
	found := f.Nearest(vector, slices.Values(keys), 1)
	if len(found) == 0 {
		return Key{}, false
	}
	return found[0], true
}

var bank, forecast = Key{"a", "bank"}, Key{"b", "forecast"}

func TestSimilarDocumentsAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFixture(t)
		f.set(bank, "keeps money")
		f.set(forecast, "tells the weather")
		time.Sleep(time.Second)
		if got, _ := f.nearest(t.Context(), "will the weather be fine?"); got != forecast {
			t.Errorf("the nearest document is %v, want %v", got, forecast)
		}
		f.set(forecast, "cooks food") // another text
		time.Sleep(time.Second)
		if got, _ := f.nearest(t.Context(), "food"); got != forecast {
			t.Errorf("after a change, the nearest document is %v, want %v", got, forecast)
		}
		f.mu.Lock()
		delete(f.texts, bank)
		f.mu.Unlock()
		f.Changed(bank)
		time.Sleep(time.Second)
		f.documents.mu.RLock()
		defer f.documents.mu.RUnlock()
		if len(f.documents.byKey) != 1 || len(f.documents.byText) != 1 {
			t.Errorf("after a removal and a change, %d documents and %d texts have vectors, want 1", len(f.documents.byKey), len(f.documents.byText))
		}
	})
}

// TestNamespacesTakeTurns changes many documents of a namespace, and one of another, whose text is in the first request.
func TestNamespacesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFixture(t)
		keys := []Key{}
		f.mu.Lock()
		for i := range 10 * batchSize {
			key := Key{"hostile", fmt.Sprint(i)}
			f.texts[key] = fmt.Sprintf("money %d", i)
			keys = append(keys, key)
		}
		f.texts[forecast] = "weather"
		f.mu.Unlock()
		f.Changed(append(keys, forecast)...)
		time.Sleep(time.Minute)
		f.endpoint.mu.Lock()
		first := f.endpoint.requests[0]
		f.endpoint.mu.Unlock()
		if !slices.Contains(first, "weather") {
			t.Error("the text of another namespace is not in the first request")
		}
		if n := f.endpoint.sent(); n != len(keys)+1 {
			t.Errorf("%d texts were sent, want %d", n, len(keys)+1)
		}
	})
}

func TestEqualTextsAreSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFixture(t)
		f.set(bank, "money")
		time.Sleep(time.Second)
		for i := range 100 {
			f.set(Key{"c", fmt.Sprint(i)}, "money")
		}
		f.set(bank, "money")
		time.Sleep(time.Minute)
		for range 3 {
			f.Query(t.Context(), "jane", "money please")
		}
		if n := f.endpoint.sent(); n != 2 {
			t.Errorf("%d texts were sent, want that of the documents and that of the query", n)
		}
	})
}

func TestBatchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFixture(t)
		begin := time.Now()
		for i := range 100 {
			f.set(Key{"c", fmt.Sprint(i)}, fmt.Sprint("text ", i, strings.Repeat(" money", 10_000)))
		}
		for f.endpoint.sent() < 100 {
			time.Sleep(batchInterval / 4)
		}
		if took := time.Since(begin); took < 3*batchInterval {
			t.Errorf("100 texts took %v, want at least 3 intervals", took)
		}
		for _, texts := range f.endpoint.requests {
			if len(texts) > batchSize || len(texts[0]) > maxDocumentBytes {
				t.Errorf("a request has %d texts, the first of %d bytes", len(texts), len(texts[0]))
			}
		}
	})
}

// fill assigns the vector of a text to further documents until MaxDocuments documents have a vector.
func (f *fixture) fill(t *testing.T, text string) {
	t.Helper()
	vector, err := newVector([]float64{1, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; !f.full(); i++ {
		if err := f.documents.put(Key{"full", fmt.Sprint(i)}, digestOf(text), vector); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *fixture) full() bool {
	f.documents.mu.RLock()
	defer f.documents.mu.RUnlock()
	return len(f.documents.byKey) >= MaxDocuments
}

// At the bound, a document with a vector gets the vector of its new text. A document without a vector stays without one,
// and its text is not sent.
func TestChangedDocumentAtTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFixture(t)
		f.set(bank, "keeps money")
		f.set(forecast, "tells the weather")
		time.Sleep(time.Second)
		f.fill(t, "anything")
		sent := f.endpoint.sent()
		f.set(Key{"c", "new"}, "new food")
		f.set(forecast, "cooks food")
		time.Sleep(time.Second)
		if n := f.endpoint.sent() - sent; n != 1 {
			t.Errorf("%d texts were sent, want that of the changed document", n)
		}
		if got, _ := f.nearest(t.Context(), "food"); got != forecast {
			t.Errorf("after a change, the nearest document is %v, want %v", got, forecast)
		}
		f.documents.mu.RLock()
		defer f.documents.mu.RUnlock()
		if n := len(f.documents.byKey); n != MaxDocuments {
			t.Errorf("%d documents have vectors, want %d", n, MaxDocuments)
		}
	})
}

// Documents that found no room get a vector when there is room again: as many as there are places.
func TestDocumentWithoutRoomGetsAFreePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFixture(t)
		f.set(bank, "keeps money")
		f.set(forecast, "tells the weather")
		f.set(Key{"a", "cook"}, "cooks food")
		time.Sleep(time.Second)
		f.fill(t, "anything")
		f.drop(Key{"a", "cook"})
		time.Sleep(time.Second)
		// One request has these documents, and one of them has room.
		f.mu.Lock()
		var added []Key
		for i := range 5 {
			added = append(added, Key{"new", fmt.Sprint(i)})
			f.texts[added[i]] = fmt.Sprint("new food ", i)
		}
		f.mu.Unlock()
		f.Changed(added...)
		time.Sleep(time.Second)
		withVector := func() int {
			f.documents.mu.RLock()
			defer f.documents.mu.RUnlock()
			if n := len(f.documents.byKey); n != MaxDocuments {
				t.Errorf("%d documents have vectors, want %d", n, MaxDocuments)
			}
			n := 0
			for _, key := range added {
				if f.documents.byKey[key] != nil {
					n++
				}
			}
			return n
		}
		if n := withVector(); n != 1 {
			t.Errorf("%d new documents have vectors, want one", n)
		}
		sent := f.endpoint.sent()
		f.drop(bank)
		f.drop(forecast)
		time.Sleep(time.Second)
		if n := withVector(); n != 3 {
			t.Errorf("after two documents are gone, %d new documents have vectors, want 3", n)
		}
		if n := f.endpoint.sent() - sent; n != 2 {
			t.Errorf("%d texts were sent for two places", n)
		}
	})
}

// A document must not be found by its former text if the endpoint refuses the present one.
func TestDocumentWhoseTextIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFixture(t)
		f.set(bank, "keeps money")
		f.set(forecast, "tells the weather")
		time.Sleep(time.Second)
		f.endpoint.setFault(func(*http.Request, int) (*http.Response, error) {
			return response(http.StatusRequestEntityTooLarge, strings.NewReader("{}")), nil
		})
		f.set(forecast, "cooks food")
		time.Sleep(time.Minute)
		f.endpoint.setFault(nil)
		if got, _ := f.nearest(t.Context(), "weather"); got != bank {
			t.Errorf("the nearest document is %v, want %v, the only one with a vector", got, bank)
		}
		time.Sleep(2 * maxBackoff)
		if got, _ := f.nearest(t.Context(), "food"); got != forecast {
			t.Errorf("after the endpoint accepts the text, the nearest document is %v, want %v", got, forecast)
		}
	})
}

// A document without text must not be found by its former text.
func TestDocumentThatLosesItsText(t *testing.T) {
	for name, empty := range map[string]string{"empty": "", "not UTF-8": "\xff"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startFixture(t)
				f.set(bank, "keeps money")
				f.set(forecast, "tells the weather")
				time.Sleep(time.Second)
				f.set(forecast, empty)
				time.Sleep(time.Second)
				if got, _ := f.nearest(t.Context(), "weather"); got != bank {
					t.Errorf("the nearest document is %v, want %v, the only one with a text", got, bank)
				}
				if n := f.endpoint.sent(); n != 3 {
					t.Errorf("%d texts were sent, want those of two documents and of the query", n)
				}
				f.set(forecast, "tells the weather")
				time.Sleep(time.Second)
				if got, _ := f.nearest(t.Context(), "weather"); got != forecast {
					t.Errorf("with its text again, the nearest document is %v, want %v", got, forecast)
				}
			})
		})
	}
}

// infinite is a Reader that never ends. It is safe for concurrent use.
type infinite struct{ read atomic.Int64 }

func (r *infinite) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '1'
	}
	r.read.Add(int64(len(p)))
	return len(p), nil
}

func TestFaultsOfTheEndpoint(t *testing.T) {
	body := func(text string) func(*http.Request, int) (*http.Response, error) {
		return func(*http.Request, int) (*http.Response, error) {
			return response(http.StatusOK, strings.NewReader(text)), nil
		}
	}
	status := func(code int) func(*http.Request, int) (*http.Response, error) {
		return func(*http.Request, int) (*http.Response, error) {
			r := response(code, strings.NewReader("{}"))
			r.Header.Set("Location", "http://other.example/")
			return r, nil
		}
	}
	huge := &infinite{}
	for name, fault := range map[string]func(*http.Request, int) (*http.Response, error){
		"is down": func(*http.Request, int) (*http.Response, error) { return nil, errors.New("connection refused") },
		"hangs": func(r *http.Request, _ int) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
		"refuses":                   status(http.StatusUnauthorized),
		"is overloaded":             status(http.StatusTooManyRequests),
		"redirects":                 status(http.StatusFound),
		"sends garbage":             body("<html>"),
		"sends nothing":             body(""),
		"sends no vector":           body(`{"data":[]}`),
		"sends no numbers":          body(`{"data":[{"index":0,"embedding":["NaN"]}]}`),
		"sends NaN":                 body(`{"data":[{"index":0,"embedding":[NaN]}]}`),
		"sends infinity":            body(`{"data":[{"index":0,"embedding":[1e999]}]}`),
		"sends zero":                body(`{"data":[{"index":0,"embedding":[0,0,0]}]}`),
		"sends an index":            body(`{"data":[{"index":7,"embedding":[1,2,3]}]}`),
		"sends too many dimensions": body(`{"data":[{"index":0,"embedding":[1` + strings.Repeat(",1", MaxDimensions) + `]}]}`),
		"sends without end":         func(*http.Request, int) (*http.Response, error) { return response(http.StatusOK, huge), nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startFixture(t)
				f.endpoint.setFault(fault)
				f.set(bank, "money")
				time.Sleep(time.Hour)
				begin := time.Now()
				if _, ok := f.nearest(t.Context(), "money"); ok {
					t.Error("a query has a vector")
				}
				if took := time.Since(begin); took > queryBudget {
					t.Errorf("a query waited %v, more than its budget", took)
				}
				begin = time.Now()
				f.Query(t.Context(), "jane", "weather")
				if took := time.Since(begin); took != 0 {
					t.Errorf("a query right after a failure waited %v", took)
				}
				if log := f.logged(); len(log) > 2 { // at most one failure of documents, and one of queries
					t.Errorf("logged %d times: %q", len(log), log)
				}
				if n := f.endpoint.sent(); n > 40 {
					t.Errorf("%d requests in an hour, without backoff", n)
				}
				f.endpoint.setFault(nil)
				time.Sleep(2 * maxBackoff)
				if got, ok := f.nearest(t.Context(), "money"); !ok || got != bank {
					t.Errorf("after the fault, the nearest document is %v, %t", got, ok)
				}
			})
		})
	}
	if limit := 20 * (maxEnvelope + batchSize*MaxDimensions*maxValueBytes); huge.read.Load() > int64(40*limit) {
		t.Errorf("read %d bytes of an endless response", huge.read.Load())
	}
}

func TestVectorsOfOtherDimensionsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFixture(t)
		f.set(bank, "money")
		time.Sleep(time.Second)
		f.endpoint.setFault(func(_ *http.Request, count int) (*http.Response, error) {
			item := `{"embedding":[1,2]}`
			return response(http.StatusOK, strings.NewReader(`{"data":[`+item+strings.Repeat(","+item, count-1)+`]}`)), nil
		})
		f.set(forecast, "weather")
		time.Sleep(time.Hour)
		if _, ok := f.nearest(t.Context(), "money"); ok {
			t.Error("vectors of other dimensions were compared")
		}
		if log := f.logged(); len(log) != 1 || !strings.Contains(log[0], "restart the manager") {
			t.Errorf("log: %q", log)
		}
	})
}

// A text that the endpoint always refuses does not delay other texts.
func TestRefusedTextDoesNotBlockOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFixture(t)
		normal := &fakeEndpoint{}
		f.endpoint.setFault(func(r *http.Request, _ int) (*http.Response, error) {
			f.endpoint.mu.Lock()
			texts := f.endpoint.requests[len(f.endpoint.requests)-1]
			f.endpoint.mu.Unlock()
			if slices.Contains(texts, "poison") {
				return response(http.StatusBadRequest, strings.NewReader("{}")), nil
			}
			again, err := json.Marshal(embeddingsRequest{Input: texts})
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(again))
			return normal.RoundTrip(r)
		})
		f.set(Key{"p", "p"}, "poison")
		for i := range 50 {
			f.set(Key{"c", fmt.Sprint(i)}, fmt.Sprint("money ", i))
		}
		time.Sleep(6 * time.Hour)
		f.documents.mu.RLock()
		defer f.documents.mu.RUnlock()
		if n := len(f.documents.byKey); n != 50 {
			t.Errorf("%d documents have vectors, want all 50 but the refused one", n)
		}
	})
}

// Many texts that the endpoint always refuses do not delay a new text.
func TestManyRefusedTextsDoNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFixture(t)
		normal := &fakeEndpoint{}
		refuse := func(r *http.Request, _ int) (*http.Response, error) {
			f.endpoint.mu.Lock()
			texts := f.endpoint.requests[len(f.endpoint.requests)-1]
			f.endpoint.mu.Unlock()
			if slices.Contains(texts, "poison") {
				return response(http.StatusRequestEntityTooLarge, strings.NewReader("{}")), nil
			}
			again, err := json.Marshal(embeddingsRequest{Input: texts})
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(again))
			return normal.RoundTrip(r)
		}
		f.endpoint.setFault(refuse)
		for i := range 40 {
			f.set(Key{"p", fmt.Sprint(i)}, "poison")
		}
		time.Sleep(time.Hour)
		vectors := func() int {
			f.documents.mu.RLock()
			defer f.documents.mu.RUnlock()
			return len(f.documents.byKey)
		}
		f.set(bank, "money")
		time.Sleep(10 * time.Second)
		if n := vectors(); n != 1 {
			t.Errorf("%d documents have vectors 10 s after a new one, want it", n)
		}
		sent := f.endpoint.sent()
		time.Sleep(time.Hour)
		if again := f.endpoint.sent() - sent; again == 0 || again > 20 {
			t.Errorf("%d requests for refused texts in an hour, want a few", again)
		}
		// The endpoint now accepts the texts, as after a change of its model.
		f.endpoint.setFault(nil)
		time.Sleep(maxBackoff + time.Minute)
		if n := vectors(); n != 41 {
			t.Errorf("%d documents have vectors, want all 41", n)
		}
	})
}

// TestFailingTextsOfANamespaceDelayNoOther has an endpoint that fails for the texts of one namespace only, as some do for long texts. A new
// text of another namespace gets its vector at once, also while the namespace changes its texts, and others are sent in batches.
func TestFailingTextsOfANamespaceDelayNoOther(t *testing.T) {
	for name, fault := range map[string]func() (*http.Response, error){
		"500": func() (*http.Response, error) {
			return response(http.StatusInternalServerError, strings.NewReader("{}")), nil
		},
		"zero": func() (*http.Response, error) {
			return response(http.StatusOK, strings.NewReader(`{"data":[{"index":0,"embedding":[0,0,0]}]}`)), nil
		},
		"413": func() (*http.Response, error) {
			return response(http.StatusRequestEntityTooLarge, strings.NewReader("{}")), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startFixture(t)
				normal := &fakeEndpoint{}
				f.endpoint.setFault(func(r *http.Request, _ int) (*http.Response, error) {
					f.endpoint.mu.Lock()
					texts := f.endpoint.requests[len(f.endpoint.requests)-1]
					f.endpoint.mu.Unlock()
					if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "poison") }) {
						return fault()
					}
					again, err := json.Marshal(embeddingsRequest{Input: texts})
					if err != nil {
						return nil, err
					}
					r.Body = io.NopCloser(bytes.NewReader(again))
					return normal.RoundTrip(r)
				})
				poison := func(i int) { f.set(Key{"hostile", fmt.Sprint(i % 40)}, fmt.Sprint("poison ", i)) }
				for i := range 40 {
					poison(i)
				}
				time.Sleep(time.Hour)
				has := func(key Key) bool {
					f.documents.mu.RLock()
					defer f.documents.mu.RUnlock()
					return f.documents.byKey[key] != nil
				}
				f.set(bank, "money")
				time.Sleep(2 * time.Second)
				if !has(bank) {
					t.Error("a new document has no vector after 2 s")
				}
				for i := range 200 {
					poison(i)
					f.set(Key{"fine", fmt.Sprint(i)}, fmt.Sprint("weather ", i))
				}
				time.Sleep(30 * time.Second)
				for i := range 200 {
					if !has(Key{"fine", fmt.Sprint(i)}) {
						t.Fatalf("document %d of 200 has no vector after 30 s", i)
					}
				}
				time.Sleep(time.Hour)
				sent := f.endpoint.sent()
				time.Sleep(time.Hour)
				if again := f.endpoint.sent() - sent; again == 0 || again > 20 {
					t.Errorf("%d texts are sent in an hour without changes, want a few", again)
				}
			})
		})
	}
}

// TestTextsWithoutResponseDelayNoOther has an endpoint that does not respond in time to requests with texts of one namespace. Other namespaces
// wait for such a request once at most, also while the namespace changes its texts, adds documents and has some that succeed.
func TestTextsWithoutResponseDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFixture(t)
		normal := &fakeEndpoint{}
		var running, most atomic.Int64
		f.endpoint.setFault(func(r *http.Request, _ int) (*http.Response, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			f.endpoint.mu.Lock()
			texts := f.endpoint.requests[len(f.endpoint.requests)-1]
			f.endpoint.mu.Unlock()
			if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "poison") }) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			again, err := json.Marshal(embeddingsRequest{Input: texts})
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(again))
			return normal.RoundTrip(r)
		})
		has := func(key Key) bool {
			f.documents.mu.RLock()
			defer f.documents.mu.RUnlock()
			return f.documents.byKey[key] != nil
		}
		// The first request has texts of all namespaces.
		f.mu.Lock()
		var first []Key
		for i := range batchSize {
			key := Key{fmt.Sprint("ns-", i), "first"}
			f.texts[key] = fmt.Sprint("weather ", i)
			first = append(first, key)
		}
		f.texts[Key{"ns-7", "first"}] = "poison"
		f.mu.Unlock()
		f.Changed(first...)
		time.Sleep(3 * batchTimeout)
		for _, key := range first {
			if has(key) == (key.Namespace == "ns-7") {
				t.Errorf("%v after three time-outs: vector %t", key, has(key))
			}
		}
		last := 0
		for range 60 {
			for range 10 {
				f.set(Key{"ns-7", fmt.Sprint("new ", last)}, fmt.Sprint("poison ", last))
				f.set(Key{"ns-7", fmt.Sprint("fine ", last)}, fmt.Sprint("food ", last))
				f.set(Key{"ns-7", "first"}, fmt.Sprint("poison again ", last))
				f.set(Key{fmt.Sprint("ns-", last%5), fmt.Sprint(last)}, fmt.Sprint("money ", last))
				last++
			}
			time.Sleep(2 * time.Second)
			for i := range last {
				if key := (Key{fmt.Sprint("ns-", i%5), fmt.Sprint(i)}); !has(key) {
					t.Fatalf("%v has no vector after 2 s", key)
				}
			}
		}
		if n := most.Load(); n > lanes {
			t.Errorf("%d requests at a time", n)
		}
		f.endpoint.setFault(nil)
		time.Sleep(maxBackoff + 5*time.Minute)
		for i := range last {
			if key := (Key{"ns-7", fmt.Sprint("new ", i)}); !has(key) {
				t.Fatalf("%v has no vector after the endpoint accepts it", key)
			}
		}
	})
}

// TestVectorsAfterAnOutage has an endpoint that fails for all texts while many documents of many namespaces are added, as at a start of the
// manager before that of the endpoint. Soon after the outage, all documents have a vector.
func TestVectorsAfterAnOutage(t *testing.T) {
	const documents = 3000
	status := func(code int) func(*http.Request, int) (*http.Response, error) {
		return func(*http.Request, int) (*http.Response, error) { return response(code, strings.NewReader("{}")), nil }
	}
	for name, fault := range map[string]func(*http.Request, int) (*http.Response, error){
		"refused": func(*http.Request, int) (*http.Response, error) { return nil, errors.New("connection refused") },
		"late": func(r *http.Request, _ int) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
		"429": status(http.StatusTooManyRequests),
		"500": status(http.StatusInternalServerError),
		"503": status(http.StatusServiceUnavailable),
	} {
		for _, namespaces := range []int{1, 30} {
			for _, outage := range []time.Duration{5 * time.Second, time.Minute} {
				t.Run(fmt.Sprint(name, " ", namespaces, " ", outage), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f := startFixture(t)
						f.endpoint.setFault(fault)
						for i := range documents {
							f.set(Key{fmt.Sprint("ns-", i%namespaces), fmt.Sprint(i)}, fmt.Sprint("weather ", i))
						}
						time.Sleep(outage)
						f.endpoint.mu.Lock()
						sent := len(f.endpoint.requests)
						f.endpoint.mu.Unlock()
						f.endpoint.setFault(nil)
						within := time.Minute
						if name == "500" { // a text may be the cause, and the documents that have failed alone are requested alone again
							within = 90 * time.Second
						}
						time.Sleep(within)
						f.documents.mu.RLock()
						have := len(f.documents.byKey)
						f.documents.mu.RUnlock()
						if have != documents {
							t.Errorf("%d of %d documents have a vector %v after the outage", have, documents, within)
						}
						if name != "500" && sent > 10 {
							t.Errorf("%d requests during the outage, without backoff", sent)
						}
					})
				})
			}
		}
	}
}

func TestAPIKeyIsReadForEachRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	endpoint := &fakeEndpoint{}
	e := New(Options{URL: "http://models.example/", Model: "m", KeyFile: file, Transport: endpoint, Log: logr.Discard(), Now: time.Now})
	e.Query(t.Context(), "jane", "one")
	if err := os.WriteFile(file, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	e.Query(t.Context(), "jane", "two")
	for i, want := range []string{"Bearer first", "Bearer second"} {
		if got := endpoint.headers[i].Get("Authorization"); got != want {
			t.Errorf("request %d has Authorization %q, want %q", i, got, want)
		}
	}
}

// The duration of a search must not reveal to a caller what others searched for.
func TestCallersDoNotShareVectorsOfQueries(t *testing.T) {
	endpoint := &fakeEndpoint{}
	e := New(Options{URL: "http://models.example/", Model: "m", Transport: endpoint, Log: logr.Discard(), Now: time.Now})
	for _, caller := range []string{"jane", "joe", "jane"} {
		if e.Query(t.Context(), caller, "weather") == nil {
			t.Fatal("a query has no vector")
		}
	}
	if n := len(endpoint.headers); n != 2 {
		t.Errorf("equal queries of two callers cause %d requests, want 2", n)
	}
}

// A caller can choose queries that take long, and must not switch off the search by meaning for others.
func TestAFailedQueryPausesItsCallerOnly(t *testing.T) {
	endpoint := &fakeEndpoint{}
	e := New(Options{URL: "http://models.example/", Model: "m", Transport: endpoint, Log: logr.Discard(), Now: time.Now})
	endpoint.setFault(func(*http.Request, int) (*http.Response, error) { return nil, errors.New("connection refused") })
	if e.Query(t.Context(), "jane", "one") != nil {
		t.Fatal("a failed query has a vector")
	}
	endpoint.setFault(nil)
	if e.Query(t.Context(), "jane", "two") != nil {
		t.Error("the caller of a failed query is not paused")
	}
	if e.Query(t.Context(), "joe", "two") == nil {
		t.Error("another caller is paused")
	}
}

func TestRememberedQueriesAreBounded(t *testing.T) {
	e := New(Options{URL: "http://models.example/", Model: "m", Transport: &fakeEndpoint{}, Log: logr.Discard(), Now: time.Now})
	for i := range rememberedQueries + 100 {
		if e.Query(t.Context(), "jane", fmt.Sprint(i)) == nil {
			t.Fatal("a query has no vector")
		}
	}
	if n := len(e.queries.known); n != rememberedQueries {
		t.Errorf("%d queries are remembered, want %d", n, rememberedQueries)
	}
}

// The signs select candidates and the exact similarity orders them. For texts with topics, the result is nearly
// the same as the exact result for all documents.
func TestNearestIsNearlyExact(t *testing.T) {
	d, random := newDocuments(), rand.New(rand.NewPCG(1, 2))
	const topics, each = 60, 20
	vectors, centers := map[Key]*Vector{}, make([][]float64, topics)
	var keys []Key
	for i := range topics {
		centers[i] = near(random, make([]float64, 384), 1)
		for j := range each {
			key := Key{"n", fmt.Sprintf("d%03d-%02d", i, j)}
			v, err := newVector(near(random, centers[i], 1))
			if err != nil {
				t.Fatal(err)
			}
			if err := d.put(key, digestOf(key.Name), v); err != nil {
				t.Fatal(err)
			}
			keys, vectors[key] = append(keys, key), v
		}
	}
	found, wanted := 0, 0
	for i := range 5 {
		query, err := newVector(near(random, centers[i], 1))
		if err != nil {
			t.Fatal(err)
		}
		exact := slices.Clone(keys)
		slices.SortFunc(exact, func(a, b Key) int { return cmp.Compare(vectors[b].similarity(query), vectors[a].similarity(query)) })
		got := d.nearest(query, slices.Values(keys), each)
		if len(got) == 0 || got[0] != exact[0] {
			t.Errorf("the nearest document is %v, want %v", got, exact[0])
		}
		for _, key := range exact[:each] {
			wanted++
			if slices.Contains(got, key) {
				found++
			}
		}
	}
	if found < wanted*98/100 {
		t.Errorf("%d of %d nearest documents were found", found, wanted)
	}
}

// near returns a vector with normally distributed distances from a center.
func near(random *rand.Rand, center []float64, deviation float64) []float64 {
	v := make([]float64, len(center))
	for i := range v {
		v[i] = center[i] + deviation*random.NormFloat64()
	}
	return v
}

// BenchmarkNearest100k is a search among 100,000 documents with 1,024 dimensions.
func BenchmarkNearest100k(b *testing.B) {
	d, keys, random := newDocuments(), make([]Key, 100_000), rand.New(rand.NewPCG(1, 2))
	embedding := make([]float64, 1024)
	for i := range keys {
		for j := range embedding {
			embedding[j] = random.NormFloat64()
		}
		v, err := newVector(embedding)
		if err != nil {
			b.Fatal(err)
		}
		keys[i] = Key{"n", fmt.Sprint(i)}
		if err := d.put(keys[i], digestOf(keys[i].Name), v); err != nil {
			b.Fatal(err)
		}
	}
	query := d.byKey[keys[0]].Vector
	for b.Loop() {
		d.nearest(query, slices.Values(keys), 20)
	}
}
