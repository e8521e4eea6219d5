// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tokenkeys maintains the keys with which the registry signs tokens for calls of
// agents, in one Secret of the manager's namespace.
//
// Every replica of the manager reads the Secret. Only the leader writes the Secret: it creates,
// replaces and rotates the keys. No other package reads or writes the Secret. docs/adr/0029
// explains the reasons.
package tokenkeys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	// secretKey is the data key of the keys in the Secret.
	secretKey = "keys.json"
)

const (
	// readPeriod is the time between two reads of the Secret, before jitter is added. After a
	// change, all replicas sign with the same key within about this time.
	readPeriod = 10 * time.Second
	// retryPeriod is the first delay after a failure. The delay doubles up to readPeriod
	// (exponential backoff with jitter).
	retryPeriod = time.Second
	jitter      = 0.1
	// requestTimeout bounds one request to the API server.
	requestTimeout = 10 * time.Second
)

// noVersion is a resource version that no object has. If an apply names it, the API server can
// only create the Secret: it rejects the apply as a conflict if the Secret exists
// (docs/adr/0022-created-without-a-read.md).
const noVersion = "1"

// Writer applies objects.
type Writer interface {
	Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error
}

// Options configure a Source. All fields are required.
type Options struct {
	// Reader reads from the API server, without a cache.
	Reader client.Reader
	Writer Writer
	// Namespace and Name are those of the Secret. A Role of the installation allows the manager
	// to read and write the Secret with this name.
	Namespace, Name string
	// Elected is closed when this replica is the leader.
	Elected <-chan struct{}
	Events  events.EventRecorder
	// InUse reports whether agents run with keys of an earlier manager. If there is no Secret
	// although they do, the Secret was deleted while no manager ran.
	InUse func(context.Context) (bool, error)
	Clock clock.PassiveClock
}

// Changed is the event that the public keys have changed.
type Changed = event.TypedGenericEvent[*state.Issuer]

// Source reads the keys periodically while it runs. While the Secret cannot be read, the keys of
// the last successful read stay current. Its methods are safe for concurrent use.
type Source struct {
	options Options
	current atomic.Pointer[currentKeys]
	changes chan Changed
	tried   chan struct{}
	trying  sync.Once
	// publishing is the time at which this replica became the leader, which publishes the keys. It
	// is zero on other replicas. Only the goroutine of Start uses it.
	publishing time.Time
}

// currentKeys has the current keys. It is immutable.
type currentKeys struct {
	text   []byte
	set    *Set
	issuer *state.Issuer
}

var _ manager.LeaderElectionRunnable = (*Source)(nil)

// New returns a Source without keys. Start reads them.
func New(options Options) *Source {
	return &Source{options: options, changes: make(chan Changed, 1), tried: make(chan struct{})}
}

// Keys returns the current keys, or nil before the first successful read or write.
func (s *Source) Keys() *Set {
	if current := s.current.Load(); current != nil {
		return current.set
	}
	return nil
}

// Current returns the issuer of the tokens, with the public keys, or nil before the first
// successful read or write. Current returns the same pointer until the public keys change.
func (s *Source) Current() *state.Issuer {
	if current := s.current.Load(); current != nil {
		return current.issuer
	}
	return nil
}

// Changes returns a channel that receives a Changed after Current has changed. Several changes may
// cause only one element.
func (s *Source) Changes() <-chan Changed { return s.changes }

// Tried returns a channel that is closed after the first read, successful or not.
func (s *Source) Tried() <-chan struct{} { return s.tried }

// NeedLeaderElection returns false, because every replica signs tokens.
func (s *Source) NeedLeaderElection() bool { return false }

// Start reads the keys until the context ends. While this replica is the leader, it also creates,
// replaces and rotates them.
func (s *Source) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("token-keys")
	elected := s.options.Elected
	retry := newBackoff()
	for {
		pause := wait.Jitter(readPeriod, jitter)
		if err := s.refresh(ctx); err != nil {
			failures.Inc()
			pause = retry.Step()
			logger.Error(err, "reading or writing the token keys failed; the current keys stay in use", "namespace", s.options.Namespace, "secret", s.options.Name, "retryIn", pause)
		} else {
			retry = newBackoff()
		}
		s.trying.Do(func() { close(s.tried) })
		if s.current.Load() == nil {
			pause = min(pause, retryPeriod) // the leader creates the keys soon
		}
		select {
		case <-ctx.Done():
			return nil
		case <-elected:
			elected = nil
			s.publishing = s.options.Clock.Now()
		case <-time.After(pause):
		}
	}
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: retryPeriod, Factor: 2, Jitter: jitter, Steps: 5, Cap: readPeriod}
}

// refresh reads the Secret once. On the leader, it then writes new keys if a change is due.
func (s *Source) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secret := &corev1.Secret{}
	err := s.options.Reader.Get(ctx, client.ObjectKey{Namespace: s.options.Namespace, Name: s.options.Name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return s.replace(ctx, noVersion, Created)
	case err != nil:
		return fmt.Errorf("get Secret: %w", err)
	}
	text := secret.Data[secretKey]
	if current := s.current.Load(); current == nil || !bytes.Equal(current.text, text) {
		set, err := decode(text)
		if err != nil {
			return errors.Join(fmt.Errorf("read data key %s of the Secret: %w", secretKey, err), s.replace(ctx, secret.ResourceVersion, Replaced))
		}
		s.use(text, set)
	}
	return s.advance(ctx, secret.ResourceVersion)
}

