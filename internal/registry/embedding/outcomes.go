// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package embedding

// succeeded records that the endpoint has accepted the documents of a batch. If it accepts a document for which it has failed before, it
// may accept the other ones, too. If all or the namespace of a document had to wait, it may accept those that it has not accepted since.
func (e *Embedder) succeeded(batch []document) {
	hasRecovered := e.isDown
	acceptsFailed := false
	for i := range batch {
		key := batch[i].key
		if e.failing[key.Namespace] >= maxFailures {
			hasRecovered = true
			e.Changed(e.suspects.release(key.Namespace, func(key Key) bool { return e.hasFailed(key) })...)
		}
		acceptsFailed = acceptsFailed || e.hasFailed(key)
		e.acquit(key)
	}
	e.isDown = false
	e.outage = backoff{}
	e.pause = backoff{}
	switch {
	case acceptsFailed:
		e.retry = backoff{}
		e.retry.begin(e.now())
		for key := range e.failed {
			e.suspects.add(key)
		}
	case hasRecovered:
		e.retry = backoff{}
		e.retry.begin(e.now())
		e.retryFailed()
	}
}

// retryFailed makes one failed document of each namespace a suspect.
func (e *Embedder) retryFailed() {
	ofNamespace := map[string]Key{}
	for key := range e.failed {
		ofNamespace[key.Namespace] = key
	}
	for namespace, key := range ofNamespace {
		if !e.suspects.has(namespace) {
			e.suspects.add(key)
		}
	}
}

func (e *Embedder) hasFailed(key Key) bool {
	_, has := e.failed[key]
	return has
}

// acquit records that nothing speaks against a document.
func (e *Embedder) acquit(key Key) {
	delete(e.failed, key)
	delete(e.failing, key.Namespace)
}

// fail records that the endpoint has failed for a single document. isDown is true if no text is the cause.
func (e *Embedder) fail(d *document, err error, isDown bool) {
	text, hasFailed := e.failed[d.key]
	if len(e.failed) == 0 {
		e.retry = backoff{}
		e.retry.begin(e.now())
	}
	e.failed[d.key] = d.digest
	switch {
	case refusesText(err):
		e.documents.remove(d.key)
	case hasFailed && text == d.digest:
	case isDown:
		e.wait()
	default:
		e.failing[d.key.Namespace]++
		if e.failing[d.key.Namespace]%maxFailures == 0 {
			e.pause.begin(e.now())
		}
	}
}

// wait delays all documents after a failure that no text causes.
func (e *Embedder) wait() {
	e.isDown = true
	e.outage.begin(e.now())
}
