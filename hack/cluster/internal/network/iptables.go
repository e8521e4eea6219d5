// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/packages"
)

// chainPrefix is the prefix of the names of the chains that this package creates.
const chainPrefix = "A2A-CLUSTER"

// kubernetesPrefix is the prefix of the names of the chains of the kubelet and kube-proxy.
const kubernetesPrefix = "KUBE-"

// tables are the tables that the kubelet, kube-proxy and this package change.
var tables = []string{"mangle", "nat", "filter"}

// EnsureRules allows traffic between pods and from pods to this machine and, with a route, to other networks. It
// is idempotent.
func EnsureRules(ctx context.Context, plan Plan) error {
	for _, pods := range plan.Pods {
		family := "iptables"
		if pods.Addr().Is6() {
			family = "ip6tables"
		}
		for _, table := range []string{"nat", "filter"} {
			saved, err := packages.Run(ctx, "", family+"-save", "-t", table)
			if err != nil {
				return err
			}
			if strings.Contains(saved, chainPrefix) {
				continue
			}
			if err := run(ctx, rules(table, pods), family+"-restore", "--wait", "--noflush"); err != nil {
				return err
			}
		}
	}
	return nil
}

// rules returns the input of iptables-restore that adds the chains of this package to a table.
func rules(table string, pods netip.Prefix) string {
	if table == "nat" {
		return strings.Join([]string{
			"*nat",
			":" + chainPrefix + " - [0:0]",
			fmt.Sprintf("-A %s -s %s ! -o %s -j MASQUERADE", chainPrefix, pods, Bridge),
			"-A POSTROUTING -j " + chainPrefix,
			"COMMIT", "",
		}, "\n")
	}
	// Insert these rules first: a firewall of the machine may reject all packets that no earlier rule accepts.
	return strings.Join([]string{
		"*filter",
		":" + chainPrefix + " - [0:0]",
		fmt.Sprintf("-A %s -i %s -j ACCEPT", chainPrefix, Bridge),
		fmt.Sprintf("-A %s -o %s -j ACCEPT", chainPrefix, Bridge),
		"-I INPUT 1 -j " + chainPrefix,
		"-I FORWARD 1 -j " + chainPrefix,
		"COMMIT", "",
	}, "\n")
}

// RemoveRules removes the chains of this package, the kubelet and kube-proxy, for both address families.
func RemoveRules(ctx context.Context) error {
	for _, family := range []string{"iptables", "ip6tables"} {
		if _, err := packages.Program(family + "-save"); err != nil {
			continue
		}
		if family == "ip6tables" && !hasIPv6() {
			continue
		}
		for _, table := range tables {
			saved, err := packages.Run(ctx, "", family+"-save", "-t", table)
			if err != nil {
				return err
			}
			input := removal(table, saved)
			if input == "" {
				continue
			}
			if err := run(ctx, input, family+"-restore", "--wait", "--noflush"); err != nil {
				return err
			}
		}
	}
	return nil
}

// removal returns the input of iptables-restore that removes the cluster's chains and all jumps to them from a
// saved table, and nothing else. It returns "" if there is nothing to remove.
func removal(table, saved string) string {
	var jumps, flushes, deletions []string
	for line := range strings.Lines(saved) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, ":"):
			chain, _, _ := strings.Cut(line[1:], " ")
			if isOurs(chain) {
				// Declaring a chain empties it, so that no chain refers to another one when they are deleted.
				flushes = append(flushes, ":"+chain+" - [0:0]")
				deletions = append(deletions, "-X "+chain)
			}
		case strings.HasPrefix(line, "-A "):
			chain, _, _ := strings.Cut(line[3:], " ")
			if !isOurs(chain) && isOurs(target(line)) {
				jumps = append(jumps, "-D"+line[2:])
			}
		}
	}
	if len(deletions) == 0 {
		return ""
	}
	lines := append([]string{"*" + table}, flushes...)
	lines = append(lines, jumps...)
	lines = append(lines, deletions...)
	return strings.Join(append(lines, "COMMIT", ""), "\n")
}

// target returns the chain that a rule jumps to.
func target(rule string) string {
	fields := strings.Fields(rule)
	for i, field := range fields[:len(fields)-1] {
		if field == "-j" || field == "-g" {
			return fields[i+1]
		}
	}
	return ""
}

func isOurs(chain string) bool {
	return strings.HasPrefix(chain, chainPrefix) || strings.HasPrefix(chain, kubernetesPrefix)
}
