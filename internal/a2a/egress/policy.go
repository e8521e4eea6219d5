// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/a2a-operator/a2a-operator/internal/kit/publicaddress"
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
	// CIDRs allows addresses, whatever the host name is. For public addresses, the scheme must
	// be https. For others, it may be http.
	CIDRs []netip.Prefix
	// Configured allows hosts in the configuration, which no client chooses. They may
	// resolve to private and public addresses, and the scheme may be http. Configured never
	// allows link-local, metadata, multicast and unspecified addresses. It allows loopback
	// addresses only if Local is true.
	Configured []string
	// ClusterDomain is the DNS domain of the cluster, "cluster.local" if it is empty.
	ClusterDomain string
	// Local permits CIDRs to allow loopback and link-local addresses, and Configured to
	// allow loopback addresses. It must be false in pods, where these addresses belong to
	// the agent, the sidecar itself and the metadata service of the cloud.
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
	// protected are the targets that no policy allows.
	protected *Protected
}

// access returns the access of a host, which must be in its normal form. plain is true for
// the scheme http.
func (p *Policy) access(host string, plain bool, protected *Protected) access {
	if p == nil || protected.isAPIServer(host) {
		return access{}
	}
	return access{
		policy: p, inCluster: p.serves(host), configured: slices.Contains(p.Configured, host), public: p.names(host), plain: plain,
		protected: protected,
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
	return slices.ContainsFunc(a.policy.CIDRs, func(c netip.Prefix) bool { return !a.plain || !publicaddress.Is(c.Addr()) })
}

// permits reports whether an address is allowed.
func (a access) permits(address netip.Addr) bool {
	p := a.policy
	// The system dials an IPv4-mapped IPv6 address as an IPv4 address.
	address = address.Unmap()
	if p == nil || !address.IsValid() || address.Zone() != "" {
		return false
	}
	within := func(c netip.Prefix) bool { return unmap(c).Contains(address) }
	if forbidden(address) {
		if a.configured && p.Local && address.IsLoopback() {
			return true
		}
		return p.Local && local(address) && slices.ContainsFunc(p.CIDRs, within)
	}
	if a.protected.contains(address, a.configured) {
		return false
	}
	if a.inCluster || a.configured {
		return true
	}
	open := publicaddress.Is(address)
	if slices.ContainsFunc(p.CIDRs, within) {
		return !a.plain || !open
	}
	return a.public && open && !a.plain
}

// unmap returns the IPv4 range of a range of IPv4-mapped IPv6 addresses, and any other range
// unchanged.
func unmap(c netip.Prefix) netip.Prefix {
	const mapped = 96
	if !c.Addr().Is4In6() || c.Bits() < mapped {
		return c
	}
	return netip.PrefixFrom(c.Addr().Unmap(), c.Bits()-mapped)
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
// its search list. A name without a dot may be a Service, and a configured name of two
// labels may be a Service with its namespace. absolute does not change these names, because
// the resolver finds them only with the search list.
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
	return strings.ToLower(strings.Trim(cmp.Or(p.ClusterDomain, "cluster.local"), "."))
}

// ErrDenied is the error for a request whose target is not allowed. The error of the
// request wraps it. No byte was sent to the target.
var ErrDenied = errors.New("target is not allowed")

// forbidden reports whether an address is refused by every policy whose Local is false, as
// in pods.
func forbidden(a netip.Addr) bool {
	if embedded, ok := embeddedIPv4(a); ok && !a.IsLoopback() && !a.IsUnspecified() {
		return forbidden(embedded)
	}
	return local(a) || a.IsUnspecified() || a.IsMulticast() || a.Is4() && a.As4() == [4]byte{255, 255, 255, 255} ||
		a.Is4() && a.As4()[0] == 0 || within(publicaddress.Metadata, a)
}

// OffLink is a Control function of net.Dialer for hosts in the configuration. It refuses
// link-local, metadata, multicast, broadcast and unspecified addresses with ErrDenied, and
// allows all others: public, private and loopback addresses.
func OffLink(_, address string, _ syscall.RawConn) error {
	final, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: its address is not valid", ErrDenied)
	}
	if a := final.Addr().Unmap(); forbidden(a) && !a.IsLoopback() {
		return fmt.Errorf("%w: link-local, metadata, multicast, broadcast and unspecified addresses are never allowed", ErrDenied)
	}
	return nil
}

// embedding lists the IPv6 ranges whose addresses embed an IPv4 address. at is the
// position of the embedded address, in bytes.
var embedding = []struct {
	netip.Prefix
	at int
}{
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12},
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// embeddedIPv4 returns the IPv4 address that an IPv6 address embeds, because a translator
// or a tunnel may connect to it. It returns false if there is none.
func embeddedIPv4(a netip.Addr) (netip.Addr, bool) {
	for _, c := range embedding {
		if c.Contains(a) {
			bytes := a.As16()
			return netip.AddrFrom4([4]byte(bytes[c.at : c.at+4])), true
		}
	}
	return netip.Addr{}, false
}

// local reports whether an address is loopback or link-local.
func local(a netip.Addr) bool { return a.IsLoopback() || a.IsLinkLocalUnicast() }

func within(all []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
}
