// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package push posts the events of tasks to the webhooks of their clients. It
// implements a2a.PushHandler.
//
// Nothing here is on the road of an event: a delivery follows the log of its
// task by a cursor, as a subscriber does, and costs no goroutine while there is
// nothing to send. Deliveries are ordered for each configuration and made at
// least once: the cursor is stored when the receiver has acknowledged.
// docs/concurrency.md lists goroutines, locks and bounds.
package push

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Guard judges URLs, and reaches them.
type Guard interface {
	http.RoundTripper
	// Check returns an *a2a.Error that blames the field.
	Check(field, url string) error
}

// Observer is told what happens, for metrics. Its methods must not block.
type Observer interface {
	// Attempted counts requests to receivers.
	Attempted(Result)
	// Died counts configurations that ended before their task did, or whose
	// last notification was not delivered.
	Died(Cause)
}

// Options are what deliveries work with. Zero means the default.
type Options struct {
	// Tasks, Configs and Guard are required.
	Tasks   store.Store
	Configs store.PushStore
	Guard   Guard
	// Member says who lives, when Configs is a store.SharedPushStore that other
	// replicas use, too; nil when this process has it for itself.
	Member store.Lease
	// Lease is how long a replica is dead before its deliveries are taken over,
	// 10 s by default.
	Lease time.Duration
	// Workers bounds the requests at one time, 16 by default, and PerHost those
	// to one host, 4 by default.
	Workers, PerHost int
	// Timeout bounds one request, 10 s by default.
	Timeout time.Duration
	// MaxAttempts and RetryFor bound the attempts at one notification: 12, and
	// 30 min after the first, by default.
	MaxAttempts int
	RetryFor    time.Duration
	// FirstDelay is that of the first retry, 1 s by default. It doubles up to
	// MaxDelay, 5 min by default.
	FirstDelay, MaxDelay time.Duration
	// Linger is how long a piece of an artifact waits for the next one, to be
	// sent with it, 100 ms by default.
	Linger time.Duration
	// Keep is how long a configuration can be read after its last notification,
	// 10 min by default.
	Keep time.Duration
	// Observer counts; nil for none.
	Observer Observer
	// Log is told of configurations that died, without their secrets.
	Log *slog.Logger
	// Now is the clock, and Random a number between 0 and 1.
	Now    func() time.Time
	Random func() float64
}

func (o *Options) setDefaults() {
	setDefault(&o.Lease, 10*time.Second)
	setDefault(&o.Workers, 16)
	setDefault(&o.PerHost, 4)
	setDefault(&o.Timeout, 10*time.Second)
	setDefault(&o.MaxAttempts, 12)
	setDefault(&o.RetryFor, 30*time.Minute)
	setDefault(&o.FirstDelay, time.Second)
	setDefault(&o.MaxDelay, 5*time.Minute)
	setDefault(&o.Linger, 100*time.Millisecond)
	setDefault(&o.Keep, 10*time.Minute)
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of an injected clock
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
}

