// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

// EgressProxy configures the HTTP proxy that carries connections of the sidecar to public https servers. A flag names the directory
// with its credential.
type EgressProxy struct {
	// URL is the URL of the proxy.
	URL string `json:"url"`
	// NoProxy lists the hosts that the sidecar calls directly, in addition to those of the cluster and of private networks.
	NoProxy []string `json:"noProxy,omitempty"`
	// ClusterDomain is the DNS domain of the cluster, whose names are called directly.
	ClusterDomain string `json:"clusterDomain,omitempty"`
}
