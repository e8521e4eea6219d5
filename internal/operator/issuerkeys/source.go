// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package issuerkeys provides the public keys that verify the cluster's ServiceAccount tokens.
//
// It reads the OpenID configuration and the key set of the API server, which are public documents.
// It does not verify tokens.
package issuerkeys

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

const (
	// refreshPeriod is the least time between two reads of the keys. refreshJitter adds a random
	// part of up to a third. Sidecars refuse the tokens of a new issuer or key until then, so the time is short.
	refreshPeriod = 15 * time.Second
	refreshJitter = 0.33
	// leastPeriod is the least time between two reads, if Accepted asks for the second one.
	leastPeriod = time.Second
	// maxIssuers bounds the issuers that Accepted adds, and maxUnproven those of before a restart.
	maxIssuers  = 8
	maxUnproven = 4
	// retryPeriod is the first delay after a failed read. The delay doubles up to refreshPeriod
	// (exponential backoff with jitter).
	retryPeriod = time.Second
	// readTimeout bounds one read.
	readTimeout = 10 * time.Second
)

// The paths at which an API server publishes its issuer and its keys.
const (
	configurationPath = "/.well-known/openid-configuration"
	keysPath          = "/openid/v1/jwks"
)

// Getter gets the document at an absolute path of the API server.
type Getter func(ctx context.Context, path string) ([]byte, error)

// Change is the event that the issuer or its keys have changed.
type Change = event.TypedGenericEvent[*state.Issuer]

// Source reads the issuer and its keys periodically while it runs. It drops a key that no answer contains for
// retainedKeys, and a former issuer after retainedIssuers, unless Accepted reports it again. If a read fails, nothing changes. The
// methods are safe for concurrent use.
type Source struct {
	get Getter
	// retained is used only by the goroutine of Start.
	retained retained
	current  atomic.Pointer[state.Issuer]
	mu       sync.Mutex
	// accepted has the issuers that Accepted has reported since the last read.
	accepted map[string]struct{}
	former   func(ctx context.Context) []string
	// unproven has the issuers of former until the first successful read. Only the goroutine of Start uses it.
	unproven []string
	// requested has an element from the time at which Accepted asks for a read until the read begins.
	requested chan struct{}
	changes   chan Change
	tried     chan struct{}
	trying    sync.Once
}

var _ manager.LeaderElectionRunnable = (*Source)(nil)

// New returns a Source without keys. Start reads them. former returns the issuers that were in use before this process, so that a
// restart drops none. The Source keeps them as if their tokens had been accepted at its first read. former may be nil.
func New(get Getter, former func(ctx context.Context) []string) *Source {
	// One pending change is enough, because its receiver reads the current keys.
	return &Source{
		get: get, former: former, accepted: map[string]struct{}{}, requested: make(chan struct{}, 1), changes: make(chan Change, 1), tried: make(chan struct{}),
	}
}

// Current returns the issuer with its current keys and with former issuers, or nil before the first successful read.
func (s *Source) Current() *state.Issuer { return s.current.Load() }

// Changes returns a channel that receives a Change after Current has changed. Several changes may
// cause only one element.
func (s *Source) Changes() <-chan Change { return s.changes }

// Accepted reports that a TokenReview has accepted a ServiceAccount token of an issuer. The API server may accept issuers that it
// does not publish. isKnown is false if the issuer or the key of the token is not in use here; the Source then reads the keys at once.
// Accepted does not block.
func (s *Source) Accepted(issuer string, isKnown bool) {
	s.mu.Lock()
	if len(s.accepted) < maxIssuers {
		s.accepted[issuer] = struct{}{}
	}
	s.mu.Unlock()
	if isKnown {
		return
	}
	select {
	case s.requested <- struct{}{}:
	default:
	}
}

// takeAccepted returns the issuers of Accepted, and forgets them.
func (s *Source) takeAccepted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	issuers := slices.Collect(maps.Keys(s.accepted))
	clear(s.accepted)
	return issuers
}

// Tried returns a channel that is closed after the first read, successful or not.
func (s *Source) Tried() <-chan struct{} { return s.tried }

// NeedLeaderElection returns false: replicas that do not lead read the keys as well, so that they
// have them when they become the leader.
func (s *Source) NeedLeaderElection() bool { return false }

// Start reads the keys until the context ends.
func (s *Source) Start(ctx context.Context) error {
	if s.former != nil {
		s.unproven = s.former(ctx)
	}
	retry := newBackoff()
	for {
		pause := wait.Jitter(refreshPeriod, refreshJitter)
		if err := s.refresh(ctx); err != nil {
			log.FromContext(ctx).Error(err, "reading the keys of the ServiceAccount issuer failed; the last ones stay in use")
			pause = retry.Step()
		} else {
			retry = newBackoff()
		}
		s.trying.Do(func() { close(s.tried) })
		if !s.pause(ctx, pause) {
			return nil
		}
	}
}

// pause waits until the next read is due: after a duration, or leastPeriod after the last read if Accepted asks for it. It returns
// false when ctx ends.
func (s *Source) pause(ctx context.Context, duration time.Duration) bool {
	due := time.NewTimer(duration)
	defer due.Stop()
	soon := time.NewTimer(leastPeriod)
	defer soon.Stop()
	var requested <-chan struct{}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-due.C:
			return true
		case <-soon.C:
			requested = s.requested
		case <-requested:
			return true
		}
	}
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: retryPeriod, Factor: 2, Jitter: refreshJitter, Steps: 5, Cap: refreshPeriod}
}

