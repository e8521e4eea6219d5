// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager is the operator: it reconciles Agents and AgentSkills, and serves the registry.
package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/a2a-operator/a2a-operator/internal/kit/logging"
	"github.com/a2a-operator/a2a-operator/internal/kit/version"
	"github.com/a2a-operator/a2a-operator/internal/operator"
)

// flushTimeout bounds the time for which the process waits for the reader of its log before it ends.
const flushTimeout = time.Second

func main() {
	lines := logging.Stderr()
	err := run(lines)
	if err != nil {
		_, _ = fmt.Fprintln(lines, "manager:", err)
	}
	lines.Flush(flushTimeout)
	if err != nil {
		os.Exit(1)
	}
}

func run(lines io.Writer) error {
	config := operator.Defaults()
	bindFlags(flag.CommandLine, &config)
	level := slog.LevelInfo
	flag.TextVar(&level, "log-level", level, "The least severe `level` that is logged: debug, info, warn or error.")
	showVersion := flag.Bool("version", false, "Print the version and exit.")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: all settings are flags, see --help", flag.Arg(0))
	}
	if *showVersion {
		fmt.Println("manager", version.Get())
		return nil
	}
	if err := config.Validate(); err != nil {
		return err
	}

	log := newLog(lines, level)
	config.OwnHeap = true
	// The memory limit of the Go runtime is nine tenths of the container's limit. GOMEMLIMIT in
	// the environment takes precedence.
	limit, err := memlimit.Set()
	if err == nil && limit == math.MaxInt64 {
		err = memlimit.ErrNoLimit
	}
	if err != nil {
		log.Info("found no memory limit of the container; set GOMEMLIMIT to limit the Go runtime", "reason", err.Error())
	}
	log.Info("manager started", "version", version.Get().String())
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find kubeconfig or service account: %w", err)
	}
	return operator.Run(ctrl.SetupSignalHandler(), cluster, config, log)
}

// newLog returns the logger of the manager, and installs it as the default of the process, of
// controller-runtime and of client-go, so that every line is JSON.
func newLog(to io.Writer, level slog.Leveler) logr.Logger {
	log := slog.New(logging.ForVerbosity(logging.New(to, level).Handler()))
	slog.SetDefault(log)
	klog.SetSlogLogger(log)
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	return ctrl.Log
}

