// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"strings"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// An entry of a log may have megabytes, and one thread of Redis serves all callers. The
// comparison of the last token must therefore not read an entry.
func TestLogWithoutNewEventsIsComparedWithoutItsEntries(t *testing.T) {
	s := start(t)
	o := s.options()
	c := client.NewClient(&client.Options{Addr: s.Address()})
	defer func() { _ = c.Close() }()
	me := open(t, o).Join("a")
	if _, err := me.Renew(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	mine := store.Write{Replica: me.Self()}
	if _, err := me.Create(t.Context(), store.NewTask{Key: key, Origin: origin, Events: storetest.Begin(), Write: mine}); err != nil {
		t.Fatalf("Create() error = %v", err)
	}
	seq := uint64(2)
	wantNoReads := func(when string) {
		t.Helper()
		log, other := reopen(t, me), open(t, o)
		reopen(t, other) // which reads the events
		if err := c.ConfigResetStat(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if reopen(t, me); reopen(t, other) != reopen(t, other) {
			t.Errorf("%s: Open() dropped the log", when)
		}
		// An append that takes the hold compares the token, too.
		if _, err := log.Append(t.Context(), store.Append{After: seq, Events: []a2a.Event{storetest.Chunk("a", "x")}, Hold: store.Take, Write: mine}); err != nil {
			t.Fatalf("%s: Append() error = %v", when, err)
		}
		seq++
		stats, err := c.Info(t.Context(), "commandstats").Result()
		if err != nil || !strings.Contains(stats, "cmdstat_evalsha:calls=4,") {
			t.Fatalf("%s: INFO = %v, %s", when, err, stats)
		}
		if strings.Contains(stats, "cmdstat_xrange:") {
			t.Errorf("%s: an entry of the log is read: %s", when, stats)
		}
	}
	wantNoReads("after the creation")
	wantNoReads("after an append")
}

// Replicas of an earlier version do not write the field last of a task. The field is then
// missing, or has the number and the token of an earlier append.
func TestLogOfAnEarlierVersionIsCompared(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, c *client.Client, task string){
		"without the token": func(t *testing.T, c *client.Client, task string) {
			if n, err := c.HDel(t.Context(), task, "last").Result(); n != 1 || err != nil {
				t.Errorf("HDEL = %d, %v", n, err)
			}
		},
		"with the token of the creation": func(t *testing.T, c *client.Client, task string) {
			created := c.HGet(t.Context(), task, "created").Val()
			if n, err := c.HSet(t.Context(), task, "last", "2 "+created).Result(); n != 0 || err != nil {
				t.Errorf("HSET = %d, %v", n, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			o := s.options()
			c := client.NewClient(&client.Options{Addr: s.Address()})
			defer func() { _ = c.Close() }()
			tasks, other := open(t, o), open(t, o)
			log := create(t, tasks)
			add(t, log, 2)
			keys, err := c.Keys(t.Context(), o.Prefix+"t:*").Result()
			if err != nil || len(keys) != 1 {
				t.Fatalf("%d tasks, %v", len(keys), err)
			}
			change(t, c, keys[0])
			theirs := reopen(t, other)
			s.backUp(t)
			wantKept := func(when string) {
				t.Helper()
				if reopen(t, tasks) != log || reopen(t, other) != theirs {
					t.Errorf("%s: Open() dropped a log that lost no event", when)
				}
			}
			wantKept("without new events")
			add(t, log, 3)
			wantKept("after an append of this version")
			change(t, c, keys[0])
			wantKept("after an append of the earlier version")
			wantChunks(t, theirs, 4)
			s.restore()
			add(t, reopen(t, open(t, o)), 3)
			change(t, c, keys[0])
			if reopen(t, other) == theirs {
				t.Error("Open() returns the log that lost its events")
			}
		})
	}
}
