// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import "strings"

// Owner is the authenticated principal that owns a task, and the tenant if the request
// names one. It is part of every key, so that tasks of other owners do not exist for a
// caller.
type Owner string

// tenantMark separates principal and tenant. No principal contains it.
const tenantMark = "\x1f"

// In returns the owner within a tenant; "" means none. Owners of different tenants are
// different owners.
func (o Owner) In(tenant string) Owner {
	if tenant == "" {
		return o
	}
	return o + Owner(tenantMark+tenant)
}

// Principal returns the owner without the tenant.
func (o Owner) Principal() string {
	principal, _, _ := strings.Cut(string(o), tenantMark)
	return principal
}

// Tenant returns the tenant, "" for none.
func (o Owner) Tenant() string {
	_, tenant, _ := strings.Cut(string(o), tenantMark)
	return tenant
}
