// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/collectors"
	"github.com/a2a-operator/a2a-operator/internal/kit/httpserver"
	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/embedding"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/registry/servingcert"
)

// DefaultBindAddress is the default address of the listener for clients inside the cluster.
const DefaultBindAddress = ":8444"

const (
	shutdownTimeout = 10 * time.Second
	readTimeout     = 10 * time.Second
	writeTimeout    = 30 * time.Second
)

// Options configure a Server.
type Options struct {
	// BindAddress defaults to DefaultBindAddress.
	BindAddress string
	// Memory is how many bytes the connections may use. It defaults to httpserver.Memory.
	Memory int64
	// Cache is the manager's cache.
	Cache cache.Cache
	// ReadDeleted returns a ConfigMap of an Agent that is being deleted with its data, which the cache does not have
	// (index.Source).
	ReadDeleted func(ctx context.Context, agent metav1.Object, cached *corev1.ConfigMap) (*corev1.ConfigMap, error)
	// Reviews creates TokenReviews and SubjectAccessReviews.
	Reviews client.Writer
	// Signatures tells forged tokens from others without a TokenReview. If it is nil, each token needs a
	// TokenReview.
	Signatures *access.Signatures
	// CertificateDir is the directory with tls.crt and tls.key. If it is "", the registry
	// serves plain HTTP.
	CertificateDir string
	// OIDC configures the OpenID Connect issuer of tokens for people, nil for none. New ignores its
	// fields Log and Now, and uses Log and Clock of these Options instead.
	OIDC *access.OIDCOptions
	// Publisher makes the identifiers and URLs of ARD for this registry. If it is nil, the registry
	// serves neither ARD nor A2A.
	Publisher *ard.Publisher
	// Outside configures the catalog outside of the cluster, nil for none.
	Outside *OutsideOptions
	// PeersFile is the path of the file that lists the peers, which are registries of other
	// clusters. "" means no peers. Without a Publisher, the registry ignores the file.
	PeersFile string
	// ClusterDomain is the DNS domain of the cluster. The registry drops results of peers with
	// URLs below this domain.
	ClusterDomain string
	// ReviewAllNamespaces is for clusters with authorizers that grant rights without RBAC objects.
	// If it is false, the registry reviews only the rights that RBAC objects grant. If it is true,
	// the registry reviews, for every caller, the right of a peer and the access to each namespace
	// with agents. These reviews then also contain the pod and the node of the caller.
	ReviewAllNamespaces bool
	// Proxy returns the proxy for public https servers, nil for none. If Proxy is nil, there is none.
	Proxy func() *egress.Proxy
	// Embeddings makes ranked searches also find agents by meaning. If it is nil, searches use only
	// words.
	Embeddings *Embeddings
	// Services are paths for sidecars that other packages serve.
	Services []Service
	// TrustedProxies are the proxies whose headers name the clients to which limits by address apply.
	TrustedProxies sourceaddress.Proxies
	Log            logr.Logger
	// Clock defaults to the real clock.
	Clock clock.PassiveClock
}

// Server is the registry of one replica.
type Server struct {
	options Options
	feed    *index.Feed
	api     *api
	// forCallers is the handler of ServeCaller.
	forCallers http.Handler
	// bindings determines the rights that the Authorizer reviews.
	bindings *access.Bindings
	// people is nil without OIDC.
	people *access.OIDC
	// certificate is nil without TLS.
	certificate *servingcert.Certificate
	server      *httpserver.Server
	// outside is nil without Options.Outside.
	outside *httpserver.Server
}

var (
	_ manager.Runnable               = (*Server)(nil)
	_ manager.LeaderElectionRunnable = (*Server)(nil)
)

