// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package requestcheck

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// maxTenant is the maximum length of a tenant's name, in bytes.
const maxTenant = 256

// reserved are path segments of REST and of probes. No binding accepts them as tenants, so
// that every tenant can be used over every binding.
var reserved = []string{
	"v1", "task", "tasks", "agent", ".well-known", "extendedAgentCard", "message:send", "message:stream",
	"livez", "readyz", "startedz", "healthz", "health", "metrics", "drained",
}

// Reserved reports whether a name cannot be the name of a tenant, because REST or a probe
// uses it as a path segment.
func Reserved(tenant string) bool { return slices.Contains(reserved, tenant) }

// CheckTenant returns an error if the name of a tenant is invalid. It accepts "", which
// means no tenant.
func CheckTenant(tenant string) error {
	switch {
	case tenant == "":
		return nil
	case len(tenant) > maxTenant:
		return a2a.InvalidParams("tenant", "is longer than 256 bytes")
	case strings.ContainsAny(tenant, `/\`):
		return a2a.InvalidParams("tenant", "must not contain a slash or a backslash")
	case !utf8.ValidString(tenant), strings.ContainsFunc(tenant, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return a2a.InvalidParams("tenant", "must be UTF-8 without control characters")
	case tenant == ".", tenant == "..":
		// A proxy that normalizes paths would remove the segment.
		return a2a.InvalidParams("tenant", "must not be . or ..")
	case Reserved(tenant):
		return a2a.InvalidParams("tenant", "is a path of the API of agents, such as tasks; use another name")
	}
	return nil
}

// scope checks the name of a tenant and scopes an owner to the tenant.
func scope(owner *a2a.Owner, tenant string) error {
	if err := CheckTenant(tenant); err != nil {
		return err
	}
	*owner = owner.In(tenant)
	return nil
}