// leading reports whether this replica is the leader, which writes the keys.
func (s *Source) leading() bool { return !s.publishing.IsZero() }

// replace writes a new set of keys. It does nothing if this replica is not the leader.
func (s *Source) replace(ctx context.Context, version string, change Change) error {
	if !s.leading() {
		return nil
	}
	set, err := Generate(s.options.Clock.Now())
	if err != nil {
		return err
	}
	return s.write(ctx, version, set, change)
}

// advance writes the next set of keys if a change is due. It does nothing if this replica is not
// the leader.
func (s *Source) advance(ctx context.Context, version string) error {
	if !s.leading() {
		return nil
	}
	set, change, err := s.Keys().advance(s.options.Clock.Now(), s.publishing)
	if err != nil || set == nil {
		return err
	}
	return s.write(ctx, version, set, change)
}

// write writes a set of keys to the Secret, and then makes it the current one. The API server
// rejects the write if the Secret has a resource version other than version.
func (s *Source) write(ctx context.Context, version string, set *Set, change Change) error {
	text, err := set.encode()
	if err != nil {
		return err
	}
	secret := corev1ac.Secret(s.options.Name, s.options.Namespace).
		WithResourceVersion(version).
		WithLabels(map[string]string{a2av1alpha1.LabelManagedBy: a2av1alpha1.ManagedBy}).
		WithData(map[string][]byte{secretKey: text})
	if err := s.options.Writer.Apply(ctx, secret, client.FieldOwner(a2av1alpha1.FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply Secret: %w", err)
	}
	lost := change == Created && s.wereUsed(ctx)
	s.use(text, set)
	s.report(ctx, change, lost)
	return nil
}

// wereUsed reports whether keys were in use before: this replica has keys, or agents run with
// keys of an earlier manager.
func (s *Source) wereUsed(ctx context.Context) bool {
	if s.current.Load() != nil {
		return true
	}
	used, err := s.options.InUse(ctx)
	if err != nil {
		log.FromContext(ctx).Error(err, "check for earlier token keys failed; the new ones count as the first", "namespace", s.options.Namespace, "secret", s.options.Name)
	}
	return used
}

// report counts and logs a change, and records an event for it. lost is true if keys were in use
// and the Secret with them was deleted.
func (s *Source) report(ctx context.Context, change Change, lost bool) {
	changes.WithLabelValues(string(change)).Inc()
	log.FromContext(ctx).Info("token keys "+string(change), "namespace", s.options.Namespace, "secret", s.options.Name)
	secret := &corev1.Secret{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	secret.Namespace = s.options.Namespace
	secret.Name = s.options.Name
	record := func(kind, reason, note string) {
		s.options.Events.Eventf(secret, nil, kind, reason, "Maintain", "%s", note)
	}
	switch {
	case change == Replaced:
		record(corev1.EventTypeWarning, "TokenKeysReplaced", "The content of the Secret was not usable. New keys sign, and agents refuse calls of each other until their sidecars have the new configuration.")
	case lost:
		record(corev1.EventTypeWarning, "TokenKeysReplaced", "The Secret was deleted. New keys sign, and agents refuse calls of each other until their sidecars have the new configuration.")
	case change == Created:
		record(corev1.EventTypeNormal, "TokenKeysCreated", "The operator created the keys that sign tokens for calls of agents.")
	case change == Rotated:
		record(corev1.EventTypeNormal, "TokenKeysRotated", "The next key signs tokens for calls of agents. Sidecars have had it since its publication.")
	case change == Renewed:
		record(corev1.EventTypeNormal, "TokenKeysRenewed", "The former key was withdrawn, and the next key is being published to the sidecars.")
	}
}

// use makes a set the current one, and sends a Changed if its public keys differ.
func (s *Source) use(text []byte, set *Set) {
	signingCreated.Set(float64(set.signing.created.Unix()))
	next := &currentKeys{text: text, set: set, issuer: &state.Issuer{URL: sidecarconfig.TokenIssuer, Keys: set.KeySet()}}
	if last := s.current.Load(); last != nil && bytes.Equal(last.issuer.Keys, next.issuer.Keys) {
		next.issuer = last.issuer
		s.current.Store(next)
		return
	}
	s.current.Store(next)
	select {
	case s.changes <- Changed{Object: next.issuer}:
	default:
	}
}

var (
	changes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_token_key_changes_total",
		Help: "Changes of the token keys that this manager wrote, by change: created, replaced (the Secret was not usable), rotated (the next key signs) or renewed (the former key is withdrawn and a next one published).",
	}, []string{"change"})
	failures = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "a2a_token_key_failures_total",
		Help: "Failed reads and writes of the Secret with the token keys, including reads of content that is not usable.",
	})
	signingCreated = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_token_key_created_timestamp_seconds",
		Help: "Time at which the key that signs tokens was created, in Unix seconds; 0 while the manager has no keys. Each key is published for 30 days before it signs.",
	})
)

// Collectors returns the metrics, which all Sources of a process share.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{changes, failures, signingCreated}
}
