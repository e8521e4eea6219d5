// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/a2a/sessionapi"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tokenbudget"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/metrics"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/modelclient"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// turns runs the turns of the agent and posts push notifications for their events.
type turns struct {
	*engine.Engine
	backend *agentBackend
	pushes  *pushes
}

// newTurns returns the engine for a task store. The backend and the push notifications
// have no configuration yet. The engine is started after the first configuration has been
// applied.
func newTurns(e *environment, kept *taskStore, limits *serving.Limits) (*turns, error) {
	events := backend.NewMemory(e.memory.Events)
	model := &modelclient.Server{
		Roots: e.trust.Roots, Proxy: e.trust.Proxy, Local: e.options.Standalone(), Protected: e.protected, SecretsDir: e.options.ModelSecrets,
		Memory: events, Ways: e.waysToDecide, Skills: e.skills(), Tracer: &e.traces.tracer, Log: e.log, Now: e.now,
	}
	budget := tokenbudget.New(tokenbudget.Options{
		Limits: limits.Tokens, Counters: kept.tokens, Refused: func(l tokenbudget.Limit) { e.metrics.Limited(string(l)) },
		Unreported: e.metrics.UnreportedUsage,
		Log:        e.log, Now: e.now,
	})
	t := &turns{backend: &agentBackend{
		metrics: e.metrics, tracer: &e.traces.tracer, budget: budget, memory: events,
		maxEvent: int(e.memory.MaxEvent()), model: model,
		sessions: sessionapi.New(sessionapi.Options{Store: kept.tasks(), Loads: kept.engine.Loads, Bodies: limits.HTTP().Bodies, Log: e.log, Now: e.now}),
	}}
	var err error
	if t.pushes, err = newPushes(e, kept, limits.HTTP().Answers); err != nil {
		return nil, err
	}
	options := kept.engine
	options.Backend = t.backend
	options.Turns = limits.Turns
	options.Allow = budget.Allow
	options.Pushes = t.pushes
	options.Observer = e.metrics
	options.Log = e.log
	options.Now = e.now
	options.TurnBytes = e.memory.Turns
	options.WaitingBytes = e.memory.Waiting
	options.DeduplicatedBytes = e.memory.Deduplicated
	// The time for the client's input is the same as the time that the agent has for its
	// next event.
	options.InputTimeout = func() time.Duration { return t.backend.config().Timeouts.Idle.Or(5 * time.Minute) }
	options.Retry = func() bool {
		b := t.backend.config()
		return b.OnInterruption == sidecarconfig.InterruptionRetry || b.Protocol == sidecarconfig.ProtocolChatCompletions // the journal says which steps not to repeat
	}
	options.DeduplicationWindow = func() time.Duration { return e.current().ProtocolOptions.Deduplication() }
	options.ContinuePaused = func() bool {
		return e.current().ProtocolOptions.ContextReplies == sidecarconfig.ContextRepliesContinuePaused
	}
	if t.Engine, err = engine.New(options); err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	e.metrics.Gauge("a2a_turns_in_flight", "Turns that are running.", func() float64 { return float64(t.Running()) })
	e.metrics.Gauge("a2a_turns_queued", "Messages that wait in the turn queue.", func() float64 { return float64(t.Queued()) })
	return t, nil
}

// waysToDecide returns how people decide about calls of the agent.
func (e *environment) waysToDecide() approval.Ways {
	c := e.current().Config
	ways := approval.Ways{Name: c.Card.Name}
	switch {
	case !e.options.Standalone():
		ways.Name = c.Agent.Namespace + "/" + c.Agent.Name
		ways.Arguments = ways.Name
	case len(c.Bases) > 0:
		ways.Arguments = "--url " + c.Bases[0].URL
	}
	if d := c.Decisions; d != nil {
		ways.HasApprovers = len(d.Approvers) > 0
		if d.Page != nil {
			ways.Page = d.Page.URL
			ways.PageIssuer = d.Page.Issuer
		}
	}
	return ways
}

