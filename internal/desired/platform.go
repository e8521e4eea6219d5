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
	// RegistryURL is the URL at which sidecars call the registry. If it is empty, agents
	// have no gateway.
	RegistryURL string
	// RemoteAllow lists the ranges of addresses that remote agents may have, in addition to public
	// addresses.
	RemoteAllow []netip.Prefix
	// IssuesTokens reports whether the registry issues tokens for calls of agents. Sidecars
	// then need the keys of these tokens.
	IssuesTokens bool
	// RegistryNamespace is the namespace of the registry's pods. It is empty if they run
	// outside the cluster.
	RegistryNamespace string
	// Tracing configures the tracing of sidecars whose Agents do not override it.
	Tracing Tracing
}

// Tracing is the tracing of the installation, which Agents can override.
type Tracing struct {
	// Endpoint is the base URL of the collector, "" for none.
	Endpoint string
	// SamplingPercent is the percentage of recorded traces among the traces that begin at
	// a sidecar.
	SamplingPercent int
	// DraftAttributes adds the attributes of the draft of OpenTelemetry's semantic
	// conventions.
	DraftAttributes bool
}