// New returns a registry. It reads agents and listens only after Start is called.
func New(o Options) *Server {
	if o.BindAddress == "" {
		o.BindAddress = DefaultBindAddress
	}
	if o.Memory == 0 {
		o.Memory = httpserver.Memory()
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	reviews := access.NewReviewer(o.Reviews, limited.WithLabelValues("reviews"), o.ReviewAllNamespaces)
	authn := access.NewAuthenticator(access.AuthenticatorOptions{
		Review: reviews.Token, Signatures: o.Signatures, Clock: o.Clock,
	})
	agents := &index.Source{Reader: o.Cache, ReadDeleted: o.ReadDeleted}
	s := &Server{options: o, feed: index.NewFeed(agents.Read, o.Clock, o.Log), bindings: access.NewBindings(o.Clock)}
	authorization := access.AuthorizerOptions{Review: reviews.Allows, Bindings: s.bindings, Clock: o.Clock}
	if o.ReviewAllNamespaces {
		authorization.Candidates = func() []string { return s.feed.Current().Namespaces(nil) }
	}
	if o.OIDC != nil {
		issuer := *o.OIDC
		issuer.Log = o.Log
		issuer.Now = o.Clock.Now
		s.people = access.NewOIDC(issuer)
		authn.AcceptPeople(s.people)
	}
	if o.CertificateDir != "" {
		s.certificate = servingcert.New(servingcert.Options{Directory: o.CertificateDir, Listener: servingcert.ListenerRegistry, Clock: o.Clock, Log: o.Log})
	}
	s.api = &api{
		feed:       s.feed,
		authn:      authn,
		authz:      access.NewAuthorizer(authorization),
		signatures: newCardSignatures(o.Cache),
		log:        o.Log,
		denials:    newDenials(o.Log, o.Clock),

		publisher: o.Publisher,
		services:  o.Services,
	}
	if o.PeersFile != "" && o.Publisher != nil {
		s.api.federation = federation.New(federation.Options{
			File: o.PeersFile, Publisher: o.Publisher, ClusterDomain: o.ClusterDomain, Proxy: o.Proxy, Clock: o.Clock, Log: o.Log,
		})
	}
	if o.Embeddings != nil {
		s.api.embeddings = newEmbeddings(*o.Embeddings, s.feed, o.Clock, o.Log)
	}
	s.api.watches = newWatches(s.feed, o.Clock)
	s.api.watches.authenticate = s.api.authn.Caller
	s.api.searchLimits = newSearchLimits(o.Clock)
	s.forCallers = s.api.callersHandler()
	s.addServers()
	return s
}

// addServers makes the servers. All of their requests and responses are short, except for the responses to
// watches, which set their own deadlines.
func (s *Server) addServers() {
	served := httpserver.Options{
		Name: "registry", Handler: s.options.TrustedProxies.Handler(s.api.handler()), Memory: s.options.Memory, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
	}
	if s.certificate != nil {
		served.TLS = s.certificate.TLSConfig()
	}
	s.server = httpserver.New(served)
	if o := s.options.Outside; o != nil {
		s.outside = httpserver.New(httpserver.Options{
			Name: "catalog", Handler: s.options.TrustedProxies.Handler(s.api.outsideHandler(o.Publisher)), Memory: o.Memory,
			ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		})
	}
}

// SetupWithManager adds a registry to a manager, and registers the metrics of the registry. The
// registry uses the cache, the clients and the logger of the manager, and ignores those in o.
func SetupWithManager(mgr manager.Manager, o Options) (*Server, error) {
	o.Cache = mgr.GetCache()
	o.Reviews = mgr.GetClient()
	o.Log = mgr.GetLogger().WithName("registry")
	s := New(o)
	if err := collectors.Register(metrics.Registry, "the registry", allCollectors()...); err != nil {
		return nil, err
	}
	if err := mgr.Add(s); err != nil {
		return nil, fmt.Errorf("add registry: %w", err)
	}
	return s, nil
}

// NeedLeaderElection returns false, because every replica serves the registry.
func (s *Server) NeedLeaderElection() bool { return false }

// Ready is a readiness check. It returns an error until the first snapshot exists. With TLS, it
// also returns an error while there is no serving certificate that clients accept. It returns an error while
// the listener is full.
func (s *Server) Ready(r *http.Request) error {
	if s.feed.Current() == nil {
		return errNotIndexed
	}
	if s.certificate != nil {
		if err := s.certificate.Ready(r); err != nil {
			return err
		}
	}
	return s.server.Ready(r)
}

// Start serves the registry until ctx ends. It then shuts down gracefully, within shutdownTimeout,
// and returns nil. It returns an error if an informer, a listener or the shutdown fails.
func (s *Server) Start(ctx context.Context) error {
	synced, err := index.Watch(ctx, s.options.Cache, s.feed)
	if err != nil {
		return err
	}
	bound, err := s.bindings.Watch(ctx, s.options.Cache)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.options.BindAddress)
	if err != nil {
		return fmt.Errorf("listen for the registry: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	if o := s.options.Outside; o != nil {
		outside, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.BindAddress)
		if err != nil {
			return errors.Join(fmt.Errorf("listen for the catalog outside of the cluster: %w", err), listener.Close())
		}
		group.Go(func() error { return s.outside.Run(ctx, outside, shutdownTimeout) })
		s.options.Log.Info("catalog outside of the cluster started", "address", outside.Addr().String(), "url", o.Publisher.BaseURL)
	}
	s.api.watches.serving = ctx
	background := func(run func(context.Context)) {
		group.Go(func() error {
			run(ctx)
			return nil
		})
	}
	if s.people != nil {
		background(s.people.Run)
	}
	if s.api.federation != nil {
		background(s.api.federation.Run)
	}
	if s.certificate != nil {
		background(s.certificate.Run)
	}
	if s.api.embeddings != nil {
		background(s.api.embeddings.run)
	}
	background(func(ctx context.Context) {
		for _, done := range slices.Concat(synced, bound) {
			select {
			case <-done:
			case <-ctx.Done():
				return
			}
		}
		s.feed.Run(ctx)
	})
	group.Go(func() error { return s.server.Run(ctx, listener, shutdownTimeout) })
	s.options.Log.Info("registry started", "address", listener.Addr().String(), "tls", s.certificate != nil)
	return group.Wait()
}

// ServeCaller serves GET requests for agents, a card or a watch, for the caller c, which another server
// of this process has authenticated. The rules and limits of the API apply to c. ServeCaller ignores
// credentials in the request.
func (s *Server) ServeCaller(w http.ResponseWriter, r *http.Request, c access.Caller) {
	s.forCallers.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), authenticatedKey{}, c)))
}

// SeesNamespace reports whether a caller sees all Agents of a namespace. It returns an error if the
// caller is a peer, or if the registry cannot resolve the set of Agents that the caller sees.
func (s *Server) SeesNamespace(ctx context.Context, c access.Caller, namespace string) (bool, error) {
	set, err := s.api.visibleSet(ctx, c)
	if err != nil {
		return false, err
	}
	return set.Contains(namespace), nil
}

// allCollectors returns the metrics of the registry and of its packages, which all registries of a process share.
func allCollectors() []prometheus.Collector {
	return slices.Concat(
		index.Collectors(), access.Collectors(), embedding.Collectors(), servingcert.Collectors(), federation.Collectors(),
		[]prometheus.Collector{requestsTotal, requestDurations, limited, watchesGauge, watchesEnded, searchDuration},
	)
}
