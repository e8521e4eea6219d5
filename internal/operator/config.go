// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator is the composition root of the manager: it builds the parts, connects them
// and runs them. It contains no decisions about Agents.
package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
	"github.com/a2a-operator/a2a-operator/internal/operator/desired"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Config configures a manager. The zero value of a field is not its default: see Defaults.
type Config struct {
	// SidecarImage is the image of the sidecar in every Agent's pod. It is required.
	SidecarImage string
	// SidecarRequests and SidecarLimits are the resources of the sidecar in every Agent's pod, such
	// as "cpu=10m,memory=32Mi".
	SidecarRequests, SidecarLimits string
	// SidecarUser is the user of the sidecar in every Agent's pod. 0 is that of the pod or of the
	// sidecar's image.
	SidecarUser int64
	// ClientCertificate is the volume with the client certificate of the sidecars.
	ClientCertificate desired.ClientCertificate
	// SidecarPreStop is the kind of the preStop hook of agents whose spec has none.
	SidecarPreStop string
	// ClusterDomain is the DNS domain of the cluster; empty means the domain in the resolver configuration of the
	// process (withClusterDomain).
	ClusterDomain string
	// RegistryBindAddress is the address at which the registry listens; "0" disables it.
	RegistryBindAddress string
	// RegistryURL is the URL at which sidecars call the registry. If it is empty, agents have no
	// gateway.
	RegistryURL string
	// RegistryCertDir is a directory with tls.crt and tls.key for the registry; empty means
	// plain HTTP.
	RegistryCertDir string
	// RegistryCAFile is a file of PEM certificates of the authorities with which sidecars verify
	// the registry; empty means the authorities in the sidecar's image.
	RegistryCAFile string
	// RegistryOIDC is the issuer of the tokens with which people call the registry.
	RegistryOIDC RegistryOIDC
	// RegistryPublisher is the domain that anchors the identifiers of agents in the catalogs
	// of ARD; empty means the host of RegistryURL.
	RegistryPublisher string
	// RegistryOutsideBindAddress is the address at which the registry serves the catalog outside
	// of the cluster; "0" disables it.
	RegistryOutsideBindAddress string
	// RegistryOutsideURL is the URL at which the Gateway serves the catalog outside of the cluster.
	RegistryOutsideURL string
	// RegistryPeersFile is a file that lists the registries of other clusters to which ARD
	// searches are sent; empty means none.
	RegistryPeersFile string
	// RegistryEmbeddings is the endpoint for embeddings, with which ranked searches of the
	// registry find agents by meaning. Without a URL, they use words only.
	RegistryEmbeddings RegistryEmbeddings
	// RegistryReviewAllNamespaces makes the registry review the access of its callers to all
	// namespaces with Agents, and not only to those in which a RoleBinding grants it. Set it in
	// clusters with an authorizer in addition to RBAC.
	RegistryReviewAllNamespaces bool
	// UI configures the page on which people see agents.
	UI UI
	// ExposureAllowedFile is a file with the hostnames that spec.exposure of Agents may have, by
	// namespace; empty means that no hostname is allowed.
	ExposureAllowedFile string
	// RemoteAllow lists the address ranges that remote agents may have, in addition to public
	// addresses with https.
	RemoteAllow []netip.Prefix
	// RemoteCAFile is a file of PEM certificates of authorities for remote agents, in addition to the
	// authorities of the system; empty means none.
	RemoteCAFile string
	// TrustedProxies lists the addresses of proxies whose headers name the clients of the sidecars, of
	// the registry and of the page.
	TrustedProxies []netip.Prefix
	// EgressProxy is the HTTP proxy for connections of the manager, and of the sidecars whose Agents name no other one, to public https servers.
	EgressProxy EgressProxy
	// Tracing configures the traces of the sidecars. Without an Endpoint, they export none. The
	// OTEL_* variables configure the traces of the manager.
	Tracing sidecarconfig.Tracing
	// MetricsBindAddress is the address of the metrics server; "0" disables it.
	MetricsBindAddress string
	// MetricsInsecure serves metrics over plain HTTP without authorization.
	MetricsInsecure bool
	// MetricsCertDir is a directory with tls.crt and tls.key for the metrics server; empty
	// means a self-signed certificate.
	MetricsCertDir string
	// HealthProbeBindAddress is the address of /healthz and /readyz; "0" disables them.
	HealthProbeBindAddress string
	// PprofBindAddress is the loopback address at which the process serves its profiles; "0"
	// disables them.
	PprofBindAddress string
	// LeaderElect enables leader election, so that only one of several managers reconciles.
	LeaderElect bool
	// Name is the name of the operator. It is unique in its namespace: the Lease, the Secret with the token keys and
	// the claim in the status of Agents have names of it.
	Name string
	// Namespace is the namespace of the Lease and of the Secret with the token keys; empty means
	// the manager's own namespace.
	Namespace string
	// WatchNamespaces lists the namespaces whose Agents the manager reconciles and the registry
	// serves; empty means all.
	WatchNamespaces []string
	// MaxConcurrentReconciles is the number of Agents that are reconciled at the same time.
	MaxConcurrentReconciles int
	// OwnHeap lets the manager tune the garbage collector of the process. Set it only in a
	// program that is a manager and nothing else.
	OwnHeap bool
}