// refresh reads the issuer and its keys once. If the result of Current changes, it sends a Change.
func (s *Source) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	configuration, err := s.get(ctx, configurationPath)
	if err != nil {
		return fmt.Errorf("get %s: %w", configurationPath, err)
	}
	keys, err := s.get(ctx, keysPath)
	if err != nil {
		return fmt.Errorf("get %s: %w", keysPath, err)
	}
	published, err := parse(configuration, keys)
	if err != nil {
		return err
	}
	next, err := s.retained.merge(published, s.takeAccepted(), s.unproven, time.Now()) //nolint:forbidigo // only differences of times of the machine are used
	if err != nil {
		return err
	}
	s.unproven = nil
	// If nothing has changed, the pointer must stay the same, because callers of Current compare
	// pointers to detect a change.
	if last := s.current.Load(); last != nil && last.URL == next.URL && slices.Equal(last.Others, next.Others) && bytes.Equal(last.Keys, next.Keys) {
		return nil
	}
	s.current.Store(next)
	select {
	case s.changes <- Change{Object: next}:
	default:
	}
	return nil
}

// APIServer returns a Getter that reads from the API server of a client configuration.
func APIServer(config *rest.Config, httpClient *http.Client) (Getter, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &schema.GroupVersion{}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("build client of the API server: %w", err)
	}
	return func(ctx context.Context, path string) ([]byte, error) {
		return client.Get().AbsPath(path).SetHeader("Accept", "application/json, */*").DoRaw(ctx)
	}, nil
}

// answer has the issuer and the keys that one replica of the API server publishes.
type answer struct {
	url  string
	keys []key
}

// key is a JSON Web Key (RFC 7517).
type key struct {
	id string
	// text is the key in JSON. Equal keys have equal texts.
	text string
}

// parse decodes an OpenID configuration and a JWK set.
func parse(configuration, keySet []byte) (answer, error) {
	var discovered struct {
		Issuer string `json:"issuer"`
	}
	if err := json.Unmarshal(configuration, &discovered); err != nil {
		return answer{}, fmt.Errorf("decode OpenID configuration: %w", err)
	}
	if discovered.Issuer == "" {
		return answer{}, errors.New("decode OpenID configuration: it has no issuer")
	}
	var set struct {
		Keys []map[string]any `json:"keys"`
	}
	if err := json.Unmarshal(keySet, &set); err != nil {
		return answer{}, fmt.Errorf("decode key set: %w", err)
	}
	if len(set.Keys) == 0 {
		return answer{}, errors.New("decode key set: it has no key")
	}
	parsed := answer{url: discovered.Issuer}
	for _, each := range set.Keys {
		text, err := json.Marshal(each)
		if err != nil {
			return answer{}, fmt.Errorf("encode key: %w", err)
		}
		parsed.keys = append(parsed.keys, key{id: fmt.Sprint(each["kid"]), text: string(text)})
	}
	return parsed, nil
}

// encode returns the JWK set of keys. Sets with the same keys have the same bytes.
func encode(keys []key) (json.RawMessage, error) {
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.text, b.text)) })
	set := struct {
		Keys []json.RawMessage `json:"keys"`
	}{}
	for _, each := range keys {
		set.Keys = append(set.Keys, json.RawMessage(each.text))
	}
	encoded, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("encode key set: %w", err)
	}
	return encoded, nil
}

const (
	// retainedKeys is how long a key stays in use that no answer contains any more.
	retainedKeys = 15 * time.Minute
	// retainedIssuers is how long a former issuer stays in use after the last answer or TokenReview that shows that an API server accepts
	// it. The kubelet renews a token before it is 24 hours old. API
	// servers publish only their first issuer, and may accept further ones. A token of a former issuer needs the signature of a
	// key that is still in use.
	retainedIssuers = 25 * time.Hour
)

// retained has the issuers and keys that API servers have published recently. While the replicas of
// a control plane restart with another issuer or key, each read returns those of an arbitrary replica, old or
// new. Without retained, the configurations of all sidecars would change with each read, and
// sidecars would refuse tokens that the other replicas have signed.
type retained struct {
	// keys and issuers have the times since which answers lack them, zero for those of the last answer. A failed read does not
	// count.
	keys    map[key]time.Time
	issuers map[string]time.Time
}

// merge adds an answer, the issuers of tokens that a TokenReview has accepted, and unproven ones, and returns all retained issuers with the union of the keys. Its order does not depend on the
// order of the answers.
func (r *retained) merge(a answer, accepted, unproven []string, now time.Time) (*state.Issuer, error) {
	r.keys = retain(r.keys, now, retainedKeys, a.keys...)
	r.issuers = retain(r.issuers, now, retainedIssuers, a.url)
	for _, each := range accepted {
		if _, known := r.issuers[each]; each != a.url && (known || len(r.issuers) < maxIssuers) {
			r.issuers[each] = now
		}
	}
	for _, each := range unproven {
		if _, known := r.issuers[each]; !known && len(r.issuers) < maxUnproven {
			r.issuers[each] = now
		}
	}
	union, err := encode(slices.Collect(maps.Keys(r.keys)))
	if err != nil {
		return nil, err
	}
	urls := slices.Sorted(maps.Keys(r.issuers))
	return &state.Issuer{URL: urls[0], Others: urls[1:], Keys: union}, nil
}

// retain adds the present values, and drops those that answers have lacked for a period.
func retain[T comparable](all map[T]time.Time, now time.Time, period time.Duration, present ...T) map[T]time.Time {
	if all == nil {
		all = map[T]time.Time{}
	}
	for each, since := range all {
		if since.IsZero() {
			all[each] = now
		}
	}
	for _, each := range present {
		all[each] = time.Time{}
	}
	maps.DeleteFunc(all, func(_ T, since time.Time) bool { return !since.IsZero() && now.Sub(since) >= period })
	return all
}
