// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/registry/embedding"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// Embeddings configures the search by similarity of meaning. The registry sets Text, Log and Now
// itself, and ignores their values.
type Embeddings = embedding.Options

// embeddings extends ranked searches by the similarity of meaning. The methods vector and
// rankBySimilarity of a nil *embeddings do nothing.
type embeddings struct {
	embedder *embedding.Embedder
	feed     *index.Feed
}

func newEmbeddings(o Embeddings, feed *index.Feed, c clock.PassiveClock, log logr.Logger) *embeddings {
	e := &embeddings{feed: feed}
	o.Text = e.text
	o.Log = log
	o.Now = c.Now
	e.embedder = embedding.New(o)
	return e
}

// run computes the vectors of agents until ctx ends.
func (e *embeddings) run(ctx context.Context) {
	if _, ok := e.feed.AwaitRevision(ctx, index.Revision{}); !ok {
		return
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); e.embedder.Run(ctx) }()
	update := e.feed.Latest()
	for entry := range update.Snapshot.All {
		e.embedder.Changed(embedding.Key(entry.Key))
	}
	for {
		select {
		case <-update.Ready():
			update = update.Next()
			for i := range update.Changes {
				if c := &update.Changes[i]; !c.Unchanged() {
					e.embedder.Changed(embedding.Key(c.Key))
				}
			}
		case <-ctx.Done():
			<-stopped
			return
		}
	}
}

// text returns the text from which the endpoint computes the vector of an agent, and false if the
// agent does not exist.
func (e *embeddings) text(key embedding.Key) (string, bool) {
	entry := e.feed.Current().Get(index.Key(key))
	if entry == nil {
		return "", false
	}
	var item struct {
		DisplayName string `json:"displayName"`
		Description string `json:"description"`
		Skills      []struct {
			Name        string   `json:"name"`
			Description string   `json:"description"`
			Tags        []string `json:"tags"`
			Examples    []string `json:"examples"`
		} `json:"skills"`
	}
	if err := json.Unmarshal(entry.Body(), &item); err != nil {
		return "", true // does not occur, because the registry has encoded the body; "" means that the agent has no vector
	}
	lines := []string{item.DisplayName, item.Description}
	for _, s := range item.Skills {
		lines = append(append(lines, s.Name, s.Description, strings.Join(s.Tags, ", ")), s.Examples...)
	}
	return strings.Join(lines, "\n"), true
}

// vector returns the vector of the text of a caller's query, or nil if there is none. It may wait for the endpoint, so
// its caller must not hold a slot of the concurrency limiter.
func (e *embeddings) vector(ctx context.Context, caller a2a.AccountingPrincipal, text string) *embedding.Vector {
	if e == nil || text == "" {
		return nil
	}
	return e.embedder.Query(ctx, caller.Principal, text)
}

// rankBySimilarity makes a ranked query also find the agents that are similar to vector. It does
// nothing if vector is nil.
func (e *embeddings) rankBySimilarity(q *index.Query, vector *embedding.Vector) {
	if e == nil || vector == nil || q.RankedText() == "" {
		return
	}
	q.RankBySimilarity(func(agents iter.Seq[index.Key], n int) []index.Key {
		found := e.embedder.Nearest(vector, func(yield func(embedding.Key) bool) {
			for key := range agents {
				if !yield(embedding.Key(key)) {
					return
				}
			}
		}, n)
		keys := make([]index.Key, len(found))
		for i, key := range found {
			keys[i] = index.Key(key)
		}
		return keys
	})
}
