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

// caller runs scripts and commands.
type caller struct {
	client   redis.UniversalClient
	prefix   string
	timeout  time.Duration
	observer Observer
	now      func() time.Time

	mu sync.Mutex
	// pending are the calls that wait for the next batch. At most one goroutine
	// sends batches.
	pending []*call
	sending bool
	// sender waits for the goroutine that sends batches.
	sender sync.WaitGroup
}

// call is one script in a batch.
type call struct {
	script *script
	args   []any
	size   int
	done   chan struct{}
	reply  any
	err    error
}

// Bounds of one batch.
const (
	pipelineCalls = 128
	pipelineBytes = 4 << 20
)

// run runs a script outside of the batches, on a connection of the pool.
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

// command runs a command outside of the batches, on a connection of the pool.
func (c *caller) command(ctx context.Context, args ...any) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	began := c.now()
	reply, err := c.client.Do(ctx, args...).Result()
	err = classify(err)
	c.observer.Called(c.now().Sub(began), err)
	return reply, err
}

// pipelined runs a script in a batch with the scripts of other goroutines. While one
// batch is in flight, further calls are collected for the next one.
func (c *caller) pipelined(ctx context.Context, s *script, size int, args ...any) (any, error) {
	return c.enqueue(ctx, s, size, args...).wait(ctx)
}

// enqueue adds a script to the next batch, after the scripts that were added before.
func (c *caller) enqueue(ctx context.Context, s *script, size int, args ...any) *call {
	one := &call{script: s, args: args, size: size, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, one)
	if !c.sending {
		c.sending = true
		c.sender.Go(func() { c.send(context.WithoutCancel(ctx)) }) // it also sends the calls of other goroutines
	}
	return one
}

// wait returns the reply. When ctx ends first, wait returns store.ErrUnavailable, but the
// script may still run.
func (c *call) wait(ctx context.Context) (any, error) {
	select {
	case <-c.done:
		return c.reply, c.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, context.Cause(ctx))
	}
}

// close waits until the pending calls have been sent and answered, and closes the
// connections.
func (c *caller) close() error {
	c.sender.Wait()
	return c.client.Close()
}

// send sends batches until no call is pending.
func (c *caller) send(ctx context.Context) {
	for batch := c.nextBatch(); len(batch) > 0; batch = c.nextBatch() {
		c.sendBatch(ctx, batch)
		for _, one := range batch {
			close(one.done)
		}
		clear(batch) // the pending calls are in the same array, which would keep these calls in memory
	}
}

func (c *caller) nextBatch() []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := 0
	n := 0
	for n < len(c.pending) && n < pipelineCalls && (n == 0 || size+c.pending[n].size <= pipelineBytes) {
		size += c.pending[n].size
		n++
	}
	batch := c.pending[:n:n]
	c.pending = c.pending[n:]
	if len(c.pending) == 0 {
		c.pending = nil
	}
	c.sending = n > 0
	return batch
}

// sendBatch sends a batch and reads the replies. It sends a script again, as text, if
// the server does not have it.
func (c *caller) sendBatch(ctx context.Context, calls []*call) {
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
	_, _ = pipeline.Exec(ctx) // each command has its error
	for i, one := range calls {
		one.reply, one.err = answers[i].Result()
		if redis.HasErrorPrefix(one.err, "NOSCRIPT") {
			unknown = append(unknown, one)
		}
	}
	return unknown
}

// temporaryErrors are the codes of errors that a server returns while it cannot
// serve. A retry does not help after other errors of a server.
var temporaryErrors = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY", "NOREPLICAS", "MISCONF",
	"NOAUTH", "WRONGPASS", "NOPERM", "UNBLOCKED", "ERR max number of clients",
}

// classify wraps err in store.ErrUnavailable for an outage, and returns store.ErrFull for a
// server without memory. It adds context to any other error of the server. It returns nil for
// an empty reply.
func classify(err error) error {
	if err == nil || errors.Is(err, redis.Nil) {
		return nil
	}
	if redis.HasErrorPrefix(err, "OOM") {
		return store.ErrFull
	}
	if answer, ok := errors.AsType[redis.Error](err); ok {
		for _, prefix := range temporaryErrors {
			if strings.HasPrefix(answer.Error(), prefix) {
				return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
			}
		}
		return fmt.Errorf("run script of redis: %w", err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}
