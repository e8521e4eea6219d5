// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/packages"
)

// bridgeAddress is the hardware address of the bridge. Without one of its own, a bridge has the lowest address of its ports, which
// changes with the pods. For a while, pods would then send IPv6 packets for the node to an address that no interface has.
const bridgeAddress = "02:a2:a0:00:00:01"

// EnsureBridge creates the bridge with the node's addresses.
func EnsureBridge(ctx context.Context, plan Plan) error {
	bridge, err := net.InterfaceByName(Bridge)
	if err != nil {
		if err := ip(ctx, "link", "add", Bridge, "address", bridgeAddress, "type", "bridge"); err != nil {
			return err
		}
		bridge, err = net.InterfaceByName(Bridge)
		if err != nil {
			return fmt.Errorf("find bridge %s: %w", Bridge, err)
		}
	}
	addresses, err := bridge.Addrs()
	if err != nil {
		return fmt.Errorf("list addresses of %s: %w", Bridge, err)
	}
	for _, wanted := range plan.NodePrefixes() {
		if slices.ContainsFunc(addresses, func(a net.Addr) bool { return a.String() == wanted }) {
			continue
		}
		arguments := []string{"address", "add", wanted, "dev", Bridge}
		if strings.Contains(wanted, ":") {
			// The detection of duplicates never ends while the bridge has no pod, and nothing can listen at the address until then.
			arguments = append(arguments, "nodad")
		}
		if err := ip(ctx, arguments...); err != nil {
			return err
		}
	}
	return ip(ctx, "link", "set", Bridge, "up")
}

// HasBridge reports whether an interface with the bridge's name exists.
func HasBridge() bool {
	_, err := net.InterfaceByName(Bridge)
	return err == nil
}

// RemoveBridge removes the bridge and the pods' interfaces on it.
func RemoveBridge(ctx context.Context) error {
	if !HasBridge() {
		return nil
	}
	ports, err := os.ReadDir(filepath.Join("/sys/class/net", Bridge, "brif"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list interfaces of %s: %w", Bridge, err)
	}
	for _, port := range ports {
		// The kernel removes a pod's interface with its network namespace, which may happen at the same time.
		if err := ip(ctx, "link", "delete", port.Name()); err != nil && interfaceExists(port.Name()) {
			return err
		}
	}
	return ip(ctx, "link", "delete", Bridge)
}

func interfaceExists(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}

func ip(ctx context.Context, arguments ...string) error {
	return run(ctx, "", "ip", arguments...)
}

// run runs a program with an input, and ignores its output.
func run(ctx context.Context, input, program string, arguments ...string) error {
	_, err := packages.Run(ctx, input, program, arguments...)
	return err
}
