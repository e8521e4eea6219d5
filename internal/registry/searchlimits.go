// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// searchRate is the rate limit for the searches of one caller. Some requests count as several
// searches.
var searchRate = limit.Rate{PerSecond: 50, Burst: 200}

// costlyRate is the rate limit of one caller for requests that count as several searches, in searches. All pods of a
// ServiceAccount can begin their watches at once after a restart: 120 pods need the burst.
var costlyRate = limit.Rate{PerSecond: 50, Burst: 120 * watchCost}

// lookupRate is the rate limit of one caller for agents by name, which need no search. The pods of a ServiceAccount look each agent
// that they call up every 15 s: 120 pods that call 100 agents each are within it.
var lookupRate = limit.Rate{PerSecond: 1000, Burst: 4000}

// searchTimeout bounds how long a search waits for a slot and, separately, how long its response
// waits for memory.
const searchTimeout = time.Second

var searchDuration = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "a2a_registry_search_duration_seconds",
	Help:    "Time from the start of a search to its result, without the wait for a slot and without sending it.",
	Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, 1},
})

// searchLimits limits the searches, because they run in the same process as the controllers. It
// limits the rate and the concurrent responses of each caller, the concurrent searches (to half of
// the CPUs for callers with a token), and the memory of responses. It refuses requests beyond a
// limit (load shedding). It is safe for concurrent use.
type searchLimits struct {
	callers *limit.Table
	// costly has the buckets of requests that count as several searches, so that a loop of searches does not refuse them for
	// ever. If it is nil, these requests use the buckets of callers.
	costly *limit.Table
	// lookups has the buckets of lookups of agents by name. It is nil in the limits of requests without a token, which have none.
	lookups *limit.Table
	slots   *slots
	// explorations are the limits of explorations, each of which reads all matches. They count toward the rates of their callers, and have one
	// slot, responses and memory of their own, so that they do not delay searches. It is nil in the limits of explorations.
	explorations *searchLimits
	clock        clock.PassiveClock
	// maxResponses bounds the concurrent responses to one caller. The capacity of allResponses
	// bounds the concurrent responses to all callers. If allResponses is nil, only maxResponses
	// applies.
	maxResponses int
	allResponses chan struct{}
	// responses is the memory budget for responses that are not sent yet. message is the error
	// message for a caller that exceeds its rate.
	responses *limit.Budget
	message   string
}

// maxWaiting bounds the searches that wait for a slot. Of them, one tenant may have two thirds.
const maxWaiting = 1024

// slots is a concurrency limiter, whose slots the tenants of callers (shareOf) take in turn.
type slots = fairslots.Slots[a2a.AccountingPrincipal]

func newSlots(n int) *slots {
	return fairslots.New[a2a.AccountingPrincipal](fairslots.Options{Slots: n, PerTenant: n, Waiting: maxWaiting})
}

func newSearchLimits(c clock.PassiveClock) *searchLimits {
	s := &searchLimits{
		callers: limit.NewTable(limitedCallers, searchRate), costly: limit.NewTable(limitedCallers, costlyRate),
		lookups: limit.NewTable(limitedCallers, lookupRate),
		clock:   c, maxResponses: maxResponses, message: searchesMessage,
		slots:     newSlots(max(1, runtime.GOMAXPROCS(0)/2)),
		responses: limit.NewBudget(responseMemory, searchTimeout),
	}
	s.explorations = s.ofExplorations()
	return s
}

// ofExplorations returns the limits of the explorations beside the searches that s limits.
func (s *searchLimits) ofExplorations() *searchLimits {
	own := *s
	own.slots = newSlots(1)
	own.responses = limit.NewBudget(explorationMemory, searchTimeout)
	if s.allResponses != nil {
		own.allResponses = make(chan struct{}, maxAllAnonymousExplorations)
	}
	return &own
}

// maxAnonymousResponses bounds the concurrent responses to one address without a token, and
// maxAllAnonymousResponses the concurrent responses to all such addresses, apart from those to explorations.
const (
	maxAnonymousResponses       = 4
	maxAllAnonymousResponses    = 64
	maxAllAnonymousExplorations = 16
)

var anonymousRate = limit.Rate{PerSecond: 10, Burst: 100}

// newAnonymousSearchLimits returns the limits of searches without a token. Only one of these
// searches and one exploration run at a time, in slots that are separate from those of callers with a token. They
// therefore do not delay them.
func newAnonymousSearchLimits(c clock.PassiveClock) *searchLimits {
	s := &searchLimits{
		callers: limit.NewTable(limitedCallers, anonymousRate), clock: c, maxResponses: maxAnonymousResponses,
		allResponses: make(chan struct{}, maxAllAnonymousResponses), message: anonymousSearchesMessage,
		slots:     newSlots(1),
		responses: limit.NewBudget(anonymousResponseMemory, searchTimeout),
	}
	s.explorations = s.ofExplorations()
	return s
}

// Messages for callers that exceed their rate, with and without a token.
const (
	lookupsMessage           = "this caller reads agents too often; keep them, or use watch=true"
	searchesMessage          = "this caller searches too often; keep the results, or use watch=true"
	anonymousSearchesMessage = "this address searches too often; keep the results, or send a token"
)

