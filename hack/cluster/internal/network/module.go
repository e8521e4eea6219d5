// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"os"
)

// EnsureBridgeFilter loads the kernel module that passes bridged packets to iptables, unless it is built in.
func EnsureBridgeFilter(ctx context.Context) error {
	const sign = "/proc/sys/net/bridge/bridge-nf-call-iptables"
	if _, err := os.Stat(sign); err == nil {
		return nil
	}
	if err := run(ctx, "", "modprobe", "br_netfilter"); err != nil {
		return fmt.Errorf("load kernel module br_netfilter: %w", err)
	}
	if _, err := os.Stat(sign); err != nil {
		return fmt.Errorf("find kernel setting after loading br_netfilter: %w", err)
	}
	return nil
}
