// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// at returns a status of some seconds after noon.
func at(second int, state a2a.State) a2a.Event {
	e := Status(state, nil)
	e.Status.Status.Time = noon.Add(time.Duration(second) * time.Second)
	return e
}

// listed puts a task with a status into a store.
func listed(t *testing.T, s store.Store, owner a2a.Owner, id, contextID string, status a2a.Event) store.Log {
	t.Helper()
	log, err := s.Create(t.Context(), store.NewTask{
		Key: store.Key{Owner: owner, TaskID: id}, Origin: store.Origin{ContextID: contextID},
		Events: []a2a.Event{{Message: Message("m", "hi")}, status},
	})
	if err != nil {
		t.Fatalf("Create() error = %v", err)
	}
	return log
}

func page(t *testing.T, s store.Store, q store.Query) (ids []string, p *store.Page) {
	t.Helper()
	p, err := s.List(t.Context(), &q)
	if err != nil {
		t.Fatalf("List() error = %v", err)
	}
	for _, task := range p.Tasks {
		ids = append(ids, task.ID)
	}
	return ids, p
}

func list(t *testing.T, s store.Store) {
	listed(t, s, "alice", "old", "c1", at(1, a2a.StateSubmitted))
	listed(t, s, "alice", "tie-a", "c2", at(2, a2a.StateWorking))
	listed(t, s, "alice", "tie-b", "c1", at(2, a2a.StateCompleted))
	moved := listed(t, s, "alice", "moved", "c1", at(0, a2a.StateSubmitted))
	add(t, moved, 2, at(3, a2a.StateInputRequired), Chunk("a", "x"))
	listed(t, s, "bob", "tie-a", "c1", at(9, a2a.StateWorking))
	listed(t, s, a2a.Owner("alice").In("north"), "tenant", "c1", at(9, a2a.StateWorking))
	tests := map[string]struct {
		query store.Query
		want  []string
		total int
		next  bool
	}{
		"newest first, then highest id": {store.Query{}, []string{"moved", "tie-b", "tie-a", "old"}, 4, false},
		"of one context":                {store.Query{ContextID: "c1"}, []string{"moved", "tie-b", "old"}, 3, false},
		"of one state":                  {store.Query{State: a2a.StateWorking}, []string{"tie-a"}, 1, false},
		"since includes its moment":     {store.Query{Since: noon.Add(2 * time.Second)}, []string{"moved", "tie-b", "tie-a"}, 3, false},
		"since leaves out what is older": {
			store.Query{Since: noon.Add(2*time.Second + time.Nanosecond)}, []string{"moved"}, 1, false,
		},
		"conditions add up": {store.Query{ContextID: "c1", State: a2a.StateCompleted, Since: noon}, []string{"tie-b"}, 1, false},
		"nothing":           {store.Query{ContextID: "none"}, nil, 0, false},
		"first page":        {store.Query{Limit: 2}, []string{"moved", "tie-b"}, 4, true},
		"page between ties": {
			store.Query{Limit: 1, After: &store.Place{Time: noon.Add(2 * time.Second), TaskID: "tie-b"}}, []string{"tie-a"}, 4, true,
		},
		"last page": {
			store.Query{Limit: 2, After: &store.Place{Time: noon.Add(2 * time.Second), TaskID: "tie-b"}}, []string{"tie-a", "old"}, 4, false,
		},
		"behind a task that is gone": {
			store.Query{Limit: 2, After: &store.Place{Time: noon.Add(2 * time.Second), TaskID: "tie-aa"}}, []string{"tie-a", "old"}, 4, false,
		},
		"behind the end": {store.Query{After: &store.Place{}}, nil, 4, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q := tt.query
			q.Owner = "alice"
			if q.Limit == 0 {
				q.Limit = 10
			}
			got, p := page(t, s, q)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
			if p.Total != tt.total || (p.Next != nil) != tt.next {
				t.Errorf("total %d, next %v; want %d, %t", p.Total, p.Next, tt.total, tt.next)
			}
		})
	}
	if got, p := page(t, s, store.Query{Owner: "carol", Limit: 1}); got != nil || p.Total != 0 {
		t.Errorf("a stranger sees %d of %d tasks", len(got), p.Total)
	}
}

// The pages of a list contain every task once, while a task that is not in the list changes.
func listWhileWritten(t *testing.T, s store.Store) {
	const tasks = 60
	for i := range tasks {
		listed(t, s, "alice", "still-"+strconv.Itoa(i), "c1", at(i/7, a2a.StateCompleted))
	}
	busy := listed(t, s, "alice", "busy", "c2", at(1000, a2a.StateWorking))
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := uint64(0); ; i++ {
			select {
			case <-done:
				return
			default:
				_, _ = busy.Append(t.Context(), store.Append{After: 2 + i, Events: []a2a.Event{at(1000+int(i), a2a.StateWorking)}})
			}
		}
	})
	seen := map[string]bool{}
	q := store.Query{Owner: "alice", ContextID: "c1", Limit: 7}
	for {
		ids, p := page(t, s, q)
		if p.Total != tasks {
			t.Errorf("total = %d, want %d", p.Total, tasks)
		}
		for _, id := range ids {
			if seen[id] {
				t.Errorf("%s comes twice", id)
			}
			seen[id] = true
		}
		if q.After = p.Next; q.After == nil {
			break
		}
	}
	close(done)
	wg.Wait()
	if len(seen) != tasks {
		t.Errorf("%d tasks were listed, want %d", len(seen), tasks)
	}
}
