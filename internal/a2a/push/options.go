// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
)

const (
	// lease is how long a replica must be dead before another one takes over its
	// deliveries.
	lease = 10 * time.Second
	// maxDelay bounds the delay of retries (Options.FirstDelay).
	maxDelay = 5 * time.Minute
	// memoryPoll is the time between two attempts to reserve memory for a body.
	memoryPoll = 100 * time.Millisecond
	// retryFor bounds the retries of one notification, from its first attempt.
	retryFor = 30 * time.Minute
)

// Options configure a Pushes. The zero value of a field means its default.
type Options struct {
	// Tasks, Configs and Guard are required.
	Tasks   store.Store
	Configs store.PushStore
	Guard   Guard
	// Member reports which replicas are alive. If it is set, other replicas use Configs,
	// too, and Configs must be a store.SharedPushStore. Nil means that no other process
	// uses Configs.
	Member store.Lease
	// Workers bounds all concurrent requests, 16 by default. PerHost bounds the
	// concurrent requests to one host, 4 by default.
	Workers, PerHost int
	// Timeout bounds one request, 10 s by default.
	Timeout time.Duration
	// MaxAttempts bounds the attempts of one notification, 12 by default.
	MaxAttempts int
	// FirstDelay is the delay of the first retry, 1 s by default. The delay doubles with
	// each retry, up to 5 min.
	FirstDelay time.Duration
	// Linger is how long an update of an artifact waits for the next one, to be sent in
	// the same notification, 100 ms by default.
	Linger time.Duration
	// Keep is how long a configuration can be read after its last notification, 10 min by
	// default.
	Keep time.Duration
	// Memory is charged for the bodies of more than limit.Small bytes until their requests end;
	// nil charges none. The number of workers bounds the smaller ones.
	Memory *limit.Budget
	// Observer receives metrics; nil means none.
	Observer Observer
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
	// ResultDenied means that the guard did not allow the request.
	ResultDenied Result = "denied"
)

// Cause is why a configuration was abandoned.
type Cause string

// The causes.
const (
	// CauseRefused means that the receiver refused the final notification, or the last of
	// maxFailures notifications that were given up in a row.
	CauseRefused Cause = "refused"
	// CauseExhausted means that the attempts of such a notification were used up.
	CauseExhausted Cause = "exhausted"
	// CauseGone means that the receiver answered with status 410.
	CauseGone Cause = "gone"
	// CauseDenied means that the URL leads to an address that is not allowed.
	CauseDenied Cause = "denied"
)

func (o *Options) setDefaults() {
	setDefault(&o.Workers, 16)
	setDefault(&o.PerHost, 4)
	setDefault(&o.Timeout, 10*time.Second)
	setDefault(&o.MaxAttempts, 12)
	setDefault(&o.FirstDelay, time.Second)
	setDefault(&o.Linger, 100*time.Millisecond)
	setDefault(&o.Keep, 10*time.Minute)
	if o.Observer == nil {
		o.Observer = noObserver{}
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

type noObserver struct{}

func (noObserver) Attempted(Result) {}
func (noObserver) Abandoned(Cause)  {}
