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
	"errors"
	"iter"
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
	// slowFor is for how long a namespace is slow after a request to which the endpoint has not responded in time: twenty times as long as
	// the request, so that such requests of a namespace take a small part of the time of others.
	slowFor = 20 * batchTimeout
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
	// work guards the fields until mu, which only the lanes of Run use, when no request of theirs runs.
	work sync.Mutex
	// requested has the namespaces of the documents in requests that run. No two of these requests have documents of one namespace.
	requested map[string]struct{}
	// suspects are documents of failed requests.
	suspects suspects
	// isSuspectsTurn is true if the next request of the slow lane is for suspects: they alternate with the documents of slow namespaces.
	isSuspectsTurn bool
	// slow has the namespaces for whose documents the endpoint did not respond in time, until when only the slow lane has them.
	slow map[string]time.Time
	// failed has the documents that have failed alone, with their texts. One of each namespace is requested again after each delay of
	// retry.
	failed map[Key]digest
	retry  backoff
	// outage delays all documents after a failure that no text causes. isDown is true from then until the next success.
	outage backoff
	isDown bool
	// failing has how many documents of a namespace have failed alone since the last success of any of the namespace. pause delays the
	// namespaces with maxFailures, until a document of any namespace succeeds.
	failing map[string]int
	pause   backoff
	// skipped has the documents that have no vector because MaxDocuments other documents have one. If no other document
	// is pending, Run requests as many skipped documents as may get a vector.
	skipped map[Key]struct{}

	mu sync.Mutex
	// queues has the documents in pending of each namespace, in the order in which they were added. turns has these
	// namespaces, the next one first.
	queues  map[string][]Key
	turns   []string
	pending map[Key]struct{}
	// wake has a channel for each lane.
	wake [lanes]chan struct{}
}

// A lane sends one request at a time. The slow lane has the suspects and the documents of slow namespaces, so that requests to which the
// endpoint does not respond delay no others.
const (
	laneNormal = iota
	laneSlow
	lanes
)

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
		suspects: suspects{ofNamespace: map[string]map[Key]struct{}{}}, failed: map[Key]digest{}, failing: map[string]int{}, skipped: map[Key]struct{}{},
		requested: map[string]struct{}{}, slow: map[string]time.Time{}, queues: map[string][]Key{}, pending: map[Key]struct{}{},
	}
	for lane := range e.wake {
		e.wake[lane] = make(chan struct{}, 1)
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
	e.wakeLanes()
}

