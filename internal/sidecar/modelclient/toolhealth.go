// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/mcptools"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// ToolHealth tracks whether the MCP servers of an agent offer their tools. The zero value tracks none. Its methods are safe for concurrent
// use.
type ToolHealth struct {
	tracked *health.Dependency
	// changed has an element when the backend has changed.
	changed chan struct{}
	// blocks is true while a server does not answer without which the agent cannot work.
	blocks atomic.Bool
}

const (
	// toolsRetryFirst and toolsRetryMax bound the backoff while a server does not answer.
	toolsRetryFirst = 500 * time.Millisecond
	toolsRetryMax   = 5 * time.Second
	// toolsInterval is the time between checks of servers that answer.
	toolsInterval = time.Minute
)

// Track starts to track the MCP servers. Until the first check has ended, a required server counts as one that does not answer.
func (h *ToolHealth) Track(tracker *health.Tracker, hasRequired bool) {
	h.changed = make(chan struct{}, 1)
	h.blocks.Store(hasRequired)
	h.tracked = tracker.Add(sidecarconfig.DependencyTools, health.Options{Blocks: func(health.Status) bool { return h.blocks.Load() }})
}

// Changed says that another backend is in use.
func (h *ToolHealth) Changed() {
	select {
	case h.changed <- struct{}{}:
	default: // nil without Track
	}
}

// Follow checks the MCP servers of the backend in use until ctx ends: with backoff while one does not answer, and each minute otherwise. A
// backend without MCP servers is not checked.
func (h *ToolHealth) Follow(ctx context.Context, current func() *Backend) {
	if h.tracked == nil {
		return
	}
	retry := toolsRetryFirst
	for {
		wait := toolsInterval
		b := current()
		if b == nil || h.check(ctx, b) {
			retry = toolsRetryFirst
		} else {
			wait = retry
			retry = min(2*retry, toolsRetryMax)
		}
		timer := time.NewTimer(wait)
		var due <-chan time.Time
		if b != nil && len(b.servers) > 0 {
			due = timer.C
		}
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-h.changed:
			retry = toolsRetryFirst
		case <-due:
		}
		timer.Stop()
	}
}

// check checks the servers of a backend, and reports whether all answer.
func (h *ToolHealth) check(ctx context.Context, b *Backend) bool {
	var problems []string
	cause := sidecarconfig.CauseHealthy
	blocks := false
	answers := true
	owners := map[string]string{}
	for _, server := range b.servers {
		names, problem, err := server.Check(ctx)
		if ctx.Err() != nil {
			return false
		}
		for _, name := range names {
			if other, taken := owners[name]; taken {
				problem = fmt.Sprintf("its tool %q has the name of one of %s, which the model gets; name the tools of one server in allow", name, other)
			}
			owners[name] = server.URL()
		}
		if err == nil && problem == "" {
			continue
		}
		found := sidecarconfig.CauseInvalid
		if err != nil {
			answers = false
			blocks = blocks || b.required[server]
			found, problem = causeOf(err)
		}
		if cause == sidecarconfig.CauseHealthy {
			cause = found
		}
		problems = append(problems, server.URL()+": "+problem)
	}
	h.blocks.Store(blocks)
	if len(problems) == 0 {
		h.tracked.Succeeded()
		return true
	}
	h.tracked.Failf(cause, "%s", strings.Join(problems, "; "))
	return answers
}

// causeOf returns the cause and the text of the error of an MCP server.
func causeOf(err error) (sidecarconfig.HealthCause, string) {
	if errors.Is(err, mcptools.ErrUnauthorized) {
		return sidecarconfig.CauseAuthentication, "the server refuses the credential or the caller (401 or 403)"
	}
	return health.CauseOf(err)
}
