// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package push posts the events of tasks to the webhooks of their clients. It
// implements a2a.PushHandler.
//
// A delivery follows the log of its task by a cursor, as a subscriber does, so that it
// never delays an event, and it costs no goroutine while there is nothing to send. The
// notifications of a configuration are sent in order and at least once: the cursor is
// stored after the receiver has confirmed. docs/explanation/concurrency.md lists goroutines, locks
// and bounds.
package push

import (
	"cmp"
	"errors"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
)

// Pushes implements a2a.PushHandler and delivers push notifications.
type Pushes struct {
	options Options

	// configMu of an owner is held while a configuration of one of its tasks is set or deleted, so that the
	// deliveries match the stored configurations. It is held while the store reads the task. A few owners share
	// one. A goroutine that needs both locks takes configMu before mu.
	configMu [256]sync.Mutex
	seed     maphash.Seed
	// shared is nil if no other replica uses the store.
	shared *shared

	// mu guards the schedule. While mu is held, no method calls the store or a log: a log
	// calls wake, which locks mu, while it holds a lock of its own.
	mu         sync.Mutex
	deliveries map[id]*delivery
	hosts      map[endpoint]*host
	owners     map[string]*owner
	// inFlightOf counts the deliveries that workers run, by owner.share.
	inFlightOf map[string]int
	// ready are the owners with ready deliveries, in the order in which they are served.
	ready []*owner
	// awaiting are the deliveries that wait for memory, and some that were dropped meanwhile.
	// While awaiting is not empty, a timer runs that will call pollMemory.
	awaiting []*delivery
	// lastTurn is the share of the delivery that had the last turn to wait in the budgets, and nextTurn the time of the
	// next turn.
	lastTurn string
	nextTurn time.Time
	// busy counts the deliveries in the states waiting, awaitingMemory, ready and running.
	busy int
	// running counts the workers, and inFlight the deliveries that they run.
	running, inFlight int
	// draining is true from the beginning of Drain on. idle closes once no delivery is busy
	// after that.
	draining bool
	idle     chan struct{}
	workers  sync.WaitGroup
}

var _ a2a.PushHandler = (*Pushes)(nil)

// shared is the state of a replica whose store other replicas use. Each configuration
// belongs to one replica: the last one to set it or to take it over.
type shared struct {
	Member
	configs store.SharedPushStore
	// nextTakeover has, for each dead replica, the time of the next takeover of its
	// deliveries. Only Resume uses it.
	nextTakeover map[store.Replica]time.Time
	// left is true if a replica has left the list of dead replicas since the last search for
	// forgotten replicas. It runs again, or the store has forgotten it. Only Resume uses left.
	left bool
	// retryDelay is the delay of the retry after the last takeover, 0 if that takeover succeeded.
	// Only Resume uses it.
	retryDelay time.Duration
}

// New returns a Pushes, or an error if a required option is missing. The Pushes delivers
// nothing before Resume or a new configuration.
func New(o Options) (*Pushes, error) {
	if o.Tasks == nil || o.Configs == nil || o.Guard == nil || o.Observer == nil {
		return nil, errors.New("push needs tasks, configs, a guard and an observer")
	}
	o.setDefaults()
	var others *shared
	if o.Member != nil {
		configs, ok := o.Configs.(store.SharedPushStore)
		if !ok {
			return nil, errors.New("push needs configs that replicas can share")
		}
		others = &shared{Member: o.Member, configs: configs, nextTakeover: map[store.Replica]time.Time{}}
	}
	return &Pushes{
		options: o, shared: others, idle: make(chan struct{}), seed: maphash.MakeSeed(),
		deliveries: map[id]*delivery{}, hosts: map[endpoint]*host{}, owners: map[string]*owner{}, inFlightOf: map[string]int{},
	}, nil
}

// Following returns the number of configurations that have a delivery.
func (p *Pushes) Following() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.deliveries)
}

// follows reports whether a configuration has a delivery.
func (p *Pushes) follows(name id) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.deliveries[name]
	return ok
}

// followsGeneration reports whether the delivery of a configuration has the same generation, or
// a later one.
func (p *Pushes) followsGeneration(c *store.Push) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.deliveries[id{c.Task, c.Config.ID}]
	return d != nil && d.Generation >= c.Generation
}

// setState changes the state of a delivery. mu is held.
func (p *Pushes) setState(d *delivery, to state) {
	p.countState(d, -1)
	d.state = to
	p.countState(d, 1)
	p.signalIdle()
}

func (p *Pushes) countState(d *delivery, n int) {
	if d.state >= waiting {
		p.busy += n
	}
	if d.state == running {
		p.inFlight += n
		p.inFlightOf[d.owner.share] += n
		if p.inFlightOf[d.owner.share] == 0 {
			delete(p.inFlightOf, d.owner.share)
		}
	}
}

// signalIdle closes idle if the server drains and no delivery is busy. mu is held.
func (p *Pushes) signalIdle() {
	if !p.draining || p.busy > 0 {
		return
	}
	select {
	case <-p.idle:
	default:
		close(p.idle)
	}
}

