// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// The routing tables of Linux.
const (
	routesFile  = "/proc/net/route"
	routes6File = "/proc/net/ipv6_route"
)

// defaultGateways returns the default gateways of the pod. In the networks of most CNI plugins, this is the
// address of the node in the network of the pods, which status.hostIPs does not have. A routing table that
// does not exist has none.
func defaultGateways() ([]netip.Addr, error) {
	var all []netip.Addr
	for file, parse := range map[string]func(string) ([]netip.Addr, error){routesFile: gatewaysOf, routes6File: gateways6Of} {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read routes: %w", err)
		}
		gateways, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("read routes of %s: %w", file, err)
		}
		all = append(all, gateways...)
	}
	return all, nil
}

// gatewaysOf returns the gateways of the default routes in the text of routesFile. A line has the interface,
// and then in hexadecimal the destination, the gateway, four other fields and the mask. Addresses have the
// byte order of the machine.
func gatewaysOf(text string) (gateways []netip.Addr, err error) {
	for i, fields := range routes(text) {
		if i == 0 || len(fields) < 8 || fields[1] != "00000000" || fields[7] != "00000000" {
			continue
		}
		number, err := strconv.ParseUint(fields[2], 16, 32)
		if err != nil {
			return nil, err
		}
		var bytes [4]byte
		binary.NativeEndian.PutUint32(bytes[:], uint32(number))
		if gateway := netip.AddrFrom4(bytes); !gateway.IsUnspecified() {
			gateways = append(gateways, gateway)
		}
	}
	return gateways, nil
}

// gateways6Of does the same for the text of routes6File. A line has the destination, the length of its prefix,
// the same for the source, and the gateway.
func gateways6Of(text string) (gateways []netip.Addr, err error) {
	for _, fields := range routes(text) {
		if len(fields) < 5 || fields[1] != "00" || strings.Trim(fields[0], "0") != "" {
			continue
		}
		bytes, err := hex.DecodeString(fields[4])
		if err != nil {
			return nil, err
		}
		gateway, ok := netip.AddrFromSlice(bytes)
		if !ok {
			return nil, fmt.Errorf("%q is no address", fields[4])
		}
		if !gateway.IsUnspecified() {
			gateways = append(gateways, gateway)
		}
	}
	return gateways, nil
}

// routes returns the fields of each line.
func routes(text string) (lines [][]string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}
