// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// wantShares requires that the sums of shares are those of what their principals have, and that the sets of these principals are
// complete. A set that has expired may be missing.
func wantShares(t *testing.T, c *client.Client, prefix, when string) {
	t.Helper()
	scores := func(key string) map[string]int64 {
		all := map[string]int64{}
		for _, z := range c.ZRangeWithScores(t.Context(), prefix+key, 0, -1).Val() {
			all[z.Member.(string)] = int64(z.Score)
		}
		return all
	}
	for kind, members := range map[string]string{"": "a:", "talk": "r:", "push": "f:"} {
		number := map[string]int64{}
		bytes := scores(kind + "weights")
		shareOf := c.HGetAll(t.Context(), prefix+kind+"shareof").Val()
		for principal := range shareOf {
			number[principal] = c.ZCard(t.Context(), prefix+members+principal).Val()
		}
		for _, sum := range []struct {
			all, of string
			parts   map[string]int64
		}{{"shares", "n:", number}, {"shareweights", "b:", bytes}} {
			want := map[string]int64{}
			wantParts := map[string]map[string]int64{}
			for principal, share := range shareOf {
				if part := sum.parts[principal]; part > 0 {
					want[share] += part
					if wantParts[share] == nil {
						wantParts[share] = map[string]int64{}
					}
					wantParts[share][principal] = part
				}
			}
			if diff := gocmp.Diff(want, scores(kind+sum.all)); diff != "" {
				t.Fatalf("%s: %s (-want +got):\n%s", when, kind+sum.all, diff)
			}
			for share, parts := range wantParts {
				got := scores(kind + sum.of + share)
				if diff := gocmp.Diff(parts, got); diff != "" && len(got) > 0 {
					t.Fatalf("%s: principals of %s (-want +got):\n%s", when, kind+sum.all, diff)
				}
			}
		}
	}
}

// The sums of shares are those of what their principals have after any of their keys has expired.
func TestSumsOfSharesDoNotDriftWhenKeysExpire(t *testing.T) {
	server := start(t)
	o := server.options()
	o.MaxBytes = 1 << 20
	o.MaxTasks = 20
	o.MaxPushes = 20
	c := connect(t, server)
	s := open(t, o)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	use := func(account string, step int) {
		owner := a2a.Owner("system:serviceaccount:team:" + account)
		id := strconv.Itoa(step)
		task := largeTask(owner, id, random.IntN(4<<10), a2a.StateCompleted)
		if _, err := s.Create(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		message := storetest.Message(id, strings.Repeat("x", random.IntN(16<<10)))
		if err := s.Remember(t.Context(), store.Conversation{Owner: owner, ContextID: id}, message)(); err != nil {
			t.Fatal(err)
		}
		push := store.Push{Task: task.Key, Config: a2a.PushConfig{ID: "c", TaskID: id, URL: "https://hooks.example.com"}, Expires: time.Now().Add(time.Hour)}
		if _, err := s.Pushes().Put(t.Context(), push); err != nil {
			t.Fatal(err)
		}
		if random.IntN(2) == 0 {
			if err := s.Pushes().Delete(t.Context(), push.Task, "c"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for step := range 200 {
		use(strconv.Itoa(random.IntN(6)), step)
		if step%10 != 9 {
			continue
		}
		wantShares(t, c, o.Prefix, fmt.Sprint("step ", step))
		pattern := []string{"n:*", "b:*", "shares", "shareweights", "shareof"}[random.IntN(5)]
		for _, kind := range []string{"", "talk", "push"} {
			expired := c.Keys(t.Context(), o.Prefix+kind+pattern).Val()
			if len(expired) > 0 && c.Del(t.Context(), expired...).Err() != nil {
				t.Fatal("the keys are not removed")
			}
		}
		use(strconv.Itoa(random.IntN(6)), 1000+step)
		wantShares(t, c, o.Prefix, fmt.Sprint("step ", step, ", after the expiry of ", pattern))
	}
	for _, kind := range []string{"", "talk", "push"} {
		for _, key := range c.Keys(t.Context(), o.Prefix+kind+"[nbs]*").Val() {
			if strings.HasPrefix(key, o.Prefix+kind+"s:") {
				continue
			}
			if left := c.PTTL(t.Context(), key).Val(); left < 24*time.Hour {
				t.Errorf("%s has %v left", key, left)
			}
		}
	}
}