// lastPushTime is the time for posting the notifications about turns that were
// interrupted at the end of the grace period.
const lastPushTime = time.Second

// Drain ends the turns and then posts the last push notifications, including those about
// turns that it interrupted because ctx ended.
func (t *turns) Drain(ctx context.Context) error {
	interrupted := t.Engine.Drain(ctx)
	if interrupted != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastPushTime)
		defer cancel()
	}
	return errors.Join(interrupted, t.pushes.Drain(ctx))
}

// pushes posts push notifications to the targets that the configuration allows.
type pushes struct {
	*push.Pushes
	guard *egress.Guard
}

// newPushes returns the pushes for a task store. They charge large notifications to
// memory. No target is allowed before the first configuration.
func newPushes(e *environment, kept *taskStore, memory *limit.Budget) (*pushes, error) {
	options := kept.pushes
	guard := egress.New(egress.Options{Protected: e.protected, Cleartext: http1.Wrap, Roots: e.trust.Roots, Proxy: e.trust.Proxy})
	options.Guard = guard
	options.Observer = e.metrics
	options.Log = e.log
	options.Now = e.now
	options.Tracer = &e.traces.tracer
	options.Memory = memory
	options.Sign = e.sign
	p, err := push.New(options)
	if err != nil {
		return nil, fmt.Errorf("start push notifications: %w", err)
	}
	e.metrics.Gauge("a2a_push_configs", "Push configurations whose tasks the sidecar watches for events.", func() float64 { return float64(p.Following()) })
	return &pushes{p, guard}, nil
}

// resume continues to post the notifications that an earlier process has not delivered.
// If it fails, it logs the error, because the agent can serve without it.
func (p *pushes) resume(ctx context.Context, log *slog.Logger) {
	if err := p.Resume(ctx); err != nil {
		log.ErrorContext(ctx, "resuming push notifications failed", "error", err)
	}
}

// pushPolicy returns the policy with the allowed targets, or nil if push notifications
// are off. In standalone mode, targets may be on this machine.
func pushPolicy(c *sidecarconfig.PushNotifications, standalone bool) (*egress.Policy, error) {
	if c == nil {
		return nil, nil // nil is a valid result: no policy
	}
	p := &egress.Policy{ClusterDomain: c.ClusterDomain, Local: standalone}
	for i, t := range c.AllowedTargets {
		switch {
		case t.Service != nil:
			p.Services = append(p.Services, egress.Service{Name: t.Service.Name, Namespace: t.Service.Namespace})
		case t.Namespace != "":
			p.Namespaces = append(p.Namespaces, t.Namespace)
		case t.Host != "":
			p.Hosts = append(p.Hosts, t.Host)
		default:
			prefix, err := netip.ParsePrefix(t.CIDR)
			if err != nil {
				return nil, fmt.Errorf("allowedTargets[%d].cidr: %w", i, err)
			}
			p.CIDRs = append(p.CIDRs, prefix)
		}
	}
	return p, nil
}

// taskStore is the store of tasks and push configurations. engine and pushes are the
// options of the engine and of the push notifications that depend on the store.
type taskStore struct {
	engine engine.Options
	pushes push.Options
	tokens store.TokenCounters
	close  func() error
}

// tasks returns the store of tasks.
func (t *taskStore) tasks() store.Store {
	if t.engine.Member != nil {
		return t.engine.Member
	}
	return t.engine.Store
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
		MaxBytes:  min(cmp.Or(c.Tasks.MaxBytes, e.memory.Tasks), e.memory.Tasks),
		Retention: c.Tasks.Retention.Or(0),
		Now:       e.now,
	})
	e.metrics.Gauge("a2a_tasks", "Tasks in the memory store.", func() float64 { return float64(s.Len()) })
	gaugeBytes(e, s)
	return &taskStore{
		engine: engine.Options{Store: s},
		pushes: push.Options{Tasks: s, Configs: memory.NewPushes(memory.PushOptions{MaxBytes: int(e.memory.Pushes), Now: e.now})},
		tokens: memory.NewTokenCounters(e.now),
		close:  func() error { return nil },
	}
}

