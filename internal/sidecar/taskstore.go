// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/metrics"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// taskStore is the store of tasks and push configurations. engine and pushes are the
// options of the engine and of the push notifications that depend on the store.
type taskStore struct {
	engine engine.Options
	pushes push.Options
	tokens store.TokenCounters
	close  func() error
}

// openTaskStore returns the store that the flags select. address is the address of the
// A2A endpoint.
func openTaskStore(e *environment, address net.Addr) (*taskStore, error) {
	c := e.current().Config
	if e.options.Store == "" {
		return openMemory(e, c), nil
	}
	return openRedis(e, c, address)
}

func openMemory(e *environment, c *sidecarconfig.Config) *taskStore {
	s := memory.New(memory.Options{
		MaxTasks:  int(c.Tasks.MaxTasks),
		MaxBytes:  c.Tasks.MaxBytes,
		Retention: c.Tasks.Retention.Or(0),
		Now:       e.now,
	})
	e.metrics.Gauge("a2a_tasks", "Tasks in the memory store.", func() float64 { return float64(s.Len()) })
	gaugeBytes(e, s)
	return &taskStore{
		engine: engine.Options{Store: s},
		pushes: push.Options{Tasks: s, Configs: memory.NewPushes(memory.PushOptions{Now: e.now})},
		tokens: memory.NewTokenCounters(e.now),
		close:  func() error { return nil },
	}
}

// openRedis returns a store in Redis. It makes no connection, because a sidecar starts,
// and serves its card, without Redis. The sidecar is ready after the first call of the
// store, which renews its lease, has succeeded.
func openRedis(e *environment, c *sidecarconfig.Config, address net.Addr) (*taskStore, error) {
	server, err := e.options.RedisServer()
	if err != nil {
		return nil, err
	}
	name := e.options.StoreName
	if name == "" {
		name = c.Agent.Namespace + "/" + c.Agent.Name
	}
	s, err := redis.Open(redis.Options{
		Server:    server,
		Prefix:    "a2a:{" + name + "}:",
		MaxTasks:  int(c.Tasks.MaxTasks),
		Retention: c.Tasks.Retention.Or(0),
		Observer:  storeObserver{e.metrics.StoreCalls(), trackStore(e.health), strings.Join(server.Addresses, ",")},
		Log:       e.log,
		Now:       e.now,
	})
	if err != nil {
		return nil, fmt.Errorf("open task store: %w", err)
	}
	gaugeBytes(e, s)
	member := s.Join(e.options.ReplicaName(address))
	return &taskStore{
		engine: engine.Options{Member: member, PageKey: s.PageKey},
		pushes: push.Options{Tasks: member, Configs: s.Pushes(), Member: member},
		tokens: s,
		close:  s.Close,
	}, nil
}

func gaugeBytes(e *environment, s interface {
	Bytes() int64
	EncodedBytes() int64
},
) {
	e.metrics.Gauge("a2a_task_bytes", "Estimated bytes of the tasks in memory.", func() float64 { return float64(s.Bytes()) })
	e.metrics.Gauge("a2a_encoded_bytes", "Estimated bytes of the encoded events in memory, which a2a_task_bytes does not count.", func() float64 { return float64(s.EncodedBytes()) })
}

// storeLostAfter is how long calls of the task store must fail until the store is no
// longer healthy. While calls fail, the sidecar renews its lease about once a second, so
// that several attempts have failed by then.
const storeLostAfter = 5 * time.Second

// trackStore adds the task store to the health tracker. A pod that never reached the
// store is not ready. A pod that lost it stays ready: all pods share the store, and if
// none of them were ready, clients would receive no response, instead of an error that
// asks them to try again.
func trackStore(tracker *health.Tracker) *health.Dependency {
	return tracker.Add(sidecarconfig.DependencyTaskStore, health.Options{
		Blocks:    func(is health.Status) bool { return !is.Reached },
		LostAfter: storeLostAfter,
	})
}

// storeObserver records the results of calls of the task store. It implements
// redis.Observer.
type storeObserver struct {
	metrics.StoreCalls

	store *health.Dependency
	// address is the address of the store in the configuration.
	address string
}

var _ redis.Observer = storeObserver{}

// Called implements redis.Observer.
func (s storeObserver) Called(took time.Duration, err error) {
	s.StoreCalls.Called(took, err)
	switch {
	case err == nil:
		s.store.Succeeded()
	case errors.Is(err, context.Canceled): // by a client
	default:
		cause, text := storeCause(err)
		s.store.Failf(cause, "%s: %s", s.address, text)
	}
}

func storeCause(err error) (sidecarconfig.HealthCause, string) {
	refusal, text := redis.RefusalOf(err)
	switch refusal {
	case redis.RefusedPassword:
		return sidecarconfig.CauseAuthentication, text
	case redis.RefusedPermission:
		return sidecarconfig.CausePermission, text
	case redis.RefusedNow:
		return sidecarconfig.CauseNotServing, text
	case redis.RefusedOther:
		return sidecarconfig.CauseInvalid, text
	default:
	}
	cause, text := health.CauseOf(err)
	if errors.Is(err, redis.ErrHandshake) && cause != sidecarconfig.CauseTLS && cause != sidecarconfig.CauseMissing {
		return sidecarconfig.CauseTLS, "the TLS handshake fails: " + text + "; check that the server uses TLS at this address"
	}
	return cause, text
}
