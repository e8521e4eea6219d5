// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// documentedUser returns the arguments of ACL SETUSER in the page on tasks, for an agent.
func documentedUser(t *testing.T, name, agent string) []any {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/explanation/tasks.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```text\n *(ACL SETUSER .*?)```").FindStringSubmatch(string(page))
	if block == nil {
		t.Fatal("the page has no block with ACL SETUSER")
	}
	text := strings.NewReplacer("team-echo", name, "team/echo", agent).Replace(block[1])
	var arguments []any
	for argument := range strings.FieldsSeq(text) {
		arguments = append(arguments, argument)
	}
	return arguments
}

// The user in the page on tasks can do all that the sidecar does, and reaches neither another
// agent nor the whole server.
func TestDocumentedUserSufficesAndReachesNoOtherAgent(t *testing.T) {
	server := start(t)
	admin := client.NewClient(&client.Options{Addr: server.Address()})
	defer func() { _ = admin.Close() }()
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("password"), 0o600); err != nil {
		t.Fatal(err)
	}
	as := func(t *testing.T) redis.Options {
		o := server.options()
		agent := strings.TrimSuffix(strings.TrimPrefix(o.Prefix, "a2a:{"), "}:")
		o.Server.Username, o.Server.PasswordFile = strings.ReplaceAll(agent, "/", "-"), password
		if err := admin.Do(t.Context(), documentedUser(t, o.Server.Username, agent)...).Err(); err != nil {
			t.Fatal(err)
		}
		return o
	}
	t.Run("store", func(t *testing.T) {
		storetest.RunShared(t, func(t *testing.T) storetest.Shared {
			o := as(t)
			return storetest.Shared{Shared: replicas{open(t, o), t, o}, Pass: time.Sleep}
		})
	})
	t.Run("pushes", func(t *testing.T) {
		storetest.RunSharedPushes(t, func(t *testing.T) store.SharedPushStore { return open(t, as(t)).Pushes() })
	})
	t.Run("tokens", func(t *testing.T) {
		storetest.RunTokens(t, func(t *testing.T) store.TokenCounters { return open(t, as(t)) })
	})
	t.Run("page key", func(t *testing.T) {
		if _, err := open(t, as(t)).PageKey(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if denied, err := admin.Do(t.Context(), "ACL", "LOG").Slice(); err != nil || len(denied) != 0 {
		t.Errorf("the sidecar lacks rights: %v, %v", denied, err)
	}

	own, other := as(t), as(t)
	c := client.NewClient(&client.Options{Addr: server.Address(), Username: own.Server.Username, Password: "password", Protocol: 2, DisableIdentity: true})
	defer func() { _ = c.Close() }()
	if err := c.Set(t.Context(), own.Prefix+"x", "1", 0).Err(); err != nil {
		t.Errorf("own key: %v", err)
	}
	key := other.Prefix + "x"
	for _, command := range []string{
		"GET " + key, "SET " + key + " 1", "UNLINK " + key, "HGETALL " + key, "XRANGE " + key + " - +", "ZADD " + key + " 1 a", "PEXPIRE " + key + " 1",
		"SUBSCRIBE " + other.Prefix + "n", "PUBLISH " + other.Prefix + "n 1", "PSUBSCRIBE *", "FLUSHALL", "FLUSHDB", "KEYS *", "SCAN 0", "RANDOMKEY",
		"DBSIZE", "CONFIG GET *", "ACL LIST", "SCRIPT FLUSH", "FUNCTION FLUSH", "SWAPDB 0 1", "MONITOR", "SHUTDOWN", "CLIENT LIST",
	} {
		var arguments []any
		for argument := range strings.FieldsSeq(command) {
			arguments = append(arguments, argument)
		}
		if err := c.Do(t.Context(), arguments...).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%s: error = %v, want NOPERM", command, err)
		}
	}
	script := "return redis.call('GET', '" + key + "')"
	if err := c.Eval(t.Context(), script, []string{own.Prefix}).Err(); err == nil || !strings.Contains(err.Error(), "can't access") {
		t.Errorf("script that reads a key of another agent: error = %v", err)
	}
}
