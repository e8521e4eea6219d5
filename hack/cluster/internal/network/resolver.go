// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// resolverFiles are read in this order. With systemd-resolved, the first file names only a local
// stub, and the second file names the real name servers.
var resolverFiles = []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"}

// NameServers returns the machine's name servers that a pod can use. It leaves out loopback addresses, because in a pod
// they lead to the pod itself, and addresses of a family that pods do not have.
func NameServers(plan Plan) ([]string, error) {
	for _, path := range resolverFiles {
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read name servers: %w", err)
		}
		if servers := usableServers(string(content), plan); len(servers) > 0 {
			return servers, nil
		}
	}
	return nil, nil
}

func usableServers(content string, plan Plan) []string {
	var servers []string
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		address, err := netip.ParseAddr(fields[1])
		if err != nil || address.IsLoopback() || address.Zone() != "" {
			continue
		}
		if address.Is4() && plan.Has4() || address.Is6() && plan.Has6() {
			servers = append(servers, address.String())
		}
	}
	return servers
}