// RegistryEmbeddings configures the endpoint for embeddings. If URL is empty, there is no
// endpoint.
type RegistryEmbeddings struct{ URL, Model, APIKeyFile string }

func (e RegistryEmbeddings) errors() []error {
	if e.URL == "" {
		if e.Model != "" || e.APIKeyFile != "" {
			return []error{errors.New("--registry-embeddings-model and --registry-embeddings-api-key-file need --registry-embeddings-url: set it, or remove them")}
		}
		return nil
	}
	var errs []error
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, errors.New("--registry-embeddings-url must be an absolute http or https URL without a user, such as https://models.example/v1/embeddings"))
	}
	if e.Model == "" {
		errs = append(errs, errors.New("--registry-embeddings-model is empty: set the model of --registry-embeddings-url"))
	}
	return errs
}

// UI configures the page on which people see agents. A proxy in front of the page signs them in at the issuer of
// RegistryOIDC, and passes their tokens on.
type UI struct {
	// BindAddress is the address at which the page is served; "0" disables it.
	BindAddress string
	// URL is the https URL at which people open the page, without a path.
	URL string
	// Audience is the audience that the tokens must have; empty means that of RegistryOIDC.
	Audience string
	// SignOutPath is the path at which the proxy ends a session; empty means none.
	SignOutPath string
	// CertDir is a directory with tls.crt and tls.key; empty means plain HTTP, for a proxy that serves TLS.
	CertDir string
}

// pageURL returns the URL of the page without a slash at its end, "" if there is no page.
func (c Config) pageURL() string {
	if !c.UI.isEnabled() {
		return ""
	}
	return strings.TrimSuffix(c.UI.URL, "/")
}

// isEnabled reports whether the page is served.
func (u UI) isEnabled() bool { return u.BindAddress != off && u.BindAddress != "" }

// uiErrors returns an error for every flag of the page that has an invalid value.
func (c Config) uiErrors() []error {
	if !c.UI.isEnabled() {
		return nil
	}
	var errs []error
	u, err := url.Parse(c.UI.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		errs = append(errs, fmt.Errorf("--ui-url is %q, must be the https URL at which people open the page, without a path", c.UI.URL))
	}
	if path := c.UI.SignOutPath; path != "" && (!strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//")) {
		errs = append(errs, fmt.Errorf("--ui-sign-out-path is %q, must be a path that begins with one slash, such as /oauth2/sign_out", path))
	}
	if c.RegistryOIDC.Issuer == "" || c.RegistryBindAddress == off {
		errs = append(errs, errors.New("--ui-bind-address needs the registry and --registry-oidc-issuer, whose tokens the page accepts; set them, or remove --ui-bind-address"))
	}
	return errs
}

