// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
)

// Owner is the authenticated principal that owns a task, and the tenant if the request
// names one. Every key of a task contains the Owner, so that tasks of other owners do not
// exist for a caller.
type Owner string

// PersonOf returns the owner of the tasks of a person whom an issuer of tokens names.
func PersonOf(issuer, name string) Owner { return Owner("jwt:" + issuer + "#" + name) }

// IsPersonOf reports whether the owner is a person whom an issuer of tokens names, by sub or by another claim.
func (o Owner) IsPersonOf(issuer string) bool {
	if issuer == "" {
		return false
	}
	// The owner by another claim than sub names the claim: jwt[email]:<issuer>#<value>.
	if _, rest, found := strings.Cut(string(o), "]:"); found && strings.HasPrefix(string(o), "jwt[") {
		o = Owner("jwt:" + rest)
	}
	return strings.HasPrefix(string(o), string(PersonOf(issuer, "")))
}

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

// subjectMark separates a ServiceAccount and the subject for whom it acts. No name and no UID of a
// ServiceAccount contains it.
const subjectMark = " for "

// MaxOwner is the maximum length of an owner without a tenant that For returns, in bytes.
const MaxOwner = 1200

// For returns the owner of the tasks of a ServiceAccount that acts for a subject. The tasks of
// each subject have their own owner. The subject may be such an owner, too: every agent of a chain
// is part of the owner. A subject that makes the owner longer than MaxOwner is replaced by its digest.
func (o Owner) For(subject Owner) Owner {
	nested := o + subjectMark + subject
	if len(nested) <= MaxOwner {
		return nested
	}
	digest := sha256.Sum256([]byte(subject))
	return o + subjectMark + "sha256:" + Owner(hex.EncodeToString(digest[:]))
}

// Subject returns the subject for whom the owner acts, without the tenant, and "" for an owner
// who acts for itself.
func (o Owner) Subject() Owner {
	if !strings.HasPrefix(string(o), serviceAccounts) {
		return ""
	}
	_, subject, _ := strings.Cut(o.Principal(), subjectMark)
	return Owner(subject)
}

// serviceAccounts is the prefix of the principals of ServiceAccounts.
const serviceAccounts = "system:serviceaccount:"

// named returns the principal of an owner. For a ServiceAccount, it has no UID and no subject.
func (o Owner) named() string {
	principal := o.Principal()
	if strings.HasPrefix(principal, serviceAccounts) {
		principal, _, _ = strings.Cut(principal, subjectMark)
		principal, _, _ = strings.Cut(principal, "#")
	}
	return principal
}

// Share returns the owner whose share of a resource all owners of one share use together: a ServiceAccount has that of its
// namespace, because whoever may create one ServiceAccount there may create any number. Any other principal has its own.
func (o Owner) Share() string {
	principal := o.Principal()
	rest, found := strings.CutPrefix(principal, serviceAccounts)
	if !found {
		return principal
	}
	namespace, _, _ := strings.Cut(rest, ":")
	return principal[:len(serviceAccounts)+len(namespace)]
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

// Share returns the principal whose share of a resource p uses (Owner.Share).
func (p AccountingPrincipal) Share() AccountingPrincipal {
	p.Principal = Owner(p.Principal).Share()
	return p
}

// Equal reports whether both are the same. go-cmp needs it: Address has unexported
// fields.
func (p AccountingPrincipal) Equal(other AccountingPrincipal) bool { return p == other }
