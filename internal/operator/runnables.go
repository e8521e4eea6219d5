// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/controllers"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/collectors"
	"github.com/a2a-operator/a2a-operator/internal/kit/gctuning"
	"github.com/a2a-operator/a2a-operator/internal/operator/agentmetrics"
	"github.com/a2a-operator/a2a-operator/internal/operator/desired"
	"github.com/a2a-operator/a2a-operator/internal/operator/events"
	"github.com/a2a-operator/a2a-operator/internal/operator/exposure"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/internal/operator/health"
	"github.com/a2a-operator/a2a-operator/internal/operator/informercache"
	"github.com/a2a-operator/a2a-operator/internal/operator/installedcrds"
	"github.com/a2a-operator/a2a-operator/internal/operator/issuerkeys"
	"github.com/a2a-operator/a2a-operator/internal/operator/operatorclaim"
	"github.com/a2a-operator/a2a-operator/internal/operator/reconciletrace"
	"github.com/a2a-operator/a2a-operator/internal/operator/registryca"
	"github.com/a2a-operator/a2a-operator/internal/operator/remote"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenexchange"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenkeys"
	"github.com/a2a-operator/a2a-operator/internal/registry"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/web/uiserver"
)

// +kubebuilder:rbac:urls=/.well-known/openid-configuration;/openid/v1/jwks,verbs=get

// addRunnables adds all parts of the program to the manager.
// It adds their readiness checks to ready.
func addRunnables(ctx context.Context, mgr manager.Manager, config Config, from agentSources, ready map[string]healthz.Checker) error {
	if config.OwnHeap {
		if err := mgr.Add(gctuning.New(gctuning.Manager)); err != nil {
			return fmt.Errorf("add heap: %w", err)
		}
	}
	var err error
	if from.tokenKeys, err = addTokenKeys(mgr, config); err != nil {
		return err
	}
	if config.RegistryBindAddress != off {
		from.heartbeats = health.NewHeartbeats(mgr.Elected(), clock.RealClock{})
	}
	if from.remoteGuard, err = newRemoteGuard(config, mgr.GetLogger()); err != nil {
		return err
	}
	from.credentials = remote.NewCredentials(mgr.GetAPIReader(), from.remoteGuard, clock.RealClock{})
	if err := addAgents(ctx, mgr, config, from); err != nil {
		return err
	}
	return addRegistry(mgr, config, from, ready)
}