// RegistryOIDC configures an OpenID Connect issuer. The claims and prefixes mean the same as in
// the flags of kube-apiserver.
type RegistryOIDC struct {
	// Issuer is the https URL of the issuer; empty means none.
	Issuer string
	// Audience is the audience that a token must have, such as a client id. It is required with
	// an Issuer.
	Audience string
	// UsernameClaim names the claim with the user name.
	UsernameClaim string
	// UsernamePrefix is prepended to the user name.
	UsernamePrefix string
	// GroupsClaim names the claim with the groups; empty means no groups.
	GroupsClaim string
	// GroupsPrefix is prepended to each group.
	GroupsPrefix string
	// CAFile is a file of PEM certificates of authorities for the issuer, besides the
	// authorities of the system; empty means none.
	CAFile string
}

// off is the bind address that disables a server.
const off = "0"

// Defaults returns a Config with the default values. Fields without a default are zero.
func Defaults() Config {
	return Config{
		SidecarRequests:            "cpu=10m,memory=32Mi",
		SidecarLimits:              "memory=256Mi",
		SidecarPreStop:             string(a2av1alpha1.PreStopHTTPGet),
		RegistryBindAddress:        ":8444",
		RegistryOutsideBindAddress: off,
		RegistryOIDC:               RegistryOIDC{UsernameClaim: "sub", UsernamePrefix: "oidc:", GroupsClaim: "groups", GroupsPrefix: "oidc:"},
		UI:                         UI{BindAddress: off},
		Tracing:                    sidecarconfig.Tracing{SamplingPercent: 10},
		MetricsBindAddress:         ":8443",
		HealthProbeBindAddress:     ":8081",
		PprofBindAddress:           off,
		Name:                       "a2a-operator",
		MaxConcurrentReconciles:    5,
	}
}

// registryNamespace returns the namespace of the Service in RegistryURL, or "" if the host is
// not a Service.
func (c Config) registryNamespace() string {
	u, err := url.Parse(c.RegistryURL)
	if err != nil {
		return ""
	}
	labels := strings.Split(u.Hostname(), ".")
	if len(labels) < 3 || labels[2] != "svc" {
		return ""
	}
	return labels[1]
}

