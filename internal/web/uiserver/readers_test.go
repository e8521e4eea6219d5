// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

// changingRegistry sends each event to every watch.
type changingRegistry struct {
	mu      sync.Mutex
	watches []chan []byte
	opened  sync.WaitGroup
}

func (c *changingRegistry) ServeCaller(w http.ResponseWriter, r *http.Request, _ access.Caller) {
	events := make(chan []byte, 1)
	c.mu.Lock()
	c.watches = append(c.watches, events)
	c.mu.Unlock()
	c.opened.Done()
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		select {
		case event := <-events:
			_, _ = w.Write(event)
		case <-r.Context().Done():
			return
		}
	}
}

func (*changingRegistry) SeesNamespace(context.Context, access.Caller, string) (bool, error) {
	return false, nil
}

func (c *changingRegistry) send(event []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, events := range c.watches {
		events <- event
	}
}

// What a change of an agent with a large card costs for each person who has the list open does not depend on the size of the card.
func TestWatchesReadOnlyTheNamesOfAgents(t *testing.T) {
	const viewers, changes = 100, 4
	const mostAllocated, mostHeld = 64 << 10, 64 << 10
	skill := `{"id":"","name":"","description":"","tags":["",""]}`
	body := `{"namespace":"team","name":"fat","description":"` + strings.Repeat("words ", 1000) + `","skills":[` +
		strings.Repeat(skill+",", 515<<10/len(skill)) + skill + `]}`
	registry := &changingRegistry{}
	v := &readers{registry: registry}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	registry.opened.Add(viewers)
	var received, ended sync.WaitGroup
	for i := range viewers {
		ended.Go(func() {
			person := withReader(ctx, access.Caller{Username: fmt.Sprint("person-", i)})
			_ = v.Watch(person, registryapi.Query{}, "", func(e registryapi.Event) error {
				if e.Type == registryapi.Upsert && (e.Namespace != "team" || e.Name != "fat" || e.ID != "7") {
					t.Errorf("the event has the id %q and the agent %q", e.ID, e.Namespace+"/"+e.Name)
				}
				received.Done()
				return nil
			})
		})
	}
	send := func(event string) {
		received.Add(viewers)
		registry.send([]byte(event))
		received.Wait()
	}
	memory := func() (stats runtime.MemStats) {
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats
	}
	registry.opened.Wait()
	send("event: reset\ndata: {}\n\n")
	before := memory()
	for range changes {
		send("event: upsert\nid: 7\ndata: " + body + "\n\n")
	}
	send(`event: remove` + "\n" + `data: {"namespace":"team","name":"fat"}` + "\n\n")
	after := memory()
	allocated := (after.TotalAlloc - before.TotalAlloc) / (viewers * changes)
	held := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / viewers
	t.Logf("each event and viewer: %d KiB allocated; each viewer: %d KiB held", allocated>>10, held>>10)
	if allocated > mostAllocated || held > mostHeld {
		t.Errorf("a change of %d KiB allocates %d KiB for each viewer, which keeps %d KiB", len(body)>>10, allocated>>10, held>>10)
	}
	cancel()
	ended.Wait()
}
