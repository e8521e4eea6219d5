// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Platform has the settings of the installation.
type Platform struct {
	// SidecarImage is the image of the sidecar.
	SidecarImage string
	// SidecarResources are the requests and limits of the sidecar's container.
	SidecarResources corev1.ResourceRequirements
	// SidecarUser is the user of the sidecar's container. 0 is that of the pod or of the image.
	SidecarUser int64
	// ClientCertificate is the volume with the client certificate of the sidecars. They have none without a driver.
	ClientCertificate ClientCertificate
	// PreStop is the kind of the preStop hook of agents whose spec has none. "" is HTTPGet.
	PreStop a2av1alpha1.SidecarPreStop
	// ClusterDomain is the DNS domain of the cluster.
	ClusterDomain string
	// RegistryURL is the URL at which sidecars call the registry. If it is empty, agents
	// have no gateway.
	RegistryURL string
	// RemoteAllow lists the ranges of addresses that remote agents may have, in addition to public
	// addresses.
	RemoteAllow []netip.Prefix
	// TrustedProxies lists the addresses of proxies whose headers name the clients of agents.
	TrustedProxies []netip.Prefix
	// EgressProxy is the proxy of sidecars whose Agents have none, nil for none.
	EgressProxy *a2av1alpha1.EgressProxy
	// IssuesTokens reports whether the registry issues tokens for calls of agents. Sidecars
	// then need the keys of these tokens.
	IssuesTokens bool
	// RegistryNamespace is the namespace of the registry's pods. It is empty if they run
	// outside the cluster.
	RegistryNamespace string
	// PageURL is the https URL of the page for people, without a path and a slash at its end. It is empty if there is none.
	PageURL string
	// PageIssuer is the issuer of the people who sign in to the page.
	PageIssuer string
	// Tracing configures the tracing of sidecars whose Agents do not override it.
	Tracing sidecarconfig.Tracing
}

// ClientCertificate is a volume of a driver of the container storage interface, with tls.crt and tls.key.
type ClientCertificate struct {
	Driver     string
	Attributes map[string]string
	// Hosts are the hosts of remote agents that get the certificate, in addition to the agents of the cluster.
	Hosts sidecarconfig.CertificateHosts
}