// addIssuer adds the source of the keys of ServiceAccount tokens.
func addIssuer(mgr manager.Manager) (*issuerkeys.Source, error) {
	apiServer, err := issuerkeys.APIServer(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	keys := issuerkeys.New(apiServer, func(ctx context.Context) []string { return usedIssuers(ctx, mgr.GetClient()) })
	if err := mgr.Add(keys); err != nil {
		return nil, fmt.Errorf("add issuer keys: %w", err)
	}
	return keys, nil
}

// addRegistryCA adds the source of the authorities with which sidecars verify the registry. It
// returns nil without --registry-ca-file.
func addRegistryCA(mgr manager.Manager, config Config) (*registryca.Source, error) {
	if config.RegistryCAFile == "" {
		return nil, nil
	}
	authorities, err := registryca.New(config.RegistryCAFile, clock.RealClock{}, mgr.GetLogger().WithName("registry"))
	if err != nil {
		return nil, fmt.Errorf("start with the authorities of --registry-ca-file: %w", err)
	}
	if err := collectors.Register(metrics.Registry, "the authorities of the registry", registryca.Collectors()...); err != nil {
		return nil, err
	}
	if err := mgr.Add(authorities); err != nil {
		return nil, fmt.Errorf("add authorities of the registry: %w", err)
	}
	return authorities, nil
}

// hasAvailableAgents reports whether an Agent with a workload, which no other operator manages, is Available. The sidecar of such
// an Agent has received token keys, so if the Secret with the token keys is missing, the keys
// were lost.
func hasAvailableAgents(ctx context.Context, reader client.Reader, operator string) (bool, error) {
	agents := &a2av1alpha1.AgentList{}
	if err := reader.List(ctx, agents, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list Agents: %w", err)
	}
	return slices.ContainsFunc(agents.Items, func(a a2av1alpha1.Agent) bool {
		mine := a.Status.Operator == "" || a.Status.Operator == operator
		return mine && a.Spec.Remote == nil && meta.IsStatusConditionTrue(a.Status.Conditions, a2av1alpha1.ConditionAvailable)
	}), nil
}

// addTokenKeys adds the keys that sign tokens for calls of agents. It returns nil if the
// registry, which issues these tokens, is disabled.
func addTokenKeys(mgr manager.Manager, config Config) (*tokenkeys.Source, error) {
	if config.RegistryBindAddress == off {
		return nil, nil // nil keys are not an error: the manager issues no tokens
	}
	namespace, err := config.namespace()
	if err != nil {
		return nil, err
	}
	keys := tokenkeys.New(tokenkeys.Options{
		Reader: mgr.GetAPIReader(), Writer: mgr.GetClient(), Namespace: namespace, Name: config.Name + "-token-keys", Elected: mgr.Elected(),
		Events: mgr.GetEventRecorder(a2av1alpha1.ManagedBy), Clock: clock.RealClock{},
		InUse: func(ctx context.Context) (bool, error) {
			return hasAvailableAgents(ctx, mgr.GetClient(), namespace+"/"+config.Name)
		},
	})
	if err := collectors.Register(metrics.Registry, "token keys", tokenkeys.Collectors()...); err != nil {
		return nil, err
	}
	if err := mgr.Add(keys); err != nil {
		return nil, fmt.Errorf("add token keys: %w", err)
	}
	return keys, nil
}

// addRemote adds the source of remote agents' cards, which runs on the leader.
func addRemote(mgr manager.Manager, guard *egress.Guard, credentials *remote.Credentials, certificateHosts sidecarconfig.CertificateHosts) (*remote.Source, error) {
	cards := remote.New(remote.Options{
		Agents: mgr.GetClient(), Credentials: credentials, Guard: guard, CertificateHosts: certificateHosts, Clock: clock.RealClock{},
		Present: func(c *tls.Certificate) http.RoundTripper {
			return guard.Present(func(context.Context) (*tls.Certificate, error) { return c, nil })
		},
	})
	if err := mgr.Add(cards); err != nil {
		return nil, fmt.Errorf("add cards of remote agents: %w", err)
	}
	return cards, nil
}

// newRemoteGuard returns the transport for connections to remote agents, with the egress policy.
func newRemoteGuard(config Config, log logr.Logger) (*egress.Guard, error) {
	protected, err := protectedTargets()
	if err != nil {
		return nil, err
	}
	proxy, err := config.egressProxy()
	if err != nil {
		return nil, err
	}
	options := egress.Options{Protected: protected, Proxy: proxy, Policy: &egress.Policy{
		Hosts: []string{"*"}, CIDRs: config.RemoteAllow, ClusterDomain: config.ClusterDomain,
	}}
	options.Roots, err = remoteRoots(config, log)
	if err != nil {
		return nil, err
	}
	return egress.New(options), nil
}

// remoteRoots returns the authorities that verify agents, nil for the public ones.
func remoteRoots(config Config, log logr.Logger) (func() *x509.CertPool, error) {
	if config.RemoteCAFile == "" {
		return nil, nil
	}
	authorities, err := remote.LoadTrustBundle(config.RemoteCAFile, log)
	if err != nil {
		return nil, fmt.Errorf("--remote-ca-file must name a file of PEM certificates: %w", err)
	}
	return authorities.Roots, nil
}

// addExposure adds the source of the rules of exposure. It returns nil without
// --exposure-allowed-file.
func addExposure(mgr manager.Manager, config Config) (*exposure.Source, error) {
	if config.ExposureAllowedFile == "" {
		return nil, nil
	}
	rules, err := exposure.NewSource(config.ExposureAllowedFile, mgr.GetLogger().WithName("exposure"))
	if err != nil {
		return nil, fmt.Errorf("start with the rules of --exposure-allowed-file: %w", err)
	}
	if err := collectors.Register(metrics.Registry, "the rules of exposure", exposure.Collectors()...); err != nil {
		return nil, err
	}
	if err := mgr.Add(rules); err != nil {
		return nil, fmt.Errorf("add rules of exposure: %w", err)
	}
	return rules, nil
}

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=agents.a2a-operator.dev;agentskills.a2a-operator.dev,verbs=list;watch

// addSchemas adds the watch of the operator's own CRDs, which runs on every replica.
func addSchemas(mgr manager.Manager) (*installedcrds.Source, error) {
	schemas := installedcrds.New(mgr.GetConfig(), mgr.GetHTTPClient(), mgr.GetAPIReader())
	if err := collectors.Register(metrics.Registry, "CustomResourceDefinitions", installedcrds.Collectors()...); err != nil {
		return nil, err
	}
	if err := errors.Join(mgr.Add(schemas), mgr.AddReadyzCheck("crds", schemas.Ready)); err != nil {
		return nil, fmt.Errorf("add watch of CustomResourceDefinitions: %w", err)
	}
	return schemas, nil
}

// agentSources contains the sources that the controllers of Agents and AgentSkills and the registry use.
type agentSources struct {
	keys       *issuerkeys.Source
	signatures *access.Signatures
	// tokenKeys is nil if the manager issues no tokens. tracer is nil if the manager records no
	// spans.
	tokenKeys *tokenkeys.Source
	tracer    *reconciletrace.Tracer
	// heartbeats is nil if the manager serves no registry.
	heartbeats *health.Heartbeats
	// remoteGuard is the transport for connections to remote agents.
	remoteGuard *egress.Guard
	credentials *remote.Credentials
}

// addAgents adds the controllers of Agents and AgentSkills, which run on the leader.
func addAgents(ctx context.Context, mgr manager.Manager, config Config, from agentSources) error {
	keys := from.keys
	tokenKeys := from.tokenKeys
	cards, err := addRemote(mgr, from.remoteGuard, from.credentials, config.ClientCertificate.Hosts)
	if err != nil {
		return err
	}
	registryCA, err := addRegistryCA(mgr, config)
	if err != nil {
		return err
	}
	exposure, err := addExposure(mgr, config)
	if err != nil {
		return err
	}
	schemas, err := addSchemas(mgr)
	if err != nil {
		return err
	}
	sidecarResources, err := config.sidecarResources()
	if err != nil {
		return err
	}
	namespace, err := config.namespace()
	if err != nil {
		return err
	}
	if !config.LeaderElect {
		mgr.GetLogger().Info("without --leader-elect, this operator has no Lease: another operator that watches the same Agents takes them over after " + operatorclaim.GoneAfter.String())
	}
	operators := operatorclaim.New(namespace, config.Name, mgr.GetAPIReader(), clock.RealClock{})
	kinds := optionalKinds(mgr, config)
	settings := controllers.AgentConfig{
		Client: mgr.GetClient(),
		Gather: gather.Gatherer{
			Live:       mgr.GetAPIReader(),
			Issuer:     keys,
			RegistryCA: registryCA,
			Remote:     cards,
			Exposure:   exposure,
			Optional:   kinds,
			Schemas:    schemas,
			Warnings:   gather.NewPodWarnings(mgr.GetAPIReader(), clock.RealClock{}),
			Secrets:    gather.NewSecretVersions(mgr.GetAPIReader(), clock.RealClock{}),
			NewFields:  gather.NewNewFields(clock.RealClock{}),
			Namespaces: config.WatchNamespaces,
		},
		Events: events.Limit(mgr.GetEventRecorder(a2av1alpha1.ManagedBy), clock.RealClock{}.Now),
		Platform: desired.Platform{
			SidecarImage:      config.SidecarImage,
			SidecarResources:  sidecarResources,
			SidecarUser:       config.SidecarUser,
			ClientCertificate: config.ClientCertificate,
			PreStop:           a2av1alpha1.SidecarPreStop(config.SidecarPreStop),
			ClusterDomain:     config.ClusterDomain,
			RegistryURL:       config.RegistryURL,
			RegistryNamespace: config.registryNamespace(),
			RemoteAllow:       config.RemoteAllow,
			TrustedProxies:    config.TrustedProxies,
			IssuesTokens:      tokenKeys != nil,
			EgressProxy:       config.EgressProxy.forSidecars(),
			PageURL:           config.pageURL(),
			PageIssuer:        config.RegistryOIDC.Issuer,
			Tracing:           config.Tracing,
		},
		Clock:     clock.RealClock{},
		Operators: operators,
	}
	if tokenKeys != nil {
		settings.Gather.TokenIssuer = tokenKeys
	}
	if from.heartbeats != nil {
		settings.Gather.LastReport = from.heartbeats.Last
	}
	state := agentmetrics.New(agentmetrics.Options{Objects: mgr.GetCache(), Elected: mgr.Elected(), CardRead: cards.LastSuccess, Operator: operators.Self()})
	if err := agentmetrics.Register(metrics.Registry, state); err != nil {
		return err
	}
	agents := controllers.NewAgentReconciler(settings)
	if err := agents.SetupWithManager(ctx, mgr, controllers.AgentWatches{
		Issuer:                  keys,
		RegistryCA:              registryCA,
		TokenKeys:               tokenKeys,
		Remote:                  cards,
		Exposure:                exposure,
		Schemas:                 schemas,
		Optional:                kinds,
		MaxConcurrentReconciles: config.MaxConcurrentReconciles,
		Tracer:                  from.tracer,
	}); err != nil {
		return err
	}
	skills := controllers.NewAgentSkillReconciler(mgr.GetClient(), config.WatchNamespaces, &settings.Gather, clock.RealClock{}, operators)
	return skills.SetupWithManager(mgr, schemas, from.tracer)
}

// addRegistry adds the registry, which runs on every replica.
func addRegistry(mgr manager.Manager, config Config, from agentSources, ready map[string]healthz.Checker) error {
	if config.RegistryBindAddress == off {
		return nil
	}
	proxy, err := config.egressProxy()
	if err != nil {
		return err
	}
	issuer, err := registryOIDC(config.RegistryOIDC, proxy)
	if err != nil {
		return err
	}
	var publisher *ard.Publisher
	if config.RegistryURL != "" {
		if publisher, err = ard.NewPublisher(config.RegistryPublisher, config.RegistryURL); err != nil {
			return fmt.Errorf("name the publisher of catalogs: %w", err)
		}
	}
	var outside *registry.OutsideOptions
	if config.hasOutsideCatalog() {
		catalog, err := ard.NewPublisher(config.RegistryPublisher, config.RegistryOutsideURL)
		if err != nil {
			return fmt.Errorf("name the publisher of the catalog outside of the cluster: %w", err)
		}
		catalog.Outside = true
		outside = &registry.OutsideOptions{BindAddress: config.RegistryOutsideBindAddress, Publisher: catalog, Memory: shareCatalog.bytes()}
	}
	var embeddings *registry.Embeddings
	if e := config.RegistryEmbeddings; e.URL != "" {
		embeddings = &registry.Embeddings{URL: e.URL, Model: e.Model, KeyFile: e.APIKeyFile, Transport: outgoing(e.URL, proxy)}
	}
	services, err := sidecarServices(mgr, from)
	if err != nil {
		return err
	}
	server, err := registry.SetupWithManager(mgr, registry.Options{
		Outside:             outside,
		Embeddings:          embeddings,
		Publisher:           publisher,
		BindAddress:         config.RegistryBindAddress,
		Memory:              shareRegistry.bytes(),
		CertificateDir:      config.RegistryCertDir,
		OIDC:                issuer,
		PeersFile:           config.RegistryPeersFile,
		Proxy:               proxy,
		ClusterDomain:       config.ClusterDomain,
		ReviewAllNamespaces: config.RegistryReviewAllNamespaces,
		TrustedProxies:      config.TrustedProxies,
		Signatures:          from.signatures,
		Services:            services,
		ReadDeleted: func(ctx context.Context, agent metav1.Object, cached *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			return informercache.WithData(ctx, mgr.GetAPIReader(), agent, cached)
		},
	})
	if err != nil {
		return err
	}
	if err := collectors.Register(metrics.Registry, "the token exchange", tokenexchange.Collectors()...); err != nil {
		return err
	}
	ready["registry"] = server.Ready
	return addUI(mgr, config, issuer, server, &from)
}

// addUI adds the page for people, which runs on every replica.
func addUI(mgr manager.Manager, config Config, issuer *access.OIDCOptions, agents *registry.Server, from *agentSources) error {
	if !config.UI.isEnabled() {
		return nil
	}
	address, err := url.Parse(config.UI.URL)
	if err != nil {
		return fmt.Errorf("read --ui-url: %w", err)
	}
	address.Path = ""
	people := *issuer
	if config.UI.Audience != "" {
		people.Audience = config.UI.Audience
	}
	options := uiserver.Options{
		BindAddress: config.UI.BindAddress, Memory: sharePage.bytes(), URL: address, CertificateDir: config.UI.CertDir,
		SignOut: strings.TrimPrefix(config.UI.SignOutPath, "/"), OIDC: people, Registry: agents, Agents: mgr.GetCache(),
		TrustedProxies: config.TrustedProxies,
		Clock:          clock.RealClock{}, Log: mgr.GetLogger().WithName("ui"),
	}
	if from.tokenKeys != nil {
		roots, err := remoteRoots(config, options.Log)
		if err != nil {
			return err
		}
		dial, err := dialAgents()
		if err != nil {
			return err
		}
		options.Connect = DecisionCalls(DecisionCallOptions{
			Agents: mgr.GetCache(), Signer: from.signer, Now: clock.RealClock{}.Now, Dial: dial,
			Roots: roots, ClusterDomain: config.ClusterDomain,
		})
	}
	if err := mgr.Add(uiserver.New(options)); err != nil {
		return fmt.Errorf("add the page: %w", err)
	}
	return nil
}

// registryOIDC returns the issuer of the tokens with which people call the registry, or nil if
// there is none.
func registryOIDC(config RegistryOIDC, proxy func() *egress.Proxy) (*access.OIDCOptions, error) {
	if config.Issuer == "" {
		return nil, nil
	}
	transport := outgoing(config.Issuer, proxy)
	if config.CAFile != "" {
		authorities, err := remote.LoadTrustBundle(config.CAFile, logr.Discard())
		if err != nil {
			return nil, fmt.Errorf("--registry-oidc-ca-file must name a file of PEM certificates: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities.Roots()}
	}
	return &access.OIDCOptions{
		Issuer: config.Issuer, Audience: config.Audience,
		UsernameClaim: config.UsernameClaim, UsernamePrefix: config.UsernamePrefix,
		GroupsClaim: config.GroupsClaim, GroupsPrefix: config.GroupsPrefix,
		Transport: transport,
	}, nil
}
