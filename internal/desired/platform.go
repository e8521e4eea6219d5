// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import "net/netip"

// Platform has the settings of the installation.
type Platform struct {
	// SidecarImage is the image of the sidecar.
	SidecarImage string
	// ClusterDomain is the DNS domain of the cluster.
	ClusterDomain string
	// RegistryURL is the URL of the registry for sidecars. If empty, agents have no
	// gateway.
	RegistryURL string
	// RemoteAllow has the ranges of addresses at which remote agents are allowed, in
	// addition to public addresses.
	RemoteAllow []netip.Prefix
	// IssuesTokens reports whether the registry issues tokens for calls of agents. Sidecars
	// then need its keys.
	IssuesTokens bool
	// RegistryNamespace is the namespace of the registry's pods. It is empty if they are
	// not in the cluster.
	RegistryNamespace string
	// Tracing is the tracing of the sidecars of Agents that do not override it.
	Tracing Tracing
}
