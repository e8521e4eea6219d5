// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"path"
	"strings"
)

// The prefixes of the paths that the gateway forwards.
const (
	registryPrefix = "/registry"
	agentsPrefix   = "/agents/"
)

// The paths of ARD, below the base URL of the registry.
const (
	ardPrefix = "/ard/"
	ardSearch = ardPrefix + "search"
	// ardExplore returns counts of the values of fields. None of these values is a URL, so its
	// responses are not rewritten.
	ardExplore = ardPrefix + "explore"
)

// isManifestPath reports whether a path is the path of an ARD manifest. The gateway also
// serves the manifests at its root, where clients of ARD look for them.
func isManifestPath(path string) bool {
	return path == "/.well-known/ard.json" || path == "/.well-known/ai-catalog.json"
}

// registryAgents is the path of the entries in the registry.
const registryAgents = "/v1/agents"

// isCardPath reports whether GET of an escaped path returns a card. This is the public card,
// or the extended card at its paths in 0.2, 0.3 and 1.0, with or without a tenant.
func isCardPath(path string) bool {
	if strings.HasPrefix(path, "/.well-known/agent") || path == "/agent/authenticatedExtendedCard" {
		return true
	}
	rest, legacy := strings.CutPrefix(path, "/v1/")
	name := "card"
	if !legacy {
		rest, name = strings.TrimPrefix(path, "/"), "extendedAgentCard"
	}
	tenant, last, ok := strings.Cut(rest, "/")
	if !ok {
		return rest == name
	}
	return last == name && tenant != "tasks"
}

// unclean reports whether some servers could interpret the path as a different path.
func unclean(p string) bool {
	return strings.Contains(p, "\\") || strings.Contains(p, "//") || p != "/" && path.Clean(p) != strings.TrimSuffix(p, "/")
}

// label reports whether s is a DNS label (RFC 1123).
func label(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