// namespaceFile contains the namespace of the pod (rest.InClusterConfig).
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// namespace returns Namespace or, if it is empty, the namespace of the manager's pod. Outside of
// a cluster, it returns "default".
func (c Config) namespace() (string, error) {
	if c.Namespace != "" {
		return c.Namespace, nil
	}
	text, err := os.ReadFile(namespaceFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return metav1.NamespaceDefault, nil
	case err != nil:
		return "", fmt.Errorf("find the manager's namespace: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// TrustProxy adds a range of addresses or an address to the TrustedProxies of c.
func TrustProxy(c *Config, text string) error {
	proxy, err := sourceaddress.ParseProxy(text)
	if err == nil {
		c.TrustedProxies = append(c.TrustedProxies, proxy)
	}
	return err
}

// minSidecarMemory is the least memory limit with which a sidecar starts.
const minSidecarMemory = "48Mi"

// sidecarResources returns the requests and limits of the sidecars. The error names the flags.
func (c Config) sidecarResources() (corev1.ResourceRequirements, error) {
	requests, err := quantities("--sidecar-resources-requests", c.SidecarRequests)
	limits, limitsErr := quantities("--sidecar-resources-limits", c.SidecarLimits)
	errs := []error{err, limitsErr}
	if memory := limits.Memory(); !memory.IsZero() && memory.Cmp(resource.MustParse(minSidecarMemory)) < 0 {
		errs = append(errs, fmt.Errorf("--sidecar-resources-limits has memory=%s, must be at least %s, with which a sidecar starts, or 0 for no limit", memory, minSidecarMemory))
	}
	for name, request := range requests {
		if limit := limits[name]; !limit.IsZero() && request.Cmp(limit) > 0 {
			errs = append(errs, fmt.Errorf("--sidecar-resources-requests has %s=%s, must not be more than %s of --sidecar-resources-limits", name, &request, &limit))
		}
	}
	return corev1.ResourceRequirements{Requests: requests, Limits: limits}, errors.Join(errs...)
}

// quantities parses a list such as "cpu=10m,memory=32Mi". The error names the flag.
func quantities(flag, text string) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		quantity, err := resource.ParseQuantity(value)
		known := slices.Contains([]string{"cpu", "memory", "ephemeral-storage"}, name)
		if _, twice := list[corev1.ResourceName(name)]; err != nil || quantity.Sign() < 0 || twice || !known {
			return nil, fmt.Errorf("%s is %q, must be a list of cpu, memory and ephemeral-storage with quantities, such as cpu=10m,memory=32Mi", flag, text)
		}
		list[corev1.ResourceName(name)] = quantity
	}
	return list, nil
}

// nameErrors returns an error for every name that is invalid.
func (c Config) nameErrors() []error {
	var errs []error
	if reasons := validation.IsDNS1123Subdomain(c.ClusterDomain); c.ClusterDomain != "" && len(reasons) > 0 {
		errs = append(errs, fmt.Errorf("--cluster-domain is %q, must be a domain such as cluster.local, without a dot at its ends: %s",
			c.ClusterDomain, strings.Join(reasons, "; ")))
	}
	if reasons := validation.IsDNS1123Label(c.Name); len(reasons) > 0 {
		errs = append(errs, fmt.Errorf("--name is %q, must be a name such as a2a-operator: %s", c.Name, strings.Join(reasons, "; ")))
	}
	return errs
}

// Validate returns an error that names every flag that has an invalid value.
func (c Config) Validate() error {
	var errs []error
	if c.SidecarImage == "" {
		errs = append(errs, errors.New("--sidecar-image is required: the image of the sidecar that runs in every Agent's pod"))
	}
	if _, err := c.sidecarResources(); err != nil {
		errs = append(errs, err)
	}
	if c.SidecarUser < 0 || c.SidecarUser > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("--sidecar-run-as-user is %d, must be the number of a user other than root, or 0 for the user of the image", c.SidecarUser))
	}
	if p := a2av1alpha1.SidecarPreStop(c.SidecarPreStop); p != a2av1alpha1.PreStopHTTPGet && p != a2av1alpha1.PreStopExec {
		errs = append(errs, fmt.Errorf("--sidecar-pre-stop is %q, must be %s or %s", p, a2av1alpha1.PreStopHTTPGet, a2av1alpha1.PreStopExec))
	}
	errs = append(errs, clientCertificateErrors(c.ClientCertificate)...)
	errs = append(errs, c.nameErrors()...)
	errs = append(errs, c.registryErrors()...)
	errs = append(errs, tracingErrors(c.Tracing)...)
	errs = append(errs, c.EgressProxy.errors()...)
	for _, allowed := range c.RemoteAllow {
		if a := allowed.Addr(); a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() {
			errs = append(errs, fmt.Errorf("--remote-allow names %s, but the manager never connects to loopback, link-local and multicast addresses; remove the range", allowed))
		}
	}
	for _, namespace := range c.WatchNamespaces {
		if reasons := validation.IsDNS1123Label(namespace); len(reasons) > 0 {
			errs = append(errs, fmt.Errorf("--watch-namespaces names %q, must be a list of namespace names, separated by commas only: %s",
				namespace, strings.Join(reasons, "; ")))
		}
	}
	if host, _, err := net.SplitHostPort(c.PprofBindAddress); c.PprofBindAddress != off {
		if address, parseErr := netip.ParseAddr(host); err != nil || parseErr != nil || !address.IsLoopback() {
			errs = append(errs, fmt.Errorf("--pprof-bind-address is %q, must be a loopback address with a port, such as 127.0.0.1:6060, because profiles need no credential", c.PprofBindAddress))
		}
	}
	if c.MaxConcurrentReconciles < 1 {
		errs = append(errs, fmt.Errorf("--max-concurrent-reconciles is %d, must be at least 1", c.MaxConcurrentReconciles))
	}
	return errors.Join(errs...)
}

