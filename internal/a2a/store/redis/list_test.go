// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// The time of Paused does not grow with the number of tasks of the conversation, paused or
// not. A slow script would delay all agents, because the server runs one script at a time.
func TestPausedReadsTwoTasks(t *testing.T) {
	server := start(t)
	o := server.options()
	s := open(t, o)
	const tasks = 4000
	create := func(context, id string, state a2a.State) {
		_, err := s.Create(t.Context(), store.NewTask{
			Key: store.Key{Owner: "alice", TaskID: id}, Origin: store.Origin{ContextID: context},
			Events: []a2a.Event{{Message: storetest.Message("m", "hi")}, storetest.Status(state, nil)},
		})
		if err != nil {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			for i := w; i < tasks; i += 16 {
				create("paused", "p"+strconv.Itoa(i), a2a.StateInputRequired)
				create("ended", "e"+strconv.Itoa(i), a2a.StateCompleted)
			}
		})
	}
	all.Wait()
	c := client.NewClient(&client.Options{Addr: server.Address()})
	defer func() { _ = c.Close() }()
	if err := c.ConfigSet(t.Context(), "slowlog-log-slower-than", "0").Err(); err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]int{"paused": 2, "ended": 0} {
		least := time.Hour
		for range 20 {
			ids, err := s.Paused(t.Context(), store.Conversation{Owner: "alice", ContextID: context})
			if len(ids) != want || err != nil {
				t.Fatalf("Paused() = %q, %v, want %d", ids, err, want)
			}
			for _, entry := range c.SlowLogGet(t.Context(), 5).Val() {
				if entry.Args[0] == "EVALSHA" || entry.Args[0] == "evalsha" {
					least = min(least, entry.Duration)
					break
				}
			}
		}
		if least > 500*time.Microsecond {
			t.Errorf("Paused() of a conversation with %d tasks that are %s takes the server %v", tasks, context, least)
		}
	}
}
