// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// secret is in every content that a client of the test stores.
const secret = "the secret of the client"

// storeContents stores a conversation, a task in a state and its push configuration.
func storeContents(t *testing.T, s *redis.Store, m store.Member, id string, state a2a.State) {
	t.Helper()
	key := store.Key{Owner: "owner", TaskID: id}
	said := &a2a.Message{ID: "m-" + id, Role: a2a.RoleUser, TaskID: id, ContextID: id, Parts: []a2a.Part{a2a.TextPart(secret)}}
	begin := []a2a.Event{{Message: said}, {Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking, Time: time.Now()}}}}
	log, err := m.Create(t.Context(), store.NewTask{Key: key, Origin: store.Origin{ContextID: id}, Events: begin, Write: store.Write{Replica: m.Self(), Turn: &store.TurnDescriptor{}}})
	if err != nil {
		t.Fatal(err)
	}
	talk := store.Conversation{Owner: "owner", ContextID: id}
	if err := m.Remember(t.Context(), talk, said)(); err != nil {
		t.Fatal(err)
	}
	push := store.Push{Task: key, Config: a2a.PushConfig{ID: "c", TaskID: id, URL: "https://hooks.example.com", Token: secret}, Replica: m.Self()}
	if push.Generation, err = s.Pushes().Put(t.Context(), push); err != nil {
		t.Fatal(err)
	}
	last := storetest.Status(state, nil)
	last.Status.Status.Message = said
	if _, err := log.Append(t.Context(), store.Append{After: 2, Events: []a2a.Event{last}, Hold: store.Keep, Write: store.Write{Replica: m.Self()}}); err != nil {
		t.Fatal(err)
	}
	push.Acked = 3
	if state.Terminal() {
		push.Expires = time.Now().Add(10 * time.Minute)
	}
	if err := s.Pushes().Advance(t.Context(), push); err != nil {
		t.Fatal(err)
	}
	// The engine stores the answer of the agent after the end of its task.
	if err := m.Remember(t.Context(), talk, said)(); err != nil {
		t.Fatal(err)
	}
}

// contents returns the time to live of each key with the secret, by the name of the key without its prefix.
func contents(t *testing.T, address, prefix string) map[string]time.Duration {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: address})
	defer func() { _ = c.Close() }()
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]time.Duration{}
	for _, key := range keys {
		dump := contentOf(t.Context(), c, key)
		if !strings.Contains(dump, secret) {
			continue
		}
		left, err := c.PTTL(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimPrefix(key, prefix)] = left
	}
	return found
}

func contentOf(ctx context.Context, c *goredis.Client, key string) string {
	switch kind := c.Type(ctx, key).Val(); kind {
	case "hash":
		text := ""
		for field, value := range c.HGetAll(ctx, key).Val() {
			text += field + value
		}
		return text
	case "stream":
		text := ""
		for _, entry := range c.XRange(ctx, key, "-", "+").Val() {
			for _, value := range entry.Values {
				text += value.(string)
			}
		}
		return text
	case "string":
		return c.Get(ctx, key).Val()
	case "zset":
		return strings.Join(c.ZRange(ctx, key, 0, -1).Val(), " ")
	default:
		return "a key of the type " + kind + " with " + secret
	}
}

// Redis removes what clients have sent without a call of a sidecar: the pods of the agent may be gone.
func TestContentsExpireWithTheRetention(t *testing.T) {
	server := start(t)
	o := server.options()
	o.Retention = 30 * time.Second
	s := open(t, o)
	m := s.Join("a")
	if _, err := m.Renew(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	storeContents(t, s, m, "ended", a2a.StateCompleted)
	found := contents(t, server.Address(), o.Prefix)
	if len(found) < 3 {
		t.Errorf("found the contents of %v, want those of a log, a conversation and a push configuration", found)
	}
	for key, left := range found {
		if left <= o.Retention || left > o.Retention+time.Hour {
			t.Errorf("%s expires in %s, want the retention of %s and at most an hour more", key, left, o.Retention)
		}
	}
	// A task that waits for its client keeps its contents and its conversation.
	storeContents(t, s, m, "waits", a2a.StateInputRequired)
	for key, left := range contents(t, server.Address(), o.Prefix) {
		if strings.HasSuffix(key, "waits") && left < 24*time.Hour {
			t.Errorf("%s of a task that waits for its client expires in %s", key, left)
		}
	}
}

// A running sidecar removes ended tasks after their retention, without a call of a client.
func TestRenewalRemovesEndedTasks(t *testing.T) {
	server := start(t)
	o := server.options()
	o.Retention = time.Second
	s := open(t, o)
	m := s.Join("a")
	renew := func() {
		t.Helper()
		if _, err := m.Renew(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	renew()
	storeContents(t, s, m, "ended", a2a.StateCompleted)
	deadline := time.Now().Add(30 * time.Second)
	for {
		renew()
		left := contents(t, server.Address(), o.Prefix)
		tasks := 0
		for key := range left {
			if strings.HasPrefix(key, "t:") || strings.HasPrefix(key, "l:") {
				tasks++
			}
		}
		if tasks == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left after the retention: %v", left)
		}
		time.Sleep(50 * time.Millisecond) // the retention passes on the clock of the server
	}
}
