// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// required are the kernel settings that Services need.
var required = map[string]string{
	"net.ipv4.ip_forward": "1",
	// Replies between two pods on the bridge must pass iptables, too, which translates the address of the
	// Service back.
	"net.bridge.bridge-nf-call-iptables": "1",
}

// required6 are the kernel settings that Services with IPv6 addresses need.
var required6 = map[string]string{
	"net.ipv6.conf.all.forwarding":        "1",
	"net.bridge.bridge-nf-call-ip6tables": "1",
}

// watched are the kernel settings that the kubelet and kube-proxy may change.
var watched = []string{
	"vm.overcommit_memory",
	"vm.panic_on_oom",
	"kernel.panic",
	"kernel.panic_on_oops",
	"kernel.keys.root_maxkeys",
	"kernel.keys.root_maxbytes",
	"net.ipv4.conf.all.route_localnet",
	"net.ipv4.vs.conntrack",
	"net.netfilter.nf_conntrack_max",
	"net.netfilter.nf_conntrack_tcp_be_liberal",
	"net.netfilter.nf_conntrack_tcp_timeout_established",
	"net.netfilter.nf_conntrack_tcp_timeout_close_wait",
	"net.netfilter.nf_conntrack_udp_timeout",
	"net.netfilter.nf_conntrack_udp_timeout_stream",
}

// Settings returns the current values of all settings that the cluster may change, without those that this
// kernel does not have.
func Settings() (map[string]string, error) {
	values := map[string]string{}
	names := slices.Concat(watched, slices.Collect(maps.Keys(required)), slices.Collect(maps.Keys(required6)))
	for _, name := range names {
		content, err := os.ReadFile(settingPath(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read setting %s: %w", name, err)
		}
		values[name] = strings.TrimSpace(string(content))
	}
	return values, nil
}

// ApplySettings sets the required settings.
func ApplySettings(plan Plan) error {
	if err := write(required); err != nil || !plan.Has6() {
		return err
	}
	return write(required6)
}

// RestoreSettings sets the values that Settings returned before the cluster changed them.
func RestoreSettings(values map[string]string) error {
	return write(values)
}

func write(values map[string]string) error {
	var problems []error
	for name, value := range values {
		current, err := os.ReadFile(settingPath(name))
		if err == nil && strings.TrimSpace(string(current)) == value {
			continue
		}
		if err := os.WriteFile(settingPath(name), []byte(value), 0o644); err != nil {
			problems = append(problems, fmt.Errorf("write setting %s=%s: %w", name, value, err))
		}
	}
	return errors.Join(problems...)
}

func settingPath(name string) string {
	return filepath.Join("/proc/sys", strings.ReplaceAll(name, ".", "/"))
}

func hasIPv6() bool {
	_, err := os.Stat("/proc/net/if_inet6")
	return err == nil
}
