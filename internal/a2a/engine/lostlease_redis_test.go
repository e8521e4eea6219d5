// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// countingAgent counts the turns of each message.
type countingAgent struct {
	mu    sync.Mutex
	turns map[string]int
}

func (c *countingAgent) Run(_ context.Context, turn *backend.Turn, emit backend.Emit) error {
	c.mu.Lock()
	c.turns[turn.Message.ID]++
	c.mu.Unlock()
	return emit([]a2a.Event{status(a2a.StateCompleted)})
}

// flush removes all data of a server, as a failover to an empty one does.
func flush(t *testing.T, server *redistest.Server) {
	t.Helper()
	c, err := net.Dial("tcp", server.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte("FLUSHALL\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 3)
	if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "+OK" {
		t.Fatalf("FLUSHALL: %q, %v", answer, err)
	}
}

// After the server has lost its data, the replicas have no leases until their next renewals. A client sends a
// message to both at once.
func TestOneMessageBeginsOneTurnAfterTheServerLostItsData(t *testing.T) {
	server := redistest.Start(t)
	agent := &countingAgent{turns: map[string]int{}}
	var replicas []*engine.Engine
	for _, name := range []string{"a", "b"} {
		s, err := redis.Open(redis.Options{Server: redis.Server{Addresses: []string{server.Address()}}, Prefix: "a2a:{test/agent}:"})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(engine.Options{Member: s.Join(name), Backend: agent, Lease: 10 * time.Second, Retry: retry})
		if err != nil {
			t.Fatal(err)
		}
		e.Start()
		t.Cleanup(func() {
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			_ = e.Drain(ended)
			_ = s.Close()
		})
		replicas = append(replicas, e)
	}
	send := func(e *engine.Engine, id string) (*a2a.Task, error) {
		for {
			answer, err := e.Send(t.Context(), newRequest(id, "hi"))
			if problem, ok := errors.AsType[*a2a.Error](err); ok && problem.Reason == a2a.ReasonUnavailable {
				time.Sleep(10 * time.Millisecond) // as a client, which waits before it sends a message again
				continue
			}
			if err != nil {
				return nil, err
			}
			return answer.Task, nil
		}
	}
	for _, e := range replicas {
		if _, err := send(e, "first"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		id := fmt.Sprint("m", i)
		flush(t, server)
		tasks := make([]*a2a.Task, len(replicas))
		var both sync.WaitGroup
		for at, e := range replicas {
			both.Go(func() {
				var err error
				tasks[at], err = send(e, id)
				if err != nil {
					t.Errorf("Send(%s) error = %v", id, err)
				}
			})
		}
		both.Wait()
		if t.Failed() {
			return
		}
		if n := agent.turns[id]; n != 1 || tasks[0].ID != tasks[1].ID {
			t.Errorf("%s began %d turns, in the tasks %s and %s", id, n, tasks[0].ID, tasks[1].ID)
		}
	}
}
