// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator is the composition root of the manager: it puts the parts
// together and runs them. It decides nothing about Agents.
package operator

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Config is what the manager is told by whoever starts it. The zero value of a
// field is not a default; Defaults has those.
type Config struct {
	// SidecarImage is the image of the sidecar in every Agent's pod.
	SidecarImage string
	// ClusterDomain is the DNS domain of the cluster.
	ClusterDomain string
	// RegistryBindAddress is where the registry listens; "0" turns it off.
	RegistryBindAddress string
	// RegistryURL is where sidecars reach the registry; empty gives agents no
	// gateway.
	RegistryURL string
	// RemoteAllow lists the ranges of addresses in which remote agents may be,
	// beside public ones over https.
	RemoteAllow []netip.Prefix
	// RemoteCAFile holds PEM certificates of authorities that vouch for remote
	// agents, beside those of the system; empty means none.
	RemoteCAFile string
	// MetricsBindAddress is where metrics are served; "0" turns them off.
	MetricsBindAddress string
	// MetricsInsecure serves metrics over plain HTTP to anybody.
	MetricsInsecure bool
	// MetricsCertDir holds tls.crt and tls.key for the metrics; empty means a
	// certificate that the manager signs itself.
	MetricsCertDir string
	// HealthProbeBindAddress is where /healthz and /readyz are served; "0"
	// turns them off.
	HealthProbeBindAddress string
	// LeaderElect lets one of several managers work, and the others wait.
	LeaderElect bool
	// LeaderElectionNamespace is where the Lease is; empty means the manager's
	// own namespace.
	LeaderElectionNamespace string
	// WatchNamespaces are those whose Agents are served; empty means all.
	WatchNamespaces []string
	// MaxConcurrentReconciles is the number of Agents that are worked on at
	// the same time.
	MaxConcurrentReconciles int
	// OwnHeap has the manager set the pace of the garbage collector, which is
	// the process's: a program that is a manager and nothing else says so.
	OwnHeap bool
}

// off is the bind address of a server that is not wanted.
const off = "0"

// Defaults are the values of everything that has one.
func Defaults() Config {
	return Config{
		ClusterDomain:           "cluster.local",
		RegistryBindAddress:     ":8444",
		MetricsBindAddress:      ":8443",
		HealthProbeBindAddress:  ":8081",
		MaxConcurrentReconciles: 5,
	}
}

// registryNamespace is that of the Service in the registry's URL, "" when it is
// no Service.
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

// Validate names every flag that the manager could not work with.
func (c Config) Validate() error {
	var errs []error
	if c.SidecarImage == "" {
		errs = append(errs, errors.New("--sidecar-image is required: the image of the sidecar that runs in every Agent's pod"))
	}
	if c.ClusterDomain == "" || strings.HasPrefix(c.ClusterDomain, ".") || strings.HasSuffix(c.ClusterDomain, ".") {
		errs = append(errs, fmt.Errorf("--cluster-domain is %q, must be a domain such as cluster.local, without a dot at its ends", c.ClusterDomain))
	}
	if c.RegistryURL != "" {
		u, err := url.Parse(c.RegistryURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			errs = append(errs, fmt.Errorf("--registry-url is %q, must be an absolute http or https URL", c.RegistryURL))
		}
	}
	for _, allowed := range c.RemoteAllow {
		if a := allowed.Addr(); a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() {
			errs = append(errs, fmt.Errorf("--remote-allow names %s, but remote agents are never asked for at loopback, link-local and multicast addresses; leave it out", allowed))
		}
	}
	for _, namespace := range c.WatchNamespaces {
		if reasons := validation.IsDNS1123Label(namespace); len(reasons) > 0 {
			errs = append(errs, fmt.Errorf("--watch-namespaces names %q, must be names of namespaces, separated by commas and nothing else: %s",
				namespace, strings.Join(reasons, "; ")))
		}
	}
	if c.MaxConcurrentReconciles < 1 {
		errs = append(errs, fmt.Errorf("--max-concurrent-reconciles is %d, must be at least 1", c.MaxConcurrentReconciles))
	}
	return errors.Join(errs...)
}
