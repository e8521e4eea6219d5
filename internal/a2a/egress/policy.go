// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"slices"
	"strings"
)

// Policy lists what may be reached. It is not changed after it was given to a
// guard.
type Policy struct {
	// Services and Namespaces are those of the cluster, by the DNS names of
	// their Services. Their addresses may be private, and http will do.
	Services   []Service
	Namespaces []string
	// Hosts are DNS names, such as hooks.example.com, all names below one, such
	// as *.example.com, or "*" for all. Their addresses must be public, unless
	// CIDRs holds them, and the scheme https.
	Hosts []string
	// CIDRs are addresses that any name may lead to. http will do for those that
	// are not public.
	CIDRs []netip.Prefix
	// Configured are hosts that the configuration names, and no client: they may
	// lead to any address, private or public, and http will do. Addresses that no
	// policy can allow stay forbidden; Local lets them lead to loopback, too.
	Configured []string
	// ClusterDomain ends the DNS names of the cluster, "cluster.local" when empty.
	ClusterDomain string
	// Local lets CIDRs hold loopback and link-local addresses. In a pod they
	// lead to the agent, to the sidecar itself and to the cloud's metadata.
	Local bool
}

// Service is a Service of the cluster.
type Service struct{ Name, Namespace string }

// access is what one host may lead to.
type access struct {
	policy    *Policy
	inCluster bool
	// configured is true for a host that the configuration names.
	configured bool
	public     bool
	plain      bool
}

// access returns what a host in its normal form may lead to, in plain text or
// not.
func (p *Policy) access(host string, plain bool) access {
	if p == nil {
		return access{}
	}
	return access{
		policy: p, inCluster: p.serves(host), configured: slices.Contains(p.Configured, host), public: p.names(host), plain: plain,
	}
}

// possible reports whether a name can lead to anything that is allowed.
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

// permits reports whether an address may be connected to.
func (a access) permits(address netip.Addr) bool {
	p := a.policy
	// An IPv4 address in the clothes of an IPv6 one is dialled as what it is.
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

// serves reports whether a host is a Service that is allowed.
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

// names reports whether a host is among Hosts.
func (p *Policy) names(host string) bool {
	return slices.ContainsFunc(p.Hosts, func(pattern string) bool {
		pattern = strings.ToLower(pattern)
		if below, wild := strings.CutPrefix(pattern, "*."); wild {
			return strings.HasSuffix(host, "."+below)
		}
		return host == pattern || pattern == "*"
	})
}

// absolute completes a name, so that no search list does. A configured name of
// two labels may be that of a Service and its namespace, which only the search
// list finds.
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
