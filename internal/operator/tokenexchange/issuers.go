// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenexchange

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
)

const (
	// maxNamespaceIssuers bounds the issuers of one namespace, and maxIssuers those of the whole cluster. Owners of
	// Agents name issuers. If there are maxIssuers, a namespace with few of them takes the place of one of a namespace with
	// the most.
	maxNamespaceIssuers = 8
	maxIssuers          = 512
	// issuerIdle is how long the keys of an issuer are fetched after their last use.
	issuerIdle = time.Hour
	// firstFetch is how long an exchange waits for the keys of an issuer that no exchange has used lately.
	firstFetch = 3 * time.Second
)

// refusalsLogged is how often an issuer that is one too many is logged.
var refusalsLogged = rate.Every(time.Minute)

// IssuersOptions configure Issuers. All fields are required.
type IssuersOptions struct {
	// Transport reaches the issuers. It refuses the addresses that owners of Agents must not reach through the manager.
	Transport http.RoundTripper
	Log       logr.Logger
	Clock     clock.PassiveClock
}

// Issuers fetches the keys of the issuers that specs of Agents name. It reads the address of the keys in the discovery document of
// the issuer. Its methods are safe for concurrent use.
type Issuers struct {
	options IssuersOptions

	mu sync.Mutex
	// running is nil until Start and after the end of its context.
	running    context.Context //nolint:containedctx // the fetches end with Start
	namespaces map[string]map[string]*usedIssuer
	count      int
	// refusals limits the log of issuers that are too many.
	refusals *rate.Limiter
}

// usedIssuer is an issuer whose keys are being fetched.
type usedIssuer struct {
	keys *auth.IssuerKeys
	used time.Time
	stop func()
	// tried is closed after the first fetch.
	tried chan struct{}
}

// NewIssuers returns Issuers that know no keys before Start.
func NewIssuers(o IssuersOptions) *Issuers {
	return &Issuers{options: o, namespaces: map[string]map[string]*usedIssuer{}, refusals: rate.NewLimiter(refusalsLogged, 1)}
}

// NeedLeaderElection returns false, because every replica exchanges tokens.
func (*Issuers) NeedLeaderElection() bool { return false }

// Start fetches the keys of issuers in use until ctx ends.
func (i *Issuers) Start(ctx context.Context) error {
	i.mu.Lock()
	i.running = ctx
	i.mu.Unlock()
	<-ctx.Done()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.running = nil
	return nil
}

// keys returns the keys of an issuer that an Agent of a namespace names. It returns nil if there are too many issuers, or if ctx ends
// before the first fetch has ended.
func (i *Issuers) keys(ctx context.Context, namespace, issuer string) *auth.IssuerKeys {
	used := i.use(namespace, issuer) // the fetches outlive the exchange
	if used == nil {
		return nil
	}
	timeout := time.NewTimer(firstFetch)
	defer timeout.Stop()
	select {
	case <-used.tried:
		return used.keys
	case <-timeout.C:
	case <-ctx.Done():
	}
	return nil
}

// use returns an issuer, and begins to fetch its keys if they are not being fetched. It returns nil if there are too many issuers.
func (i *Issuers) use(namespace, issuer string) *usedIssuer {
	now := i.options.Clock.Now()
	i.mu.Lock()
	defer i.mu.Unlock()
	if used := i.namespaces[namespace][issuer]; used != nil {
		used.used = now
		return used
	}
	i.dropIdle(now)
	switch {
	case i.running == nil:
		return nil
	case len(i.namespaces[namespace]) >= maxNamespaceIssuers || i.count >= maxIssuers && !i.makeRoom(len(i.namespaces[namespace])):
		if i.refusals.AllowN(now, 1) {
			i.options.Log.Info("too many issuers: their users are asserted only, which is logged once a minute",
				"namespace", namespace, "issuer", issuer, "inNamespace", len(i.namespaces[namespace]), "inCluster", i.count)
		}
		return nil
	}
	ctx, stop := context.WithCancel(i.running)
	used := &usedIssuer{used: now, stop: stop, tried: make(chan struct{})}
	tried := sync.OnceFunc(func() { close(used.tried) })
	used.keys = auth.NewIssuerKeys(auth.IssuerKeysConfig{
		Source: auth.KeySource{Issuer: issuer}, Transport: i.options.Transport, Observe: func(error) { tried() },
		Log: slog.New(logr.ToSlogHandler(i.options.Log.WithValues("namespace", namespace))), Now: i.options.Clock.Now,
	})
	if i.namespaces[namespace] == nil {
		i.namespaces[namespace] = map[string]*usedIssuer{}
	}
	i.namespaces[namespace][issuer] = used
	i.count++
	go used.keys.Run(ctx)
	return used
}

// dropIdle stops the fetches for issuers that no exchange has used for issuerIdle. i.mu must be held.
func (i *Issuers) dropIdle(now time.Time) {
	for namespace, issuers := range i.namespaces {
		for name, used := range issuers {
			if now.Sub(used.used) > issuerIdle {
				i.drop(namespace, name)
			}
		}
	}
}

// makeRoom stops the fetches for the issuer that was used least lately in a namespace with the most issuers. It returns false
// if no namespace has more issuers than one with own issuers would have with another one. i.mu must be held.
func (i *Issuers) makeRoom(own int) bool {
	most := ""
	for namespace, issuers := range i.namespaces {
		if len(issuers) > len(i.namespaces[most]) {
			most = namespace
		}
	}
	if len(i.namespaces[most]) <= own+1 {
		return false
	}
	oldest := ""
	for name, used := range i.namespaces[most] {
		if oldest == "" || used.used.Before(i.namespaces[most][oldest].used) {
			oldest = name
		}
	}
	i.drop(most, oldest)
	return true
}

// drop stops the fetches for an issuer. i.mu must be held.
func (i *Issuers) drop(namespace, name string) {
	i.namespaces[namespace][name].stop()
	delete(i.namespaces[namespace], name)
	i.count--
	if len(i.namespaces[namespace]) == 0 {
		delete(i.namespaces, namespace)
	}
}