func (e *Embedder) wakeLanes() {
	for _, wake := range e.wake {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// Run computes the vectors of changed documents until ctx ends.
func (e *Embedder) Run(ctx context.Context) {
	var running sync.WaitGroup
	for lane := range lanes {
		running.Go(func() { e.run(ctx, lane) })
	}
	running.Wait()
}

// run sends the requests of a lane until ctx ends.
func (e *Embedder) run(ctx context.Context, lane int) {
	for ctx.Err() == nil {
		batch, delay := e.begin(lane)
		rested := time.After(delay)
		if len(batch) > 0 {
			e.embedBatch(ctx, batch, lane)
			e.wakeLanes() // the batch may have left suspects, or let others go on
			select {
			case <-ctx.Done():
			case <-time.After(batchInterval):
			}
			continue
		}
		if delay == 0 {
			rested = nil
		}
		select {
		case <-ctx.Done():
		case <-e.wake[lane]:
		case <-rested:
		}
	}
}

// begin returns documents for a request of a lane. If there are none, it returns the delay after which there may be some without a change,
// 0 for none.
func (e *Embedder) begin(lane int) (batch []document, delay time.Duration) {
	e.work.Lock()
	defer e.work.Unlock()
	if len(e.failed) > 0 && !e.retry.lasts(e.now()) {
		e.retry.begin(e.now())
		e.retryFailed()
	}
	batch = e.nextBatch(lane)
	if len(batch) == 0 && lane == laneNormal && e.queueSkipped() {
		batch = e.nextBatch(lane)
	}
	for i := range batch {
		e.requested[batch[i].key.Namespace] = struct{}{}
	}
	now := e.now()
	switch {
	case e.outage.lasts(now):
		delay = e.outage.until.Sub(now)
	case e.pause.lasts(now) && (len(e.failed) == 0 || e.pause.until.Before(e.retry.until)):
		delay = e.pause.until.Sub(now)
	case len(e.failed) > 0:
		delay = e.retry.until.Sub(now)
	}
	return batch, delay
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

// nextBatch returns documents for a request of a lane. It returns none if all have to wait.
func (e *Embedder) nextBatch(lane int) []document {
	if e.outage.lasts(e.now()) {
		return nil
	}
	if lane == laneNormal {
		return e.nextPending(func(namespace string) bool { return !e.isSlow(namespace) })
	}
	e.isSuspectsTurn = !e.isSuspectsTurn
	sources := []func() []document{e.nextSlow, e.nextSuspects}
	if e.isSuspectsTurn {
		slices.Reverse(sources)
	}
	batch := sources[0]()
	if len(batch) == 0 {
		batch = sources[1]()
	}
	return batch
}

// nextSuspects takes the next group of suspects of which one need not wait, and returns those that still need a vector. Those of slow
// namespaces come last.
func (e *Embedder) nextSuspects() []document {
	for {
		group := e.suspects.take(func(group []Key) bool { return e.mayRequest(group) && !e.isSlow(group[0].Namespace) })
		if group == nil {
			group = e.suspects.take(e.mayRequest)
		}
		if group == nil {
			return nil
		}
		var batch []document
		for _, key := range group {
			d, needsVector := e.documentOf(key)
			if needsVector {
				batch = append(batch, d)
			}
		}
		if len(batch) > 0 {
			return batch
		}
	}
}

// mayRequest reports whether a group of suspects may be requested now.
func (e *Embedder) mayRequest(group []Key) bool {
	return slices.ContainsFunc(group, func(key Key) bool { return !e.waits(key.Namespace) }) &&
		!slices.ContainsFunc(group, func(key Key) bool { return e.isRequested(key.Namespace) })
}

func (e *Embedder) isRequested(namespace string) bool {
	_, is := e.requested[namespace]
	return is
}

// isSlow reports whether the endpoint did not respond in time for documents of a namespace, in the last time.
func (e *Embedder) isSlow(namespace string) bool {
	until, was := e.slow[namespace]
	if was && !e.now().Before(until) {
		delete(e.slow, namespace)
		return false
	}
	return was
}

// nextSlow returns pending documents of one slow namespace.
func (e *Embedder) nextSlow() []document {
	of := ""
	return e.nextPending(func(namespace string) bool {
		if of == "" && e.isSlow(namespace) {
			of = namespace
		}
		return of == namespace
	})
}

// nextPending takes pending documents of some namespaces from the queue until it has enough for a request, and returns those that need a
// vector. A document that has failed alone becomes a suspect if its text is another one, and otherwise waits for retry.
func (e *Embedder) nextPending(has func(namespace string) bool) []document {
	var batch []document
	for len(batch) < batchSize {
		key, ok := e.takePending(has)
		if !ok {
			break
		}
		d, needsVector := e.documentOf(key)
		text, hasFailed := e.failed[key]
		switch {
		case !needsVector:
		case !hasFailed:
			batch = append(batch, d)
		case text != d.digest:
			e.suspects.add(key)
		}
	}
	return batch
}

// documentOf returns a document, and whether it needs a vector. It removes the vector of a document that does not exist or has no text.
func (e *Embedder) documentOf(key Key) (document, bool) {
	delete(e.skipped, key)
	text, exists := e.text(key)
	text = strings.ToValidUTF8(text[:min(len(text), maxDocumentBytes)], "")
	if !exists || text == "" {
		e.documents.remove(key)
		e.acquit(key)
		return document{}, false
	}
	d := document{key, text, digestOf(text)}
	switch {
	case e.documents.has(key, d.digest):
		e.acquit(key)
		return d, false
	case !e.documents.hasRoom(key):
		e.acquit(key)
		e.skipped[key] = struct{}{}
		return d, false
	}
	return d, true
}

// takePending takes the next document of the namespace whose turn it is, of those for which has returns true. It passes over the namespaces
// that have to wait or have suspects.
func (e *Embedder) takePending(has func(namespace string) bool) (Key, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := slices.IndexFunc(e.turns, func(namespace string) bool {
		return !e.waits(namespace) && !e.suspects.has(namespace) && !e.isRequested(namespace) && has(namespace)
	})
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

// waits reports whether a namespace has to wait because its documents fail.
func (e *Embedder) waits(namespace string) bool {
	return e.failing[namespace] >= maxFailures && e.pause.lasts(e.now())
}

// embedBatch requests and sets the vectors of a batch of documents of a lane. After a failure of several, each half of them is requested
// again, or each namespace if the endpoint does not respond in time. If the endpoint fails for a single document, because of its text or of
// something else, the document waits for retry, and others go on.
func (e *Embedder) embedBatch(ctx context.Context, batch []document, lane int) {
	texts := make([]string, len(batch))
	for i := range batch {
		texts[i] = batch[i].text
	}
	timed, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	vectors, err := e.endpoint.embed(timed, texts)
	if ctx.Err() != nil {
		return
	}
	e.work.Lock()
	defer e.work.Unlock()
	for i := range vectors {
		if err == nil {
			err = e.documents.put(batch[i].key, batch[i].digest, vectors[i])
		}
		if err == nil && !e.documents.hasRoom(batch[i].key) { // earlier documents of the batch have used the last free places
			e.skipped[batch[i].key] = struct{}{}
		}
	}
	e.record(kindAgents, &e.batchFailing, err)
	for i := range batch {
		delete(e.requested, batch[i].key.Namespace)
	}
	if err == nil {
		e.succeeded(batch)
		return
	}
	keys := make([]Key, len(batch))
	for i := range batch {
		keys[i] = batch[i].key
	}
	isOfOne := !slices.ContainsFunc(keys, func(key Key) bool { return key.Namespace != keys[0].Namespace })
	isLate := errors.Is(err, context.DeadlineExceeded)
	if isLate && isOfOne {
		e.slow[keys[0].Namespace] = e.now().Add(slowFor)
	}
	// Texts of the slow lane are known to take long, and delay no others.
	isDown := isOutage(err) && (!isLate || lane != laneSlow)
	switch {
	case len(keys) == 1:
		e.fail(&batch[0], err, isDown)
		return
	case isLate && !isOfOne:
		e.suspects.addByNamespace(keys)
	default:
		e.suspects.split(keys)
	}
	if isDown {
		e.wait()
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
