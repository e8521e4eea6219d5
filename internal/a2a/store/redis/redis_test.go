// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/storetest"
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

func TestSharesOfTasks(t *testing.T) {
	server := start(t)
	storetest.RunShares(t, func(t *testing.T, tasks int) store.Store {
		o := server.options()
		o.MaxTasks = tasks
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