// openRedis returns a store in Redis. It makes no connection, because a sidecar starts,
// and serves its card, without Redis. The pod becomes ready when the first call of the
// store, the renewal of the lease, has succeeded.
func openRedis(e *environment, c *sidecarconfig.Config, address net.Addr) (*taskStore, error) {
	server, err := e.options.RedisServer()
	if err != nil {
		return nil, err
	}
	loads := store.NewLoads(e.memory.Tasks / loadShare)
	name := cmp.Or(e.options.StoreName, c.Agent.Namespace+"/"+c.Agent.Name)
	s, err := redis.Open(redis.Options{
		Server:     server,
		Prefix:     "a2a:{" + name + "}:",
		MaxTasks:   int(c.Tasks.MaxTasks),
		MaxBytes:   cmp.Or(c.Tasks.MaxBytes, e.options.StoreMaxBytes),
		Retention:  c.Tasks.Retention.Or(0),
		CacheBytes: e.memory.Tasks / loadShare * (loadShare - 1),
		// A larger task would need more memory than there is.
		MaxTaskBytes: int(min(e.memory.Tasks, maxTask)),
		Observer:     &storeObserver{StoreCalls: e.metrics.StoreCalls(), store: trackStore(e.health), address: strings.Join(server.Addresses, ",")},
		Log:          e.log,
		Now:          e.now,
	})
	if err != nil {
		return nil, fmt.Errorf("open task store: %w", err)
	}
	gaugeBytes(e, s)
	member := s.Join(e.options.ReplicaName(address))
	return &taskStore{
		engine: engine.Options{Member: member, Loads: loads, PageKey: s.PageKey},
		pushes: push.Options{Tasks: member, Configs: s.Pushes(), Member: member, Loads: loads},
		tokens: s,
		close:  s.Close,
	}, nil
}

const (
	// loadShare is the divisor of the memory for tasks that gives the part for tasks that requests read from Redis, beside the cache.
	loadShare = 4
	// maxTask is the size of the largest task in Redis, in bytes.
	maxTask = 32 << 20
)

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

// trackStore adds the task store to the health tracker. A pod that never reached the store
// is not ready. A pod that lost the store stays ready, because all pods share the store: if
// no pod were ready, clients could not connect. A ready pod answers with an error that asks
// the client to try again.
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
	// full is true from a call that the server refused because it is full, until HasRoom.
	// Meanwhile, calls that succeed do not mean that the store is healthy, because a full
	// server refuses only new data.
	full atomic.Bool
}

var _ redis.Observer = (*storeObserver)(nil)

// Called implements redis.Observer.
func (s *storeObserver) Called(took time.Duration, err error) {
	s.StoreCalls.Called(took, err)
	switch {
	case err == nil:
		if !s.full.Load() {
			s.store.Succeeded()
		}
	case errors.Is(err, context.Canceled): // a client canceled the call
	default:
		if errors.Is(err, store.ErrFull) {
			s.full.Store(true)
		}
		cause, text := storeCause(err)
		s.store.Failf(cause, "%s: %s", s.address, text)
	}
}

// HasRoom implements redis.Observer.
func (s *storeObserver) HasRoom() {
	s.full.Store(false)
	s.store.Succeeded()
}

func storeCause(err error) (sidecarconfig.HealthCause, string) {
	refusal, text := redis.RefusalOf(err)
	switch refusal {
	case redis.RefusedPassword:
		return sidecarconfig.CauseAuthentication, text
	case redis.RefusedPermission:
		return sidecarconfig.CausePermission, text
	case redis.RefusedFull:
		return sidecarconfig.CauseFull, text
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