const (
	// lease is how long a replica must be dead before another one takes over its
	// deliveries.
	lease = 10 * time.Second
	// takeoverInterval is the time between two takeovers from the same dead replica.
	takeoverInterval = time.Minute
	// maxDelay bounds the delay of retries (Options.FirstDelay).
	maxDelay = 5 * time.Minute
	// memoryPoll is the time between two attempts to reserve memory. Deliveries poll
	// and do not wait in the budget, so that requests of clients, which wait there, come first.
	memoryPoll = 100 * time.Millisecond
	// pollFor is how long a delivery polls only. Then it also has turns to wait as a request of a client does, because such requests may
	// wait at any time. logAfter is the time after which the log names a delivery that waits.
	pollFor  = 10 * time.Second
	logAfter = time.Minute
	// retryFor bounds the retries of one notification, from the time at which it was first
	// ready to be sent.
	retryFor = 30 * time.Minute
)

// Member is what a replica knows of the others.
type Member interface {
	store.Lease
	store.Holds
}

// Options configure a Pushes. The zero value of a field means its default.
type Options struct {
	// Tasks, Configs, Guard and Observer, which receives metrics, are required.
	Tasks    store.Store
	Configs  store.PushStore
	Guard    Guard
	Observer Observer
	// Member reports which replicas are alive, and which tasks they hold. If it is set, other replicas use Configs,
	// too, and Configs must be a store.SharedPushStore. Nil means that no other process
	// uses Configs.
	Member Member
	// Workers bounds all concurrent requests, 16 by default. PerHost bounds the
	// concurrent requests to one host, 4 by default.
	Workers, PerHost int
	// Timeout bounds one request, 10 s by default.
	Timeout time.Duration
	// MaxAttempts bounds the attempts of one notification, 12 by default.
	MaxAttempts int
	// FirstDelay is the delay of the first retry, 1 s by default. The delay doubles with
	// each retry, up to 5 min (exponential backoff with jitter).
	FirstDelay time.Duration
	// Linger is how long an update of an artifact waits for the next one, to be sent in
	// the same notification, 100 ms by default.
	Linger time.Duration
	// Keep is how long a configuration can be read after its last notification, 10 min by
	// default.
	Keep time.Duration
	// Loads is the memory for what deliveries read from Tasks; nil for no bound.
	Loads *store.Loads
	// Memory is charged for the bodies of more than limit.Small bytes until their requests end;
	// nil charges none. The number of workers bounds the smaller ones.
	Memory *limit.Budget
	// Sign returns a JWT with the claims, "" without a key. Receivers find the public keys at signing.Path of the agent. Nil signs none.
	Sign func(claims any) (string, error)
	// Tracer starts the spans of attempts; nil for none.
	Tracer *tracing.Tracer
	// Log receives failures, without the secrets of configurations. Nil discards them.
	Log *slog.Logger
	// Now is the clock, time.Now by default. Random returns a number in [0, 1) for the
	// jitter, from math/rand by default.
	Now    func() time.Time
	Random func() float64
}

// Guard checks URLs, and sends requests to the URLs that it allows.
type Guard interface {
	http.RoundTripper
	// Check returns an *a2a.Error that names the field if the URL is not allowed.
	Check(field, url string) error
}

// Observer receives the events that metrics count. Its methods must not block.
type Observer interface {
	// Attempted is called for each request to a receiver.
	Attempted(Result)
	// Abandoned is called for each configuration that ended before its task did, or whose last
	// notification was not delivered.
	Abandoned(Cause)
}

// Result is the result of a request.
type Result string

// The results of requests.
const (
	ResultDelivered Result = "delivered"
	// ResultRetry means that there was no response, or a response after which a retry may
	// succeed.
	ResultRetry Result = "retry"
	// ResultRefused means that the response is an error that a retry would not change.
	ResultRefused Result = "refused"
	// ResultDenied means that the guard did not allow the request, or that the URL is
	// invalid. No request was sent.
	ResultDenied Result = "denied"
)

// Cause is why a configuration was abandoned.
type Cause string

// The causes.
const (
	// CauseRefused means that the receiver refused the final notification, or the last of
	// maxFailures notifications that were given up in a row.
	CauseRefused Cause = "refused"
	// CauseExhausted means that MaxAttempts or retryFor was used up for the final
	// notification, or for the last of maxFailures notifications that were given up in a row.
	CauseExhausted Cause = "exhausted"
	// CauseGone means that the receiver answered with status 410.
	CauseGone Cause = "gone"
	// CauseDenied means that the URL leads to an address that is not allowed.
	CauseDenied Cause = "denied"
	// CauseTaskRemoved means that the task store had removed the task.
	CauseTaskRemoved Cause = "task_removed"
)

func (o *Options) setDefaults() {
	o.Workers = cmp.Or(o.Workers, 16)
	o.PerHost = cmp.Or(o.PerHost, 4)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.MaxAttempts = cmp.Or(o.MaxAttempts, 12)
	o.FirstDelay = cmp.Or(o.FirstDelay, time.Second)
	o.Linger = cmp.Or(o.Linger, 100*time.Millisecond)
	o.Keep = cmp.Or(o.Keep, 10*time.Minute)
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
