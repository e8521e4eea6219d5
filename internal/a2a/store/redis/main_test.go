// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// After an outage, a connection pool of the client library may try to connect once more,
// within a second after it was closed. The leak check ignores this goroutine.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// server is a Redis of one test.
type server struct{ *redistest.Server }

func start(tb testing.TB, args ...string) server {
	tb.Helper()
	return server{redistest.Start(tb, args...)}
}

var agents atomic.Int64

// options returns the options of a new agent.
func (s server) options() redis.Options {
	return redis.Options{
		Server: redis.Server{Addresses: []string{s.Address()}},
		Prefix: "a2a:{test/" + strconv.FormatInt(agents.Add(1), 10) + "}:",
	}
}

// open opens a store that ends with the test.
func open(tb testing.TB, o redis.Options) *redis.Store {
	tb.Helper()
	s, err := redis.Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
