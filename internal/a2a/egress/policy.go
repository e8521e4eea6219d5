// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"slices"
	"strings"
)

// Policy lists the allowed targets. It is immutable once a guard uses it.
type Policy struct {
	// Services and Namespaces allow Services of the cluster by their DNS names: single
	// Services, and all Services of a namespace. The addresses of these Services may be
	// private, and the scheme may be http.
	Services   []Service
	Namespaces []string
	// Hosts allows DNS names: one name such as hooks.example.com, all names below one with
	// *.example.com, or all names with "*". Their addresses must be public or in CIDRs, and
	// the scheme must be https.
	Hosts []string
	// CIDRs allows addresses, whatever the name is. The scheme must be https for public
	// addresses, and may be http for others.
	CIDRs []netip.Prefix
	// Configured allows hosts in the configuration, which no client chooses. They may
	// resolve to private and public addresses, and the scheme may be http. Addresses that no
	// policy can allow stay forbidden, but with Local, loopback is allowed for these hosts.
	Configured []string
	// ClusterDomain is the DNS domain of the cluster, "cluster.local" if it is empty.
	ClusterDomain string
	// Local permits CIDRs to allow loopback and link-local addresses. It must be false in
	// pods, where these addresses belong to the agent, the sidecar itself and the metadata
	// service of the cloud.
	Local bool
}

// Service is a Service of the cluster.
type Service struct{ Name, Namespace string }

// access describes the addresses to which one host may resolve.
type access struct {
	policy    *Policy
	inCluster bool
	// configured is true for a host in Policy.Configured.
	configured bool
	public     bool
	plain      bool
}

// access returns the access of a host, which is in its normal form. plain is true for the
// scheme http.
func (p *Policy) access(host string, plain bool) access {
	if p == nil {
		return access{}
	}
	return access{
		policy: p, inCluster: p.serves(host), configured: slices.Contains(p.Configured, host), public: p.names(host), plain: plain,
	}
}

// possible reports whether there is an allowed address to which the name could resolve.
func (a access) possible() bool {
	if a.policy == nil {
		return false
	}
	if a.inCluster || a.configured || a.public && !a.plain {
		return true
	}
	for _, c := range a.policy.CIDRs {
		if !a.plain || !public(c.Addr()) {
			return true
		}
	}
	return false
}

// permits reports whether an address is allowed.
func (a access) permits(address netip.Addr) bool {
	p := a.policy
	// The system dials an IPv4-mapped IPv6 address as an IPv4 address.
	address = address.Unmap()
	if p == nil || !address.IsValid() || address.Zone() != "" {
		return false
	}
	within := func(c netip.Prefix) bool { return c.Contains(address) }
	if forbidden(address) {
		if a.configured && p.Local && address.IsLoopback() {
			return true
		}
		return p.Local && local(address) && slices.ContainsFunc(p.CIDRs, within)
	}
	if a.inCluster || a.configured {
		return true
	}
	open := public(address)
	if slices.ContainsFunc(p.CIDRs, within) {
		return !a.plain || !open
	}
	return a.public && open && !a.plain
}

// serves reports whether a host is the DNS name of an allowed Service.
func (p *Policy) serves(host string) bool {
	name, found := strings.CutSuffix(host, ".svc")
	if !found {
		name, found = strings.CutSuffix(host, ".svc."+p.clusterDomain())
	}
	service, namespace, dotted := strings.Cut(name, ".")
	if !found || !dotted || strings.Contains(namespace, ".") {
		return false
	}
	return slices.Contains(p.Services, Service{Name: service, Namespace: namespace}) ||
		slices.Contains(p.Namespaces, namespace)
}

// names reports whether a host matches a pattern in Hosts.
func (p *Policy) names(host string) bool {
	return slices.ContainsFunc(p.Hosts, func(pattern string) bool {
		pattern = strings.ToLower(pattern)
		if below, wild := strings.CutPrefix(pattern, "*."); wild {
			return strings.HasSuffix(host, "."+below)
		}
		return host == pattern || pattern == "*"
	})
}

// absolute returns the fully qualified form of a name, so that the resolver does not use
// its search list. It does not change a configured name of two labels: this may be a
// Service and its namespace, which the resolver only finds with the search list.
func (p *Policy) absolute(host string) string {
	dots := strings.Count(host, ".")
	if dots == 0 || dots == 1 && p != nil && slices.Contains(p.Configured, host) {
		return host
	}
	if p != nil && strings.HasSuffix(host, ".svc") {
		host += "." + p.clusterDomain()
	}
	return host + "."
}

func (p *Policy) clusterDomain() string {
	if p.ClusterDomain == "" {
		return "cluster.local"
	}
	return strings.ToLower(strings.Trim(p.ClusterDomain, "."))
}
