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
	"strings"
)

// Bridge is the interface between the pods and the machine.
const Bridge = "a2a0"

// dnsOffset is the index of the DNS Service in the Service range, by convention the tenth address.
const dnsOffset = 10

// Plan holds the cluster's address ranges.
type Plan struct {
	Pods     netip.Prefix
	Services netip.Prefix
}

// NewPlan parses and checks the two ranges.
func NewPlan(pods, services string) (Plan, error) {
	var plan Plan
	for _, r := range []struct {
		name, text string
		into       *netip.Prefix
	}{{"pod", pods, &plan.Pods}, {"service", services, &plan.Services}} {
		prefix, err := netip.ParsePrefix(r.text)
		if err != nil {
			return Plan{}, fmt.Errorf("parse %s range %q: %w", r.name, r.text, err)
		}
		if !prefix.Addr().Is4() || prefix.Bits() < 12 || prefix.Bits() > 24 {
			return Plan{}, fmt.Errorf("use %s range %s: it must be IPv4 with a prefix length of 12 to 24", r.name, r.text)
		}
		*r.into = prefix.Masked()
	}
	if plan.Pods.Overlaps(plan.Services) {
		return Plan{}, fmt.Errorf("use ranges %s and %s: they overlap", plan.Pods, plan.Services)
	}
	return plan, nil
}

// NodeIP returns the address of the bridge, which does not depend on other interfaces of the machine.
func (p Plan) NodeIP() string { return nth(p.Pods, 1) }

// NodePrefix returns the address of the bridge with its prefix length.
func (p Plan) NodePrefix() string { return fmt.Sprintf("%s/%d", p.NodeIP(), p.Pods.Bits()) }

// APIServiceIP returns the address of the Service "kubernetes".
func (p Plan) APIServiceIP() string { return nth(p.Services, 1) }

// DNSServiceIP returns the address of the DNS Service.
func (p Plan) DNSServiceIP() string { return nth(p.Services, dnsOffset) }

// CheckFree returns an error if another interface or route of the machine uses an address of the plan.
func (p Plan) CheckFree() error {
	used, err := usedPrefixes()
	if err != nil {
		return err
	}
	for _, r := range []struct {
		flag   string
		prefix netip.Prefix
	}{{"--pod-cidr", p.Pods}, {"--service-cidr", p.Services}} {
		for _, u := range used {
			if u.prefix.Overlaps(r.prefix) {
				return fmt.Errorf("use addresses %s: %s already has %s; choose others with %s", r.prefix, u.device, u.prefix, r.flag)
			}
		}
	}
	return nil
}

type usage struct {
	device string
	prefix netip.Prefix
}

// usedPrefixes returns the networks of the machine's interfaces and routes, except for the networks of the bridge.
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
			if err == nil && prefix.Addr().Is4() {
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
