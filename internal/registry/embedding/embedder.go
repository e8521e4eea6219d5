// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package embedding compares texts by meaning. It gets the vectors of texts from an endpoint that has the embeddings
// API of OpenAI (POST /v1/embeddings). It depends on neither agents nor Kubernetes.
//
// An Embedder requests the vectors of documents in the background, in batches. It requests the vector of a query during
// a search, within a time budget. While the endpoint fails, queries have no vector, and the Embedder retries documents
// with backoff.
package embedding

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	// batchSize is the maximum number of texts in one request for documents, and batchInterval the least time between
	// two of these requests.
	batchSize     = 32
	batchInterval = 200 * time.Millisecond
	batchTimeout  = 30 * time.Second
	// minBackoff and maxBackoff are the first and the longest delay after failed requests for
	// documents (exponential backoff).
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
	// maxFailures is the number of documents of a namespace that may fail one after the other, before the namespace has to wait.
	maxFailures = 3
	// maxDocumentBytes bounds the text of a document in a request. Longer texts are cut.
	maxDocumentBytes = 8 << 10
)

// Collectors returns the metrics of embeddings.
func Collectors() []prometheus.Collector { return []prometheus.Collector{requests, vectorsGauge} }

// Options configure an Embedder.
type Options struct {
	// URL is the URL of the endpoint, such as https://models.example/v1/embeddings. Model is the name of the
	// model.
	URL, Model string
	// KeyFile is the path of the file with the API key of the endpoint, "" for none.
	KeyFile string
	// Transport defaults to http.DefaultTransport.
	Transport http.RoundTripper
	// Text returns the present text of a document, and false if the document does not exist. A document whose text is
	// "" has no vector.
	Text func(Key) (string, bool)
	Log  logr.Logger
	// Now returns the time.
	Now func() time.Time
}

// Embedder compares documents with queries. Its methods are safe for concurrent use.
type Embedder struct {
	endpoint  endpoint
	documents *documents
	queries   *queries
	text      func(Key) (string, bool)
	now       func() time.Time
	log       logr.Logger
	// batchFailing is true while requests for documents fail, and queryFailing while requests for
	// queries fail. Only the first failure and the first success afterwards are logged.
	batchFailing, queryFailing atomic.Bool
	// suspects are the documents of requests that have failed, one of which may be the cause. Each is requested again without other
	// documents. Only Run uses suspects.
	suspects map[Key]struct{}
	// failed has the suspects that have failed alone, with their texts. One of each namespace is requested again at retry, after a
	// delay of pause. Only Run uses failed, retry and pause.
	failed map[Key]digest
	retry  time.Time
	pause  time.Duration
	// failing has how many documents of a namespace have failed since the last success of any: those with maxFailures wait until
	// resume, after a delay of backoff, or until a document of another namespace succeeds. Only Run uses failing, resume and backoff.
	failing map[string]int
	resume  time.Time
	backoff time.Duration
	// skipped has the documents that have no vector because MaxDocuments other documents have one. If no other document
	// is pending, Run requests as many skipped documents as may get a vector. Only Run uses skipped.
	skipped map[Key]struct{}

	mu sync.Mutex
	// queues has the documents in pending of each namespace, in the order in which they were added. turns has these
	// namespaces, the next one first.
	queues  map[string][]Key
	turns   []string
	pending map[Key]struct{}
	wake    chan struct{}
}