// bindFlags defines the flags of a configuration.
func bindFlags(flags *flag.FlagSet, c *operator.Config) {
	flags.StringVar(&c.SidecarImage, "sidecar-image", c.SidecarImage,
		"The `image` of the sidecar in every Agent's pod. Required. A change restarts the pods of all Agents.")
	flags.StringVar(&c.SidecarRequests, "sidecar-resources-requests", c.SidecarRequests,
		"The resource `requests` of the sidecar in every Agent's pod: cpu, memory and ephemeral-storage. An Agent may override them. A change restarts the pods of all Agents.")
	flags.StringVar(&c.SidecarLimits, "sidecar-resources-limits", c.SidecarLimits,
		"The resource `limits` of the sidecar in every Agent's pod. The sidecar divides its memory limit, at least 48Mi, into budgets. An Agent may override them. A change restarts the pods of all Agents.")
	flags.Int64Var(&c.SidecarUser, "sidecar-run-as-user", c.SidecarUser,
		"The `number` of the user of the sidecar in every Agent's pod, for clusters that require one. 0 is the user of the pod or of the image. A change restarts the pods of all Agents.")
	flags.StringVar(&c.SidecarPreStop, "sidecar-pre-stop", c.SidecarPreStop,
		"The `kind` of the preStop hook with which agents wait for their turns: HTTPGet, a request of the kubelet, or Exec, a program inside of the pod, for meshes and network policies that refuse the request. An Agent may override it. A change restarts the pods of all Agents.")
	certificate := &c.ClientCertificate
	flags.StringVar(&certificate.Driver, "sidecar-client-certificate-driver", certificate.Driver,
		"The `name` of a CSI driver that gives each sidecar a client certificate, tls.crt and tls.key, for agents of the cluster that ask for one, such as spiffe.csi.cert-manager.io. Empty means none. A change restarts the pods of all Agents.")
	flags.Func("sidecar-client-certificate-attributes", "The `attributes` of the volume of --sidecar-client-certificate-driver, as name=value with commas. A change restarts the pods of all Agents.", func(text string) error {
		certificate.Attributes = map[string]string{}
		for pair := range strings.SplitSeq(text, ",") {
			name, value, found := strings.Cut(pair, "=")
			if !found {
				return fmt.Errorf("%q is not name=value", pair)
			}
			certificate.Attributes[name] = value
		}
		return nil
	})
	flags.Func("sidecar-client-certificate-hosts", "The `hosts` of remote agents that get the client certificate, too, separated by commas: names, or *.name. A change restarts the pods of all Agents.", func(text string) error {
		certificate.Hosts = strings.Split(text, ",")
		return nil
	})
	flags.StringVar(&c.ClusterDomain, "cluster-domain", c.ClusterDomain,
		"The DNS `domain` of the cluster, for the URLs of Agents. Empty means the domain in /etc/resolv.conf, which the kubelet writes.")
	proxy := &c.EgressProxy
	flags.StringVar(&proxy.URL, "egress-proxy-url", proxy.URL,
		"The `URL` of an HTTP proxy that carries connections of the manager and of the sidecars to public https servers. An Agent may name another one. Empty means none. The variable HTTPS_PROXY applies only to connections to the API server.")
	flags.Func("egress-proxy-no-proxy", "The `hosts` that are called without --egress-proxy-url, separated by commas: names with those below them, .name, addresses, ranges of addresses, or *. "+
		"Private addresses and names are always called without it.", func(text string) error {
		proxy.NoProxy = strings.Split(text, ",")
		return nil
	})
	flags.StringVar(&proxy.CredentialDir, "egress-proxy-credentials", proxy.CredentialDir,
		"The `directory` of username and password of the manager for --egress-proxy-url. They are read for each connection. Empty means no credential.")
	flags.StringVar(&proxy.Secret, "egress-proxy-secret", proxy.Secret,
		"The `name` of a Secret with username and password of the sidecars for --egress-proxy-url, in the namespace of each Agent. Empty means no credential. A change restarts the pods of all Agents.")
	flags.StringVar(&c.RegistryBindAddress, "registry-bind-address", c.RegistryBindAddress,
		"The `address` at which the registry listens. \"0\" disables it, and is not allowed with --registry-url.")
	flags.StringVar(&c.RegistryURL, "registry-url", c.RegistryURL,
		"The `URL` at which sidecars reach the registry. A host that ends with .svc gets the domain of the cluster. Without the URL, agents have no gateway to the registry and to each other.")
	flags.StringVar(&c.RegistryCertDir, "registry-cert-dir", c.RegistryCertDir,
		"The `directory` of tls.crt and tls.key for the registry. The manager reloads them when they change. Empty means plain HTTP.")
	flags.StringVar(&c.RegistryCAFile, "registry-ca-file", c.RegistryCAFile,
		"A `file` of PEM certificates of the authorities by which sidecars verify the registry. The manager reloads it when it changes. "+
			"Empty means the authorities of the sidecar's image.")
	oidc := &c.RegistryOIDC
	flags.StringVar(&oidc.Issuer, "registry-oidc-issuer", oidc.Issuer,
		"The https `URL` of an OpenID Connect issuer whose tokens let people call the registry. Empty means none.")
	flags.StringVar(&oidc.Audience, "registry-oidc-audience", oidc.Audience,
		"The `audience` of these tokens, such as a client id. Required with an issuer.")
	flags.StringVar(&oidc.UsernameClaim, "registry-oidc-username-claim", oidc.UsernameClaim,
		"The `claim` with the user name. The claim email is refused if email_verified is present and not true.")
	flags.StringVar(&oidc.UsernamePrefix, "registry-oidc-username-prefix", oidc.UsernamePrefix,
		"The `prefix` of the user names in RBAC.")
	flags.StringVar(&oidc.GroupsClaim, "registry-oidc-groups-claim", oidc.GroupsClaim,
		"The `claim` with the groups, a string or a list. Empty means no groups.")
	flags.StringVar(&oidc.GroupsPrefix, "registry-oidc-groups-prefix", oidc.GroupsPrefix,
		"The `prefix` of the groups in RBAC.")
	flags.StringVar(&oidc.CAFile, "registry-oidc-ca-file", oidc.CAFile,
		"A `file` of PEM certificates of authorities for the issuer, in addition to those of the system. The manager reads it at its start.")
	flags.StringVar(&c.UI.BindAddress, "ui-bind-address", c.UI.BindAddress,
		"The `address` of a page on which people see agents. A proxy signs them in at --registry-oidc-issuer, and passes their tokens on. \"0\" disables the page.")
	flags.StringVar(&c.UI.URL, "ui-url", c.UI.URL,
		"The https `URL` at which people open the page, without a path. The page answers requests for its host only.")
	flags.StringVar(&c.UI.Audience, "ui-audience", c.UI.Audience,
		"The `audience` of the tokens that the page accepts, such as the client id of the proxy. Empty means --registry-oidc-audience.")
	flags.StringVar(&c.UI.SignOutPath, "ui-sign-out-path", c.UI.SignOutPath,
		"The `path` at which the proxy ends a session, to which the page links, such as /oauth2/sign_out. Empty means no link.")
	flags.StringVar(&c.UI.CertDir, "ui-cert-dir", c.UI.CertDir,
		"The `directory` of tls.crt and tls.key for the page. Empty means plain HTTP, for a proxy that serves TLS.")
	flags.StringVar(&c.RegistryPublisher, "registry-publisher", c.RegistryPublisher,
		"The `domain` that anchors the identifiers of agents in the catalogs of ARD. Empty means the host of --registry-url.")
	flags.StringVar(&c.RegistryOutsideBindAddress, "registry-outside-bind-address", c.RegistryOutsideBindAddress,
		"The `address` at which the registry serves its catalog outside of the cluster, for a Gateway: the paths of ARD for public agents "+
			"with an external URL. It needs --registry-outside-url and --registry-publisher. \"0\" disables it.")
	flags.StringVar(&c.RegistryOutsideURL, "registry-outside-url", c.RegistryOutsideURL,
		"The `URL` at which the Gateway serves the catalog outside of the cluster.")
	flags.StringVar(&c.RegistryPeersFile, "registry-peers-file", c.RegistryPeersFile,
		"A `file` with the registries of other clusters that searches of ARD ask (https://github.com/a2a-operator/a2a-operator/blob/main/docs/how-to/federation.md). The manager reloads it when it changes. "+
			"It needs --registry-publisher. Empty means no peers.")
	flags.StringVar(&c.RegistryEmbeddings.URL, "registry-embeddings-url", c.RegistryEmbeddings.URL,
		"The `URL` of an endpoint for embeddings with the API of OpenAI, such as https://models.example/v1/embeddings. Ranked searches then find "+
			"agents by meaning, too: the endpoint receives the texts of cards and of queries. Empty means none.")
	flags.StringVar(&c.RegistryEmbeddings.Model, "registry-embeddings-model", c.RegistryEmbeddings.Model,
		"The `model` of the endpoint for embeddings. Required with its URL.")
	flags.StringVar(&c.RegistryEmbeddings.APIKeyFile, "registry-embeddings-api-key-file", c.RegistryEmbeddings.APIKeyFile,
		"A `file` with the API key of the endpoint for embeddings. The manager reads it for each request. Empty means none.")
	flags.BoolVar(&c.RegistryReviewAllNamespaces, "registry-review-all-namespaces", c.RegistryReviewAllNamespaces,
		"Review the access of the registry's callers to all namespaces with Agents, and not only to those in which a RoleBinding grants it. "+
			"For clusters with an authorizer in addition to RBAC.")
	flags.StringVar(&c.ExposureAllowedFile, "exposure-allowed-file", c.ExposureAllowedFile,
		"A `file` with the hostnames that spec.exposure of Agents may have, by namespace (https://github.com/a2a-operator/a2a-operator/blob/main/docs/how-to/exposure.md). "+
			"The manager reloads it when it changes. Empty means that no hostname is allowed.")
	flags.Func("remote-allow",
		"A `range` of addresses at which remote agents are allowed, such as 10.0.0.0/8, in addition to public addresses over https. Can be repeated.",
		func(text string) error {
			prefix, err := netip.ParsePrefix(text)
			c.RemoteAllow = append(c.RemoteAllow, prefix)
			return err
		})
	flags.StringVar(&c.RemoteCAFile, "remote-ca-file", c.RemoteCAFile,
		"A `file` of PEM certificates of authorities for remote agents, in addition to those of the system. The manager reloads it when it changes.")
	flags.Func("trusted-proxies",
		"A `range` of addresses of proxies, such as 10.8.0.0/24, whose header X-Forwarded-For or Forwarded names the client. Limits by address then apply to the client "+
			"and not to the proxy, at sidecars, the registry and the page. Every client with an address of the range can choose the address as which it counts. Can be repeated.",
		func(text string) error { return operator.TrustProxy(c, text) })
	flags.StringVar(&c.Tracing.Endpoint, "tracing-endpoint", c.Tracing.Endpoint,
		"The base `URL` of an OpenTelemetry collector for OTLP over HTTP, such as http://collector.observability:4318, to which sidecars export traces. "+
			"Empty means none. The OTEL_* variables configure the traces of the manager itself.")
	flags.IntVar(&c.Tracing.SamplingPercent, "tracing-sampling-percent", c.Tracing.SamplingPercent,
		"The `percentage` of traces to record, from 0 to 100, among those that begin at a sidecar. A trace that a caller began keeps the caller's decision.")
	flags.BoolVar(&c.Tracing.DraftAttributes, "tracing-draft-attributes", c.Tracing.DraftAttributes,
		"Add the attributes of the draft of OpenTelemetry's conventions for A2A to the spans of sidecars. They may change with each release.")
	flags.StringVar(&c.MetricsBindAddress, "metrics-bind-address", c.MetricsBindAddress,
		"The `address` of the metrics server. \"0\" disables it.")
	flags.BoolVar(&c.MetricsInsecure, "metrics-insecure", c.MetricsInsecure,
		"Serve metrics over plain HTTP without authorization, instead of over TLS to authorized callers.")
	flags.StringVar(&c.MetricsCertDir, "metrics-cert-dir", c.MetricsCertDir,
		"The `directory` of tls.crt and tls.key for the metrics. Empty means a self-signed certificate.")
	flags.StringVar(&c.PprofBindAddress, "pprof-bind-address", c.PprofBindAddress,
		"The loopback `address` of /debug/pprof/, with profiles of the process, such as 127.0.0.1:6060. \"0\" disables them.")
	flags.StringVar(&c.HealthProbeBindAddress, "health-probe-bind-address", c.HealthProbeBindAddress,
		"The `address` of /healthz and /readyz. \"0\" disables them.")
	flags.BoolVar(&c.LeaderElect, "leader-elect", c.LeaderElect,
		"Enable leader election: one of several managers reconciles.")
	flags.StringVar(&c.Name, "name", c.Name,
		"The `name` of this operator, unique in its namespace. The Lease, the Secret with the token keys and the claim on Agents are named after it.")
	flags.StringVar(&c.Namespace, "namespace", c.Namespace,
		"The `namespace` of the Lease and of the Secret with the token keys. Empty means the namespace of the manager, which is known only inside a cluster.")
	flags.Func("watch-namespaces",
		"The `namespaces` whose Agents are served, separated by commas. Empty serves all.", func(list string) error {
			c.WatchNamespaces = nil
			if list != "" {
				c.WatchNamespaces = strings.Split(list, ",")
			}
			return nil
		})
	flags.IntVar(&c.MaxConcurrentReconciles, "max-concurrent-reconciles", c.MaxConcurrentReconciles,
		"The `number` of Agents that are reconciled at the same time.")
}