// Costs of requests that cause more work than one search, in searches.
const (
	// watchCost is the cost of the start of a watch, which may send all agents.
	watchCost = 10
	// aggregateCost is the cost of an aggregate card, which has the skills of up to 200 agents.
	aggregateCost = 10
	// exploreCost is the cost of an exploration, which reads all matches.
	exploreCost = 50
)

// maxResponses bounds the concurrent responses to one caller. A response has up to 4 MiB, and is in
// memory until the client has read it.
const maxResponses = 16

const responsesMessage = "this caller receives too many responses at a time; read them first"

// responseMemory bounds the responses to all callers with a token that are not sent yet, in
// bytes. anonymousResponseMemory is the same bound for all callers without a token, and explorationMemory
// that for the explorations of each of these groups.
const (
	responseMemory          = 64 << 20
	anonymousResponseMemory = 16 << 20
	explorationMemory       = 4 << 20
)

// reserveIn raises a reservation to size bytes. If size exceeds the largest possible reservation,
// it raises it to that. It returns an error with the status 503 if the memory is not free within
// searchTimeout, and the error of ctx if ctx ends first.
func (s *searchLimits) reserveIn(ctx context.Context, reservation *limit.Reservation, p a2a.AccountingPrincipal, size int) error {
	if s.responses.Grow(ctx, reservation, p, min(int64(size), s.responses.Largest())) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return busy("response_memory", "too many large responses are being sent; try again")
}

// tryReserve is reserveIn without the wait. It returns false if the memory is not free now.
func (s *searchLimits) tryReserve(reservation *limit.Reservation, p a2a.AccountingPrincipal, size int) bool {
	return s.responses.TryGrow(reservation, p, min(int64(size), s.responses.Largest()))
}

// hold counts a response to p toward maxResponses and allResponses. If one of these limits is
// reached, ok is false. If ok is true, the caller of hold must call release when the response is
// sent.
func (s *searchLimits) hold(p a2a.AccountingPrincipal) (release func(), ok bool) {
	releaseCaller, ok := s.callers.Hold(p, s.maxResponses, s.clock.Now())
	if !ok || s.allResponses == nil {
		return releaseCaller, ok
	}
	select {
	case s.allResponses <- struct{}{}:
		return func() { <-s.allResponses; releaseCaller() }, true
	default:
		releaseCaller()
		return nil, false
	}
}

// held is hold for the APIs. It returns the error for a request that exceeds a limit.
func (s *searchLimits) held(p a2a.AccountingPrincipal) (release func(), err error) {
	release, ok := s.hold(p)
	if !ok {
		return nil, tooManyNow("responses", responsesMessage)
	}
	return release, nil
}

// charged is charge for the APIs. It returns the error for a request that exceeds the caller's rate.
func (s *searchLimits) charged(p a2a.AccountingPrincipal, cost int) error {
	if refusal, ok := s.charge(p, cost); !ok {
		return tooMany("searches", refusal, s.message)
	}
	return nil
}

// chargedLookup charges a caller for the lookup of an agent by its name. It returns the error for a request that exceeds the
// caller's rate.
func (s *searchLimits) chargedLookup(p a2a.AccountingPrincipal) error {
	now := s.clock.Now()
	bucket := s.lookups.Bucket(p, now)
	if !bucket.Take(now) {
		return tooMany("lookups", bucket.Refusal(now), lookupsMessage)
	}
	return nil
}

// charge charges the caller for a request that costs as much as the given number of searches. If
// the request exceeds the caller's rate, charge charges nothing, and refusal has the time to wait
// before a retry.
func (s *searchLimits) charge(p a2a.AccountingPrincipal, cost int) (refusal limit.Refusal, ok bool) {
	now := s.clock.Now()
	callers := s.callers
	if cost > 1 && s.costly != nil {
		callers = s.costly
	}
	bucket := callers.Bucket(p, now)
	if !bucket.TakeN(now, cost) {
		return bucket.RefusalN(now, cost), false
	}
	return limit.Refusal{}, true
}

// run calls search in a slot (concurrency limiter), for the caller c. It returns an error with the status 503 if
// no slot is free within searchTimeout, and the error of ctx if ctx ends first.
func (s *searchLimits) run(ctx context.Context, c *access.Caller, search func()) error {
	return runIn(ctx, s.slots, shareOf(c), s.clock, search)
}

// runIn does the same as run, but uses one of the given slots.
func runIn(ctx context.Context, in *slots, tenant a2a.AccountingPrincipal, c clock.PassiveClock, search func()) error {
	return inSearchSlot(ctx, in, tenant, func() {
		start := c.Now()
		search()
		searchDuration.Observe(c.Since(start).Seconds())
	})
}

// inSearchSlot does the same as runIn for work that is no search, such as rendering a card, and whose duration is not observed.
func inSearchSlot(ctx context.Context, in *slots, tenant a2a.AccountingPrincipal, do func()) error {
	waiting, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	release, err := in.Acquire(waiting, tenant)
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	if err != nil {
		return busy("concurrent_searches", "too many searches run at a time; try again")
	}
	defer release()
	do()
	return nil
}