// New returns an Embedder without vectors. Run computes them.
func New(o Options) *Embedder {
	e := &Embedder{
		endpoint: endpoint{url: o.URL, model: o.Model, keyFile: o.KeyFile, client: &http.Client{
			Transport: o.Transport,
			// The client follows no redirects, which could send the texts and the API key to
			// another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}},
		documents: newDocuments(), text: o.Text, now: o.Now, log: o.Log,
		suspects: map[Key]struct{}{}, failed: map[Key]digest{}, failing: map[string]int{}, backoff: minBackoff, skipped: map[Key]struct{}{},
		queues: map[string][]Key{}, pending: map[Key]struct{}{}, wake: make(chan struct{}, 1),
	}
	e.queries = newQueries(func(ctx context.Context, texts []string) ([]*Vector, error) {
		vectors, err := e.endpoint.embed(ctx, texts)
		e.record(kindQuery, &e.queryFailing, err)
		return vectors, err
	}, o.Now)
	return e
}

// record counts a request. It logs the first failure of a series, and the next success.
func (e *Embedder) record(kind string, failing *atomic.Bool, err error) {
	result := resultOK
	if err != nil {
		result = resultFailed
	}
	requests.WithLabelValues(kind, result).Inc()
	switch {
	case err != nil && !failing.Swap(true):
		e.log.Error(err, "failed to compute embeddings; searches use words alone", "kind", kind, "url", e.endpoint.url)
	case err == nil && failing.Swap(false):
		e.log.Info("embeddings recovered", "kind", kind, "url", e.endpoint.url)
	}
}

// Changed marks documents as changed or removed. It does not block.
func (e *Embedder) Changed(keys ...Key) {
	e.mu.Lock()
	for _, key := range keys {
		if _, waits := e.pending[key]; !waits {
			e.pending[key] = struct{}{}
			if len(e.queues[key.Namespace]) == 0 {
				e.turns = append(e.turns, key.Namespace)
			}
			e.queues[key.Namespace] = append(e.queues[key.Namespace], key)
		}
	}
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run computes the vectors of changed documents until ctx ends.
func (e *Embedder) Run(ctx context.Context) {
	for {
		batch := e.nextBatch()
		if len(batch) == 0 {
			if !e.queueSkipped() && !e.waitForWork(ctx) {
				return
			}
			continue
		}
		e.embedBatch(ctx, batch)
		select {
		case <-ctx.Done():
			return
		case <-time.After(batchInterval):
		}
	}
}

// waitForWork waits until a document is pending whose namespace need not wait. If there is none until retry, it marks one failed
// document of each namespace as pending. It returns false when ctx has ended.
func (e *Embedder) waitForWork(ctx context.Context) bool {
	var resume, retry <-chan time.Time
	if e.isPending() {
		resume = time.After(e.resume.Sub(e.now()))
	} else if len(e.failed) > 0 {
		retry = time.After(e.retry.Sub(e.now()))
	}
	select {
	case <-ctx.Done():
		return false
	case <-e.wake:
	case <-resume:
	case <-retry:
		e.pause = min(2*e.pause, maxBackoff)
		e.retry = e.now().Add(e.pause)
		ofNamespace := map[string]Key{}
		for key := range e.failed {
			ofNamespace[key.Namespace] = key
		}
		e.Changed(slices.Collect(maps.Values(ofNamespace))...)
	}
	return true
}

func (e *Embedder) isPending() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.turns) > 0
}

// queueSkipped marks as many skipped documents as pending as may get a vector. It returns false if it has marked
// none.
func (e *Embedder) queueSkipped() bool {
	var keys []Key
	free := e.documents.free()
	for key := range e.skipped {
		if len(keys) == free {
			break
		}
		delete(e.skipped, key)
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return false
	}
	e.Changed(keys...)
	return true
}

// document is a document that needs the vector of its text.
type document struct {
	key    Key
	text   string
	digest digest
}

// nextBatch takes pending documents from the queue until it has enough for a request, and returns those that need a
// vector. It removes the vectors of documents that do not exist or have no text.
func (e *Embedder) nextBatch() []document {
	var batch []document
	var later []Key
	defer func() {
		if len(later) > 0 {
			e.Changed(later...)
		}
	}()
	for len(batch) < batchSize {
		key, ok := e.takePending()
		if !ok {
			break
		}
		delete(e.skipped, key)
		text, exists := e.text(key)
		text = strings.ToValidUTF8(text[:min(len(text), maxDocumentBytes)], "")
		if !exists || text == "" {
			e.documents.remove(key)
			e.acquit(key)
			continue
		}
		d := document{key, text, digestOf(text)}
		_, isSuspect := e.suspects[key]
		switch {
		case e.documents.has(key, d.digest):
			e.acquit(key)
		case !e.documents.hasRoom(key):
			e.acquit(key)
			e.skipped[key] = struct{}{}
		case isSuspect && len(batch) > 0:
			later = append(later, key)
		case isSuspect:
			return []document{d}
		default:
			batch = append(batch, d)
		}
	}
	return batch
}

// takePending takes the next document of the namespace whose turn it is. It passes over the namespaces that have to wait.
func (e *Embedder) takePending() (Key, bool) {
	waits := e.now().Before(e.resume)
	e.mu.Lock()
	defer e.mu.Unlock()
	at := slices.IndexFunc(e.turns, func(namespace string) bool { return !waits || e.failing[namespace] < maxFailures })
	if at < 0 {
		return Key{}, false
	}
	namespace := e.turns[at]
	e.turns = slices.Delete(e.turns, at, at+1)
	key := e.queues[namespace][0]
	e.queues[namespace] = e.queues[namespace][1:]
	if len(e.queues[namespace]) == 0 {
		delete(e.queues, namespace)
	} else {
		e.turns = append(e.turns, namespace)
	}
	delete(e.pending, key)
	return key, true
}

// embedBatch requests and sets the vectors of a batch of documents. After a failure of several, all are pending again, each for a
// request of its own. If the endpoint fails for a single document, because of its text or of something else, the document waits for
// retry, and others go on.
func (e *Embedder) embedBatch(ctx context.Context, batch []document) {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	texts := make([]string, len(batch))
	for i := range batch {
		texts[i] = batch[i].text
	}
	vectors, err := e.endpoint.embed(ctx, texts)
	for i := range vectors {
		if err == nil {
			err = e.documents.put(batch[i].key, batch[i].digest, vectors[i])
		}
		if err == nil && !e.documents.hasRoom(batch[i].key) { // earlier documents of the batch have used the last free places
			e.skipped[batch[i].key] = struct{}{}
		}
	}
	e.record(kindAgents, &e.batchFailing, err)
	switch {
	case err == nil:
		e.succeeded(batch)
	case len(batch) > 1:
		for i := range batch {
			e.suspects[batch[i].key] = struct{}{}
			e.Changed(batch[i].key)
		}
	default:
		e.fail(&batch[0], err)
	}
}

// succeeded records that the endpoint has accepted the documents of a batch. If it accepts a document for which it has failed before, or
// after namespaces had to wait, it may accept the other ones, too.
func (e *Embedder) succeeded(batch []document) {
	hasRecovered := false
	for _, n := range e.failing {
		hasRecovered = hasRecovered || n >= maxFailures
	}
	for i := range batch {
		_, hasFailed := e.failed[batch[i].key]
		hasRecovered = hasRecovered || hasFailed
		e.acquit(batch[i].key)
	}
	clear(e.failing)
	e.backoff = minBackoff
	e.resume = time.Time{}
	if hasRecovered {
		e.pause = minBackoff
		e.Changed(slices.Collect(maps.Keys(e.failed))...)
	}
}

// acquit records that nothing speaks against a document.
func (e *Embedder) acquit(key Key) {
	delete(e.failed, key)
	delete(e.suspects, key)
}

// fail records that the endpoint has failed for a single document.
func (e *Embedder) fail(d *document, err error) {
	text, hasFailed := e.failed[d.key]
	isNew := !hasFailed || text != d.digest
	if len(e.failed) == 0 {
		e.pause = minBackoff
		e.retry = e.now().Add(e.pause)
	}
	e.failed[d.key] = d.digest
	e.suspects[d.key] = struct{}{}
	if refusesText(err) {
		e.documents.remove(d.key)
		return
	}
	if !isNew {
		return
	}
	e.failing[d.key.Namespace]++
	if e.failing[d.key.Namespace] >= maxFailures {
		e.resume = e.now().Add(e.backoff)
		e.backoff = min(2*e.backoff, maxBackoff)
	}
}

// Query returns the vector of a caller's query. It returns nil if the endpoint fails or takes more than 300 ms, or if too
// many requests for queries are running. After a failure, Query sends no request for 5 s.
func (e *Embedder) Query(ctx context.Context, caller, text string) *Vector {
	return e.queries.vector(ctx, caller, text)
}

// Nearest returns the n documents of keys that are approximately most similar to a query, the most
// similar one first. It computes the exact similarity only for a preselection of the documents.
func (e *Embedder) Nearest(query *Vector, keys iter.Seq[Key], n int) []Key {
	return e.documents.nearest(query, keys, n)
}
