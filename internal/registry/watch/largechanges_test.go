// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/registry/watch"
)

// A tenant changes more large agents at once than readers may be behind. Readers that read at once see all changes.
func TestLargeChangesAtOnceEndNoWatch(t *testing.T) {
	text := strings.Repeat("x", 250_000)
	const agents = 50
	for name, set := range map[string]func(context.Context) (*access.Set, error){
		"of all agents": adminSet(),
		"of another namespace": func(context.Context) (*access.Set, error) {
			return access.NewSet(access.VisibilityPublic, "good"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster()
				c.write(agentAt(index.Key{Namespace: "good", Name: "a"}, "text"), false)
				r := startReplica(t, c)
				query, err := index.ParseQuery("watch=true")
				if err != nil {
					t.Fatal(err)
				}
				stream, err := watch.New(t.Context(), watch.Options{Feed: r.feed, Query: query, VisibleSet: set, Clock: clock.RealClock{}})
				if err != nil {
					t.Fatal(err)
				}
				reader := &recorder{}
				ended := make(chan error, 1)
				ctx, cancel := context.WithCancel(t.Context())
				go func() { ended <- stream.Run(ctx, reader) }()
				synctest.Wait()
				for round := range 2 {
					for i := range agents {
						c.write(agentAt(index.Key{Namespace: "bad", Name: fmt.Sprint("a", i)}, text+fmt.Sprint(round)), false)
					}
					c.write(agentAt(index.Key{Namespace: "good", Name: "a"}, fmt.Sprint("round ", round)), false)
					r.cache(c, len(c.log))
					r.notify(c, len(c.log))
					time.Sleep(10 * time.Second)
					synctest.Wait()
					if !strings.Contains(reader.String(), fmt.Sprint("round ", round)) {
						t.Errorf("the reader has not seen the change of round %d", round)
					}
				}
				cancel()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("the stream ended with %v", err)
				}
				r.stop()
				<-r.done
			})
		})
	}
}
