// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

func TestStore(t *testing.T) {
	server := start(t)
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, server.options()) })
}

// replicas open one store each, as separate processes do, and share only the server.
type replicas struct {
	*redis.Store
	t       *testing.T
	options redis.Options
}

func (r replicas) Join(name string) store.Member { return open(r.t, r.options).Join(name) }

func TestReplicas(t *testing.T) {
	server := start(t)
	storetest.RunShared(t, func(t *testing.T) storetest.Shared {
		o := server.options()
		return storetest.Shared{Shared: replicas{open(t, o), t, o}, Pass: time.Sleep}
	})
}

func TestPageKeyIsShared(t *testing.T) {
	server := start(t)
	o := server.options()
	first, err := open(t, o).PageKey(t.Context())
	if err != nil || len(first) != 32 {
		t.Fatalf("PageKey() = %d bytes, %v", len(first), err)
	}
	again, err := open(t, o).PageKey(t.Context())
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("another replica has another key, error = %v", err)
	}
	other, err := open(t, server.options()).PageKey(t.Context())
	if err != nil || bytes.Equal(first, other) {
		t.Errorf("another agent has the same key, error = %v", err)
	}
}

func TestPushes(t *testing.T) {
	server := start(t)
	storetest.RunSharedPushes(t, func(t *testing.T) store.SharedPushStore { return open(t, server.options()).Pushes() })
}

// A later release may have written one of the configurations.
func TestUnfinishedPushesLeaveOutOneThatCannotBeDecoded(t *testing.T) {
	server := start(t)
	o := server.options()
	pushes := open(t, o).Pushes()
	c := client.NewClient(&client.Options{Addr: server.Address()})
	defer func() { _ = c.Close() }()
	for _, task := range []string{"t1", "t2", "t3"} {
		p := store.Push{Task: store.Key{Owner: "o", TaskID: task}, Config: a2a.PushConfig{ID: "a", TaskID: task}}
		if _, err := pushes.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if task != "t2" {
			continue
		}
		keys, err := c.Keys(t.Context(), o.Prefix+"p:*t2").Result()
		if err != nil || len(keys) != 1 {
			t.Fatalf("keys of the task: %q, %v", keys, err)
		}
		if err := c.HSet(t.Context(), keys[0], "ca", "\xff").Err(); err != nil {
			t.Fatal(err)
		}
	}
	var tasks []string
	err := pushes.Unfinished(t.Context(), func(p store.Push) bool {
		tasks = append(tasks, p.Task.TaskID)
		return true
	})
	if diff := cmp.Diff([]string{"t1", "t3"}, tasks); diff != "" {
		t.Errorf("tasks of the configurations (-want +got):\n%s", diff)
	}
	if err == nil || !strings.Contains(err.Error(), "unknown format") {
		t.Errorf("Unfinished() error = %v, want the unknown format", err)
	}
}

// Members without a configuration fill more than a page of the queue.
func TestUnfinishedPushesContinueAfterAPageWithoutConfigurations(t *testing.T) {
	server := start(t)
	o := server.options()
	pushes := open(t, o).Pushes()
	c := client.NewClient(&client.Options{Addr: server.Address()})
	defer func() { _ = c.Close() }()
	for i := range 200 {
		task := strconv.Itoa(i)
		p := store.Push{Task: store.Key{Owner: "o", TaskID: task}, Config: a2a.PushConfig{ID: "a", TaskID: task}}
		if _, err := pushes.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if i == 198 {
			keys, err := c.Keys(t.Context(), o.Prefix+"p:*").Result()
			if err != nil || len(keys) != 199 {
				t.Fatalf("%d keys of tasks, %v", len(keys), err)
			}
			if err := c.Del(t.Context(), keys...).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var tasks []string
	err := pushes.Unfinished(t.Context(), func(p store.Push) bool {
		tasks = append(tasks, p.Task.TaskID)
		return true
	})
	if diff := cmp.Diff([]string{"199"}, tasks); diff != "" || err != nil {
		t.Errorf("Unfinished() error = %v, tasks (-want +got):\n%s", err, diff)
	}
}

func TestSharesOfTasks(t *testing.T) {
	server := start(t)
	storetest.RunShares(t, func(t *testing.T, tasks int) store.Store {
		o := server.options()
		o.MaxTasks = tasks
		return open(t, o)
	})
}

func TestSharesOfNamespaces(t *testing.T) {
	server := start(t)
	storetest.RunNamespaceShares(t, func(t *testing.T, tasks int) store.Store {
		o := server.options()
		o.MaxTasks = tasks
		return open(t, o)
	})
}

func TestSharesOfBytes(t *testing.T) {
	server := start(t)
	storetest.RunByteShares(t, func(t *testing.T, bytes int64) store.Store {
		o := server.options()
		o.MaxBytes = bytes
		return open(t, o)
	})
}

func TestSharesOfPushes(t *testing.T) {
	server := start(t)
	storetest.RunPushShares(t, func(t *testing.T, configurations int) store.PushStore {
		o := server.options()
		o.MaxPushes = configurations
		return open(t, o).Pushes()
	})
}

func TestRepeatBehindTrim(t *testing.T) {
	server := start(t)
	storetest.RepeatBehindTrim(t, func(t *testing.T) (store.Store, int) {
		o := server.options()
		o.MaxLogEvents = 8
		return open(t, o), 20
	})
}