// registryErrors returns an error for every flag of the registry that has an invalid value.
func (c Config) registryErrors() []error {
	var errs []error
	if c.RegistryURL != "" {
		u, err := url.Parse(c.RegistryURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			errs = append(errs, fmt.Errorf("--registry-url is %q, must be an absolute http or https URL", c.RegistryURL))
		}
		if c.RegistryCertDir != "" && err == nil && u.Scheme == "http" {
			errs = append(errs, fmt.Errorf("--registry-url is %q, must be an https URL, because --registry-cert-dir is set", c.RegistryURL))
		}
		if c.RegistryBindAddress == off {
			errs = append(errs, fmt.Errorf("--registry-url is %q, but --registry-bind-address=0 disables the registry, which issues the tokens for calls of agents; remove one of the two flags", c.RegistryURL))
		}
	}
	errs = append(errs, c.RegistryOIDC.errors()...)
	errs = append(errs, c.RegistryEmbeddings.errors()...)
	errs = append(errs, c.uiErrors()...)
	if reasons := validation.IsDNS1123Subdomain(c.RegistryPublisher); c.RegistryPublisher != "" && len(reasons) > 0 {
		errs = append(errs, fmt.Errorf("--registry-publisher is %q, must be a domain such as agents.example.com: %s",
			c.RegistryPublisher, strings.Join(reasons, "; ")))
	}
	errs = append(errs, c.outsideErrors()...)
	if c.RegistryPeersFile != "" && (c.RegistryPublisher == "" || c.RegistryURL == "") {
		errs = append(errs, errors.New("--registry-peers-file needs --registry-url and --registry-publisher, a domain that no other registry has, "+
			"because peers tell the agents of registries apart by it"))
	}
	return errs
}

// hasOutsideCatalog reports whether the registry has a catalog outside of the cluster.
func (c Config) hasOutsideCatalog() bool {
	return c.RegistryOutsideBindAddress != off && c.RegistryOutsideBindAddress != ""
}

// outsideErrors returns an error for every flag of the catalog outside of the cluster that has
// an invalid value.
func (c Config) outsideErrors() []error {
	if !c.hasOutsideCatalog() {
		return nil
	}
	var errs []error
	u, err := url.Parse(c.RegistryOutsideURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		errs = append(errs, fmt.Errorf("--registry-outside-url is %q, must be the http or https URL at which the Gateway serves the catalog, without a query", c.RegistryOutsideURL))
	}
	if c.RegistryPublisher == "" {
		errs = append(errs, errors.New("--registry-publisher is required with --registry-outside-bind-address: a domain of yours, "+
			"because identifiers outside of the cluster must not contain the DNS name of a Service"))
	}
	if c.RegistryBindAddress == off {
		errs = append(errs, errors.New("--registry-outside-bind-address needs the registry, which --registry-bind-address=0 disables; remove one of the two flags"))
	}
	return errs
}

// errors returns an error for every flag of the issuer that has an invalid value.
func (o RegistryOIDC) errors() []error {
	if o.Issuer == "" {
		return nil
	}
	var errs []error
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		errs = append(errs, fmt.Errorf("--registry-oidc-issuer is %q, must be an https URL without a query and a fragment", o.Issuer))
	}
	if o.Audience == "" {
		errs = append(errs, errors.New("--registry-oidc-audience is required with --registry-oidc-issuer: the client id for which the issuer makes tokens"))
	}
	if o.UsernameClaim == "" {
		errs = append(errs, errors.New("--registry-oidc-username-claim is empty, must name a claim such as sub or email"))
	}
	return errs
}
