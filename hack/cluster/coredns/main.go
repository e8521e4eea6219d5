// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command coredns is CoreDNS with only the plugins that a one-node cluster needs. Apart from the plugins, it equals the
// release binary. Without the plugins of cloud DNS services, a build with an empty cache takes a third of the time. go.mod has the
// versions of hack/cluster/kubernetes, so that most packages are compiled once for both.
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
