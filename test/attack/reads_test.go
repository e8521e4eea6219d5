// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// TestReadsOfLargeTasks lets many callers read tasks that are in Redis, and of which the sidecar has memory for a few.
func TestReadsOfLargeTasks(t *testing.T) {
	besideOthers(t)
	s := startSidecar(t, echo, nil, "--store", "redis://"+redistest.Start(t).Address(), "--store-name", "team/echo")
	subject := s.subject(t, "sidecar, Redis")
	tasks := s.storeTasks(t, 12, 4<<20, func(i int) string { return fmt.Sprintf("reader-%d", i) })
	by := clientsFrom(1)[0]
	subject.usual += 28 << 20 // the cache of tasks stays
	subject.withstands(t, "48 reads of tasks of 4 MiB at a time", 2*lasts, func(ctx context.Context) string {
		return crowd(ctx, 48, 400, func(ctx context.Context) string {
			task := tasks[mathrand.N(len(tasks))]
			return status(s.postBy(ctx, by, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":%q}}`, task.id), "Authorization", task.bearer))
		})
	})
}

// storedTask is a task in Redis with a token of its owner.
type storedTask struct{ id, bearer string }

// storeTasks stores tasks of a size.
func (s *sidecar) storeTasks(t *testing.T, n, size int, owner func(i int) string) []storedTask {
	t.Helper()
	by := clientsFrom(1)[0]
	text := strings.Repeat("x", size)
	tasks := make([]storedTask, n)
	for i := range tasks {
		bearer := "Bearer " + s.token(t, owner(i))
		status, answer := s.postBy(t.Context(), by, fmt.Sprintf(message, rand.Text(), text), "Authorization", bearer)
		var sent struct {
			Result struct{ ID string }
		}
		if err := json.Unmarshal([]byte(answer), &sent); err != nil || sent.Result.ID == "" {
			t.Fatalf("%d %.300s: %v", status, answer, err)
		}
		tasks[i] = storedTask{sent.Result.ID, bearer}
	}
	return tasks
}

// TestReferencesToLargeTasks sends small messages that refer to many large tasks in Redis, of one caller and of several.
func TestReferencesToLargeTasks(t *testing.T) {
	besideOthers(t)
	s := startSidecar(t, echo, nil, "--store", "redis://"+redistest.Start(t).Address(), "--store-name", "team/echo")
	subject := s.subject(t, "sidecar, Redis")
	const owners, each = 3, 8
	tasks := s.storeTasks(t, owners*each, 4<<20, func(i int) string { return fmt.Sprintf("owner-%d", i%owners) })
	by := clientsFrom(1)[0]
	subject.usual += 28 << 20 // the cache of tasks stays
	var next atomic.Int64
	subject.withstands(t, "48 messages at a time that refer to 8 tasks of 4 MiB", 2*lasts, func(ctx context.Context) string {
		return crowd(ctx, 48, 400, func(ctx context.Context) string {
			of := int(next.Add(1)) % owners
			var ids []string
			for i := range each {
				ids = append(ids, tasks[i*owners+of].id)
			}
			mathrand.Shuffle(len(ids), func(a, b int) { ids[a], ids[b] = ids[b], ids[a] })
			body := strings.Replace(fmt.Sprintf(message, rand.Text(), "Hello"), `"kind":"message",`, `"kind":"message","referenceTaskIds":["`+strings.Join(ids, `","`)+`"],`, 1)
			return status(s.postBy(ctx, by, body, "Authorization", tasks[of].bearer))
		})
	})
}

// inContext is a message of A2A 0.3 that begins a task in a conversation, and lists asks for its tasks in a state that none of them has.
const (
	inContext = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"configuration":{"blocking":true},"message":{"kind":"message","messageId":%q,"contextId":"c","role":"user","parts":[{"kind":"text","text":"Hello"}]}}}`
	lists     = `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"contextId":"c","status":"TASK_STATE_REJECTED"}}`
)

// TestListsOfManyTasks lists the tasks of a conversation with many tasks, all of which Redis must read for one caller of one agent. The
// callers of another agent that shares the Redis are served.
func TestListsOfManyTasks(t *testing.T) {
	besideOthers(t)
	number := 1000
	if full {
		number = 9900
	}
	redis := redistest.Start(t)
	start := func(name string) *sidecar {
		return startSidecar(t, echo, func(c *sidecarconfig.Config) {
			c.Agent.Name = name
			c.Limits.Requests = sidecarconfig.Rate{PerSecond: 5000}
			c.Limits.TotalRequests = sidecarconfig.Rate{PerSecond: 10_000}
		}, "--store", "redis://"+redis.Address(), "--store-name", "team/"+name)
	}
	mine, other := start("mine"), start("other")
	other.agent.post(fmt.Sprintf(message, "", "Hello"))
	other.agent.good[0].bearer = func() string { return other.token(t, "client") }
	mine.agent.good = append(mine.agent.good, other.agent.good...)
	subject := mine.subject(t, "sidecar, Redis")
	bearer := "Bearer " + mine.token(t, "hostile")
	var group sync.WaitGroup
	var sent atomic.Int64
	for range 16 {
		group.Go(func() {
			for sent.Add(1) <= int64(number) && !t.Failed() {
				if status, answer := mine.post(t.Context(), fmt.Sprintf(inContext, rand.Text()), "Authorization", bearer); status != http.StatusOK || strings.Contains(answer, `"error"`) {
					t.Errorf("%d %.300s", status, answer)
				}
			}
		})
	}
	group.Wait()
	subject.usual += 28 << 20 // the cache of tasks stays
	subject.withstands(t, fmt.Sprintf("48 lists at a time of %d tasks of a conversation", number), 2*lasts, func(ctx context.Context) string {
		return crowd(ctx, 48, 400, func(ctx context.Context) string {
			s, answer := mine.post(ctx, lists, "Authorization", bearer, "A2A-Version", "1.0")
			if s == http.StatusOK && strings.Contains(answer, `"error"`) {
				return fmt.Sprintf("%.200s", answer)
			}
			return status(s, answer)
		})
	})
}
