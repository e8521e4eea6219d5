// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// parsePushTarget parses an allowed target of push notifications: a CIDR, an IP address
// or a name.
func parsePushTarget(value string) (sidecarconfig.PushTarget, error) {
	if strings.Contains(value, "/") {
		_, err := netip.ParsePrefix(value)
		return sidecarconfig.PushTarget{CIDR: value}, err
	}
	if address, err := netip.ParseAddr(value); err == nil {
		return sidecarconfig.PushTarget{CIDR: netip.PrefixFrom(address, address.BitLen()).String()}, nil
	}
	name := strings.TrimPrefix(value, "*.")
	if value != "*" && (name == "" || strings.ContainsAny(name, "*:@?# \t")) {
		return sidecarconfig.PushTarget{}, fmt.Errorf("%q is not a host, an address or a CIDR", value)
	}
	return sidecarconfig.PushTarget{Host: strings.ToLower(value)}, nil
}
