// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package network creates and removes the networking of the node: a bridge, iptables chains and some kernel
// settings. It changes no interface, route or rule that it did not create.
package network

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// Bridge is the interface between the pods and the machine.
const Bridge = "a2a0"

// dnsOffset is the index of the DNS Service in the Service range, by convention the tenth address.
const dnsOffset = 10

// Plan holds the cluster's address ranges: one or two for pods, and as many for Services. The ranges of an index have the
// same address family. The first family is that of the node's components and of Services without a choice.
type Plan struct {
	Pods     []netip.Prefix
	Services []netip.Prefix
}

// NewPlan parses and checks the ranges of pods and of Services, each a list with commas.
func NewPlan(pods, services string) (Plan, error) {
	podRanges, err := parseRanges("pod", pods)
	if err != nil {
		return Plan{}, err
	}
	serviceRanges, err := parseRanges("service", services)
	if err != nil {
		return Plan{}, err
	}
	if len(podRanges) != len(serviceRanges) {
		return Plan{}, fmt.Errorf("use ranges %s and %s: pods and Services must have the same address families", pods, services)
	}
	for i := range podRanges {
		if podRanges[i].Addr().Is4() != serviceRanges[i].Addr().Is4() {
			return Plan{}, fmt.Errorf("use ranges %s and %s: pods and Services must have the same address families in the same order", pods, services)
		}
		if podRanges[i].Overlaps(serviceRanges[i]) {
			return Plan{}, fmt.Errorf("use ranges %s and %s: they overlap", podRanges[i], serviceRanges[i])
		}
	}
	return Plan{Pods: podRanges, Services: serviceRanges}, nil
}

// parseRanges parses one range, or two of different address families.
func parseRanges(name, text string) ([]netip.Prefix, error) {
	var ranges []netip.Prefix
	for one := range strings.SplitSeq(text, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(one))
		if err != nil {
			return nil, fmt.Errorf("parse %s range %q: %w", name, one, err)
		}
		// The API server accepts at most 20 bits of addresses for Services.
		shortest, longest := 12, 24
		if prefix.Addr().Is6() {
			shortest, longest = 108, 120
		}
		if prefix.Bits() < shortest || prefix.Bits() > longest {
			return nil, fmt.Errorf("use %s range %s: its prefix length must be %d to %d", name, one, shortest, longest)
		}
		ranges = append(ranges, prefix.Masked())
	}
	if len(ranges) > 2 || len(ranges) == 2 && ranges[0].Addr().Is4() == ranges[1].Addr().Is4() {
		return nil, fmt.Errorf("use %s ranges %s: at most one of IPv4 and one of IPv6 are possible", name, text)
	}
	return ranges, nil
}

// NodeIP returns the first address of the bridge, which does not depend on other interfaces of the machine.
func (p Plan) NodeIP() string { return nth(p.Pods[0], 1) }

// NodeIPs returns the addresses of the bridge, one of each family.
func (p Plan) NodeIPs() []string {
	return each(p.Pods, func(pods netip.Prefix) string { return nth(pods, 1) })
}

// NodePrefixes returns the addresses of the bridge with their prefix lengths.
func (p Plan) NodePrefixes() []string {
	return each(p.Pods, func(pods netip.Prefix) string { return fmt.Sprintf("%s/%d", nth(pods, 1), pods.Bits()) })
}

// NodeAddress returns a port of NodeIP as host:port.
func (p Plan) NodeAddress(port string) string { return net.JoinHostPort(p.NodeIP(), port) }

// APIServiceIP returns the address of the Service "kubernetes".
func (p Plan) APIServiceIP() string { return nth(p.Services[0], 1) }

// DNSServiceIP returns the first address of the DNS Service.
func (p Plan) DNSServiceIP() string { return nth(p.Services[0], dnsOffset) }

