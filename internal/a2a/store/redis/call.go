// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// caller runs scripts.
type caller struct {
	client   redis.UniversalClient
	prefix   string
	timeout  time.Duration
	observer Observer
	now      func() time.Time

	mu sync.Mutex
	// pending wait for the pipeline, which one goroutine at most sends.
	pending []*call
	sending bool
	// work is that goroutine.
	work sync.WaitGroup
}

// call is one script in a pipeline.
type call struct {
	script *script
	args   []any
	size   int
	done   chan struct{}
	reply  any
	err    error
}

// Bounds of one pipeline.
const (
	pipelineCalls = 128
	pipelineBytes = 4 << 20
)

// run runs a script on a connection of its own.
func (c *caller) run(ctx context.Context, s *script, args ...any) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	began := c.now()
	keys := []string{c.prefix}
	reply, err := c.client.EvalSha(ctx, s.sha, keys, args...).Result()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = c.client.Eval(ctx, s.text, keys, args...).Result()
	}
	err = classify(err)
	c.observer.Called(c.now().Sub(began), err)
	return reply, err
}

// command runs a command on a connection of its own.
func (c *caller) command(ctx context.Context, args ...any) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	began := c.now()
	reply, err := c.client.Do(ctx, args...).Result()
	err = classify(err)
	c.observer.Called(c.now().Sub(began), err)
	return reply, err
}

// pipe runs a script in one pipeline with those of others: while one is on its
// way, the next is filled.
func (c *caller) pipe(ctx context.Context, s *script, size int, args ...any) (any, error) {
	return c.push(ctx, s, size, args...).wait(ctx)
}

// push has a script sent behind all that were pushed before.
func (c *caller) push(ctx context.Context, s *script, size int, args ...any) *call {
	one := &call{script: s, args: args, size: size, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, one)
	if !c.sending {
		c.sending = true
		c.work.Go(func() { c.send(context.WithoutCancel(ctx)) }) // it is not only for this caller
	}
	return one
}

// wait returns the answer. When ctx ends first it is not known what becomes of the
// script.
func (c *call) wait(ctx context.Context) (any, error) {
	select {
	case <-c.done:
		return c.reply, c.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, context.Cause(ctx))
	}
}

// close sends what is pending, and ends the connections.
func (c *caller) close() error {
	c.work.Wait()
	return c.client.Close()
}

// send sends what is pending until nothing is.
func (c *caller) send(ctx context.Context) {
	for batch := c.take(); len(batch) > 0; batch = c.take() {
		c.exchange(ctx, batch)
		for _, one := range batch {
			close(one.done)
		}
		clear(batch) // what is pending behind it may be so for long
	}
}

func (c *caller) take() []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	size, n := 0, 0
	for n < len(c.pending) && n < pipelineCalls && (n == 0 || size+c.pending[n].size <= pipelineBytes) {
		size += c.pending[n].size
		n++
	}
	batch := c.pending[:n:n]
	if c.pending = c.pending[n:]; len(c.pending) == 0 {
		c.pending = nil
	}
	c.sending = n > 0
	return batch
}

// exchange sends calls and reads their answers. A server that does not know a
// script yet is told its text, once for each call that needs it.
func (c *caller) exchange(ctx context.Context, calls []*call) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	began := c.now()
	unknown := c.evaluate(ctx, calls, "EVALSHA")
	if len(unknown) > 0 {
		c.evaluate(ctx, unknown, "EVAL")
	}
	took := c.now().Sub(began)
	for _, one := range calls {
		one.err = classify(one.err)
		c.observer.Called(took, one.err)
	}
}

func (c *caller) evaluate(ctx context.Context, calls []*call, how string) (unknown []*call) {
	pipeline := c.client.Pipeline()
	answers := make([]*redis.Cmd, len(calls))
	for i, one := range calls {
		name := one.script.sha
		if how == "EVAL" {
			name = one.script.text
		}
		args := make([]any, 0, 4+len(one.args))
		answers[i] = pipeline.Do(ctx, append(append(args, how, name, 1, c.prefix), one.args...)...)
	}
	_, _ = pipeline.Exec(ctx) // each answer tells
	for i, one := range calls {
		if one.reply, one.err = answers[i].Result(); redis.HasErrorPrefix(one.err, "NOSCRIPT") {
			unknown = append(unknown, one)
		}
	}
	return unknown
}

// passing are errors that a server answers while it cannot serve. What else it
// answers is a mistake that no second try mends.
var passing = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY", "NOREPLICAS", "MISCONF",
	"NOAUTH", "WRONGPASS", "NOPERM", "UNBLOCKED", "ERR max number of clients",
}

// classify tells an outage, and a server without room, from other errors. No
// answer is none.
func classify(err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		return nil
	}
	if redis.HasErrorPrefix(err, "OOM") {
		return store.ErrFull
	}
	if answer, ok := errors.AsType[redis.Error](err); ok {
		for _, prefix := range passing {
			if strings.HasPrefix(answer.Error(), prefix) {
				return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
			}
		}
		return fmt.Errorf("run script of redis: %w", err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}
