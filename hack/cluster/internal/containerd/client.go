// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package containerd controls the containerd of the node through ctr, its command-line client.
package containerd

import (
	"context"
	"strings"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/packages"
)

// namespace is the containerd namespace of Kubernetes.
const namespace = "k8s.io"

// Client is a containerd at a socket.
type Client struct {
	Socket string
}

// Ping returns nil if containerd answers.
func (c Client) Ping(ctx context.Context) error {
	_, err := c.run(ctx, "version")
	return err
}

// run runs ctr and returns its output.
func (c Client) run(ctx context.Context, arguments ...string) (string, error) {
	return packages.Run(ctx, "", "ctr", append([]string{"--address", c.Socket, "--namespace", namespace}, arguments...)...)
}

// rows splits a table of ctr into fields, without the heading.
func rows(table string) [][]string {
	var found [][]string
	for i, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if fields := strings.Fields(line); i > 0 && len(fields) > 0 {
			found = append(found, fields)
		}
	}
	return found
}