// DNSServiceIPs returns the addresses of the DNS Service, one of each family.
func (p Plan) DNSServiceIPs() []string {
	return each(p.Services, func(services netip.Prefix) string { return nth(services, dnsOffset) })
}

// PodRanges returns the ranges of pods as a list with commas.
func (p Plan) PodRanges() string { return joined(p.Pods) }

// ServiceRanges returns the ranges of Services as a list with commas.
func (p Plan) ServiceRanges() string { return joined(p.Services) }

// Has4 reports whether the cluster has IPv4 addresses.
func (p Plan) Has4() bool {
	return slices.ContainsFunc(p.Pods, func(r netip.Prefix) bool { return r.Addr().Is4() })
}

// Has6 reports whether the cluster has IPv6 addresses.
func (p Plan) Has6() bool {
	return slices.ContainsFunc(p.Pods, func(r netip.Prefix) bool { return r.Addr().Is6() })
}

func joined(ranges []netip.Prefix) string {
	return strings.Join(each(ranges, netip.Prefix.String), ",")
}

func each(ranges []netip.Prefix, text func(netip.Prefix) string) []string {
	var texts []string
	for _, r := range ranges {
		texts = append(texts, text(r))
	}
	return texts
}

// CheckFree returns an error if another interface or route of the machine uses an address of the plan.
func (p Plan) CheckFree() error {
	used, err := usedPrefixes()
	if err != nil {
		return err
	}
	for flag, ranges := range map[string][]netip.Prefix{"--pod-cidr": p.Pods, "--service-cidr": p.Services} {
		for _, r := range ranges {
			for _, u := range used {
				if u.prefix.Overlaps(r) {
					return fmt.Errorf("use addresses %s: %s already has %s; choose others with %s", r, u.device, u.prefix, flag)
				}
			}
		}
	}
	return nil
}

type usage struct {
	device string
	prefix netip.Prefix
}

// usedPrefixes returns the networks of the machine's interfaces and of its IPv4 routes, except for the networks of the bridge.
func usedPrefixes() ([]usage, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	var used []usage
	for _, i := range interfaces {
		if i.Name == Bridge {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("list addresses of %s: %w", i.Name, err)
		}
		for _, address := range addresses {
			prefix, err := netip.ParsePrefix(address.String())
			if err == nil {
				used = append(used, usage{device: i.Name, prefix: prefix.Masked()})
			}
		}
	}
	file, err := os.Open("/proc/net/route")
	if err != nil {
		return nil, fmt.Errorf("read routes: %w", err)
	}
	defer func() { _ = file.Close() }()
	routes, err := parseRoutes(file)
	if err != nil {
		return nil, err
	}
	return append(used, routes...), nil
}

// parseRoutes parses the kernel's route table, without the default route.
func parseRoutes(table io.Reader) ([]usage, error) {
	var routes []usage
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || fields[0] == "Iface" || fields[0] == Bridge {
			continue
		}
		destination, err := kernelAddress(fields[1])
		if err != nil {
			return nil, err
		}
		mask, err := kernelAddress(fields[7])
		if err != nil {
			return nil, err
		}
		bits, _ := net.IPMask(mask.AsSlice()).Size()
		if bits == 0 {
			continue
		}
		routes = append(routes, usage{device: fields[0], prefix: netip.PrefixFrom(destination, bits)})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read routes: %w", err)
	}
	return routes, nil
}

// kernelAddress parses an address of /proc/net/route: hexadecimal in the machine's byte order.
func kernelAddress(text string) (netip.Addr, error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 4 {
		return netip.Addr{}, fmt.Errorf("parse route address %q: not four bytes in hexadecimal", text)
	}
	var address [4]byte
	binary.NativeEndian.PutUint32(address[:], binary.BigEndian.Uint32(raw))
	return netip.AddrFrom4(address), nil
}

func nth(prefix netip.Prefix, n int) string {
	address := prefix.Addr()
	for range n {
		address = address.Next()
	}
	return address.String()
}
