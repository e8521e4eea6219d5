// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"net/netip"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
)

// Owner is the authenticated principal that owns a task, and the tenant if the request
// names one. Every key of a task contains the Owner, so that tasks of other owners do not
// exist for a caller.
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

// AccountingPrincipal is the principal to which limits charge a request: the principal of the
// caller, or the address of an anonymous caller. It does not depend on the tenant.
// Exactly one of its fields is set; the zero value is the principal of requests
// whose address is unknown.
type AccountingPrincipal struct {
	Principal string
	Address   netip.Addr
}

// AccountingPrincipalAt returns the accounting principal of an anonymous caller at
// an IP address, with or without a port: the address that sourceaddress.Of returns. It
// returns the zero value if address cannot be parsed.
func AccountingPrincipalAt(address string) AccountingPrincipal {
	from, err := netip.ParseAddrPort(address)
	ip := from.Addr()
	if err != nil {
		ip, _ = netip.ParseAddr(address)
	}
	return AccountingPrincipal{Address: sourceaddress.Of(ip)}
}

// Equal reports whether both are the same. go-cmp needs it: Address has unexported
// fields.
func (p AccountingPrincipal) Equal(other AccountingPrincipal) bool { return p == other }