func setDefault[T int | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

type unobserved struct{}

func (unobserved) Attempted(Result) {}
func (unobserved) Died(Cause)       {}

// Pushes implements a2a.PushHandler and delivers.
type Pushes struct {
	options Options

	// changing is held while a configuration is set or deleted, so that what is
	// followed is what is stored. It comes before mu.
	changing sync.Mutex
	// shared is nil when no other replica delivers.
	shared *shared

	// mu guards the schedule. No store and no log is called while it is held: a
	// log wakes a delivery under its own lock.
	mu         sync.Mutex
	deliveries map[id]*delivery
	hosts      map[string]*host
	owners     map[string]*owner
	// ready are the owners with deliveries that a worker should look at, the
	// next to be served in front.
	ready []*owner
	// busy counts those that are ready, running or parked.
	busy int
	// running counts the workers, and inFlight the deliveries that they have.
	running, inFlight int
	// draining is set once; idle closes when nothing is busy after that.
	draining bool
	idle     chan struct{}
	workers  sync.WaitGroup
}

// id names a configuration.
type id struct {
	task   store.Key
	config string
}

var _ a2a.PushHandler = (*Pushes)(nil)

// New returns the pushes of an agent.
func New(o Options) (*Pushes, error) {
	if o.Tasks == nil || o.Configs == nil || o.Guard == nil {
		return nil, errors.New("push needs tasks, configs and a guard")
	}
	o.setDefaults()
	var others *shared
	if o.Member != nil {
		configs, ok := o.Configs.(store.SharedPushStore)
		if !ok {
			return nil, errors.New("push needs configs that replicas can share")
		}
		others = &shared{Lease: o.Member, configs: configs, dead: map[store.Replica]time.Time{}}
	}
	return &Pushes{
		shared:  others,
		options: o, deliveries: map[id]*delivery{}, hosts: map[string]*host{}, owners: map[string]*owner{}, idle: make(chan struct{}),
	}, nil
}

// SetPush implements a2a.PushHandler.
func (p *Pushes) SetPush(ctx context.Context, r *a2a.SetPushRequest) (*a2a.PushConfig, error) {
	key := store.Key{Owner: r.Owner, TaskID: r.Config.TaskID}
	log, err := p.open(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := p.check(&r.Config, setFields(r.Config.Dialect)); err != nil {
		return nil, err
	}
	return p.set(ctx, key, log, r.Config, false)
}

// Check judges a configuration that comes with a message. It is for the engine.
func (p *Pushes) Check(_ context.Context, c a2a.PushConfig) error {
	return p.check(&c, sendFields(c.Dialect))
}

// Attach adds a configuration to a task that exists, and follows the task from
// the event that is its last one now, even if that was its end: a message comes
// behind it. Check has judged the configuration.
func (p *Pushes) Attach(ctx context.Context, task store.Key, c a2a.PushConfig) error {
	log, err := p.open(ctx, task)
	if err != nil {
		return err
	}
	_, err = p.set(ctx, task, log, c, true)
	return err
}

func (p *Pushes) set(ctx context.Context, task store.Key, log store.Log, c a2a.PushConfig, goesOn bool) (*a2a.PushConfig, error) {
	p.changing.Lock()
	defer p.changing.Unlock()
	now, err := log.Snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", task.TaskID, err)
	}
	c.TaskID = task.TaskID
	if c.ID == "" {
		c.ID = task.TaskID
	}
	next := store.Push{Task: task, Config: c, Acked: now.Seq}
	former, err := p.options.Configs.Get(ctx, task, c.ID)
	switch {
	case err == nil && !former.Ended():
		// What the former one has not delivered, this one does.
		next.Acked, next.Since = min(former.Acked, now.Seq), former.Since
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("read push configuration: %w", err)
	case now.Task.Status.State.Terminal() && !goesOn:
		next.Expires = p.options.Now().Add(p.options.Keep)
	}
	if goesOn {
		next.Since = now.Seq
	}
	if p.shared != nil {
		next.Replica = p.shared.Self()
	}
	if next.Generation, err = p.options.Configs.Put(ctx, next); err != nil {
		return nil, storeError("store push configuration", task.TaskID, err)
	}
	p.follow(next, log)
	return &next.Config, nil
}

// GetPush implements a2a.PushHandler.
func (p *Pushes) GetPush(ctx context.Context, r *a2a.PushRequest) (*a2a.PushConfig, error) {
	all, err := p.list(ctx, store.Key{Owner: r.Owner, TaskID: r.TaskID})
	if err != nil {
		return nil, err
	}
	wanted := r.ID
	if wanted == "" {
		wanted = r.TaskID
	}
	for i := range all {
		if all[i].Config.ID == wanted {
			return &all[i].Config, nil
		}
	}
	if r.ID == "" && len(all) > 0 {
		return &all[len(all)-1].Config, nil
	}
	return nil, &a2a.Error{
		Reason: a2a.ReasonTaskNotFound, Message: "push notification config not found", TaskID: r.TaskID,
	}
}

// DeletePush implements a2a.PushHandler.
func (p *Pushes) DeletePush(ctx context.Context, r *a2a.PushRequest) error {
	task := store.Key{Owner: r.Owner, TaskID: r.TaskID}
	if _, err := p.open(ctx, task); err != nil {
		return err
	}
	config := r.ID
	if config == "" {
		config = r.TaskID
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	if err := p.options.Configs.Delete(ctx, task, config); err != nil {
		return fmt.Errorf("delete push configuration: %w", err)
	}
	p.unfollow(id{task, config})
	return nil
}

// Following returns the number of configurations whose tasks are followed.
func (p *Pushes) Following() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.deliveries)
}

func (p *Pushes) open(ctx context.Context, task store.Key) (store.Log, error) {
	log, err := p.options.Tasks.Open(ctx, task)
	if err != nil {
		return nil, storeError("open task", task.TaskID, err)
	}
	return log, nil
}

func (p *Pushes) list(ctx context.Context, task store.Key) ([]store.Push, error) {
	if _, err := p.open(ctx, task); err != nil {
		return nil, err
	}
	all, err := p.options.Configs.List(ctx, task)
	if err != nil {
		return nil, fmt.Errorf("list push configurations: %w", err)
	}
	return all, nil
}

// storeError tells a client what it may know.
func storeError(doing, task string, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return a2a.TaskNotFound(task)
	case errors.Is(err, store.ErrFull):
		return &a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "Too many push notification configs", TaskID: task}
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}
