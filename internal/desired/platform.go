// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import "net/netip"

// Platform is what the installation offers to every Agent.
type Platform struct {
	// SidecarImage is the image of the sidecar.
	SidecarImage string
	// ClusterDomain is the DNS domain of the cluster.
	ClusterDomain string
	// RegistryURL is where sidecars reach the registry. Empty means that there
	// is none, and that agents get no gateway.
	RegistryURL string
	// RemoteAllow lists the ranges of addresses in which agents that run
	// elsewhere may be, beside public ones.
	RemoteAllow []netip.Prefix
	// RegistryNamespace is where the registry's pods are. It is empty when
	// they are not in the cluster.
	RegistryNamespace string
}
