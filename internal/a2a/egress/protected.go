// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/a2a-operator/a2a-operator/internal/kit/hosturl"
)

// Protected are the targets that no Policy allows: the pod of this process, its node and the
// API server of the cluster. Their servers trust the network of the pod, and the author of an
// allowed range need not know that the range contains them. A Protected is immutable once a
// guard uses it, and nil protects nothing.
type Protected struct {
	// Interfaces returns the addresses of the network interfaces of the pod. If it returns an
	// error, every address is refused. Nil means none.
	Interfaces func() ([]net.Addr, error)
	// Gateways returns the default gateways of the pod, which count as addresses of the node. If it returns
	// an error, every address is refused. Nil means none.
	Gateways func() ([]netip.Addr, error)
	// Node lists the addresses of the node. Hosts in Policy.Configured may have them, because a
	// model server may run on the node, and no client chooses its URL.
	Node []netip.Addr
	// APIServer lists the addresses of the API server. APIServerNames lists its DNS names, in
	// their normal form, in addition to the names of the Service kubernetes in the namespace
	// default.
	APIServer      []netip.Addr
	APIServerNames []string
}

// InPod returns the protected targets of a process in a pod. server is the address or the name
// of the API server, and "" outside of a pod, where InPod returns nil. node has the addresses of
// the node, separated by commas.
func InPod(server, node string) (*Protected, error) {
	if server == "" {
		return nil, nil // nil is a valid result: nothing is protected
	}
	p := &Protected{Interfaces: net.InterfaceAddrs, Gateways: defaultGateways}
	// Some clusters replace the address by the public name of the API server.
	if address, err := netip.ParseAddr(server); err == nil {
		p.APIServer = append(p.APIServer, address.Unmap())
	} else if name, ok := hosturl.Normal(server); ok {
		p.APIServerNames = append(p.APIServerNames, name)
	}
	for text := range strings.SplitSeq(node, ",") {
		if text == "" {
			continue
		}
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("read addresses of node: %w", err)
		}
		p.Node = append(p.Node, address.Unmap())
	}
	return p, nil
}

// OnlyServices is a Control function of net.Dialer for Services of the cluster. Whoever may create Services chooses their addresses: an
// ExternalName is any name. OnlyServices refuses loopback, link-local, metadata, multicast and unspecified addresses, and those of p, with
// ErrDenied.
func (p *Protected) OnlyServices(_, address string, _ syscall.RawConn) error {
	final, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: its address is not valid", ErrDenied)
	}
	if a := final.Addr().Unmap(); forbidden(a) || p.contains(a, false) {
		return fmt.Errorf("%w: the Service has the address of this pod, of its node, of the API server or of no Service", ErrDenied)
	}
	return nil
}

// isAPIServer reports whether a host is a name of the API server. The host must be in its
// normal form.
func (p *Protected) isAPIServer(host string) bool {
	if p == nil {
		return false
	}
	return host == "kubernetes" || host == "kubernetes.default" || host == "kubernetes.default.svc" ||
		strings.HasPrefix(host, "kubernetes.default.svc.") || slices.Contains(p.APIServerNames, host)
}

// contains reports whether an address, or the IPv4 address that it embeds, is protected.
// configured is true for a host in Policy.Configured.
func (p *Protected) contains(a netip.Addr, configured bool) bool {
	if p == nil {
		return false
	}
	if embedded, ok := embeddedIPv4(a); ok && p.contains(embedded, configured) {
		return true
	}
	return slices.Contains(p.APIServer, a) || !configured && p.isNode(a) || p.isInterface(a)
}

// isNode reports whether an address belongs to the node.
func (p *Protected) isNode(a netip.Addr) bool {
	if slices.Contains(p.Node, a) {
		return true
	}
	if p.Gateways == nil {
		return false
	}
	gateways, err := p.Gateways()
	return err != nil || slices.Contains(gateways, a)
}

// isInterface reports whether an address belongs to the pod. It reads the interfaces each time,
// because a pod can get another interface while it runs. It is called once for a connection.
func (p *Protected) isInterface(a netip.Addr) bool {
	if p.Interfaces == nil {
		return false
	}
	addresses, err := p.Interfaces()
	return err != nil || slices.ContainsFunc(addresses, func(each net.Addr) bool {
		n, ok := each.(*net.IPNet)
		if !ok {
			return false
		}
		own, ok := netip.AddrFromSlice(n.IP)
		return ok && own.Unmap() == a
	})
}
